#!/usr/bin/env python3
"""kill -9 at random moments of a broadcast: nobody twice, nobody left out unsaid.

usage: test_kill.py FOLDER [ROUNDS [SEED [CONTACTS]]]
Each round is a new installation and a new sink. The daemon is killed two to five times, at moments
drawn from the seed, while planning or while sending; then it is left to finish.
"""

import random
import shutil
import sys
from pathlib import Path

import harness
from harness import Failure

SESSIONS = 8


def kill_somewhere(daemon, sink, rng, contacts):
    """Kill at a random moment: some time after the start, or once the sink has taken some more."""
    if rng.random() < 0.4:
        daemon.process.poll()
        pause = rng.random() * 0.4
        harness.time.sleep(pause)
    else:
        goal = len(sink.recipients()) + rng.randrange(1, contacts // 3)
        try:
            harness.wait_for("some mails", lambda: len(sink.recipients()) >= min(goal, contacts),
                             timeout_s=20, pause_s=0.005)
        except Failure:
            pass  # the rest is done, or in doubt: the kill comes at the end
    daemon.kill()


def one_round(folder, rng, contacts):
    sink = harness.Sink(folder / "sink", "--delay-ms", rng.choice([0, 2, 10])).start()
    daemon = harness.Daemon(folder / "one").start()
    kills = rng.randrange(2, 6)
    try:
        harness.set_up(daemon, sink, contacts, sessions=SESSIONS)
        confirmed = harness.start_broadcast(daemon)
        if confirmed != contacts:
            raise Failure(f"{confirmed} of {contacts} confirmed")
        for _ in range(kills):
            kill_somewhere(daemon, sink, rng, contacts)
            daemon.start()
        answer = harness.wait_state(daemon, ["sent"], timeout_s=120)
        ledger = harness.check_ledger(answer)
        unknown = harness.list_sends(daemon, "unknown")
        if len(unknown) != ledger["states"]["unknown"]:
            raise Failure(f"{len(unknown)} rows behind {ledger['states']['unknown']} unknown")
        if len(unknown) > kills * SESSIONS:
            raise Failure(f"{len(unknown)} in doubt after {kills} kills of {SESSIONS} sessions")
        missing = harness.check_never_twice(sink, contacts, unknown)
        recount = daemon.tool("db", "check")
        if daemon.stop() != 0:
            raise Failure("SIGTERM did not end it well")
        return kills, len(unknown), len(missing), recount.stdout
    finally:
        if daemon.process.poll() is None:
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
        kills, unknown, missing, _ = one_round(where, rng, contacts)
        print(f"round {number}: {kills} kills, {unknown} unknown, {missing} of them not mailed",
              flush=True)
        shutil.rmtree(where)


if __name__ == "__main__":
    main()
