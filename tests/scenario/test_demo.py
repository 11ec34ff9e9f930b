"""`mailshotd demo`: its verdict, its folder, its daemon, and how all of it ends."""

import http.client
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import harness
from harness import BUILD, WAIT_S, Failure, Scenario, wait_for

CONTACTS = 500


def summands(text, name):
    """{"eligible": 478, ...} of a line such as "matched 500 = 478 eligible + 22 ..."."""
    lines = re.findall(rf"^{name} +(\d+) = (.*)$", text, re.M)
    total, rest = lines[-1]
    parts = dict(reversed(part.split()) for part in rest.split(" + "))
    return int(total), {word: int(number) for word, number in parts.items()}


def lines_of(path):
    return path.read_text().splitlines()


class Demo(Scenario):
    def setUp(self):
        super().setUp()
        self.dir = self.folder / "demo"
        self.daemon_log = self.dir / "daemon.log"

    def command(self, *words):
        return [str(BUILD / "mailshotd"), "demo", "--dir", str(self.dir), *map(str, words)]

    def run_demo(self, *words, status=0):
        done = subprocess.run(self.command("--exit", *words), capture_output=True, text=True,
                              timeout=2 * WAIT_S, check=False, env=harness.Daemon.environment())
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if self.daemon_log.exists():
            self.check_log()
        return done

    def check_log(self):
        for line in lines_of(self.daemon_log):
            if "Sanitizer" in line or "runtime error:" in line:
                raise Failure(line)

    def start_demo(self):
        """Run it without --exit; returns the process and its words once it stays up."""
        out = self.folder / "out"
        with out.open("w") as f:
            process = subprocess.Popen(self.command("--contacts", CONTACTS), stdout=f,
                                       stderr=subprocess.STDOUT, env=harness.Daemon.environment())
        self.addCleanup(self.put_down, process)

        def is_up():
            if process.poll() is not None:
                raise Failure(f"the demo ended: {out.read_text()}")
            return "Its log is" in out.read_text()

        wait_for("the demo to stay up", is_up)
        return process, out.read_text()

    @staticmethod
    def put_down(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def daemon_pid(self):
        return int((self.dir / "data" / "lock").read_text().split()[0])

    def mails(self, slug):
        """Delivered-To of every file of a broadcast."""
        found = []
        for path in (self.dir / "mails" / slug).iterdir():
            self.assertEqual(path.suffix, ".eml")
            head = path.read_bytes().split(b"\r\n\r\n", 1)[0].decode()
            found += re.findall(r"^Delivered-To: (\S+)\r$", head, re.M)
        return found

    # ---- the verdict ----

    def test_everybody_once(self):
        said = self.run_demo("--contacts", CONTACTS).stdout
        matched, parts = summands(said, "matched")
        eligible, states = summands(said, "eligible")
        self.assertEqual(matched, sum(parts.values()))
        self.assertEqual(parts["eligible"], eligible)
        self.assertEqual(states, {"sent": eligible})
        self.assertGreater(parts["duplicate_address"], 0)
        self.assertGreater(parts["suppressed_unsubscribed"], 0)
        self.assertIn("Both equations close.", said)
        mails = self.mails("demo-1")
        self.assertEqual(len(mails), eligible)
        self.assertEqual(len(set(mails)), eligible)
        self.assertIn(f"{eligible} .eml files in {self.dir}/mails/demo-1", said)

    def test_nobody_who_opted_out_gets_it(self):
        self.run_demo("--contacts", CONTACTS)
        mails = set(self.mails("demo-1"))
        people = [line.split(",") for line in lines_of(self.dir / "people.csv")[1:]]
        self.assertEqual(len(people), CONTACTS)
        gone = {fields[1] for fields in people if fields[-1]}
        self.assertGreater(len(gone), 10)
        self.assertFalse(gone & mails)
        self.assertEqual({fields[1] for fields in people} - gone, mails)

    def test_second_run_in_the_same_folder(self):
        first = summands(self.run_demo("--contacts", CONTACTS).stdout, "eligible")
        said = self.run_demo("--contacts", CONTACTS).stdout
        self.assertIn("demo-2 is sent", said)
        self.assertEqual(summands(said, "eligible"), first)
        self.assertEqual(sorted(self.mails("demo-1")), sorted(self.mails("demo-2")))

    def test_smtp_sink(self):
        sink = self.sink()
        said = self.run_demo("--contacts", CONTACTS, "--smtp", f"127.0.0.1:{sink.port}").stdout
        eligible, states = summands(said, "eligible")
        seen = sink.recipients()
        self.assertEqual(states, {"sent": eligible})
        self.assertEqual(len(seen), eligible)
        self.assertEqual(len(set(seen)), eligible)
        self.assertFalse((self.dir / "mails").exists())

    def test_a_refused_recipient_fails_the_demo(self):
        sink = self.sink(script="rcpt alice.smith.0@mail.example.com 550 5.1.1 No such user\n")
        done = self.run_demo("--contacts", 50, "--smtp", f"127.0.0.1:{sink.port}", status=1)
        eligible, states = summands(done.stdout, "eligible")
        self.assertEqual(states, {"sent": eligible - 1, "bounced": 1})
        self.assertIn("Both equations close.", done.stdout)
        self.assertIn("not everybody", done.stderr)

    # ---- refusals ----

    def test_a_folder_that_is_no_demo_is_left_alone(self):
        self.dir.mkdir()
        (self.dir / "thesis.txt").write_text("precious")
        done = self.run_demo(status=1)
        self.assertIn("choose another folder", done.stderr)
        self.assertEqual([path.name for path in self.dir.iterdir()], ["thesis.txt"])

    def test_flags_that_make_no_sense(self):
        for words in (("--contacts", 0), ("--contacts", "many"), ("--smtp", "mail.example.com:25"),
                      ("--smtp", "127.0.0.1"), ("--smtp", "127.0.0.1:0"), ("--smtp", ":25"),
                      ("--dataDir", "/tmp/x"), ("--listenPort", 1), ("--config", "f"), ("now",)):
            with self.subTest(words=words):
                done = self.run_demo(*words, status=2)
                self.assertIn("usage: mailshotd demo", done.stderr)
        self.assertFalse(self.dir.exists())

    def test_a_folder_in_use(self):
        self.start_demo()
        done = self.run_demo(status=3)
        self.assertIn("works in", done.stderr)

    # ---- staying up, and the end ----

    def test_stays_up_until_interrupted(self):
        process, said = self.start_demo()
        token = re.search(r"Bearer (\S+)'", said).group(1)
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/agent$", said, re.M).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        connection.request("GET", "/agent/broadcasts/demo-1",
                           headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        ledger = json.loads(answer.read())["ledger"]
        connection.close()
        self.assertTrue(ledger["closes"])
        self.assertEqual(ledger["states"]["sent"], len(self.mails("demo-1")))

        printed = re.search(r"^  (/.*) broadcast show demo-1 --config=(\S+)$", said, re.M)
        shown = subprocess.run([printed.group(1), "broadcast", "show", "demo-1", "--config",
                                printed.group(2)], capture_output=True, text=True, check=True,
                               timeout=WAIT_S, env=harness.Daemon.environment()).stdout
        self.assertIn("demo-1 is sent", shown)

        pid = self.daemon_pid()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(WAIT_S), 0)
        self.assertFalse(Path(f"/proc/{pid}").exists())
        self.assertIn("daemon.stopped", self.daemon_log.read_text())
        self.check_log()

    def test_the_daemon_dies(self):
        process, _ = self.start_demo()
        os.kill(self.daemon_pid(), signal.SIGKILL)
        self.assertEqual(process.wait(WAIT_S), 1)
        self.assertIn("the daemon ended", (self.folder / "out").read_text())

    def test_the_daemon_ends_with_its_parent(self):
        process, _ = self.start_demo()
        pid = self.daemon_pid()
        process.kill()
        process.wait()

        def is_gone():
            stat = Path(f"/proc/{pid}/stat")
            try:
                return stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"
            except FileNotFoundError:
                return True

        wait_for("the daemon to end", is_gone)
        self.assertIn("daemon.stopped", self.daemon_log.read_text())

    def test_interrupted_on_the_way(self):
        """A stop in the middle of sending ends both; a later run in the folder goes through."""
        process = subprocess.Popen(self.command("--contacts", 4000), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=harness.Daemon.environment())
        self.addCleanup(self.put_down, process)
        wait_for("the first mail", lambda: any((self.dir / "mails").glob("demo-1/*.eml")))
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(WAIT_S), 1)
        self.assertLess(time.monotonic() - started, 20)
        self.check_log()
        before = len(self.mails("demo-1"))
        self.run_demo("--contacts", 10)
        first = self.mails("demo-1")
        self.assertGreaterEqual(len(first), before)
        self.assertEqual(len(first), len(set(first)))


if __name__ == "__main__":
    harness.main()
