# SPDX-License-Identifier: GPL-2.0-or-later
"""Steering a recording while it runs: --control, --paused."""

import os
import subprocess
import time
import unittest

from live import LiveCase
from paths import PROFC
from profc import Recording, profc
from targets import build
import procfs


class Control(LiveCase):
    def test_only_the_region_between_resume_and_pause_is_recorded(self):
        fifo, path, snapshot = self.path("control"), self.path("data"), self.path("snapshot")
        command = [PROFC, "record", "--paused", "--control", f"fifo:{fifo}", "-o", path]
        with subprocess.Popen(
            [*command, "--", build("spin_leaf"), "3000"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        ) as recorder:
            self.eventually(lambda: os.path.exists(path) and os.path.exists(fifo), "the start")
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("mark here\nresume\n")
                control.flush()
                self.eventually(lambda: os.path.getsize(path) > 2000, "a first part")
                control.write(f"snapshot {snapshot}\n")
                control.flush()
                self.eventually(lambda: os.path.exists(snapshot), "the snapshot")
                control.write("pause\nnonsense\n")
            stderr = recorder.communicate(timeout=60)[1]
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertIn("unknown word 'nonsense'", stderr)
        self.assertFalse(os.path.exists(fifo), "the FIFO it made is left behind")
        whole, part = Recording(path).report(), Recording(snapshot).report()
        self.assertGreater(part["total_ns"], 0)
        self.assertGreaterEqual(whole["total_ns"], part["total_ns"])
        self.assertLess(whole["total_ns"], 2700e6, "what was paused is recorded")
        self.assertGreater(Recording(snapshot).function("spin_leaf")["total_pct"], 50)

    def test_sleep_after_a_pause_is_not_recorded(self):
        fifo, path = self.path("control"), self.path("data")
        command = [PROFC, "record", "-q", "--control", f"fifo:{fifo}", "-o", path]
        started = time.monotonic()
        # It sleeps until its input ends, and is let go before.
        with subprocess.Popen([*command, "--", "cat"], stdin=subprocess.PIPE) as recorder:
            self.eventually(lambda: os.path.exists(path) and os.path.exists(fifo), "the start")
            time.sleep(0.5)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("pause\n")
            counted = time.monotonic() - started
            time.sleep(2)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("stop\n")
            (command,) = procfs.children(recorder.pid)
            self.eventually(lambda: not procfs.tracer(command), "the end of the recording")
            recorder.stdin.close()
        self.assertEqual(recorder.returncode, 0)
        blocked = Recording(path).report("-m", "blocked")["total_ns"]
        self.assertGreater(blocked, 300e6)
        self.assertLess(blocked, 1e9 * (counted + 1), "what was paused is recorded")

    def test_recording_that_was_never_resumed_says_so(self):
        done = profc("record", "--paused", "-o", self.path("data"), build("spin_leaf"), "100", status=125)
        self.assertIn("no samples were taken: the recording was paused\n", done.stderr)
        self.assertIn("hint: SIGUSR1", done.stderr)


if __name__ == "__main__":
    unittest.main()
