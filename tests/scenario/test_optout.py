"""An opt-out answered 200 holds, whatever the daemon is doing and whatever becomes of it."""

import re

import harness
import mailing
import mailread
from harness import Scenario

ONE_CLICK = "List-Unsubscribe=One-Click"


class OptOut(Scenario):

    def under_way(self, contacts, delay_ms=20, **options):
        sink = self.sink("--delay-ms", delay_ms, store=True)
        daemon = self.daemon(**options)
        mailing.set_up(daemon, sink, contacts, sessions=4)
        return sink, daemon

    @staticmethod
    def path_to_unsubscribe(daemon, person):
        """A fresh link of somebody who has not got a mail yet, as an application asks for it."""
        url = daemon.call("GET", f"/v1/contacts/{person}/unsubscribe-url")["unsubscribeUrl"]
        return re.sub(r"^http://m\.example\.com", "", url)

    @staticmethod
    def one_click(daemon, path):
        return daemon.public("POST", path, ONE_CLICK,
                             {"Content-Type": "application/x-www-form-urlencoded"})

    def test_during_a_broadcast_and_a_kill(self):
        """Nobody who was answered 200 gets a mail that was claimed afterwards."""
        contacts = 400
        sink, daemon = self.under_way(contacts)
        leavers = [contacts - 1 - 3 * n for n in range(30)]
        paths = {n: self.path_to_unsubscribe(daemon, f"u{n}") for n in leavers}
        mailing.start_broadcast(daemon)
        sink.wait_count(20)
        for n in leavers:
            self.assertEqual(self.one_click(daemon, paths[n])[0], 200)
            self.assertNotIn(mailing.address(n), sink.recipients())
        daemon.kill()
        taken = set(sink.recipients())
        daemon.start()
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, contacts)
        gone = {mailing.address(n) for n in leavers}
        self.assertEqual((set(sink.recipients()) - taken) & gone, set())
        self.assertEqual(states["suppressed"], len(leavers))
        for n in leavers:
            person = daemon.call("GET", f"/agent/contacts/u{n}")
            self.assertEqual(person["subscription"]["status"], "unsubscribed")
            self.assertEqual([row["reason"] for row in person["suppressions"]], ["unsubscribed"])

    def test_link_of_a_mail_twice(self):
        """Both times 200, no redirect, no cookie; the next broadcast leaves the person out."""
        sink, daemon = self.under_way(3, delay_ms=0)
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        raw = sink.mails()[mailing.address(1)]
        path = re.sub(r"^http://m\.example\.com", "", mailread.one_click_url(raw))

        status, headers, page = daemon.public("GET", path)
        self.assertEqual(status, 200)
        self.assertIn(mailing.address(1).encode(), page)
        self.assertEqual(daemon.call("GET", "/agent/contacts/u1")["suppressions"], [])
        for _ in range(2):
            status, headers, _ = self.one_click(daemon, path)
            self.assertEqual(status, 200)
            self.assertFalse({"Set-Cookie", "Location"} & set(headers))
            self.assertEqual(len(daemon.call("GET", "/agent/contacts/u1")["suppressions"]), 1)
        self.check_attributed(daemon)

        counted = mailing.start_broadcast(daemon, "summer")
        self.assertEqual(counted["recipientCount"], 2)
        mailing.wait_state(daemon, "sent", "summer")
        states = mailing.check_books(daemon, "summer")
        self.assertEqual(states["sent"], 2)
        self.assertEqual(sink.recipients().count(mailing.address(1)), 1)

    def test_import_brings_nobody_back(self):
        """Names change, opt-outs and bounces stay, and neither gets the next broadcast."""
        dead = mailing.address(1)
        sink, daemon = self.under_way(3, delay_ms=0)
        sink.rewrite(f"rcpt {dead} 550 5.1.1 No such user here\n")
        daemon.call("POST", "/v1/contacts/u0/unsubscribe", {})
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_books(daemon)["bounced"], 1)
        sink.rewrite("")
        answer = mailing.import_rows(daemon, [
            "email,name,status", f"{mailing.address(0).upper()},New 0,subscribed",
            f"{dead},New 1,subscribed"], "subscribe=true&overwrite=true")
        self.assertEqual((answer["updated"], answer["consentProtected"]), (2, 2), answer)
        for n in (0, 1):
            name = daemon.call("GET", f"/agent/contacts/u{n}")["contact"]["fields"]["name"]
            self.assertEqual(name, f"New {n}")
        counted = mailing.start_broadcast(daemon, "summer")
        self.assertEqual(counted["recipientCount"], 1)
        mailing.wait_state(daemon, "sent", "summer")
        self.assertEqual(set(sink.recipients()), {mailing.address(2)})

    @staticmethod
    def check_attributed(daemon):
        harness.wait_for("the broadcast to know", lambda: mailing.broadcast(
            daemon)["stats"]["unsubscribed"] == 1)

    def test_changed_token_does_nothing(self):
        sink, daemon = self.under_way(2, delay_ms=0)
        path = self.path_to_unsubscribe(daemon, "u0")
        for place in (len("/m/unsub/") + 3, len(path) // 2, len(path) - 3):
            changed = path[:place] + ("A" if path[place] != "A" else "B") + path[place + 1:]
            self.assertLess(self.one_click(daemon, changed)[0], 500)
            self.assertEqual(daemon.call("GET", "/agent/contacts/u0")["suppressions"], [])
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_delivery(daemon, sink, 2)["sent"], 2)


if __name__ == "__main__":
    harness.main()
