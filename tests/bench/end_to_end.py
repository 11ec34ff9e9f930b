#!/usr/bin/env python3
"""Measures of the whole daemon, as a user would see them. Run by scripts/bench.

usage: end_to_end.py FOLDER [NAME ...]
Prints one line per measure: name value unit target ok|short; indented lines are context.
"""

import http.client
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scenario"))
import harness  # noqa: E402
import mailing  # noqa: E402

FOLDER = Path(sys.argv[1])
SESSIONS = 50
CONTACTS = int(os.environ.get("BENCH_CONTACTS", "100000"))
MILLION = int(os.environ.get("BENCH_MILLION", "1000000"))


def mail_html():
    """HTML of a mail of 20 KB: five tracked links, an unsubscribe link, a name and an address."""
    links = "".join(f'<p><a href="https://example.com/story/{n}?from=news&amp;n={n}">Story {n}</a></p>'
                    for n in range(5))
    head = "<html><body><h1>Hello {{contact.fields.name}}</h1>" + links
    tail = ('<p>Sent to {{contact.email}}. <a href="{{unsubscribeUrl}}">Unsubscribe</a></p>'
            "</body></html>")
    line = "<p>The weather stays mild, the bakery opens early, and the ferry leaves at nine.</p>\n"
    return head + line * ((18000 - len(head) - len(tail)) // len(line)) + tail


MAIL_TEXT = """Hello {{contact.fields.name}},

five stories are waiting for you at https://example.com/news.

Unsubscribe: {{unsubscribeUrl}}
"""


def report(name, value, unit, target, more_is_better=True):
    """One measure."""
    good = value >= target if more_is_better else value <= target
    print(f"{name} {value:.2f} {unit} {target:g} {'ok' if good else 'short'}", flush=True)


def context(text):
    """A line beside a measure."""
    print(f"    {text}", flush=True)


def metrics(daemon):
    """Name with labels -> value."""
    _, text = daemon.request("GET", "/metrics")
    return {name: float(value) for name, value in
            re.findall(r"^([a-z_]+(?:\{[^}]*\})?) ([0-9.e+-]+)$", text, re.M)}


def thread_cpu(daemon):
    """CPU seconds by thread name."""
    total = {}
    for task in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        total[name] = total.get(name, 0) + spent
    return total


class World:
    """A daemon, a sink, contacts and a template."""

    def __init__(self, name, contacts, *sink_args):
        self.folder = FOLDER / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.contacts = contacts
        self.sink = harness.Sink(self.folder / "sink", *sink_args).start()
        self.daemon = harness.Daemon(self.folder / "one")
        self.daemon.options["tickIntervalSeconds"] = 60
        self.daemon.start()
        mailing.put_profile(self.daemon, self.sink, SESSIONS)
        mailing.put_template(self.daemon, html=mail_html(), plainText=MAIL_TEXT)
        self.import_contacts()

    def import_contacts(self):
        """Through the tool, as an operator would."""
        rows = self.folder / "contacts.csv"
        with rows.open("w") as out:
            out.write("externalId,email,name\n")
            for number in range(self.contacts):
                out.write(f"u{number},{mailing.address(number)},Name {number}\n")
        self.daemon.tool("import", rows, "--subscribe")
        rows.unlink()

    def restart(self):
        """So that peaks and longest waits are the broadcast's own, not the import's."""
        self.daemon.stop()
        self.daemon.start()

    def run(self, slug="spring", timeout_s=3600):
        """One broadcast; wall and CPU seconds from its confirmation to its close."""
        wall, cpu = time.monotonic(), self.daemon.cpu_s()
        mailing.start_broadcast(self.daemon, slug)
        mailing.wait_state(self.daemon, "sent", slug, timeout_s)
        return time.monotonic() - wall, self.daemon.cpu_s() - cpu

    def close(self):
        """Stop both; returns the sink's counters."""
        self.daemon.stop()
        counters = self.sink.stop()
        shutil.rmtree(self.folder)
        return counters


def smtp_source_limit(world):
    """Postfix's generator pushing bare bytes into the same sink: the limit of the machine."""
    program = shutil.which("smtp-source") or "/usr/sbin/smtp-source"
    if not Path(program).exists():
        context("smtp-source is not installed: no limit printed")
        return
    number = 50000
    before = os.times()
    subprocess.run([program, "-d", "-s", str(SESSIONS), "-m", str(number), "-l", "20000",
                    f"127.0.0.1:{world.sink.port}"], check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user \
        - before.children_system
    context(f"smtp-source, bare bytes, same sink: {number / cpu:.0f} mails per CPU-second")


def broadcast_sink_rate():
    world = World("rate", CONTACTS)
    world.restart()
    threads = thread_cpu(world.daemon)
    before = metrics(world.daemon)
    wall, cpu = world.run()
    after = metrics(world.daemon)
    spent = {name: value - threads.get(name, 0) for name, value in
             thread_cpu(world.daemon).items()}
    report("broadcast_sink_rate", CONTACTS / cpu, "mails/cpu-s", 5000)
    context(f"wall {CONTACTS / wall:.0f} mails/s, peak memory "
            f"{world.daemon.rss_mib(peak=True):.1f} MiB")
    for name, value in sorted(spent.items(), key=lambda item: -item[1]):
        if value >= 0.05:
            context(f"thread {name}: {value * 1e6 / CONTACTS:.1f} us/mail")
    for stage in ("read", "render", "mime", "sign"):
        key = f'mailshot_prepare_microseconds_total{{stage="{stage}"}}'
        context(f"prepare, {stage}: {(after.get(key, 0) - before.get(key, 0)) / CONTACTS:.1f} us/mail")
    steps = after["mailshot_step_seconds_count"]
    context(f"durable step: {after['mailshot_step_seconds_sum'] * 1000 / steps:.2f} ms, "
            f"{CONTACTS / steps:.1f} mails each")
    writer = sum(value for name, value in spent.items() if name.startswith("store"))
    report("store_cost", writer * 1e6 / CONTACTS, "us/mail", 60, more_is_better=False)
    report("writer_stall", after.get("mailshot_store_longest_stall_microseconds", 0) / 1000, "ms",
           50, more_is_better=False)
    smtp_source_limit(world)
    counters = world.close()
    context(f"mail: {counters.get('bytes', 0) / max(counters.get('mails', 1), 1):.0f} bytes")
    context(f"sink: {counters.get('cpu_us', 0) / max(counters.get('mails', 1), 1):.1f} us/mail")


def broadcast_sink_20ms():
    world = World("delay", CONTACTS // 5, "--rt-delay-ms", 20)
    number = CONTACTS // 5
    wall, _ = world.run()
    ceiling = SESSIONS / (2 * 0.020)
    report("broadcast_sink_20ms", 100 * number / wall / ceiling, "%_of_ceiling", 90)
    context(f"{number / wall:.0f} mails/s of {ceiling:.0f} (two round trips a mail)")
    world.close()


def memory():
    peaks = {}
    for name, contacts in (("rss_100k", min(100000, MILLION)), ("rss_1m", MILLION)):
        world = World(name, contacts)
        world.restart()
        world.run()
        peaks[name] = world.daemon.rss_mib(peak=True)
        report(name, peaks[name], "MiB", 48, more_is_better=False)
        world.close()
    report("rss_ratio", peaks["rss_1m"] / peaks["rss_100k"], "x", 1.2, more_is_better=False)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def optout_load(daemon, tokens, per_second, seconds):
    """One-click posts at a steady rate from a few connections; milliseconds of each."""
    took, lock, start = [], threading.Lock(), time.monotonic()
    workers = 8

    def work(index):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
        number = index
        while number < per_second * seconds:
            pause = start + number / per_second - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            began = time.monotonic()
            connection.request("POST", f"/m/unsub/{tokens[number % len(tokens)]}",
                               "List-Unsubscribe=One-Click",
                               {"Content-Type": "application/x-www-form-urlencoded"})
            answer = connection.getresponse()
            answer.read()
            with lock:
                took.append((time.monotonic() - began) * 1000)
            if answer.status != 200:
                raise harness.Failure(f"an opt-out was answered {answer.status}")
            number += workers
        connection.close()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def optout_p99():
    world = World("optout", CONTACTS)
    tokens = []
    for number in range(0, CONTACTS, max(1, CONTACTS // 2000)):
        answer = world.daemon.call("GET", f"/agent/contacts/u{number}/unsubscribe-url")
        tokens.append(answer["unsubscribeUrl"].rsplit("/", 1)[1])
    mailing.start_broadcast(world.daemon)
    world.sink.wait_count(500)
    took = optout_load(world.daemon, tokens, 500, 8)
    state = mailing.broadcast(world.daemon)["broadcast"]["status"]
    report("optout_p99", percentile(took, 0.99), "ms", 25, more_is_better=False)
    context(f"median {statistics.median(took):.1f} ms, max {max(took):.1f} ms, at 500/s, "
            f"the broadcast was then {state}")
    world.close()


def start_1m():
    world = World("start", MILLION)
    daemon = world.daemon
    world.sink.stop()  # nobody takes mail: the rows stay queued
    mailing.start_broadcast(daemon)
    harness.wait_for("planning", lambda: mailing.broadcast(daemon)["ledger"]["eligible"] >= MILLION,
                     timeout_s=1800, pause_s=1)
    daemon.kill()
    began = time.monotonic()
    daemon.start()
    report("start_1m", time.monotonic() - began, "s", 2, more_is_better=False)
    began = time.monotonic()
    daemon.call("POST", "/agent/broadcasts/spring/pause", {})
    large = time.monotonic() - began
    context(f"pause of {MILLION} rows: {large * 1000:.1f} ms")
    daemon.stop()
    shutil.rmtree(world.folder)


MEASURES = {
    "broadcast_sink_rate": broadcast_sink_rate,
    "broadcast_sink_20ms": broadcast_sink_20ms,
    "optout_p99": optout_p99,
    "memory": memory,
    "start_1m": start_1m,
}


def main():
    names = sys.argv[2:] or list(MEASURES)
    for name in names:
        MEASURES[name]()


if __name__ == "__main__":
    main()
