# SPDX-License-Identifier: GPL-2.0-or-later
"""profc ctl: the flight recorder of a directory, and what may be there in place of one."""

import ctypes
import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

from live import LiveCase
from made import make_profile
from paths import PROFC
from profc import Recorder, Recording, profc
from targets import build

IN_COMPANY = True

AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange_until(ended, one, other):
    renameat2 = ctypes.CDLL(None).renameat2
    while not ended.is_set():
        renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), RENAME_EXCHANGE)


class Ctl(LiveCase):
    def setUp(self):
        super().setUp()
        self.target = subprocess.Popen(
            [build("does_on_request")], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self.addCleanup(self.end_target)

    def end_target(self):
        self.target.stdin.close()
        self.target.wait(timeout=60)

    def record(self, *options):
        recorder = Recorder(
            self.directory, "attach", "-p", self.target.pid, "--keep", "2s", *options
        )
        self.socket = os.path.join(recorder.path, ".control")
        return recorder

    def when_it_listens(self, recorder):
        self.eventually(lambda: self.listed(recorder)["recorder"], "a recorder")

    def listed(self, recorder):
        os.makedirs(recorder.path, 0o700, exist_ok=True)
        return json.loads(profc("ctl", recorder.path, "list", "--json").stdout)

    def ctl(self, path, *words, status=0):
        return profc("ctl", path, *words, status=status)

    def test_dump_list_and_stop(self):
        with self.record() as recorder:
            self.when_it_listens(recorder)
            mode = os.lstat(self.socket).st_mode
            self.assertTrue(stat.S_ISSOCK(mode))
            self.assertEqual(mode & 0o777, 0o600)
            self.target.stdin.write("spin 1000\n")
            self.target.stdin.flush()
            path = self.ctl(recorder.path, "dump", "slow /../$(x)\n").stdout
            self.assertRegex(path, r"\.control-slow__\.\.___x__\.data\n$")
            info = json.loads(Recording(path.strip()).info("--json"))
            self.assertTrue(info["complete"])
            self.assertIn("trigger:control slow /../$(x)?", [mark["text"] for mark in info["marks"]])
            answers = []

            def is_dumped():
                answers.append(self.ctl(recorder.path + "/", "dump", status=None))
                return answers[-1].returncode == 0

            self.eventually(is_dumped, "a second one")
            second = answers[-1].stdout.strip()
            self.assertRegex(second, r"\.control\.data$")
            listed = self.listed(recorder)
            self.assertEqual([file["file"] for file in listed["files"]],
                             [os.path.basename(each.strip()) for each in (second, path)])
            self.assertEqual(listed["files"][0]["trigger"], "control")
            self.assertEqual(listed["files"][0]["bytes"], os.stat(second).st_size)
            self.assertRegex(listed["files"][0]["time"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
            done = self.ctl(recorder.path, "list")
            self.assertEqual(len(done.stdout.splitlines()), 3)
            self.assertIn("a recorder writes to it", done.stderr)
            # In whatever terminal, names are whole.
            narrow = subprocess.run([PROFC, "ctl", recorder.path, "list"], check=True, text=True,
                                    capture_output=True, env={**os.environ, "COLUMNS": "60"})
            self.assertEqual([line.split()[-1] for line in narrow.stdout.splitlines()[1:]],
                             [file["file"] for file in listed["files"]])
            done = self.ctl(recorder.path, "stop")
            self.assertIn("has ended", done.stderr)
            self.assertEqual(recorder.process.wait(timeout=60), 0)
            self.assertEqual(sorted(os.listdir(recorder.path)),
                             sorted(os.path.basename(each.strip()) for each in (second, path)))
            self.assertIn("no recorder writes", self.ctl(recorder.path, "list").stderr)
            self.assertIn("no recorder writes to",
                          self.ctl(recorder.path, "dump", status=1).stderr)

    def test_what_is_suppressed_is_said_and_stop_writes_what_is_due(self):
        with self.record() as recorder:
            self.when_it_listens(recorder)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as first:
                first.settimeout(60)
                first.connect(self.socket)
                first.send(b"dump first")
                self.assertEqual(first.recv(4096), b"begun")
                done = self.ctl(recorder.path, "dump", "second", status=1)
                self.assertRegex(done.stderr, "one was triggered just now: again in [12] s")
                self.ctl(recorder.path, "stop")
                self.assertRegex(first.recv(4096), rb"^wrote .*\.control-first\.data$")

    def test_one_that_is_stopped_is_not_waited_for(self):
        with self.record() as recorder:
            self.when_it_listens(recorder)
            recorder.process.send_signal(signal.SIGSTOP)
            try:
                clients = [subprocess.Popen([PROFC, "ctl", recorder.path, word], text=True,
                                            stderr=subprocess.PIPE) for word in ("dump", "stop")]
                self.ctl(recorder.path, "list")
                for client in clients:
                    _, words = client.communicate(timeout=60)
                    self.assertEqual(client.returncode, 1)
                    self.assertIn(f"process {recorder.process.pid}, has not answered for 10 s",
                                  words)
            finally:
                recorder.process.send_signal(signal.SIGCONT)

    def test_a_client_that_leaves_is_no_loss(self):
        with self.record() as recorder:
            self.when_it_listens(recorder)
            for words in (b"", b"dump", b"nonsense", b"x" * 4000, b"dump" + b"y" * 400, b"stopp"):
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                    client.connect(self.socket)
                    client.send(words)
            idle = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(8)]
            for client in idle:
                client.connect(self.socket)
            time.sleep(0.5)
            for client in idle:
                client.close()
            self.eventually(lambda: self.listed(recorder)["files"], "the profile", patience=60)
            self.ctl(recorder.path, "stop")
            self.assertEqual(recorder.process.wait(timeout=60), 0)

    def test_killed_it_leaves_a_socket_that_the_next_one_replaces(self):
        with self.record() as recorder:
            self.when_it_listens(recorder)
            recorder.process.kill()
            recorder.process.wait()
            self.assertIn("it was killed", self.ctl(recorder.path, "dump", status=1).stderr)
            with Recorder(self.directory, "attach", "-p", self.target.pid, "--keep", "2s", "-o",
                          recorder.path) as other:
                self.when_it_listens(recorder)
                # A third one goes without, and leaves the socket.
                done = profc("attach", "-p", self.target.pid, "--keep", "2s", "-d", "100ms", "-o",
                             recorder.path)
                self.assertIn("does not reach this recorder: another recorder", done.stderr)
                self.ctl(recorder.path, "stop")
                self.assertEqual(other.process.wait(timeout=60), 0)
            self.assertFalse(os.path.lexists(self.socket))

    def test_something_else_of_that_name_stays(self):
        os.mkdir(self.path("victim"))
        for make in (lambda path: os.symlink(self.path("victim"), path),
                     os.mkfifo, os.mkdir, lambda path: open(path, "w", encoding="ascii").close()):
            path = self.path(f"dumps{len(os.listdir(self.directory))}")
            os.mkdir(path, 0o700)
            make(path + "/.control")
            before = os.lstat(path + "/.control")
            self.assertIn("is no socket", self.ctl(path, "dump", status=1).stderr)
            done = profc("attach", "-p", self.target.pid, "--keep", "2s", "-d", "100ms", "-o", path)
            self.assertIn("is there, and no socket of ours", done.stderr)
            self.assertEqual(os.lstat(path + "/.control").st_ino, before.st_ino)
        self.assertEqual(os.listdir(self.path("victim")), [])

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_a_link_in_the_place_of_the_socket_leads_nowhere(self):
        names = [self.path(name) for name in ("other", "changing")]
        sockets = []
        for name in names:
            os.mkdir(name)
            sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            self.addCleanup(sockets[-1].close)
            sockets[-1].bind(name + "/.control")
            sockets[-1].listen(200)
        link = names[1] + "/link"
        os.symlink(names[0] + "/.control", link)
        ended = threading.Event()
        changes = threading.Thread(target=exchange_until,
                                   args=(ended, names[1] + "/.control", link))
        changes.start()
        try:
            for _ in range(100):
                self.ctl(names[1], "list", status=None)
        finally:
            ended.set()
            changes.join()
        sockets[0].setblocking(False)
        with self.assertRaises(BlockingIOError):  # nobody has come
            sockets[0].accept()

    def test_other_users(self):
        path = self.path("foreign")
        os.mkdir(path, 0o777)
        os.chmod(path, 0o1777)
        os.chmod(self.directory, 0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path + "/.control")
            listener.listen()
            os.chmod(path + "/.control", 0o777)
            os.chown(path + "/.control", 65534, 65534)
            done = self.ctl(path, "dump", status=1)
            self.assertIn("it is another user's (uid 65534)", done.stderr)
        with self.record() as recorder:
            self.when_it_listens(recorder)
            os.chmod(os.path.dirname(recorder.path), 0o755)
            for mode, words in ((0o700, "Permission denied"), (0o755, "Permission denied")):
                os.chmod(recorder.path, mode)
                done = subprocess.run(
                    [self.public(PROFC), "ctl", recorder.path, "stop"], check=False,
                    capture_output=True, text=True, user=65534, group=65534, extra_groups=[],
                )
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)
            # Nor by a name with other rights.
            os.chmod(self.socket, 0o777)
            done = subprocess.run(
                [self.public(PROFC), "ctl", recorder.path, "stop"], check=False,
                capture_output=True, text=True, user=65534, group=65534, extra_groups=[],
                timeout=60,
            )
            self.assertEqual(done.returncode, 1)
            self.assertTrue(self.listed(recorder)["recorder"])
            self.ctl(recorder.path, "stop")

    def test_wrong_usage(self):
        path = self.directory
        for words, reason in (
            ([], "a directory and what to do"),
            ([path], "a directory and what to do"),
            ([path, "start"], "'start' is neither list, dump nor stop"),
            (["dump", path], f"profc ctl {path} dump"),
            ([path, "stop", "now"], "unexpected argument 'now'"),
            ([path, "dump", "a", "b"], "unexpected argument 'b'"),
            ([path, "dump", 201 * "x"], "a label has at most 200"),
            ([path, "stop", "--json"], "--json is for list"),
        ):
            done = profc("ctl", *words, status=2)
            self.assertIn(reason, done.stderr)
        for words in ("list", "dump", "stop"):
            done = self.ctl(self.path("missing"), words, status=1)
            self.assertIn("No such file", done.stderr)
            self.assertIn(f"hint: profc attach -p PID --keep 60s -o {self.path('missing')}\n",
                          done.stderr)
            make_profile(self.path("file"), 10, 5, 1)
            self.assertIn("Not a directory", self.ctl(self.path("file"), words, status=1).stderr)


if __name__ == "__main__":
    unittest.main()
