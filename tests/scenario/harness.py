"""Run the real daemon and the real sink as their users would, on free ports and folders of their own.

Used by the scenario tests, by scripts/endure and by the end-to-end measures. Standard library only.
Whatever waits, waits for a condition and has a deadline; nothing sleeps for luck.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("MAILSHOT_BUILD_DIR", "build/dev")).resolve()
WAIT_S = 60


class Failure(AssertionError):
    """A promise that did not hold, or a program that did not do as it was told."""


def wait_for(what, probe, timeout_s=WAIT_S, pause_s=0.02):
    """Ask until `probe` gives something true, and return that."""
    end = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited {timeout_s} s for {what}")
        time.sleep(pause_s)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the control socket of a data folder."""

    def __init__(self, folder, timeout):
        super().__init__("localhost", timeout=timeout)
        self.folder = folder

    def connect(self):
        # Through /proc, because the address of a socket is shorter than a path may be.
        fd = os.open(self.folder, os.O_PATH)
        try:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{fd}/control.sock")
        finally:
            os.close(fd)


class Sink:
    """The SMTP sink. Its log has a line per recipient, written after the final reply had gone."""

    def __init__(self, folder, *args, script=None, store=False):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "sink.log"
        self.store = self.folder / "mails"
        self.script = self.folder / "script"
        self.args = [*map(str, args), "--log", str(self.log), "--script", str(self.script)]
        if store:
            self.args += ["--store", str(self.store)]
        self.script.write_text(script or "")
        self.port = 0
        self.process = None
        self.log_read = 0
        self.lines = []

    def start(self):
        program = next(path for path in (BUILD / "tests/smtp_sink", BUILD / "smtp_sink")
                       if path.exists())
        self.process = subprocess.Popen([program, "--port", str(self.port), *self.args],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        if len(line) != 2 or line[0] != "port":
            raise Failure(f"the sink did not start: {line}")
        self.port = int(line[1])
        return self

    def die(self):
        """Close everything and refuse connections, until revive()."""
        self.process.send_signal(signal.SIGUSR1)

    def revive(self):
        self.process.send_signal(signal.SIGUSR2)

    def rewrite(self, script):
        """Another script from now on."""
        self.script.write_text(script)
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        """End it and return its counters."""
        if self.process is None:
            return {}
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=WAIT_S)
        self.process = None
        pairs = (word.split("=", 1) for word in out.split() if "=" in word)
        return {name: int(value) for name, value in pairs}

    def accepted(self):
        """(time in ms, recipient) of every mail taken, in the order in which they were."""
        if self.log.exists():
            with self.log.open("rb") as log:
                log.seek(self.log_read)
                fresh = log.read()
            fresh = fresh[:fresh.rfind(b"\n") + 1]
            self.log_read += len(fresh)
            for line in fresh.decode().splitlines():
                at_ms, recipient, _ = line.split()
                self.lines.append((int(at_ms), recipient))
        return self.lines

    def recipients(self):
        return [recipient for _, recipient in self.accepted()]

    def wait_count(self, n, timeout_s=WAIT_S):
        wait_for(f"{n} mails at the sink", lambda: len(self.accepted()) >= n, timeout_s, 0.005)

    def mails(self):
        """Bytes of every mail kept, by recipient; a recipient with two of them is a failure."""
        found = {}
        for path in sorted(self.store.glob("*.env")):
            recipients = path.read_text().splitlines()[2:]
            for recipient in recipients:
                if recipient in found:
                    raise Failure(f"two mails to {recipient}")
                found[recipient] = path.with_suffix(".eml").read_bytes()
        return found

    def client_names(self):
        """The names with which clients introduced themselves, of the mails kept."""
        return {path.read_text().splitlines()[0].removeprefix("ehlo ")
                for path in self.store.glob("*.env")}


