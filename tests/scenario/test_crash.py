"""Ends at chosen moments: while planning, in full flow, by SIGTERM, right after a pause."""

import random

import harness
import mailing
from harness import Failure, Scenario

SESSIONS = 8


class Crash(Scenario):

    def test_kill_in_full_flow(self):
        """1 000 recipients, 8 sessions, 20 ms each, killed at about 500."""
        sink = self.sink("--delay-ms", 20)
        daemon = self.daemon()
        mailing.set_up(daemon, sink, 1000, SESSIONS)
        mailing.start_broadcast(daemon)
        sink.wait_count(500)
        daemon.kill()
        daemon.start()
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, 1000)
        self.assertLessEqual(states["unknown"], SESSIONS)
        self.assertEqual(states["sent"] + states["unknown"], 1000)

    def test_kill_while_planning(self):
        contacts = 3000
        sink = self.sink("--delay-ms", 5)
        daemon = self.daemon()
        mailing.set_up(daemon, sink, contacts, SESSIONS)
        mailing.start_broadcast(daemon)
        kills, planned, seen = 0, 0, set()
        while planned < contacts:
            planned = harness.wait_for("more rows", lambda: self.more_rows(daemon, planned), 20, 0)
            daemon.kill()
            kills += 1
            seen.add(planned)
            daemon.start()
        mailing.wait_state(daemon, "sent")
        self.assertTrue(any(0 < n < contacts for n in seen), f"planning was never met: {seen}")
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertLessEqual(states["unknown"], SESSIONS * kills)
        self.assertEqual(states["sent"] + states["unknown"], contacts)

    @staticmethod
    def more_rows(daemon, than):
        rows = mailing.broadcast(daemon)["ledger"]["eligible"]
        return rows if rows > than else None

    def test_sigterm_leaves_no_doubt(self):
        contacts = 900
        sink = self.sink("--delay-ms", 10)
        daemon = self.daemon()
        mailing.set_up(daemon, sink, contacts, SESSIONS)
        mailing.start_broadcast(daemon)
        for goal in (1, 300, 600):
            sink.wait_count(goal + random.Random(goal).randrange(100))
            daemon.stop()
            taken = len(sink.accepted())
            if taken == contacts:
                raise Failure("the stop came too late to show anything")
            daemon.start()
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertEqual(states["sent"], contacts)

    def test_doubt_is_settled_by_hand(self):
        """What a kill left in doubt goes again only when somebody says so, and then once."""
        contacts = 60
        sink = self.sink(script="after=20 data-end * stall\n")
        daemon = self.daemon()
        mailing.set_up(daemon, sink, contacts, SESSIONS)
        mailing.start_broadcast(daemon)
        sink.wait_count(20)
        bulk = SESSIONS - 1  # one session is kept for mail that cannot wait
        harness.wait_for("all sessions to hang", lambda: len(
            self.on_the_wire(daemon) - set(sink.recipients())) == bulk)
        daemon.kill()
        sink.rewrite("")
        daemon.start()
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertEqual(states["unknown"], bulk)
        doubtful = mailing.list_sends(daemon, "unknown")
        self.settle(daemon, "resolve", doubtful[:2], to="sent")
        self.settle(daemon, "requeue", doubtful[2:], state="unknown")
        mailing.wait_state(daemon, "sent")
        states = mailing.check_books(daemon)
        self.assertEqual((states["sent"], states["unknown"]), (contacts, 0))
        self.assertEqual(len(sink.accepted()), contacts - 2)
        self.assertEqual(len(set(sink.recipients())), contacts - 2)

    def test_no_id_is_made_twice(self):
        """Ids are reserved ahead of the clock; a process that dies at once must not give them back."""
        daemon = self.daemon(tickIntervalSeconds=5)
        daemon.wait_rounds(1)
        for life in range(4):
            daemon.kill()
            daemon.start()
            made = daemon.call("POST", "/v1/contacts", {
                "externalId": f"c{life}", "email": mailing.address(life)})
            self.assertEqual(made["contact"]["externalId"], f"c{life}")
        found = daemon.call("GET", "/agent/contacts")["items"]
        self.assertEqual([one["externalId"] for one in found], [f"c{n}" for n in range(4)])

    @staticmethod
    def on_the_wire(daemon):
        return {row["email"] for row in mailing.list_sends(daemon, "sending")}

    @staticmethod
    def settle(daemon, verb, rows, **body):
        return daemon.call("POST", f"/agent/broadcasts/spring/sends/{verb}", {
            "ids": [row["id"] for row in rows], "confirmedCount": len(rows), **body})


if __name__ == "__main__":
    harness.main()
