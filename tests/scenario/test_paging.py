"""Lists that are read while they change."""

import harness
import mailing
from harness import Scenario


class Paging(Scenario):

    def test_contacts_while_they_change(self):
        """Whoever was there from the first page to the last is met once."""
        daemon = self.daemon()
        mailing.import_rows(daemon, ["externalId,email,name"] + [
            f"c{n},c{n}@example.org,C{n}" for n in range(1, 7)])
        seen, cursor = [], ""
        while True:
            page = daemon.call("GET", f"/agent/contacts?limit=2{cursor}")
            self.assertLessEqual(len(page["items"]), 2)
            seen += [item["externalId"] for item in page["items"]]
            if len(seen) == 2:
                daemon.call("PATCH", "/agent/contacts/c2", {"fields": {"name": "changed"}})
                mailing.import_rows(daemon, ["externalId,email,name", "c7,c7@example.org,C7"])
            if not page["nextCursor"]:
                break
            cursor = f"&cursor={page['nextCursor']}"
        self.assertEqual([name for name in seen if name != "c7"], [f"c{n}" for n in range(1, 7)])
        self.assertLessEqual(seen.count("c7"), 1)

    def test_sends_while_they_go(self):
        contacts = 300
        sink = self.sink("--delay-ms", 10)
        daemon = self.daemon()
        mailing.set_up(daemon, sink, contacts)
        mailing.start_broadcast(daemon)
        sink.wait_count(20)
        seen, cursor = [], ""
        while True:
            page = daemon.call("GET", f"/agent/broadcasts/spring/sends?limit=7{cursor}")
            seen += [item["id"] for item in page["items"]]
            if not page["nextCursor"]:
                break
            cursor = f"&cursor={page['nextCursor']}"
        self.assertEqual(len(seen), len(set(seen)), "a row was listed twice")
        mailing.wait_state(daemon, "sent")
        self.assertEqual(mailing.check_delivery(daemon, sink, contacts)["sent"], contacts)

    def test_limits_are_said_not_cut(self):
        daemon = self.daemon()
        for path in ("/agent/contacts", "/agent/broadcasts", "/agent/templates"):
            for limit in ("all", "100000", "0", "-1"):
                status, answer = daemon.request("GET", f"{path}?limit={limit}")
                self.assertEqual(mailing.faulty_fields(status, answer), ["limit"])
                self.assertIn("500", answer["message"])
            self.assertEqual(daemon.request("GET", f"{path}?cursor=nonsense")[0],
                             200 if path == "/agent/templates" else 400)


if __name__ == "__main__":
    harness.main()
