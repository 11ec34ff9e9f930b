"""Contacts from files by `mailshotd import`: pieces, quotes, line numbers, with and without daemon."""

import subprocess

import harness
from harness import Scenario

PIECE = 4 << 20


def figures(done):
    """What the tool prints, as numbers by name."""
    return {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}


class Import(Scenario):

    def write(self, text):
        path = self.folder / "people.csv"
        path.write_bytes(text.encode())
        return path

    def test_file_of_several_pieces(self):
        """Records with line ends and quotes inside are never cut, and lines keep their numbers."""
        daemon = self.daemon()
        filler = 'one "" two\n, three\r\n' * 30
        rows, line, bad = ["email,externalId,name,"], 2, []  # a column without a name is left out
        while len(rows) * len(filler) < 2.5 * PIECE:
            number = len(rows)
            if number % 1000 == 0:
                rows.append(f'nonsense,x{number},n,"{filler}"')
                bad.append(line)
            else:
                rows.append(f'p{number}@example.org,x{number},5" disk,"{filler}"')
            line += 1 + filler.count("\n")
        path = self.write("\n".join(rows) + "\n")
        self.assertGreater(path.stat().st_size, 2 * PIECE)
        done = daemon.tool("import", path)
        self.assertEqual(figures(done)["added"], len(rows) - 1 - len(bad), done.stderr)
        self.assertEqual(figures(done)["refused"], len(bad))
        said = [int(text.split(":")[0].split()[1]) for text in done.stderr.splitlines() if text]
        self.assertEqual(said, bad)
        self.assertGreater(daemon.log.read_text().count("path=/v1/contacts/import"), 2)
        person = daemon.call("GET", f"/v1/contacts/x{len(rows) - 1}")["contact"]["fields"]
        self.assertEqual(person["name"], '5" disk')

    def test_header_alone_and_other_separators(self):
        daemon = self.daemon()
        self.assertEqual(figures(daemon.tool("import", self.write("email,name\n")))["rows"], 0)
        done = daemon.tool("import", self.write(
            'email;name\r\na@example.org;"A; ""B"""\r\nb@example.org;B'))
        self.assertEqual(figures(done)["added"], 2)
        self.assertEqual(daemon.call("GET", "/v1/contacts/by-email/a%40example.org")["contact"][
            "fields"]["name"], 'A; "B"')
        done = daemon.tool("import", self.write("name\nx\n"), check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad_header", done.stderr)
        self.assertEqual(daemon.tool("import", self.folder / "none.csv", check=False).returncode, 1)

    def test_dry_run_and_standard_input(self):
        daemon = self.daemon()
        path = self.write("email\na@example.org\n")
        self.assertEqual(figures(daemon.tool("import", path, "--dry-run"))["added"], 1)
        self.assertEqual(daemon.call("GET", "/v1/contacts")["items"], [])
        with path.open() as rows:
            done = subprocess.run(daemon.command("import", "-", "--subscribe", "--source=form"),
                                  stdin=rows, capture_output=True, text=True, check=True,
                                  env=daemon.environment())
        self.assertEqual(figures(done)["subscribed"], 1)
        answer = daemon.call("GET", "/v1/contacts/by-email/a%40example.org")
        self.assertEqual(answer["subscription"]["source"], "form")

    def test_without_a_daemon(self):
        daemon = self.daemon()
        daemon.stop()
        done = daemon.tool("import", self.write("email\na@example.org\n"))
        self.assertEqual(figures(done)["added"], 1)
        daemon.start()
        self.assertEqual(len(daemon.call("GET", "/v1/contacts")["items"]), 1)


if __name__ == "__main__":
    harness.main()
