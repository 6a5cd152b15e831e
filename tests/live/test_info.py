# SPDX-License-Identifier: GPL-2.0-or-later
"""profc info on a real recording."""

import json
import os
import shutil
import tempfile
import unittest

from profc import record
from targets import build

IN_COMPANY = True


class RealRecording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="profc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.recording = record(cls.directory, [build("four_functions"), "300"])

    def test_every_counter_has_words(self):
        """A counter that the sampler has and profc info does not know stands there by name."""
        text = self.recording.info()
        self.assertIn("Target perturbation", text)
        self.assertNotIn("Other counters", text)

    def test_totals_are_those_of_report(self):
        totals = json.loads(self.recording.info("--json"))["totals"]
        for metric in ("cpu", "runq", "blocked", "wall"):
            if totals[f"{metric}_ns"]:
                self.assertEqual(totals[f"{metric}_ns"],
                                 self.recording.report("-m", metric)["total_ns"])

    def test_modules_are_known_by_build_id(self):
        modules = json.loads(self.recording.info("--json"))["modules"]
        (program,) = [m for m in modules if m["path"].endswith("/four_functions")]
        self.assertRegex(program["build_id"], r"\A[0-9a-f]{40}\Z")
        self.assertEqual(program["names_from"], "DWARF")
        self.assertGreater(program["samples"], 0)

    def test_of_a_thread_no_more_than_its_stack_is_copied(self):
        """Behind a thread's stack of a few hundred bytes in use, other memory is mapped."""
        recording = record(
            self.directory, [build("work_rate"), "1", "700"], "-F", "1000", "--max-overhead", "0"
        )
        info = json.loads(recording.info("--json"))
        # 700 of them, or as many as there is a CPU for.
        self.assertGreater(info["totals"]["samples"], 100)
        # At least ten looks wait for the worker at a time, each with what was copied.
        self.assertLess(info["counters"]["queue_bytes_max"], 1 << 20)
        cut_ns = sum(end["cpu_ns"] for end in info["stacks"]["early_ends"])
        self.assertLessEqual(cut_ns, 0.02 * info["totals"]["cpu_ns"])

    def test_ticks_take_time_where_our_only_cpu_is_busy(self):
        """However idle another one is that we may not run on."""
        allowed = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, allowed)
        os.sched_setaffinity(0, {min(allowed)})
        recording = record(tempfile.mkdtemp(dir=self.directory), [build("four_functions"), "600"], "-F", "1000")
        self.assertGreater(json.loads(recording.info("--json"))["counters"]["ticks_cost_ppm"], 0)

    def test_children_and_their_ends_stop_nothing(self):
        """Births and ends are found by reading: each stop is one that takes a stack."""
        script = "for i in {1..200}; do (:); done"
        directory = tempfile.mkdtemp(dir=self.directory)  # the other recording is asked yet
        counters = json.loads(record(directory, ["bash", "-c", script]).info("--json"))["counters"]
        self.assertLessEqual(counters["stops"], counters["interrupts"])
        self.assertLess(counters["stops"], 400)
        self.assertGreater(counters["held_ns_total"], counters["stops"] * 1e3)

    def test_what_helps_depends_on_whose_code_it_is(self):
        recording = record(self.directory, [build("jit_in_frame"), "300", "elsewhere"])
        (end,) = [
            end
            for end in json.loads(recording.info("--json"))["stacks"]["early_ends"]
            if end["module"] == "[jit]"
        ]
        self.assertEqual(end["reason"], "no unwind information")
        self.assertGreater(end["cpu_ns"], 200e6)
        self.assertIn("JIT-compiled code", end["remedy"])
        text = recording.info("--width", "200")
        self.assertRegex(text, r"hint: no unwind information: .*PreserveFramePointer")
        self.assertNotIn("-fasynchronous-unwind-tables", text)


if __name__ == "__main__":
    unittest.main()
