"""Run the real daemon and the real sink as their users would, on free ports and folders of their own.

Used by the scenario tests, by scripts/endure and by the end-to-end measures. Standard library only.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

BUILD = Path(os.environ.get("MAILSHOT_BUILD_DIR", "build/dev")).resolve()
WAIT_S = 60


class Failure(Exception):
    """A promise that did not hold, or a program that did not do as it was told."""


def free_port():
    """A TCP port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_for(what, probe, timeout_s=WAIT_S, pause_s=0.02):
    """Ask until `probe` gives something true; the bound is a failure, never a result."""
    end = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited {timeout_s} s for {what}")
        time.sleep(pause_s)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the daemon's control socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Sink:
    """The SMTP sink; its log has a line per recipient, written after the final reply."""

    def __init__(self, folder, *args):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "sink.log"
        self.args = args
        self.port = 0
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [BUILD / "smtp_sink" if (BUILD / "smtp_sink").exists() else BUILD / "tests/smtp_sink",
             "--port", str(self.port), "--log", self.log, *map(str, self.args)],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        if len(line) != 2 or line[0] != "port":
            raise Failure(f"the sink did not start: {line}")
        self.port = int(line[1])
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """End it and return its counters."""
        if self.process is None:
            return {}
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=WAIT_S)
        self.process = None
        pairs = (word.split("=", 1) for word in out.split() if "=" in word)
        return {name: int(value) for name, value in pairs if value.isdigit()}

    def recipients(self):
        """Every recipient, in the order in which their mails were accepted."""
        if not self.log.exists():
            return []
        return [line.split()[1] for line in self.log.read_text().splitlines() if line]


