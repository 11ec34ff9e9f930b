"""Single mails: headers of their own, a lane of their own, and no doubt left standing."""

import json

import harness
import mailing
import mailread
from harness import Scenario

RECEIPT = "<p>Dear {{contact.fields.name}}, thank you.</p>"


class OneOff(Scenario):

    def installation(self, contacts, *args, script="", sessions=8, **profile):
        sink = self.sink(*args, script=script, store=True)
        daemon = self.daemon(agentTestContacts=mailing.address(0))
        mailing.set_up(daemon, sink, contacts, sessions, **profile)
        mailing.put_template(daemon, "receipt", RECEIPT, "transactional", "Your receipt")
        return sink, daemon

    @staticmethod
    def send(daemon, **more):
        return daemon.call("POST", "/agent/templates/receipt/send", {"contactId": "u0", **more})

    def test_carries_no_unsubscribe_headers(self):
        private, public = mailread.make_key(self.folder)
        sink, daemon = self.installation(1, dkim=[
            {"domain": "sender.example", "selector": "s1", "privateKey": private}])
        self.send(daemon)
        sink.wait_count(1)
        raw, = sink.mails().values()
        message = mailread.parse(raw)
        self.assertIsNone(message["List-Unsubscribe"])
        self.assertIsNone(message["List-Unsubscribe-Post"])
        self.assertEqual(message["Subject"], "Your receipt")
        mailread.check_wire(raw)
        self.assertIn("from", mailread.check_dkim(raw, public))

    def test_overtakes_a_broadcast(self):
        """A session is kept for it: it goes while every other one is busy for long."""
        sink, daemon = self.installation(
            100, sessions=2, script=f"data-end {mailing.address(0)} delay 0ms\n"
                                    "data-end * delay 2s\n")
        mailing.start_broadcast(daemon)
        harness.wait_for("the broadcast to be on the wire", lambda: mailing.broadcast(
            daemon)["inFlight"])
        before = mailing.broadcast(daemon)["progress"]["done"]
        self.send(daemon)
        harness.wait_for("the receipt", lambda: any(
            b"Your receipt" in path.read_bytes() for path in sink.store.glob("*.eml")))
        self.assertLessEqual(mailing.broadcast(daemon)["progress"]["done"], before + 3)
        sink.rewrite("")
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_books(daemon)["sent"], 100)

    def test_in_doubt_goes_again_as_the_same_mail(self):
        """The server took it and the answer was lost; the repeat has the same Message-ID."""
        sink, daemon = self.installation(1, script="times=1 data-end * delay 60s\n")
        self.send(daemon)
        harness.wait_for("the mail to be at the server", lambda: list(sink.store.glob("*.eml")))
        daemon.kill()
        daemon.start()
        harness.wait_for("the repeat", lambda: len(list(sink.store.glob("*.eml"))) == 2)
        first, second = (mailread.parse(path.read_bytes())["Message-ID"]
                         for path in sorted(sink.store.glob("*.eml")))
        self.assertEqual(first, second)

    def test_same_key_makes_no_second_mail(self):
        sink, daemon = self.installation(1)
        first, second, third = (self.send(daemon, dedupeKey=key) for key in ("a", "a", "b"))
        self.assertEqual(first["send"]["id"], second["send"]["id"])
        self.assertNotEqual(first["send"]["id"], third["send"]["id"])
        sink.wait_count(2)
        daemon.kill()
        daemon.start()
        self.send(daemon, dedupeKey="b")
        daemon.wait_rounds(2)
        daemon.stop()
        self.assertEqual(len(sink.accepted()), 2)

    def test_agent_reaches_test_contacts_only(self):
        sink, daemon = self.installation(2)
        made = daemon.call("POST", "/admin/tokens", {"actor": "agent:a", "scopes": ["test"]})
        path = "/agent/templates/receipt/send"
        for token, person, expected in (
                ("x" * 40, "u0", (401, "unauthorized")),
                (made["token"], "u1", (403, "not_a_test_contact")),
                (made["token"], "u9", (404, "contact_not_found")),
                (made["token"], "u0", (201, None)),
        ):
            status, _, raw = daemon.public("POST", path, json.dumps({"contactId": person}), {
                "Authorization": f"Bearer {token}", "Content-Type": "application/json"})
            self.assertEqual((status, json.loads(raw).get("error")), expected)
        sink.wait_count(1)
        daemon.wait_rounds(2)
        self.assertEqual(sink.recipients(), [mailing.address(0)])


if __name__ == "__main__":
    harness.main()
