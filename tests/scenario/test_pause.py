"""Pause, resume and cancel at full speed."""

import harness
import mailing
from harness import Scenario

SESSIONS = 8


class Pause(Scenario):

    def under_way(self, contacts, delay_ms=15):
        sink = self.sink("--delay-ms", delay_ms)
        daemon = self.daemon()
        mailing.set_up(daemon, sink, contacts, SESSIONS)
        mailing.start_broadcast(daemon)
        sink.wait_count(contacts // 5)
        return sink, daemon

    @staticmethod
    def wait_settled(daemon):
        return harness.wait_for("mails in flight to settle", lambda: not mailing.broadcast(
            daemon)["inFlight"] and mailing.broadcast(daemon))

    def test_nothing_leaves_after_the_answer(self):
        """Rows in flight are named; but for them nothing leaves, also not over a restart."""
        contacts = 800
        sink, daemon = self.under_way(contacts)
        answer = mailing.pause(daemon)
        self.assertEqual(answer["broadcast"]["status"], "paused")
        self.assertEqual(answer["broadcast"]["pauseReasonCodes"], ["manual"])
        self.assertLessEqual(len(answer["inFlight"]), SESSIONS)
        self.wait_settled(daemon)
        named = {row["id"] for row in mailing.list_sends(daemon, "sent")}
        self.assertTrue(set(answer["inFlight"]) <= named, "a mail in flight was not settled")
        states = mailing.check_books(daemon)
        self.assertEqual(states["sent"], len(sink.accepted()))
        self.assertEqual(states["held"], contacts - states["sent"])
        self.assertGreater(states["held"], 0)

        daemon.stop()
        daemon.start()
        mailing.start_broadcast(daemon, "other")
        mailing.wait_state(daemon, "sent", "other")
        self.assertEqual(mailing.check_books(daemon), states)
        self.assertEqual(len(sink.accepted()), states["sent"] + contacts)

        mailing.resume(daemon)
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_books(daemon)["sent"], contacts)
        seen = sink.recipients()
        self.assertTrue(all(seen.count(mailing.address(n)) == 2 for n in range(contacts)))

    def test_pauses_in_quick_succession(self):
        contacts = 600
        sink, daemon = self.under_way(contacts, delay_ms=10)
        for _ in range(5):
            mailing.pause(daemon)
            self.assertEqual(daemon.request("POST", "/agent/broadcasts/spring/pause", {})[0], 409)
            mailing.resume(daemon)
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertEqual(states["sent"], contacts)

    def test_resume_wants_the_right_number(self):
        sink, daemon = self.under_way(300)
        mailing.pause(daemon)
        self.wait_settled(daemon)
        counted = mailing.count(daemon, "spring", "resume")
        status, answer = daemon.request("POST", "/agent/broadcasts/spring/resume", {
            "countToken": counted["countToken"], "confirmedCount": counted["confirmCount"] + 1})
        self.assertEqual((status, answer["error"]), (409, "count_mismatch"))
        self.assertEqual(answer["expected"], counted["confirmCount"])
        self.assertEqual(mailing.state_of(daemon), "paused")
        self.assertEqual(counted["heldSends"], 300 - len(sink.accepted()))

    def test_cancel_is_final(self):
        contacts = 500
        sink, daemon = self.under_way(contacts)
        answer = daemon.call("POST", "/agent/broadcasts/spring/cancel", {})
        self.assertEqual(answer["broadcast"]["status"], "cancelled")
        self.wait_settled(daemon)
        states = mailing.check_books(daemon)
        self.assertEqual(states["sent"], len(sink.accepted()))
        self.assertEqual(states["sent"] + states["cancelled"], contacts)
        self.assertGreater(states["cancelled"], 0)
        daemon.kill()
        daemon.start()
        mailing.start_broadcast(daemon, "other")
        mailing.wait_state(daemon, "sent", "other")
        self.assertEqual(mailing.check_books(daemon), states)
        self.assertEqual(daemon.call("POST", "/agent/broadcasts/spring/cancel", {})
                         ["cancelledSends"], 0)


if __name__ == "__main__":
    harness.main()
