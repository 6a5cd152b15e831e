# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs and --control: nothing is lost, and nobody else is let in."""

import resource

from live import LiveCase
from profc import profc
from targets import build

IN_COMPANY = True


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
