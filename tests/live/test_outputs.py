# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs and --control: nothing is lost, and nobody else is let in."""

import os
import resource
import subprocess

from live import LiveCase
from paths import PROFC
from profc import profc
from targets import build

IN_COMPANY = True
NOBODY = 65534


class Recordings(LiveCase):
    def record(self, *options, command=None, **popen):
        command = command or [build("spin_leaf"), "100"]
        return profc("record", *options, "--", *command, cwd=self.directory, **popen)

    def test_too_little_memory_is_named(self):
        """Whatever it is that finds no room: how much is too little differs between machines."""
        nr_named = 0
        for kilobytes in range(4000, 48000, 4000):
            limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (kilobytes << 10, kilobytes << 10))
            done = self.record(status=None, preexec_fn=limit, timeout=30)
            if done.returncode and "while loading shared libraries" not in done.stderr:
                self.assertEqual(done.returncode, 125)
                self.assertIn("ulimit -v", done.stderr)
                nr_named += 1
        self.assertGreater(nr_named, 0)


class Shared(LiveCase):
    """A directory as /tmp is: anybody may make files there, and only remove their own."""

    def setUp(self):
        super().setUp()
        self.user = self.ordinary_user()
        os.chmod(self.directory, 0o755)
        self.profiler, self.program = self.public(PROFC), self.public(build("spin_leaf"))
        self.shared = self.path("shared")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o1777)

    def by_nobody(self, *command):
        subprocess.run(command, check=True, cwd=self.shared, **self.user)

    def control(self, path, user, status):
        done = subprocess.run(
            [self.profiler, "record", "--control", f"fifo:{path}", "-o", "/dev/null", "--",
             self.program, "50"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=30,
            **user,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_control_obeys_no_fifo_of_another(self):
        path = os.path.join(self.shared, "control")
        self.by_nobody("mkfifo", "-m", "600", path)
        said = self.control(path, {}, 125)
        self.assertIn(f"the FIFO {path} is not obeyed: it belongs to another user (uid {NOBODY})", said)
        self.control(path, self.user, 0)

    def test_control_obeys_no_fifo_that_others_may_write_to(self):
        for owner, user, modes in (
            (0, {}, {0o600: 0, 0o644: 0, 0o660: 0, 0o602: 125, 0o666: 125}),
            (0, self.user, {0o644: 0, 0o664: 0, 0o666: 125}),
            (NOBODY, self.user, {0o600: 0, 0o644: 0, 0o620: 125, 0o602: 125}),
        ):
            for mode, status in modes.items():
                path = os.path.join(self.shared, f"{owner}-{mode:o}-{len(user)}")
                os.mkfifo(path)
                os.chmod(path, mode)
                os.chown(path, owner, owner)
                with self.subTest(owner=owner, mode=oct(mode), by_root=not user):
                    said = self.control(path, user, status)
                    self.assertEqual("other users may write to it" in said, status != 0, said)
