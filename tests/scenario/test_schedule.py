"""Starts that come on time, late or never, and an audience that is not the one confirmed."""

from datetime import datetime, timedelta, timezone

import harness
import mailing
from harness import Scenario

HOUR_S = 3600


class Schedule(Scenario):

    def installation(self, contacts, *args):
        sink = self.sink(*args)
        daemon = self.daemon(allowTestClock=True)
        mailing.set_up(daemon, sink, contacts)
        return sink, daemon

    @staticmethod
    def schedule_in(daemon, seconds, **more):
        """Create, count and confirm for a time from now on the daemon's clock."""
        daemon.call("POST", "/agent/broadcasts",
                    {"slug": "spring", "name": "Spring", "templateSlug": "news", **more})
        counted = mailing.count(daemon, "spring")
        at = datetime.now(timezone.utc) + timedelta(seconds=seconds)
        daemon.call("POST", "/agent/broadcasts/spring/schedule", {
            "scheduledAt": at.isoformat(timespec="seconds"), "countToken": counted["countToken"],
            "confirmedCount": counted["recipientCount"]})
        return counted["recipientCount"]

    def test_starts_when_it_is_due_and_not_before(self):
        sink, daemon = self.installation(20)
        self.schedule_in(daemon, HOUR_S)
        daemon.step_clock(HOUR_S - 120)
        daemon.wait_rounds(2)
        self.assertEqual(mailing.state_of(daemon), "scheduled")
        self.assertEqual(len(sink.accepted()), 0)
        daemon.step_clock(180)
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_delivery(daemon, sink, 20)["sent"], 20)

    def test_missed_start_waits_for_a_decision(self):
        sink, daemon = self.installation(20)
        self.schedule_in(daemon, HOUR_S)
        daemon.step_clock(3 * HOUR_S)
        answer = mailing.wait_state(daemon, "paused")
        self.assertEqual(answer["broadcast"]["pauseReasonCodes"], ["missed_start"])
        self.assertEqual(len(sink.accepted()), 0)
        mailing.resume(daemon)
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_delivery(daemon, sink, 20)["sent"], 20)

    def test_sleeping_host_parks_what_was_going(self):
        contacts = 400
        sink, daemon = self.installation(contacts, "--delay-ms", 20)
        mailing.start_broadcast(daemon)
        sink.wait_count(50)
        daemon.step_clock(2 * HOUR_S)
        answer = mailing.wait_state(daemon, "paused")
        self.assertEqual(answer["broadcast"]["pauseReasonCodes"], ["missed_start"])
        harness.wait_for("mails in flight to settle",
                         lambda: not mailing.broadcast(daemon)["inFlight"])
        self.assertLess(len(sink.accepted()), contacts)
        mailing.resume(daemon)
        mailing.finish(daemon)
        states = mailing.check_delivery(daemon, sink, contacts)
        self.assertEqual(states["sent"] + states["unknown"], contacts)

    def test_grown_audience_pauses_before_the_surplus(self):
        """10 confirmed allow 10 % and as many again: 21, and 40 came."""
        sink, daemon = self.installation(10)
        self.schedule_in(daemon, HOUR_S)
        mailing.import_rows(daemon, ["externalId,email"] + [
            f"late{n},{mailing.address(n)}" for n in range(10, 40)])
        daemon.step_clock(HOUR_S + 60)
        answer = mailing.wait_state(daemon, "paused")
        self.assertEqual(answer["broadcast"]["pauseReasonCodes"], ["audience_grew"])
        self.assertLessEqual(answer["ledger"]["eligible"], 21)
        self.assertLessEqual(len(sink.accepted()), 21)
        mailing.check_books(daemon)
        mailing.resume(daemon)
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_delivery(daemon, sink, 40)["sent"], 40)

    def test_wrong_number_and_used_token_start_nothing(self):
        sink, daemon = self.installation(5)
        daemon.call("POST", "/agent/broadcasts",
                    {"slug": "spring", "name": "Spring", "templateSlug": "news"})
        counted = mailing.count(daemon, "spring")
        ask = {"scheduledAt": "now", "countToken": counted["countToken"], "confirmedCount": 5}
        for change, error in (({"confirmedCount": 4}, "count_mismatch"),
                              ({"countToken": "0" * 13}, None), ({"scheduledAt": "soon"},
                                                                 "bad_scheduledAt")):
            status, answer = daemon.request("POST", "/agent/broadcasts/spring/schedule",
                                            {**ask, **change})
            self.assertIn(status, (400, 404, 409), answer)
            if error is not None:
                self.assertEqual(answer["error"], error)
        daemon.wait_rounds(2)
        self.assertEqual(mailing.state_of(daemon), "draft")
        self.assertEqual(len(sink.accepted()), 0)
        daemon.call("POST", "/agent/broadcasts/spring/schedule", ask)
        self.assertEqual(daemon.request("POST", "/agent/broadcasts/spring/schedule", ask)[0], 409)
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_delivery(daemon, sink, 5)["sent"], 5)


if __name__ == "__main__":
    harness.main()
