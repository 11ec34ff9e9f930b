"""Everything at once, in an order drawn from a seed: kills, stops, a failing server, pauses, opt-outs.

Whatever happened, in the end nobody got two mails, nobody is missing without being listed, nobody was
mailed who had been let go before, and the books close. MAILSHOT_STORM_SEEDS="7 8 9" tries other orders.
"""

import os
import random

import harness
import mailing
from harness import Scenario

SESSIONS = 8
CONTACTS = 1200
ACTIONS = 14
RULES = ("", "every=40 data-end * drop\n", "every=9 rcpt * 450 4.2.1 Busy\n",
         "every=25 data-end * 451 4.3.0 Trouble\n", "every=30 mail * 421 4.3.2 Closing\n",
         "every=60 rcpt @r5.example.org 550 5.1.1 No such user\n")


class Storm(Scenario):

    def test_storms(self):
        for seed in os.environ.get("MAILSHOT_STORM_SEEDS", "3 6 10").split():
            with self.trial(seed=seed):
                self.storm(int(seed))

    def storm(self, seed):
        self.rng = random.Random(seed)
        self.sink_, self.one = self.sink("--delay-ms", 5), self.daemon(allowTestClock=True)
        self.in_doubt_at_most, self.is_paused, self.gone = 0, False, set()
        mailing.set_up(self.one, self.sink_, CONTACTS, SESSIONS)
        mailing.start_broadcast(self.one)
        deeds = [self.kill, self.stop, self.outage, self.other_rules, self.pause, self.let_go]
        for _ in range(ACTIONS):
            self.let_some_go_by()
            self.rng.choice(deeds)()
        self.sink_.rewrite("")
        if self.is_paused:
            mailing.resume(self.one)
        mailing.finish(self.one, timeout_s=90)
        self.check()

    def check(self):
        states = mailing.check_delivery(self.one, self.sink_, CONTACTS)
        self.assertLessEqual(states["unknown"], self.in_doubt_at_most + CONTACTS // 40)
        self.assertEqual(states["sent"] + states["unknown"] + states["bounced"] +
                         states["suppressed"] + len(mailing.excluded(self.one)), CONTACTS)
        self.assertEqual(set(self.sink_.recipients()) & self.gone, set())
        self.assertEqual(states["failed"], 0)

    def let_some_go_by(self):
        goal = len(self.sink_.accepted()) + self.rng.randrange(5, 60)
        harness.wait_for("some mails, or a reason why not", lambda: len(
            self.sink_.accepted()) >= goal or self.is_paused or self.stands_still())

    def stands_still(self):
        """Nothing more comes by itself: all is done, or waits for its time to be tried again."""
        if mailing.state_of(self.one) == "sent":
            return True
        self.one.step_clock(1)
        return not mailing.list_sends(self.one, "sending") and not [
            row for row in mailing.list_sends(self.one, "queued") if not row["deferred"]]

    # ---- what may happen ------------------------------------------------------------------------

    def kill(self):
        self.in_doubt_at_most += SESSIONS
        self.one.kill()
        self.one.start()

    def stop(self):
        self.one.stop()
        self.one.start()

    def outage(self):
        self.in_doubt_at_most += SESSIONS
        self.sink_.die()
        self.one.wait_rounds(1)
        self.sink_.revive()

    def other_rules(self):
        self.sink_.rewrite(self.rng.choice(RULES))

    def pause(self):
        if self.is_paused:
            mailing.resume(self.one)
            self.is_paused = False
        elif self.one.request("POST", "/agent/broadcasts/spring/pause", {})[0] == 200:
            self.is_paused = True

    def let_go(self):
        """An opt-out; whoever is neither mailed nor on the wire after the answer never will be."""
        n = self.rng.randrange(CONTACTS)
        self.one.call("POST", f"/v1/contacts/u{n}/unsubscribe", {})
        wire = {row["email"] for row in mailing.list_sends(self.one, "sending")}
        address = mailing.address(n)
        if address not in wire and address not in self.sink_.recipients():
            self.gone.add(address)


if __name__ == "__main__":
    harness.main()
