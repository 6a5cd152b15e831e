# SPDX-License-Identifier: GPL-2.0-or-later
"""The stops in which probes come and go: nothing is missed, and what they cost is told."""

import json
import subprocess

from live import LiveCase
from paths import PROFC
from profc import Recording, attach
from targets import Running, build, need

IN_COMPANY = True

class Stops(LiveCase):
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

    def test_stops_of_both_ends_are_told(self):
        with Running([build("threads_idle"), "20", "20000"]) as target:
            target.wait_ready()
            recording = attach(
                self.directory, target.pid, "-d", "200ms", "--count", "^(main|busy_work)$"
            )
            self.assertUntouched(target.pid)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["probe_install_ns"], 0)
        self.assertGreater(counters["probe_remove_ns"], 0)
        self.assertEqual(
            counters["probe_stop_ns_max"],
            max(counters["probe_install_ns"], counters["probe_remove_ns"]),
        )