class Daemon:
    """One installation on the embedded store and, between start() and its end, its process."""

    def __init__(self, folder, **options):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.options = {"dataDir": self.data, "listenPort": 0, "publicUrl": "http://m.example.com",
                        "minFreeBytes": 1048576, "ehloName": "mailshot.example",
                        "tickIntervalSeconds": 1, **options}
        self.log = self.folder / "daemon.log"
        self.process = None

    def command(self, *words):
        flags = [f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
                 for name, value in self.options.items()]
        return [str(BUILD / "mailshotd"), *map(str, words), *flags]

    @staticmethod
    def environment():
        """Ours without the test's own names, which the daemon would take for options."""
        return {name: value for name, value in os.environ.items()
                if not name.startswith("MAILSHOT_")}

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command("serve"), stderr=log, stdout=log,
                                            env=self.environment())
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

    def stop(self):
        """SIGTERM; a status other than 0 is a failure, also when it stands for lost memory."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(WAIT_S)
        if status != 0:
            raise Failure(f"SIGTERM ended it with {status}; see {self.log}")

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def request(self, method, path, body=None, timeout_s=70, headers=None):
        """Status and decoded answer, over the control socket."""
        connection = UnixConnection(self.data, timeout_s)
        try:
            text = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
            kind = {} if body is None or isinstance(body, bytes) else {
                "Content-Type": "application/json"}
            connection.request(method, path, body=text, headers={**kind, **(headers or {})})
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
        """Status, headers and bytes of a page for recipients, over TCP."""
        host, _, port = (self.data / "listen").read_text().strip().rpartition(":")
        connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def tool(self, *words, check=True):
        """Run a sub-command of mailshotd on this installation."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=600,
                              check=False, env=self.environment())
        if check and done.returncode != 0:
            raise Failure(f"mailshotd {' '.join(map(str, words))}: {done.returncode} "
                          f"{done.stdout} {done.stderr}")
        return done

    def step_clock(self, seconds):
        """Move all its clocks forward; test builds with allowTestClock only."""
        self.call("POST", "/test/clock", {"stepMs": int(seconds * 1000)})

    def wait_rounds(self, n):
        """Wait until n further rounds of periodic work have ended: it had its chance."""

        def rounds():
            text = self.call("GET", "/metrics")
            return int(next(line.split()[1] for line in text.splitlines()
                            if line.startswith("mailshot_tick_rounds_total ")))

        goal = rounds() + n
        wait_for("rounds of periodic work", lambda: rounds() >= goal)

    def check_log(self):
        """No sanitizer had anything to say."""
        for line in self.log.read_text(errors="replace").splitlines():
            if "Sanitizer" in line or "runtime error:" in line:
                raise Failure(f"{self.log}: {line}")

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


class Scenario(unittest.TestCase):
    """A test with a folder of its own; what it starts ends with it, and was clean."""

    def setUp(self):
        base = Path(os.environ.get("MAILSHOT_TEST_DIR", "build/scenario-scratch"))
        self.folder = base.resolve() / self.id().split(".")[-1]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    @contextlib.contextmanager
    def trial(self, **name):
        """One of several trials of a test, each with a fresh folder, named when it fails."""
        with self.subTest(**name):
            self.setUp()
            try:
                yield
            finally:
                self.doCleanups()

    def sink(self, *args, **more):
        sink = Sink(self.folder / "sink", *args, **more).start()
        self.addCleanup(sink.stop)
        return sink

    def daemon(self, name="one", **options):
        daemon = Daemon(self.folder / name, **options)
        self.addCleanup(self.end, daemon)
        return daemon.start()

    @staticmethod
    def end(daemon):
        try:
            if daemon.is_running():
                daemon.stop()
        finally:
            if daemon.is_running():
                daemon.kill()
        daemon.check_log()


def main():
    """Entry of a test file; arguments are those of unittest (names of tests, -f, -k)."""
    unittest.main(module="__main__", argv=sys.argv, verbosity=2)
