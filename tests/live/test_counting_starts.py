# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact counts of a command begin with its first instruction, whatever comes between."""

import subprocess

from live import LiveCase
from paths import PROFC
from profc import Recording
from targets import build, need

IN_COMPANY = True

class Starts(LiveCase):
    def test_a_command_that_begins_quickly_is_counted(self):
        """Each ptrace call takes so long that the command would be in its program before."""
        path = self.path("profc.data")
        done = subprocess.run(
            [
                need("strace"), "-qq", "-o", "/dev/null", "-e", "trace=ptrace",
                "--inject=ptrace:delay_enter=20000",
                PROFC, "record", "-o", path, "--count", "^leaf$", "--",
                build("counted_leaf"), "1", "1000000", "40",
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("warning", done.stderr)
        recording = Recording(path, done)
        (said,) = recording.said
        self.assertEqual(recording.function("leaf")["calls"], said["calls"])
