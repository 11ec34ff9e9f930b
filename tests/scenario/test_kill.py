#!/usr/bin/env python3
"""kill -9 at random moments of a broadcast: nobody twice, nobody left out unsaid.

usage: test_kill.py FOLDER [ROUNDS [SEED [CONTACTS]]]
Each round is a new installation and a new sink. The daemon is killed two to five times, at moments
drawn from the seed, while planning or while sending; then it is left to finish.
"""

import random
import shutil
import sys
import time
from pathlib import Path

import harness
import mailing
from harness import Failure

SESSIONS = 8


def kill_somewhere(daemon, sink, rng, contacts):
    """Kill at a random moment: some time after the start, or once the sink has taken some more."""
    if rng.random() < 0.4:
        time.sleep(rng.random() * 0.4)
    else:
        goal = len(sink.accepted()) + rng.randrange(1, contacts // 3)
        harness.wait_for("some mails or the end", lambda: len(sink.accepted()) >= goal or
                         mailing.state_of(daemon) == "sent", pause_s=0.005)
    daemon.kill()


def one_round(folder, rng, contacts):
    """Returns the number of kills, of rows in doubt, and of those among them that were not mailed."""
    sink = harness.Sink(folder / "sink", "--delay-ms", rng.choice([0, 2, 10])).start()
    daemon = harness.Daemon(folder / "one").start()
    kills = rng.randrange(2, 6)
    try:
        mailing.set_up(daemon, sink, contacts, sessions=SESSIONS)
        confirmed = mailing.start_broadcast(daemon)["recipientCount"]
        if confirmed != contacts:
            raise Failure(f"{confirmed} of {contacts} confirmed")
        for _ in range(kills):
            kill_somewhere(daemon, sink, rng, contacts)
            daemon.start()
        mailing.wait_state(daemon, "sent", timeout_s=120)
        states = mailing.check_delivery(daemon, sink, contacts)
        if states["sent"] + states["unknown"] != contacts:
            raise Failure(f"a kill is no reason for {states}")
        if states["unknown"] > kills * SESSIONS:
            raise Failure(f"{states['unknown']} in doubt, {kills} kills of {SESSIONS} sessions")
        daemon.stop()
        daemon.check_log()
        return kills, states["unknown"], contacts - len(sink.accepted())
    finally:
        if daemon.is_running():
            daemon.kill()
        sink.stop()


def main():
    folder = Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    contacts = int(sys.argv[4]) if len(sys.argv) > 4 else 5000
    for number in range(rounds):
        rng = random.Random(seed * 1000 + number)
        where = folder / f"round{number}"
        shutil.rmtree(where, ignore_errors=True)
        kills, unknown, missing = one_round(where, rng, contacts)
        print(f"round {number}: {kills} kills, {unknown} unknown, {missing} of them not mailed",
              flush=True)
        shutil.rmtree(where)


if __name__ == "__main__":
    main()