class Daemon:
    """One installation on the embedded store."""

    def __init__(self, folder, **options):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.port = free_port()
        self.options = {"dataDir": self.data, "listenPort": self.port,
                        "publicUrl": f"http://127.0.0.1:{self.port}", "minFreeBytes": 1048576,
                        "ehloName": "mailshot.example", **options}
        self.log = self.folder / "daemon.log"
        self.process = None

    def command(self, *args):
        flags = [f"--{name}={value}" for name, value in self.options.items()]
        return [str(BUILD / "mailshotd"), *args, *flags]

    def start(self, wait=True):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command("serve"), stderr=log, stdout=log)
        if wait:
            wait_for("the daemon to be ready", self.is_ready)
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failure(f"the daemon ended with {self.process.returncode}; see {self.log}")
        try:
            return self.request("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def kill(self):
        """kill -9, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self, timeout_s=WAIT_S):
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def request(self, method, path, body=None, timeout_s=70, headers=None):
        """Status and decoded answer, over the control socket."""
        connection = UnixConnection(self.data / "control.sock", timeout_s)
        try:
            text = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
            connection.request(method, path, body=text, headers=headers or {})
            answer = connection.getresponse()
            raw = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(raw)
        except ValueError:
            return answer.status, raw.decode("utf-8", "replace")

    def call(self, method, path, body=None, **more):
        """The answer of a call that must succeed."""
        status, answer = self.request(method, path, body, **more)
        if status >= 300:
            raise Failure(f"{method} {path}: {status} {answer}")
        return answer

    def public(self, method, path, body=None, headers=None):
        """Status, headers and bytes of a public page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def tool(self, *args, check=True):
        """Run a sub-command of mailshotd on this installation."""
        done = subprocess.run(self.command(*args), capture_output=True, text=True, timeout=600,
                              check=False)
        if check and done.returncode != 0:
            raise Failure(f"mailshotd {' '.join(map(str, args))}: {done.returncode} {done.stderr}")
        return done

    def cpu_s(self):
        """CPU seconds of the daemon so far, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self, peak=False):
        """Resident memory in MiB, now or at its peak."""
        name = "VmHWM:" if peak else "VmRSS:"
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        raise Failure("no memory figure")


TEMPLATE_HTML = """<html><body><h1>Hello {{contact.fields.name}}</h1>
<p><a href="https://example.com/news?a=1&amp;b=2">News</a></p>
<p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p></body></html>"""


def set_up(daemon, sink, contacts, sessions=8, html=TEMPLATE_HTML, rate=1000000):
    """A profile to the sink, `contacts` subscribed people and a published template."""
    daemon.call("PUT", "/agent/profiles/main", {
        "name": "Main", "kind": "smtp", "host": "127.0.0.1", "port": sink.port, "tls": "none",
        "fromName": "Mailshot", "fromEmail": "news@sender.example", "maxSessions": sessions,
        "pacePerSecond": rate})
    rows = daemon.folder / "contacts.csv"
    with rows.open("w") as out:
        out.write("externalId,email,name,status\n")
        for number in range(contacts):
            out.write(f"u{number},user{number}@r{number % 7}.example.org,Name {number},subscribed\n")
    daemon.tool("import", str(rows), "--subscribe")
    daemon.call("PUT", "/agent/templates/news", {
        "name": "News", "kind": "marketing", "fromName": "Mailshot",
        "fromEmail": "news@sender.example", "subject": "News for {{contact.fields.name}}",
        "body": {"html": html}})


def start_broadcast(daemon, slug="spring"):
    """Create, count, confirm and schedule now; returns the number confirmed."""
    daemon.call("POST", "/agent/broadcasts", {"slug": slug, "name": slug, "templateSlug": "news"})
    count = daemon.call("POST", f"/agent/broadcasts/{slug}/count", {})
    daemon.call("POST", f"/agent/broadcasts/{slug}/schedule", {
        "scheduledAt": "now", "countToken": count["countToken"],
        "confirmedCount": count["recipientCount"]})
    return count["recipientCount"]


def broadcast(daemon, slug="spring"):
    return daemon.call("GET", f"/agent/broadcasts/{slug}")


def wait_state(daemon, states, slug="spring", timeout_s=WAIT_S):
    """Wait until the broadcast is in one of the states; returns its whole answer."""

    def probe():
        answer = broadcast(daemon, slug)
        return answer if answer["broadcast"]["status"] in states else None

    return wait_for(f"{slug} to be {'/'.join(states)}", probe, timeout_s, 0.05)


def list_sends(daemon, state, slug="spring"):
    """All rows of a broadcast in a state, page by page."""
    rows, cursor = [], ""
    while True:
        query = f"?status={state}&limit=500" + (f"&cursor={cursor}" if cursor else "")
        page = daemon.call("GET", f"/agent/broadcasts/{slug}/sends{query}")
        rows += page["items"]
        cursor = page.get("nextCursor")
        if not cursor:
            return rows


def check_ledger(answer):
    """Both equations of the ledger close."""
    ledger = answer["ledger"]
    if ledger["matched"] != ledger["eligible"] + sum(ledger["excluded"].values()):
        raise Failure(f"matched does not add up: {ledger}")
    if ledger["eligible"] != sum(ledger["states"].values()):
        raise Failure(f"eligible does not add up: {ledger}")
    if not ledger["closes"]:
        raise Failure(f"the daemon says the ledger does not close: {ledger}")
    return ledger


def check_never_twice(sink, contacts, unknown=()):
    """Nobody twice; nobody missing but those listed as unknown."""
    seen = sink.recipients()
    twice = {address for address in seen if seen.count(address) > 1} if len(seen) != len(
        set(seen)) else set()
    if twice:
        raise Failure(f"mailed twice: {sorted(twice)[:5]} and {len(twice)} in all")
    everybody = {f"user{n}@r{n % 7}.example.org" for n in range(contacts)}
    missing = everybody - set(seen)
    stray = missing - {row["email"] for row in unknown}
    if stray:
        raise Failure(f"left out: {sorted(stray)[:5]} and {len(stray)} in all")
    return missing
