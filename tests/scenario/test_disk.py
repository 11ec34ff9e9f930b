"""A disk that fills up during a broadcast."""

import os
import subprocess

import harness
import mailing
from harness import Scenario

MIB = 1 << 20


class Disk(Scenario):

    def small_disk(self, mib):
        """A file system of this size, or a skipped test where mounting is not allowed."""
        where = self.folder / "one"
        where.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", where],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"may not mount a tmpfs here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", where], check=True)
        return where

    @staticmethod
    def gates(daemon):
        return {gate["gate"]: gate["why"] for gate in mailing.broadcast(daemon)["gates"]}

    def check_readyz(self, daemon, is_full):
        """Good in either case, since opt-outs are answered; the part says what holds mail back."""
        status, answer = daemon.request("GET", "/readyz")
        self.assertEqual((status, answer["status"]), (200, "ready"))
        self.assertEqual(answer["parts"]["disk"]["ok"], not is_full)
        self.assertEqual("minFreeBytes" in answer["parts"]["disk"].get("reason", ""), is_full)

    def test_full_disk_holds_and_room_lets_go(self):
        contacts = 600
        where = self.small_disk(64)
        sink = self.sink("--delay-ms", 20)
        daemon = self.daemon(minFreeBytes=16 * MIB)
        mailing.set_up(daemon, sink, contacts)
        self.check_readyz(daemon, is_full=False)
        mailing.start_broadcast(daemon)
        sink.wait_count(100)
        self.fill(where / "ballast")
        harness.wait_for("the gate to close", lambda: "disk" in self.gates(daemon))
        self.assertIn("minFreeBytes", self.gates(daemon)["disk"])
        self.check_readyz(daemon, is_full=True)
        harness.wait_for("mails in flight to settle",
                         lambda: not mailing.broadcast(daemon)["inFlight"])
        taken = len(sink.accepted())
        self.assertLess(taken, contacts, "the disk was full too late")
        self.assertEqual(mailing.state_of(daemon), "sending")
        self.opt_out(daemon, "u599")
        daemon.kill()
        daemon.start()
        harness.wait_for("the gate to close again", lambda: "disk" in self.gates(daemon))
        daemon.wait_rounds(2)
        self.assertEqual(len(sink.accepted()), taken, "mail left through a closed gate")

        (where / "ballast").unlink()
        mailing.wait_state(daemon, "sent")
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertEqual(states["suppressed"], 1)
        self.assertNotIn(mailing.address(599), sink.recipients())
        self.assertNotIn("disk", self.gates(daemon))
        self.check_readyz(daemon, is_full=False)

    def test_too_little_room_at_the_start(self):
        """The same without a file system of its own: the daemon wants more than any disk has."""
        sink = self.sink()
        daemon = self.daemon()
        mailing.set_up(daemon, sink, 50)
        sink.die()
        mailing.start_broadcast(daemon)
        daemon.stop()
        sink.revive()
        daemon.options["minFreeBytes"] = 1 << 39
        daemon.start()
        harness.wait_for("the broadcast to start", lambda: mailing.state_of(daemon) == "sending")
        self.assertIn("disk", self.gates(daemon))
        self.check_readyz(daemon, is_full=True)
        daemon.wait_rounds(2)
        daemon.stop()
        self.assertEqual(len(sink.accepted()), 0, "mail left through a closed gate")
        daemon.options["minFreeBytes"] = MIB
        daemon.start()
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_delivery(daemon, sink, 50)["sent"], 50)

    @staticmethod
    def fill(path):
        """Until 8 MiB are left."""
        room = os.statvfs(path.parent)
        with path.open("wb") as ballast:
            for _ in range(room.f_bavail * room.f_frsize // MIB - 8):
                ballast.write(bytes(MIB))

    @staticmethod
    def opt_out(daemon, person):
        daemon.call("POST", f"/v1/contacts/{person}/unsubscribe", {})


if __name__ == "__main__":
    harness.main()
