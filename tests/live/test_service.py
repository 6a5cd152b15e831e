# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorder as a service: what it tells the service manager, and what it writes to the journal."""

import os
import shutil
import signal
import socket
import subprocess
import unittest

from live import LiveCase
from profc import Recorder
from targets import build

IN_COMPANY = True


class Manager(LiveCase):
    def setUp(self):
        super().setUp()
        self.target = subprocess.Popen(
            [build("does_on_request")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(self.end_target)

    def end_target(self):
        self.target.stdin.close()
        self.target.stdout.close()
        self.target.wait(timeout=60)

    def listen(self, name):
        """A socket as that of systemd; what comes within a minute, in order."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.bind(name.replace("@", "\0"))
        listener.settimeout(60)
        return lambda: listener.recv(4096).decode()

    def record(self, name, *options):
        return Recorder(
            self.directory, *options, env={**os.environ, "NOTIFY_SOCKET": name},
            stdin=subprocess.DEVNULL,
        )

    def keep(self, name):
        return self.record(name, "attach", "-p", self.target.pid, "--keep", "4s")

    def test_it_is_told_of_the_beginning_of_profiles_and_of_the_end(self):
        for name in (self.path("notify"), f"@profc-test-{os.getpid()}"):
            told = self.listen(name)
            with self.keep(name) as recorder:
                self.assertEqual(told(), "READY=1\nSTATUS=recording")
                recorder.process.send_signal(signal.SIGUSR2)
                self.assertRegex(told(), "^STATUS=recording; 1 written, the last by signal: .*"
                                         r"/does_on_request\..*\.signal\.data$")
                recorder.process.send_signal(signal.SIGTERM)
                self.assertEqual(told(), "STOPPING=1")
                self.assertEqual(recorder.process.wait(timeout=60), 0)
                said = recorder.process.stderr.read()
            # As the journal takes them: whole lines, without what moves a cursor.
            self.assertRegex(said, r"\A(profc: [ -~]*\n){2,}\Z")

    def test_it_is_told_of_the_wait_for_a_process(self):
        told = self.listen(self.path("notify"))
        path = self.path(f"s{os.getpid()}")
        shutil.copy(build("spin_leaf"), path)
        with self.record(self.path("notify"), "attach", "--comm", f"^{os.path.basename(path)}$",
                         "--keep", "4s", "--trigger", "gone") as recorder:
            self.assertEqual(told(), "READY=1\nSTATUS=recording")
            self.assertEqual(told(), "STATUS=waiting for a process")
            subprocess.run([path, "2000"], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(told(), "STATUS=recording")
            self.assertEqual(told(), "STATUS=waiting for a process")
            self.assertRegex(told(), "^STATUS=waiting for a process; 1 written, the last by gone: ")
            recorder.process.send_signal(signal.SIGTERM)
            self.assertEqual(told(), "STOPPING=1")

    def test_a_command_that_is_recorded_speaks_for_itself(self):
        told = self.listen(self.path("notify"))
        program = (
            "import os, socket\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            "s.sendto(b'READY=1 by the command', os.environ['NOTIFY_SOCKET'])\n"
        )
        with self.record(self.path("notify"), "record", "--keep", "4s", "--trigger", "exit",
                         "--", "python3", "-c", program) as recorder:
            recorder.process.wait(timeout=60)
        self.assertEqual(told(), "READY=1 by the command")
        with self.keep(self.path("notify")) as recorder:
            self.assertEqual(told(), "READY=1\nSTATUS=recording")
            recorder.process.send_signal(signal.SIGTERM)
            recorder.process.wait(timeout=60)

    def test_a_manager_that_is_not_there_is_not_missed(self):
        for name in ("", "/", "@", "nowhere", self.path("missing"), "/" + 200 * "x",
                     self.directory):
            with self.record(name, "attach", "-p", self.target.pid, "-d", "200ms") as recorder:
                self.assertEqual(recorder.process.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main()
