"""What scenarios do with a daemon: set up a mailing, let it go, read the ledger, count who got it."""

import time
from datetime import datetime

from harness import WAIT_S, Failure, wait_for

TEMPLATE_HTML = """<html><body><h1>Hello {{contact.fields.name}}</h1>
<p><a href="https://example.com/news?a=1&amp;b=2">News</a></p>
<p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p></body></html>"""

BROKEN = ("bounced", "failed", "unknown", "suppressed", "cancelled")


def address(number):
    """The address of the contact of this number; seven domains take turns."""
    return f"user{number}@r{number % 7}.example.org"


def put_profile(daemon, sink, sessions=8, pace=1000000, slug="main", **more):
    daemon.call("PUT", f"/agent/profiles/{slug}", {
        "name": slug.title(), "kind": "smtp", "host": "127.0.0.1", "port": sink.port,
        "tls": "none", "fromName": "Mailshot", "fromEmail": "news@sender.example",
        "maxSessions": sessions, "pacePerSecond": pace, **more})


def put_template(daemon, slug="news", html=TEMPLATE_HTML, kind="marketing",
                 subject="News for {{contact.fields.name}}", **body):
    daemon.call("PUT", f"/agent/templates/{slug}", {
        "name": slug.title(), "kind": kind, "fromName": "Mailshot",
        "fromEmail": "news@sender.example", "subject": subject, "body": {"html": html, **body}})


def put_contacts(daemon, n):
    """n subscribed people, through the import."""
    rows = ["externalId,email,name"]
    rows += [f"u{number},{address(number)},Name {number}" for number in range(n)]
    answer = import_rows(daemon, rows)
    if answer["added"] != n:
        raise Failure(f"{n} rows were imported as {answer}")


def import_rows(daemon, rows, query="subscribe=true"):
    return daemon.call("POST", f"/v1/contacts/import?{query}", "\n".join(rows).encode() + b"\n")


def set_up(daemon, sink, contacts, sessions=8, pace=1000000, html=TEMPLATE_HTML, **profile):
    """A profile to the sink, `contacts` subscribed people and a published template."""
    put_profile(daemon, sink, sessions, pace, **profile)
    put_contacts(daemon, contacts)
    put_template(daemon, html=html)


def count(daemon, slug, purpose="schedule"):
    return wait_for("the count", lambda: _counted(daemon, slug, purpose))


def _counted(daemon, slug, purpose):
    answer = daemon.call("POST", f"/agent/broadcasts/{slug}/count", {"purpose": purpose})
    return answer if answer["done"] else None


def start_broadcast(daemon, slug="spring", template="news"):
    """Create, count, confirm and schedule now; returns what the count said."""
    daemon.call("POST", "/agent/broadcasts",
                {"slug": slug, "name": slug, "templateSlug": template})
    counted = count(daemon, slug)
    daemon.call("POST", f"/agent/broadcasts/{slug}/schedule", {
        "scheduledAt": "now", "countToken": counted["countToken"],
        "confirmedCount": counted["recipientCount"]})
    return counted


def pause(daemon, slug="spring"):
    return daemon.call("POST", f"/agent/broadcasts/{slug}/pause", {})


def resume(daemon, slug="spring"):
    """Count and confirm; again when mails in flight settled in between and changed the number."""

    def attempt():
        counted = count(daemon, slug, "resume")
        status, answer = daemon.request("POST", f"/agent/broadcasts/{slug}/resume", {
            "countToken": counted["countToken"], "confirmedCount": counted["confirmCount"]})
        if status == 409 and answer["error"] == "count_mismatch":
            return None
        if status != 200:
            raise Failure(f"resume: {status} {answer}")
        return answer

    return wait_for("a count that holds", attempt)


def broadcast(daemon, slug="spring", query=""):
    return daemon.call("GET", f"/agent/broadcasts/{slug}{query}")


def state_of(daemon, slug="spring"):
    return broadcast(daemon, slug)["broadcast"]["status"]


def wait_state(daemon, state, slug="spring", timeout_s=WAIT_S):
    """Wait until the broadcast is in this state; returns its whole answer."""

    def probe():
        answer = broadcast(daemon, slug)
        return answer if answer["broadcast"]["status"] == state else None

    return wait_for(f"{slug} to be {state}", probe, timeout_s, 0.05)


