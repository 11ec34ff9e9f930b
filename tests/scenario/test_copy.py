"""A copied data folder is a copy, not the installation, until somebody says so."""

import subprocess

import harness
import mailing
from harness import Scenario


class Copy(Scenario):

    def test_copy_sends_nothing_until_adopted(self):
        contacts = 200
        sink = self.sink("--delay-ms", 20)
        daemon = self.daemon()
        mailing.set_up(daemon, sink, contacts)
        mailing.start_broadcast(daemon)
        sink.wait_count(40)
        daemon.stop()
        taken = len(sink.accepted())
        (self.folder / "two").mkdir()
        subprocess.run(["cp", "-a", daemon.data, self.folder / "two/data"], check=True)

        copy = self.daemon("two")
        gates = {gate["gate"] for gate in mailing.broadcast(copy)["gates"]}
        self.assertIn("copy", gates)
        copy.wait_rounds(2)
        self.assertEqual(mailing.state_of(copy), "sending")
        copy.stop()
        self.assertEqual(len(sink.accepted()), taken, "the copy sent mail")

        copy.start()
        copy.tool("adopt")
        answer = mailing.broadcast(copy)
        self.assertEqual(answer["broadcast"]["status"], "paused")
        self.assertEqual(answer["gates"], [])
        self.assertEqual(answer["ledger"]["states"]["held"], contacts - taken)
        self.assertEqual(len(sink.accepted()), taken, "adopting sent mail")
        copy.stop()
        copy.start()
        self.assertEqual(mailing.state_of(copy), "paused")

        mailing.resume(copy)
        mailing.wait_state(copy, "sent")
        self.assertEqual(mailing.check_delivery(copy, sink, contacts)["sent"], contacts)


if __name__ == "__main__":
    harness.main()
