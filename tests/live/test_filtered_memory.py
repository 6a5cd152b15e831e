# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that put a filter on their system calls while their allocations are recorded."""

import json
import os

from live import LiveCase
from profc import Recorder, record
from targets import Running, build

IN_COMPANY = True

RATES = ("--mem=64K", "--mem=1", "--mem=all")


class LaterFilter(LiveCase):
    """The filter kills for what it does not allow: our code in them must make no call at all."""

    def check(self, who, *flags):
        for rate in RATES:
            program = build("allocates_then_filters", *flags)
            recording = record(self.directory, [program, who, "100"], "--no-cpu", rate)
            self.assertEqual(recording.said, [{"rounds": 100}], (who, rate))
            heap = json.loads(recording.info("--json"))["heap"]
            self.assertGreater(heap["allocated_blocks"], 2 * 100 * 256)

    def test_of_the_only_thread(self):
        self.check("alone")

    def test_of_a_worker(self):
        self.check("worker")

    def test_of_the_main_thread(self):
        self.check("main")

    def test_without_shared_libraries(self):
        self.check("alone", "-O2", "-g", "-static")

    def test_who_has_one_by_the_end_keeps_the_memory(self):
        """To unmap it a thread would have to make a call for us, and might be killed for that."""
        with Running([build("allocates_then_filters"), "main", "100", "waits"]) as target:
            target.wait_ready()
            control = self.path("control")
            os.mkfifo(control, 0o600)
            with Recorder(
                self.directory, "attach", "-p", target.pid, "--mem", "--no-cpu",
                "--control", f"fifo:{control}",
            ) as recorder:
                self.until_done(control, "")
                target.process.stdin.write("\n")
                target.process.stdin.flush()
                self.assertEqual(json.loads(target.process.stdout.readline()), {"filtered": 1})
                self.assertIn("have a filter of system calls", recorder.interrupt().stderr)
            self.assertUntouched(target.pid)
            self.assertEqual(target.finish(), [{"rounds": 100}])
        self.assertEqual(target.process.returncode, 0)