def finish(daemon, slug="spring", step_s=30, timeout_s=WAIT_S):
    """Wait until it is sent; when nothing happens for a while, let the daemon's time go faster.

    Steps are shorter than any timeout of a session, so that only waiting rows feel them.
    """
    end = time.monotonic() + timeout_s
    done, moved_at = -1, time.monotonic()
    while True:
        answer = broadcast(daemon, slug)
        if answer["broadcast"]["status"] == "sent":
            return answer
        if answer["broadcast"]["status"] not in ("scheduled", "sending"):
            raise Failure(f"{slug} stands: {answer['broadcast']}")
        if answer["progress"]["done"] != done:
            done, moved_at = answer["progress"]["done"], time.monotonic()
        elif time.monotonic() - moved_at > 0.3:
            daemon.step_clock(step_s)
            moved_at = time.monotonic()
        if time.monotonic() > end:
            raise Failure(f"{slug} is not sent after {timeout_s} s: {answer}")
        time.sleep(0.02)


def list_sends(daemon, state, slug="spring"):
    """All rows of a broadcast in a state, page by page."""
    return _walk(daemon, f"/agent/broadcasts/{slug}/sends?status={state}")


def list_exclusions(daemon, reason, slug="spring"):
    return _walk(daemon, f"/agent/broadcasts/{slug}/exclusions?reason={reason}")


def faulty_fields(status, answer):
    """Names of the fields for which a call was refused."""
    if (status, answer.get("error")) != (400, "validation_failed"):
        raise Failure(f"not refused for a field: {status} {answer}")
    if "field" in answer:
        return [answer["field"]]
    return [issue["path"] for issue in answer["issues"]]


def seconds_between(earlier, later):
    """Of two times as the API writes them."""
    at = [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (earlier, later)]
    return (at[1] - at[0]).total_seconds()


def _walk(daemon, path, limit=500):
    items, cursor = [], ""
    while True:
        page = daemon.call("GET", f"{path}&limit={limit}{cursor}")
        items += page["items"]
        if not page["nextCursor"]:
            return items
        cursor = f"&cursor={page['nextCursor']}"


def check_books(daemon, slug="spring"):
    """Both equations close, a recount of the rows agrees, and each number opens a list of its length.

    Returns the ledger's states.
    """
    ledger = broadcast(daemon, slug, "?recount=true")["ledger"]
    if ledger["matched"] != ledger["eligible"] + sum(ledger["excluded"].values()):
        raise Failure(f"matched does not add up: {ledger}")
    if ledger["eligible"] != sum(ledger["states"].values()):
        raise Failure(f"eligible does not add up: {ledger}")
    if not ledger["closes"] or not ledger["recounted"]["agrees"]:
        raise Failure(f"the daemon says the ledger does not close: {ledger}")
    for state in BROKEN:
        if len(list_sends(daemon, state, slug)) != ledger["states"][state]:
            raise Failure(f"the list of {state} is not as long as the ledger says: {ledger}")
    for reason, n in ledger["excluded"].items():
        if n > 0 and len(list_exclusions(daemon, reason, slug)) != n:
            raise Failure(f"the list of {reason} is not as long as the ledger says: {ledger}")
    daemon.tool("db", "check")
    return ledger["states"]


def excluded(daemon, slug="spring"):
    """Addresses of everybody who got no row, for whatever reason."""
    reasons = broadcast(daemon, slug)["ledger"]["excluded"]
    return {item["email"] for reason, n in reasons.items() if n > 0
            for item in list_exclusions(daemon, reason, slug)}


def check_delivery(daemon, sink, contacts, slug="spring"):
    """Nobody twice, nobody missing but those listed as in doubt, refused or excluded; books and sink
    agree.

    Returns the ledger's states.
    """
    states = check_books(daemon, slug)
    seen = sink.recipients()
    once = set(seen)
    if len(seen) != len(once):
        twice = sorted(address for address in once if seen.count(address) > 1)
        raise Failure(f"mailed twice: {twice[:5]} and {len(twice)} in all")
    listed = {state: {row["email"] for row in list_sends(daemon, state, slug)} for state in BROKEN}
    excused = set().union(*listed.values(), excluded(daemon, slug))
    missing = {address(number) for number in range(contacts)} - once
    if missing - excused:
        raise Failure(f"left out: {sorted(missing - excused)[:5]}, {len(missing - excused)} in all")
    if len(once - listed["unknown"]) != states["sent"]:
        raise Failure(f"{len(seen)} at the sink, but the ledger says {states}")
    return states
