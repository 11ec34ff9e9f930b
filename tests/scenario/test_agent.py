"""An agent with a token, over HTTP: the reference path, what it may do, and what is refused."""

import json
from concurrent.futures import ThreadPoolExecutor

import harness
import mailing
from harness import Scenario, wait_for


class Agent:
    """A caller with a bearer token."""

    def __init__(self, daemon, scopes, label="agent:test"):
        self.daemon = daemon
        answer = daemon.call("POST", "/admin/tokens", {"actor": label, "scopes": scopes})
        self.id, self.token = answer["id"], answer["token"]

    def request(self, method, path, body=None, key=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        status, _, raw = self.daemon.public(
            method, path, None if body is None else json.dumps(body), headers)
        return status, json.loads(raw)

    def call(self, method, path, body=None, key=None):
        status, answer = self.request(method, path, body, key)
        if status >= 300:
            raise harness.Failure(f"{method} {path}: {status} {answer}")
        return answer


class Agents(Scenario):

    def world(self, contacts=30, **options):
        sink = self.sink()
        daemon = self.daemon(agentTestContacts="test[0-9]*@example[.]org", **options)
        mailing.set_up(daemon, sink, contacts)
        for number in (1, 2):
            daemon.call("POST", "/v1/contacts", {
                "externalId": f"t{number}", "email": f"Test{number}@Example.org"})
        return sink, daemon

    def refused(self, answer, status, error):
        self.assertEqual((answer[0], answer[1].get("error")), (status, error), answer)

    def test_from_the_first_call_to_the_ledger(self):
        """With nothing but the base address and a token, everything is found and done."""
        sink, daemon = self.world()
        agent = Agent(daemon, ["read", "test", "templates", "broadcasts"])
        paths = {(e["method"], e["path"].split("?")[0]) for e in
                 agent.call("GET", "/agent")["endpoints"]}
        self.assertIn(("POST", "/agent/broadcasts/:slug/schedule"), paths)
        agent.call("PUT", "/agent/templates/offer", {
            "name": "Offer", "kind": "marketing", "fromName": "M", "fromEmail": "m@sender.example",
            "subject": "For {{contact.fields.name}}", "body": {"html": mailing.TEMPLATE_HTML}})
        agent.call("POST", "/agent/broadcasts", {
            "slug": "offer", "name": "Offer", "templateSlug": "offer"})
        sent = agent.call("POST", "/agent/broadcasts/offer/test-send", {"contactIds": ["t1", "t2"]})
        for item in sent["sends"]:
            waited = agent.call("GET", f"/agent/sends/{item['sendId']}/wait?status=settled")
            self.assertEqual(waited["send"]["status"], "sent", waited)
        counted = agent.call("POST", "/agent/broadcasts/offer/count", {})
        self.assertEqual(counted["recipientCount"], 30)
        body = {"scheduledAt": "now", "countToken": counted["countToken"], "confirmedCount": 30}
        first = agent.call("POST", "/agent/broadcasts/offer/schedule", body, key="k1")
        again = agent.call("POST", "/agent/broadcasts/offer/schedule", body, key="k1")
        self.assertEqual(first, again)
        self.refused(agent.request("POST", "/agent/broadcasts/offer/schedule",
                                   {**body, "confirmedCount": 29}, key="k1"),
                     422, "idempotency_mismatch")
        self.assertTrue(agent.call("GET", "/agent/broadcasts/offer/wait?status=sent")["reached"])
        self.assertEqual(mailing.check_books(daemon, "offer")["sent"], 30)
        self.assertEqual(sink.recipients().count("user3@r3.example.org"), 1)
        actions = {(e["actor"], e["action"]) for e in
                   daemon.call("GET", "/agent/audit?limit=100")["items"]}
        for action in ("template.publish", "broadcast.create", "broadcast.schedule",
                       "agent.broadcast.test-send"):
            self.assertIn(("agent:test", action), actions)

    def test_count_that_nobody_waits_for(self):
        """202 with the id of the count; asking for it gives the same token in the end."""
        _, daemon = self.world(contacts=200)
        agent = Agent(daemon, ["read", "broadcasts"])
        agent.call("POST", "/agent/broadcasts", {"slug": "b", "name": "b", "templateSlug": "news"})
        status, first = agent.request("POST", "/agent/broadcasts/b/count", {"waitMs": 0})
        self.assertEqual(status, 200 if first["done"] else 202)

        def look():
            answer = agent.call("GET", f"/agent/broadcasts/b/counts/{first['countId']}")
            return answer if answer["done"] else None

        counted = wait_for("the count", look)
        self.assertEqual((counted["countToken"], counted["recipientCount"]),
                         (first["countId"], 200))

    def test_scopes(self):
        _, daemon = self.world(contacts=1)
        reader = Agent(daemon, ["read"])
        reader.call("GET", "/agent/broadcasts")
        reader.call("GET", "/agent/contacts/t1")
        for method, path, body in (
                ("POST", "/agent/broadcasts", {"slug": "a", "name": "a", "templateSlug": "news"}),
                ("PUT", "/agent/templates/x", {}),
                ("POST", "/agent/contacts", {"email": "x@example.org"}),
                ("POST", "/v1/contacts/t1/unsubscribe", {}),
                ("POST", "/agent/contacts/t1/unsubscribe", {}),
                ("GET", "/agent/profiles", None),
                ("GET", "/admin/tokens", None),
                ("POST", "/admin/db/query", {"collection": "tokens"}),
                ("POST", "/agent/tick", {})):
            self.refused(reader.request(method, path, body), 403, "insufficient_scope")
        sender = Agent(daemon, ["broadcasts"])
        self.refused(sender.request("GET", "/agent/broadcasts"), 403, "insufficient_scope")

    def test_guard(self):
        """What an agent may mail and change by itself are test contacts."""
        _, daemon = self.world()
        agent = Agent(daemon, ["read", "test"])
        agent.call("POST", "/agent/contacts/t1/subscribe", {})
        agent.call("POST", "/agent/templates/news/send", {"contactId": "t1"})
        for path, body in (("/agent/contacts/u1/unsubscribe", {}),
                           ("/agent/contacts/u1/tags", {"add": ["x"]}),
                           ("/agent/contacts/u1/reset", {}),
                           ("/agent/templates/news/send", {"contactId": "u1"})):
            answer = agent.request("POST", path, body)
            self.refused(answer, 403, "not_a_test_contact")
            self.assertEqual(answer[1]["externalId"], "u1")
        daemon.call("POST", "/agent/broadcasts",
                    {"slug": "b", "name": "b", "templateSlug": "news"})
        # all are looked at before the first is mailed
        self.refused(agent.request("POST", "/agent/broadcasts/b/test-send",
                                   {"contactIds": ["t2", "u1"]}), 403, "not_a_test_contact")
        self.assertEqual(agent.call("GET", "/agent/contacts/t2/sends")["items"], [])
        self.refused(agent.request("GET", "/agent/contacts/u1/unsubscribe-url"), 403,
                     "not_a_test_contact")
        self.refused(agent.request("POST", "/agent/contacts/none/reset", {}), 404,
                     "contact_not_found")

    def test_guard_is_closed_without_configuration(self):
        sink = self.sink()
        daemon = self.daemon()
        mailing.set_up(daemon, sink, 1)
        agent = Agent(daemon, ["test"])
        self.refused(agent.request("POST", "/agent/contacts/u0/subscribe", {}), 403,
                     "test_contacts_not_configured")
        daemon.call("POST", "/agent/contacts/u0/subscribe", {})

    def test_tokens_end(self):
        _, daemon = self.world(contacts=1)
        agent = Agent(daemon, ["read"])
        agent.call("GET", "/agent/status")
        daemon.call("DELETE", f"/admin/tokens/{agent.id}")
        wait_for("the token to be dead", lambda: agent.request("GET", "/agent/status")[0] == 401,
                 timeout_s=6)
        agent.token = "mst_" + "x" * 43
        self.refused(agent.request("GET", "/agent/status"), 401, "unauthorized")

    def test_wait_ends_with_its_state(self):
        """A wait is answered when the state comes, not when its time is over."""
        _, daemon = self.world(contacts=1)
        agent = Agent(daemon, ["read"])
        daemon.call("POST", "/agent/broadcasts",
                    {"slug": "b", "name": "b", "templateSlug": "news"})
        answer = agent.call("GET", "/agent/broadcasts/b/wait?status=sent&timeoutMs=300")
        self.assertFalse(answer["reached"])
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(
                agent.call, "GET", "/agent/broadcasts/b/wait?status=cancelled&timeoutMs=25000")
            wait_for("the call to be on its way", waiting.running)
            daemon.call("POST", "/agent/broadcasts/b/cancel", {})
            answer = waiting.result()
        self.assertTrue(answer["reached"])
        self.assertLess(answer["waitedMs"], 20000)


if __name__ == "__main__":
    harness.main()
