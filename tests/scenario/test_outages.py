"""A server that dies, refuses, hangs, dawdles or hangs up, while a broadcast goes to it."""

import harness
import mailing
from harness import Scenario

SESSIONS = 8


class Outages(Scenario):

    def mailing(self, contacts, *args, script="", sessions=SESSIONS, **profile):
        """A sink with a script, and a broadcast under way to it."""
        sink = self.sink(*args, script=script)
        daemon = self.daemon(allowTestClock=True)
        mailing.set_up(daemon, sink, contacts, sessions, **profile)
        return sink, daemon

    def check_all_sent(self, daemon, sink, contacts, unknown=0):
        """Returns the counters of the sink."""
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertLessEqual(states["unknown"], unknown)
        self.assertEqual(states["sent"] + states["unknown"], contacts)
        return sink.stop()

    @staticmethod
    def wait_trouble(daemon):
        harness.wait_for("the sender to notice", lambda: (daemon.call(
            "GET", "/agent/profiles/main")["sender"] or {}).get("lastError"))

    def test_server_dies_and_comes_back(self):
        contacts = 500
        sink, daemon = self.mailing(contacts, "--delay-ms", 10)
        mailing.start_broadcast(daemon)
        sink.wait_count(100)
        sink.die()
        self.wait_trouble(daemon)
        taken = len(sink.accepted())
        self.assertLess(taken, contacts)
        sink.revive()
        mailing.finish(daemon)
        self.check_all_sent(daemon, sink, contacts, unknown=SESSIONS)

    def test_server_refuses_connections_at_first(self):
        contacts = 200
        sink, daemon = self.mailing(contacts)
        sink.die()
        mailing.start_broadcast(daemon)
        self.wait_trouble(daemon)
        self.assertEqual(mailing.broadcast(daemon)["ledger"]["states"]["sent"], 0)
        self.assertEqual(mailing.state_of(daemon), "sending")
        sink.revive()
        mailing.finish(daemon)
        self.check_all_sent(daemon, sink, contacts)

    def test_server_hangs_before_anything_is_given(self):
        """A time-out before the final dot is no doubt: the mail goes again."""
        for stage, rule in (("rcpt", "times=3 rcpt * stall"), ("greeting", "times=2 greeting * stall"),
                            ("data", "times=3 data * stall")):
            with self.trial(stage=stage):
                sink, daemon = self.mailing(40, script=rule + "\n")
                mailing.start_broadcast(daemon)
                sink.wait_count(1)
                mailing.finish(daemon)
                self.check_all_sent(daemon, sink, 40)

    def test_server_hangs_after_the_final_dot(self):
        """Nobody knows what became of these: said so, and not repeated."""
        sink, daemon = self.mailing(40, script="times=3 data-end * stall\n")
        mailing.start_broadcast(daemon)
        mailing.finish(daemon, step_s=60)
        states = mailing.check_delivery(daemon, sink, 40)
        self.assertEqual((states["sent"], states["unknown"]), (37, 3))

    def test_server_dawdles(self):
        sink, daemon = self.mailing(60, script="every=5 rcpt * trickle 4ms\n"
                                               "every=7 data-end * trickle 4ms\n")
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        self.check_all_sent(daemon, sink, 60)

    def test_server_hangs_up_after_the_final_dot(self):
        contacts = 200
        sink, daemon = self.mailing(contacts, script="every=50 data-end * drop\n")
        mailing.start_broadcast(daemon)
        mailing.finish(daemon)
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertEqual((states["sent"], states["unknown"]), (contacts - 4, 4))
        self.assertEqual(sink.stop()["dropped"], 4)

    def test_server_hangs_up_when_idle(self):
        """A session found closed at the next mail costs nothing: no failure, no doubt, no repeat."""
        sink, daemon = self.mailing(4, script="close-idle 300ms\n", sessions=1, pace=1)
        mailing.start_broadcast(daemon)
        mailing.wait_state(daemon, "sent")
        counters = self.check_all_sent(daemon, sink, 4)
        self.assertGreater(counters["connections"], 1, "nothing was idle long enough")
        self.assertEqual(counters["mails"], 4)

    def test_server_takes_few_sessions(self):
        sink, daemon = self.mailing(100, "--delay-ms", 5, script="max-sessions 2\n")
        mailing.start_broadcast(daemon)
        mailing.finish(daemon)
        counters = self.check_all_sent(daemon, sink, 100)
        self.assertLessEqual(counters["max_sessions"], SESSIONS)


if __name__ == "__main__":
    harness.main()
