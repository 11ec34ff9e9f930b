"""The way of a broadcast at a terminal: every sub-command that is a client of the API."""

import json
import re

import harness
from harness import Scenario

TEMPLATE = {"name": "News", "kind": "marketing", "fromName": "Shop",
            "fromEmail": "news@shop.example", "subject": "Hello {{contact.fields.name}}",
            "body": {"html": "<p>News</p><p><a href='{{unsubscribeUrl}}'>Unsubscribe</a></p>"}}


class Tools(Scenario):
    def installation(self, sink, contacts):
        daemon = self.daemon()
        people = ["externalId,email,name"]
        people += [f"p{i},person{i}@r{i % 3}.example.org,Name {i}" for i in range(contacts)]
        self.write("people.csv", "\n".join(people) + "\n")
        self.write("smtp.json", json.dumps({
            "name": "Main", "kind": "smtp", "host": "127.0.0.1", "port": sink.port, "tls": "none",
            "fromName": "Shop", "fromEmail": "news@shop.example", "pacePerSecond": 100000}))
        self.write("news.json", json.dumps(TEMPLATE))
        self.assertRegex(daemon.tool("import", self.folder / "people.csv", "--subscribe").stdout,
                         rf"(?m)^added +{contacts}$")
        daemon.tool("profile", "put", "main", self.folder / "smtp.json")
        daemon.tool("template", "put", "news", self.folder / "news.json")
        return daemon

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def fails(self, daemon, *words, status=1):
        done = daemon.tool(*words, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr

    def count(self, daemon, slug):
        """Token and number, as a person reads them."""
        said = daemon.tool("broadcast", "count", slug).stdout
        return (re.search(r"^token +(\S+)", said, re.M).group(1),
                re.search(r"^confirm +(\d+)$", said, re.M).group(1))

    def test_from_file_to_ledger(self):
        sink = self.sink()
        daemon = self.installation(sink, 300)
        self.write("segment.json", json.dumps({"filters": [
            {"kind": "subscriptionStatus", "equals": "subscribed"},
            {"kind": "fieldEquals", "field": "name", "value": "Name 7"}]}))
        self.assertEqual(daemon.tool("broadcast", "create", "spring", "news").stdout,
                         "spring is draft\n")
        daemon.tool("broadcast", "create", "one", "news", "--segment",
                    self.folder / "segment.json", "--name", "One person", "--profile", "main")
        token, number = self.count(daemon, "spring")
        self.assertEqual(number, "300")
        daemon.tool("broadcast", "schedule", "spring", "now", token, number)
        ended = daemon.tool("broadcast", "wait", "spring", "--timeout", 60).stdout
        self.assertIn("spring is sent\nmatched   300 = 300 eligible\neligible  300 = 300 sent\n"
                      "Both equations close.\n", ended)
        self.assertEqual(len(set(sink.recipients())), 300)
        self.assertEqual(daemon.tool("broadcast", "show", "spring", "--recount").stdout[-22:],
                         "Both equations close.\n")
        whole = json.loads(daemon.tool("broadcast", "show", "spring", "--json").stdout)
        self.assertEqual(whole["ledger"]["states"]["sent"], 300)
        token, number = self.count(daemon, "one")
        self.assertEqual(number, "1")
        listed = daemon.tool("broadcast", "list").stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in listed], [["one", "draft"],
                                                                 ["spring", "sent"]])
        self.assertIn("One person", listed[0])

    def test_stop_and_go_on(self):
        sink = self.sink()
        daemon = self.installation(sink, 200)
        put = json.loads((self.folder / "smtp.json").read_text())
        self.write("slow.json", json.dumps({**put, "pacePerSecond": 20}))
        daemon.tool("profile", "put", "main", self.folder / "slow.json")
        daemon.tool("broadcast", "create", "spring", "news")
        daemon.tool("broadcast", "schedule", "spring", "now", *self.count(daemon, "spring"))
        sink.wait_count(5)
        self.assertIn("spring is paused", daemon.tool("broadcast", "pause", "spring", "--reason",
                                                      "wrong date").stdout)
        shown = daemon.tool("broadcast", "show", "spring").stdout
        self.assertIn("wrong date", shown)
        self.assertIn("held", shown)
        self.fails(daemon, "broadcast", "wait", "spring")
        daemon.tool("profile", "put", "main", self.folder / "smtp.json")
        token, number = self.count(daemon, "spring")
        self.fails(daemon, "broadcast", "resume", "spring", token, int(number) + 1)
        daemon.tool("broadcast", "resume", "spring", token, number)
        daemon.tool("broadcast", "wait", "spring", "--timeout", 60)
        seen = sink.recipients()
        self.assertEqual(len(seen), 200)
        self.assertEqual(len(set(seen)), 200)

    def test_cancel_and_unschedule(self):
        daemon = self.installation(self.sink(), 10)
        daemon.tool("broadcast", "create", "spring", "news")
        daemon.tool("broadcast", "schedule", "spring", "2099-01-01T10:00:00Z",
                    *self.count(daemon, "spring"))
        self.assertIn("scheduled", daemon.tool("broadcast", "show", "spring").stdout)
        self.assertEqual(daemon.tool("broadcast", "unschedule", "spring").stdout,
                         "spring is draft\n")
        self.assertIn("cancelled", daemon.tool("broadcast", "cancel", "spring").stdout)
        self.assertIn("not_scheduled", self.fails(daemon, "broadcast", "unschedule", "spring"))
        self.assertRegex(daemon.tool("broadcast", "list").stdout, r"^spring +cancelled +0 +spring$")

    def test_profiles_templates_contacts(self):
        daemon = self.installation(self.sink(), 3)
        self.assertRegex(daemon.tool("profile", "list").stdout,
                         r"^main +smtp +active +default 127\.0\.0\.1:\d+ none\n$")
        self.assertIn("paused", daemon.tool("profile", "pause", "main").stdout)
        self.assertRegex(daemon.tool("profile", "list").stdout, r"^main +smtp +paused")
        daemon.tool("profile", "resume", "main")
        self.assertEqual(json.loads(daemon.tool("profile", "show", "main").stdout)
                         ["profile"]["slug"], "main")
        self.assertRegex(daemon.tool("template", "list").stdout,
                         r"^news +marketing +version 1 +News\n$")
        self.assertEqual(json.loads(daemon.tool("template", "show", "news").stdout)
                         ["template"]["subject"], TEMPLATE["subject"])
        for who in ("p2", "person2@r2.example.org"):
            contact = json.loads(daemon.tool("contact", "show", who).stdout)["contact"]
            self.assertEqual(contact["fields"], {"name": "Name 2"})

    def test_test_of_a_profile(self):
        sink = self.sink(script="rcpt person1@r1.example.org 550 5.1.1 No such user here\n")
        daemon = self.installation(sink, 3)
        self.assertRegex(daemon.tool("profile", "test", "main", "p0").stdout, r"^\w{13} sent\b")
        self.assertEqual(sink.recipients(), ["person0@r0.example.org"])
        done = daemon.tool("profile", "test", "main", "p1", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"^\w{13} bounced: .*No such user here")
        self.assertIn("contact_not_found", self.fails(daemon, "profile", "test", "main", "p9"))
        self.assertEqual(len(sink.recipients()), 1)

    def test_what_is_refused(self):
        daemon = self.installation(self.sink(), 3)
        self.write("broken.json", "{\"name\": ")
        self.write("wrong.json", json.dumps({**TEMPLATE, "subject": "{{#if x}}"}))
        self.assertIn("broken.json", self.fails(daemon, "profile", "put", "x",
                                                self.folder / "broken.json"))
        self.assertIn("compile_failed", self.fails(daemon, "template", "put", "x",
                                                   self.folder / "wrong.json"))
        self.fails(daemon, "template", "put", "x", self.folder / "none.json")
        self.assertIn("not_found", self.fails(daemon, "broadcast", "show", "nobody"))
        self.assertIn("contact_not_found", self.fails(daemon, "contact", "show", "nobody"))
        daemon.tool("broadcast", "create", "spring", "news")
        token, _ = self.count(daemon, "spring")
        self.assertIn("count_mismatch", self.fails(daemon, "broadcast", "schedule", "spring",
                                                   "now", token, 2))
        for words in (("broadcast", "count"), ("broadcast", "schedule", "spring", "now"),
                      ("broadcast", "schedule", "spring", "now", token, "three"),
                      ("broadcast", "launch", "spring"), ("profile", "put", "x"),
                      ("template", "drop", "news"), ("contact", "erase", "p1"),
                      ("broadcast", "wait", "spring", "--timeout", 0)):
            with self.subTest(words=words):
                self.assertIn("usage:", self.fails(daemon, *words, status=2))


if __name__ == "__main__":
    harness.main()
