"""Life of the process: start, refusals, signals, tools with and without a daemon, copies."""
import fcntl
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import unittest
from pathlib import Path

import harness
from harness import wait_for

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_LOCKED, EXIT_KEYS, EXIT_NEWER, EXIT_UNHEALTHY = range(7)


def tree(folder):
    """Every file of a folder with its bytes, but for lock and what SQLite keeps beside a database."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if name != "lock" and not name.endswith(("-shm", "-wal")):
                with open(path, "rb") as f:
                    found[os.path.relpath(path, folder)] = f.read()
    return found


def scratch(name):
    """An empty folder for one test."""
    path = Path(os.environ.get("MAILSHOT_TEST_DIR", "/tmp")) / name
    shutil.rmtree(path, ignore_errors=True)
    return path


class Daemon(harness.Daemon):
    """A daemon whose log of the present run can be read, and which may be expected to fail."""

    def __init__(self, folder, **options):
        super().__init__(folder)
        self.options = {"dataDir": self.data, "listenPort": 0, "minFreeBytes": 0,
                        **options}

    def start(self, wait=True, extra=(), env=None):
        self.log_from = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command("serve") + list(extra), stderr=log, stdout=log,
                                            env={**self.environment(), **(env or {})})
        if wait:
            wait_for("the daemon to be ready", self.is_ready)
        return self

    def log_text(self):
        """What this run has logged so far."""
        with self.log.open("rb") as f:
            f.seek(self.log_from)
            return f.read().decode("utf-8", "replace")

    def wait_log(self, text):
        wait_for("the log to say " + text, lambda: text in self.log_text())

    def wait_exit(self):
        return self.process.wait(harness.WAIT_S)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def run(self, *words, extra=(), input_text=None, env=None):
        """A sub-command on this installation that may fail."""
        return subprocess.run(self.command(*words) + list(extra), input=input_text, text=True,
                              capture_output=True, timeout=harness.WAIT_S,
                              env={**self.environment(), **(env or {})})


class Life(unittest.TestCase):
    def daemon(self, name=None, **options):
        d = Daemon(scratch(name or self.id().split(".")[-1]), **options)
        self.addCleanup(lambda: d.process and d.process.poll() is None and d.kill())
        return d

    def test_start_answers_and_stops_on_sigterm(self):
        d = self.daemon().start()
        status, _, body = d.public("GET", "/healthz")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(body)["status"], "ok")
        self.assertEqual(d.public("GET", "/readyz")[0], 200)
        self.assertIn(b"mailshot_tick_rounds_total", d.public("GET", "/metrics")[2])
        self.assertEqual(stat.S_IMODE(os.stat(d.data).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(d.data / "control.sock").st_mode), 0o600)
        self.assertEqual(d.stop(), EXIT_OK)
        self.assertFalse(os.path.exists(d.data / "control.sock"))
        self.assertFalse(os.path.exists(d.data / "listen"))
        self.assertIn("daemon.stopped", d.log_text())

    def test_sigint_stops_as_well_and_a_restart_goes_on(self):
        d = self.daemon().start()
        d.process.send_signal(signal.SIGINT)
        self.assertEqual(d.wait_exit(), EXIT_OK)
        d.start()
        self.assertEqual(d.stop(), EXIT_OK)

    def test_restart_after_kill_takes_lock_and_socket_over(self):
        d = self.daemon().start()
        d.kill()
        self.assertTrue(os.path.exists(d.data / "control.sock"))
        d.start()
        self.assertEqual(d.request("GET", "/healthz")[0], 200)
        self.assertEqual(d.stop(), EXIT_OK)

    def test_second_process_is_refused(self):
        d = self.daemon().start()
        second = d.run("serve")
        self.assertEqual(second.returncode, EXIT_LOCKED)
        self.assertIn("another process (%d) holds" % d.process.pid, second.stderr)
        self.assertEqual(d.request("GET", "/healthz")[0], 200)
        self.assertEqual(d.stop(), EXIT_OK)

    def test_taken_port_is_refused(self):
        d = self.daemon()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            d.start(wait=False, extra=["--listenPort=%d" % s.getsockname()[1]])
            self.assertEqual(d.wait_exit(), EXIT_FAILED)
        self.assertIn("daemon.failed", d.log_text())

    def test_broken_configuration_touches_nothing(self):
        d = self.daemon()
        conf = str(d.folder / "test.conf")
        for text, says in (("lisenPort = 1", 'did you mean "listenPort"'),
                           ("listenPort = many", "expected a whole number"),
                           ("listenPort", 'expected "name = value"')):
            with open(conf, "w") as f:
                f.write(text + "\n")
            r = d.run("serve", extra=["--config", conf])
            self.assertEqual(r.returncode, EXIT_USAGE, r.stderr)
            self.assertIn(says, r.stderr)
        r = d.run("serve", env={"MAILSHOT_LOGLEVEL": "debug"})
        self.assertEqual(r.returncode, EXIT_USAGE)
        self.assertIn('did you mean "logLevel"', r.stderr)
        self.assertFalse(d.data.exists())

    def test_sighup_reloads_and_refuses_a_broken_file(self):
        d = self.daemon()
        conf = str(d.folder / "test.conf")

        def write(text):
            with open(conf, "w") as f:
                f.write(text)

        write("logLevel = info\n")
        d.start(extra=["--config", conf])
        write("logLevel = debug\ntickIntervalSeconds = 7\nmaxConnections = 99\n")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log('config.reloaded changed="logLevel, tickIntervalSeconds"')
        d.wait_log('config.needs_restart options="maxConnections"')
        write("logLevel = loud\n")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("config.refused")
        write("logLevel = error\n")
        d.process.send_signal(signal.SIGHUP)
        wait_for("the file to be read", lambda: d.log_text().count("config.") >= 3)
        self.assertEqual(d.request("GET", "/healthz")[0], 200)
        self.assertEqual(d.stop(), EXIT_OK)

    def test_missing_and_foreign_keys_touch_nothing(self):
        d = self.daemon().start()
        self.assertEqual(d.stop(), EXIT_OK)
        os.rename(d.data / "keys", d.folder / "kept-keys")
        before = tree(d.data)
        self.assertEqual(d.run("serve").returncode, EXIT_KEYS)
        self.assertEqual(d.run("check").returncode, EXIT_KEYS)
        self.assertEqual(tree(d.data), before)

        other = self.daemon("other_keys").start()
        self.assertEqual(other.stop(), EXIT_OK)
        shutil.copytree(other.data / "keys", d.data / "keys")
        before = tree(d.data)
        r = d.run("serve")
        self.assertEqual(r.returncode, EXIT_KEYS)
        self.assertIn("other keys", r.stderr)
        self.assertEqual(tree(d.data), before)

        shutil.rmtree(d.data / "keys")
        shutil.copytree(d.folder / "kept-keys", d.data / "keys")
        d.start()
        self.assertEqual(d.stop(), EXIT_OK)

    def test_newer_store_touches_nothing(self):
        d = self.daemon().start()
        self.assertEqual(d.stop(), EXIT_OK)
        db = sqlite3.connect(d.data / "mailshot.db")
        db.execute("INSERT INTO store_migrations VALUES (9999, '9999_future', 0)")
        db.commit()
        db.close()
        before = tree(d.data)
        for words in (("serve",), ("check",), ("migrate",)):
            self.assertEqual(d.run(*words).returncode, EXIT_NEWER)
        self.assertEqual(tree(d.data), before)

    def test_check_says_what_is_wrong_without_a_trace(self):
        d = self.daemon()
        r = d.run("check")
        self.assertEqual(r.returncode, EXIT_OK, r.stdout)
        self.assertFalse(d.data.exists())
        self.assertEqual(d.run("migrate").returncode, EXIT_OK)
        before = tree(d.data)
        r = d.run("check")
        self.assertEqual(r.returncode, EXIT_OK, r.stdout)
        self.assertIn("mailshot.db opens", r.stdout)
        self.assertEqual(tree(d.data), before)
        r = d.run("check", extra=["--minFreeBytes=512GiB"])
        self.assertEqual(r.returncode, EXIT_UNHEALTHY)
        self.assertIn("FAIL  disk", r.stdout)
        d.start()
        self.assertIn("held by process %d" % d.process.pid, d.run("check").stdout)
        self.assertEqual(d.stop(), EXIT_OK)

    def test_tools_call_the_daemon_or_do_it_themselves(self):
        d = self.daemon()
        r = d.run("db", "check")
        self.assertEqual(r.returncode, EXIT_UNHEALTHY)
        self.assertIn("migrate", r.stderr)
        self.assertEqual(d.run("migrate").returncode, EXIT_OK)
        alone = d.run("db", "check")
        self.assertEqual(alone.returncode, EXIT_OK, alone.stderr)
        self.assertEqual(json.loads(d.run("api", "GET", "/healthz").stdout)["status"], "ok")
        d.start()
        served = d.run("db", "check")
        self.assertEqual(served.stdout, alone.stdout)
        self.assertIn("path=/admin/db/check", d.log_text())
        r = d.run("api", "GET", "/nowhere")
        self.assertEqual(r.returncode, EXIT_FAILED)
        self.assertEqual(json.loads(r.stdout)["error"], "not_found")
        self.assertEqual(d.stop(), EXIT_OK)

    def test_folder_held_by_something_that_does_not_answer(self):
        d = self.daemon()
        self.assertEqual(d.run("migrate").returncode, EXIT_OK)
        with open(d.data / "lock", "r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            r = d.run("db", "check")
        self.assertEqual(r.returncode, EXIT_LOCKED)
        self.assertIn("does not answer", r.stderr)

    def test_keys_travel(self):
        d = self.daemon()
        self.assertEqual(d.run("migrate").returncode, EXIT_OK)
        line = d.run("keys", "export").stdout
        other = self.daemon("keys_taker")
        r = other.run("keys", "import", "-", input_text="nonsense\n")
        self.assertEqual(r.returncode, EXIT_USAGE, r.stderr)
        r = other.run("keys", "import", "-", input_text=line)
        self.assertEqual(r.returncode, EXIT_OK, r.stderr)
        self.assertEqual(other.run("keys", "export").stdout, line)
        self.assertEqual(d.run("keys", "import", "-", input_text=line).returncode, EXIT_KEYS)

    def test_copied_folder_waits_for_adopt(self):
        d = self.daemon().start()
        self.assertNotIn("gate=copy", d.log_text())
        self.assertEqual(d.stop(), EXIT_OK)
        copy = self.daemon("copy_of_a_folder")
        subprocess.run(["cp", "-a", d.data, copy.data], check=True)
        copy.start()
        copy.wait_log("gate.closed gate=copy")
        r = copy.run("adopt")
        self.assertEqual(r.returncode, EXIT_OK, r.stderr)
        copy.wait_log("gate.opened gate=copy")
        self.assertEqual(copy.stop(), EXIT_OK)
        copy.start()
        self.assertNotIn("gate=copy", copy.log_text())
        self.assertEqual(copy.stop(), EXIT_OK)

    def test_low_disk_closes_a_gate(self):
        d = self.daemon(minFreeBytes="512GiB").start()
        d.wait_log("gate.closed gate=disk")
        self.assertEqual(d.public("GET", "/readyz")[0], 200)
        self.assertEqual(d.stop(), EXIT_OK)

    def test_notify_socket_hears_of_it(self):
        d = self.daemon()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            name = "\0mailshot-%d" % os.getpid()
            s.bind(name)
            s.settimeout(harness.WAIT_S)
            d.start(env={"NOTIFY_SOCKET": "@" + name[1:]})
            self.assertEqual(s.recv(100), b"READY=1")
            d.process.send_signal(signal.SIGHUP)
            self.assertEqual(s.recv(100), b"RELOADING=1")
            self.assertEqual(s.recv(100), b"READY=1")
            self.assertEqual(d.stop(), EXIT_OK)
            self.assertEqual(s.recv(100), b"STOPPING=1")

    @unittest.skipUnless(os.environ.get("MAILSHOT_TEST_CLOCK") == "1", "the clock stands in this build")
    def test_clock_steps_over_the_control_socket_only(self):
        d = self.daemon(allowTestClock="true").start()
        before = d.call("POST", "/test/clock", {"stepMs": 1})
        after = d.call("POST", "/test/clock", {"stepMs": 86400000})
        self.assertGreater(after["now"], before["now"])
        d.wait_log("daemon.silence")
        self.assertEqual(d.public("POST", "/test/clock", '{"stepMs":1}')[0], 401)
        self.assertEqual(d.stop(), EXIT_OK)


if __name__ == "__main__":
    unittest.main(verbosity=2)
