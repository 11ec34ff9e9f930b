"""What a server answers, and what becomes of the row, the person and the broadcast."""

import time

import harness
import mailing
from harness import Scenario


class Replies(Scenario):

    def mailing(self, contacts, *args, script="", sessions=4, store=False, **profile):
        sink = self.sink(*args, script=script, store=store)
        daemon = self.daemon(allowTestClock=True)
        mailing.set_up(daemon, sink, contacts, sessions, **profile)
        return sink, daemon

    def test_put_off_mail_arrives_later(self):
        """4yz is never final, wherever it comes."""
        for name, rule in (
                ("421 at MAIL FROM", "times=3 mail * 421 4.3.2 Closing, come back"),
                ("450 at RCPT", "times=10 rcpt * 450 4.2.1 Mailbox busy"),
                ("452 at RCPT", "times=5 rcpt @r3.example.org 452 4.2.2 Over quota for now"),
                ("451 after the dot", "times=8 data-end * 451 4.3.0 Local trouble"),
                ("421 as greeting", "times=2 greeting * 421 4.3.2 Not now"),
        ):
            with self.trial(reply=name):
                sink, daemon = self.mailing(40, script=rule + "\n")
                mailing.start_broadcast(daemon)
                mailing.finish(daemon)
                states = mailing.check_delivery(daemon, sink, 40)
                self.assertEqual(states["sent"], 40)
                self.assertGreater(sink.stop()["refused"], 0, "the rule was never met")

    def test_dead_address_is_suppressed(self):
        dead = mailing.address(2)
        sink, daemon = self.mailing(5, script=f"rcpt {dead} 550 5.1.1 No such user here\n")
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, 5)
        self.assertEqual((states["sent"], states["bounced"], states["failed"]), (4, 1, 0))
        row, = mailing.list_sends(daemon, "bounced")
        self.assertEqual((row["email"], row["bounceType"]), (dead, "hard"))
        self.assertEqual((row["replyCode"], row["enhancedCode"]), (550, "5.1.1"))
        self.assertIn("No such user here", row["errorMessage"])
        person = daemon.call("GET", "/agent/contacts/u2")
        self.assertEqual([s["reason"] for s in person["suppressions"]], ["hard_bounce"])

        counted = mailing.start_broadcast(daemon, "summer")
        self.assertEqual(counted["recipientCount"], 4)
        self.assertEqual(counted["excluded"]["suppressed_hard_bounce"], 1)
        ledger = mailing.wait_state(daemon, "sent", "summer")["ledger"]
        self.assertEqual(ledger["excluded"]["suppressed_hard_bounce"], 1)
        self.assertEqual([item["contactId"] for item in mailing.list_exclusions(
            daemon, "suppressed_hard_bounce", "summer")], [row["contactId"]])
        mailing.check_books(daemon, "summer")
        self.assertEqual(sink.recipients().count(dead), 0)
        self.assertEqual(len(sink.accepted()), 8)

    def test_refused_message_suppresses_nobody(self):
        big = mailing.address(1)
        sink, daemon = self.mailing(5, script=f"data-end {big} 552 5.3.4 Message too big\n")
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, 5)
        self.assertEqual((states["sent"], states["failed"]), (4, 1))
        row, = mailing.list_sends(daemon, "failed")
        self.assertEqual((row["email"], row["failClass"]), (big, "message"))
        self.assertEqual(daemon.call("GET", "/agent/contacts/u1")["suppressions"], [])

    def test_full_mailbox_is_a_soft_bounce(self):
        full = mailing.address(3)
        sink, daemon = self.mailing(5, script=f"rcpt {full} 552 5.2.2 Mailbox full\n")
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, 5)
        self.assertEqual((states["sent"], states["bounced"]), (4, 1))
        self.assertEqual(mailing.list_sends(daemon, "bounced")[0]["bounceType"], "soft")
        self.assertEqual(daemon.call("GET", "/agent/contacts/u3")["suppressions"], [])

    def test_wrong_password_holds_everything(self):
        sink, daemon = self.mailing(30, "--auth", "relay:right", username="relay", password="wrong")
        mailing.start_broadcast(daemon)
        answer = mailing.wait_state(daemon, "paused")
        self.assertEqual(answer["broadcast"]["pauseReasonCodes"], ["sender_broken"])
        self.assertEqual(daemon.call("GET", "/agent/profiles/main")["profile"]["state"], "paused")
        states = mailing.check_books(daemon)
        self.assertEqual(states["held"] + states["queued"], 30)
        self.assertEqual(len(sink.accepted()), 0)

        mailing.put_profile(daemon, sink, 4, username="relay", password="right")
        daemon.call("POST", "/agent/profiles/main/resume", {})
        if mailing.state_of(daemon) == "paused":
            mailing.resume(daemon)
        mailing.finish(daemon)
        states = mailing.check_delivery(daemon, sink, 30)
        self.assertEqual(states["sent"], 30)

    def test_throttled_relay_is_spared(self):
        sink, daemon = self.mailing(
            200, script="after=20 for=2s data-end * 454 4.7.0 Throttling failure: "
                        "Maximum sending rate exceeded\n")
        mailing.start_broadcast(daemon)
        harness.wait_for("the limit to be shown", lambda: (mailing.broadcast(daemon)["sender"] or {}
                                                          ).get("limitedByRelay"))
        self.assertTrue(daemon.call("GET", "/agent/profiles/main")["sender"]["limitedByRelay"])
        willing = time.monotonic() + 2
        harness.wait_for("the relay to be willing", lambda: time.monotonic() > willing)
        mailing.finish(daemon)
        states = mailing.check_delivery(daemon, sink, 200)
        self.assertEqual(states["sent"], 200)
        self.assertLess(sink.stop()["refused"], 40, "it went on at full speed")

    def test_greylisted_row_waits_alone(self):
        seconds = 3
        sink, daemon = self.mailing(0, script=f"rcpt @grey.example.org greylist {seconds}s\n")
        rows = [f"c{n},p@d{n}.example.org" for n in range(10)] + ["grey,p@grey.example.org"]
        mailing.import_rows(daemon, ["externalId,email"] + rows)
        began = time.monotonic()
        mailing.start_broadcast(daemon, template="news")
        sink.wait_count(10)
        row = harness.wait_for("the row to be put off", lambda: [
            row for row in mailing.list_sends(daemon, "queued") if row["deferred"]])[0]
        self.assertEqual(row["email"], "p@grey.example.org")
        self.assertEqual((row["replyCode"], row["enhancedCode"]), (451, "4.7.1"))
        wait_s = mailing.seconds_between(row["queuedAt"], row["dueAt"])
        self.assertGreaterEqual(wait_s, seconds)
        self.assertLess(wait_s, 3600)
        harness.wait_for("the server to be willing",
                         lambda: time.monotonic() - began > seconds + 0.5)
        mailing.finish(daemon)
        self.assertEqual(mailing.check_books(daemon)["sent"], 11)
        self.assertEqual(len(sink.accepted()), 11)
        self.assertEqual(sink.stop()["refused"], 1, "it asked too early, or too often")

    def test_small_and_chatty_server(self):
        """No extension is used that was not offered; the body fits into seven bits; the client gives the
        name it was told to give."""
        sink, daemon = self.mailing(3, "--no-extensions", store=True)
        mailing.put_template(daemon, html="<p>Grüße aus Köln, Ζωή</p>"
                                          '<a href="{{unsubscribeUrl}}">Ende</a>')
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        mailing.check_delivery(daemon, sink, 3)
        for raw in sink.mails().values():
            self.assertLess(max(raw), 128)
        self.assertEqual(sink.client_names(), {daemon.options["ehloName"]})
        self.assertEqual(sink.stop()["refused"], 0)


if __name__ == "__main__":
    harness.main()
