# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole stacks of programs that run: deep, wide, on two stacks, by every unwinder."""

import os
import re
import subprocess
import unittest

from live import LiveCase
from paths import BUILD, TARGETS
from profc import profc, record
from targets import build, need

FAST = ("-F", "1000", "--max-overhead", "0")  # by default busy CPUs may leave eight samples
FOUR = ("four_integer", "four_float", "four_memory", "four_division")
NO_CFI = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer")


class Stacks(LiveCase):
    def assert_rooted(self, recording, least=0.99, roots=("_start", "clone3", "__clone")):
        """Most of the weight of known stacks hangs from where programs and threads begin."""
        stacks = recording.folded()
        rooted = sum(weight for frames, weight in stacks if any(root in frames for root in roots))
        # An end in the kernel has no stack, and the sample of it the time since the one before.
        ends = sum(weight for frames, weight in stacks if frames[-1] == "[k] do_exit")
        self.assertShareAtLeast(rooted, self.known_ns(recording) - ends, least, "stacks to the root")

    def assert_functions_rooted(self, recording, root):
        """
        All stacks of the four functions. To load and end the program takes some 10 ms, with stacks
        that are not of its own code.
        """
        stacks = [stack for stack in recording.folded() if stack[0][-1] in FOUR]
        whole = sum(weight for _, weight in stacks)
        rooted = sum(weight for frames, weight in stacks if root in frames)
        self.assertShareAtLeast(rooted, whole, 0.99, f"stacks to {root}")
        self.assertShareAtLeast(whole, self.known_ns(recording), 0.75, "the four functions")

    def test_ten_thousand_frames(self):
        recording = record(self.directory, [build("recursion_deep"), "10000", "1500"])
        self.assert_rooted(recording, 0.95)
        deepest = max(recording.folded(), key=lambda stack: stack[1])[0]
        self.assertEqual(deepest.count("recursion_level"), 10000)

    def test_both_ends_of_what_is_too_deep(self):
        program = [build("recursion_deep"), "10000", "700"]
        recording = record(self.directory, program, "--max-depth", "100")
        known = [stack for stack in recording.folded() if "[unattributed]" not in stack[0]]
        frames = max(known, key=lambda stack: stack[1])[0]
        self.assertLessEqual(len(frames), 102)
        self.assertIn("main", frames)
        self.assertEqual(frames[-1], "recursion_bottom")
        self.assertTrue(
            any(re.search(r"\b99\d\d\b", frame.replace(",", "")) for frame in frames), frames[:60]
        )

    @unittest.skipUnless(os.uname().machine == "x86_64", "the assembly names x86-64's registers")
    def test_frames_that_only_libunwind_can_do(self):
        """It goes along each stack once: from the leaf on for each frame it would take hours."""
        recording = record(self.directory, [build("expressed_recursion"), "20000"], *FAST)
        deepest = max(recording.folded(), key=lambda stack: stack[1])[0]
        self.assertEqual(deepest.count("recurse"), 20001)
        # The walks take so long that the queue is full. Small samples, for which there is room, as
        # that of the end, do not have the time of the stacks that were dropped.
        weights = {"rooted": 0, "end": 0, "dropped": 0, "cut": 0}
        for frames, weight in recording.folded():
            kind = "rooted" if "_start" in frames else "cut"
            kind = {"[k] do_exit": "end", "[unattributed]": "dropped"}.get(frames[-1], kind)
            weights[kind] += weight
        whole = sum(weights.values())
        self.assertShareAtLeast(weights["rooted"], whole - weights["dropped"], 0.9, f"{weights}")
        self.assertShareAtLeast(whole - weights["dropped"], whole, 0.4, f"{weights}")
        self.assertLess(weights["end"], 0.05 * whole, f"{weights}")

    def test_frames_of_a_megabyte(self):
        recording = record(self.directory, [build("big_frames"), "1200"])
        self.assert_rooted(recording, 0.95)

    def test_first_look_at_a_deep_stack(self):
        """A thread's depth is not known before, and there may be no second look."""
        recording = record(self.directory, [build("deep_threads"), "40"])
        self.assertComplete(recording, 0.98)

    def test_handler_on_another_stack(self):
        recording = record(self.directory, [build("altstack_handler"), "1000"], *FAST)
        self.assert_rooted(recording, 0.97)
        struck = [frames for frames, _ in recording.folded() if "handler_work" in frames]
        self.assertTrue(any("interrupted_work" in frames for frames in struck), struck)
        for frames in struck:
            self.assertIn("main", frames)

    def test_program_without_cfi(self):
        flags = ("-O2", "-g", *NO_CFI)
        recording = record(self.directory, [build("four_functions", *flags), "800"], *FAST)
        self.assert_functions_rooted(recording, "_start")

    def test_function_without_cfi_that_never_returns(self):
        """Only the table that it was called through says where it is entered."""
        for link in ((), ("-static",), ("-static-pie", "-s")):
            with self.subTest(link=link):
                flags = ("-O2", *NO_CFI, *link)
                program = build("entered_by_table", *flags)
                recording = record(self.directory, [program, "500"], *FAST)
                self.assertComplete(recording, 0.99)

    def test_program_that_leaves_its_first_stack(self):
        recording = record(self.directory, [build("stack_of_its_own"), "500"], *FAST)
        self.assert_rooted(recording, 0.97)

    def test_code_that_works_in_the_frame_of_another(self):
        """Made at run time: the first return address on the stack need not be in use."""
        recording = record(self.directory, [build("jit_in_frame"), "500"], *FAST)
        self.assert_rooted(recording, 0.97, roots=("enters_all_the_time",))
        self.assertComplete(recording, 0.97)
        old = sum(w for frames, w in recording.folded() if "has_returned_long_ago" in frames)
        self.assertLess(old, 0.01 * sum(weight for _, weight in recording.folded()))

    def test_epilogues_that_cfi_leaves_out(self):
        self.assert_rooted(record(self.directory, [build("body_cfi_only"), "1500"], *FAST))

    def test_dynamic_musl_program(self):
        """Its C library has no CFI, nor symbols for what calls main()."""
        program = os.path.join(BUILD, "tests", "targets", "four_functions.musl_so")
        source = os.path.join(TARGETS, "four_functions.c")
        os.makedirs(os.path.dirname(program), exist_ok=True)
        command = [need("musl-gcc"), "-O2", "-g", "-D_GNU_SOURCE", "-o", program, source]
        subprocess.run(command, check=True)
        recording = record(self.directory, [program, "1500"], *FAST)
        self.assert_functions_rooted(recording, "_start")

    def test_static_musl_program(self):
        """No CFI in the C library, and no frame pointers."""
        program = os.path.join(BUILD, "tests", "targets", "four_functions.musl")
        source = os.path.join(TARGETS, "four_functions.c")
        os.makedirs(os.path.dirname(program), exist_ok=True)
        command = [need("musl-gcc"), "-O2", "-g", "-D_GNU_SOURCE", "-static", "-o", program, source]
        subprocess.run(command, check=True)
        recording = record(self.directory, [program, "1500"], *FAST)
        self.assert_functions_rooted(recording, "_start")

    def test_rows_and_libunwind_agree(self):
        program = [build("cpp_exceptions"), "800"]
        recording = record(self.directory, program, *FAST, "--check-unwinder")
        said = re.search(r"(\d+) stacks unwound twice, (\d+) differ", recording.stderr)
        self.assertIsNotNone(said, recording.stderr)
        self.assertGreater(int(said[1]), 100)
        self.assertEqual(int(said[2]), 0, recording.stderr)
        rules = re.search(r"callers found by (.*)", recording.stderr)
        found = dict(re.findall(r"(\D[^,]*) (\d+)(?:, |$)", rules[1]))
        self.assertGreater(int(found["CFI"]), int(said[1]), recording.stderr)
        self.assertGreater(int(found["before a handler"]), 0, recording.stderr)

    def test_every_unwinder(self):
        # At -O0 even functions that call nobody keep a frame pointer.
        for unwinder in ("auto", "cfi", "libunwind", "fp"):
            with self.subTest(unwinder=unwinder):
                program = [build("four_functions", "-O0", "-g"), "400"]
                recording = record(self.directory, program, "--unwinder", unwinder, *FAST)
                self.assert_functions_rooted(recording, "main")

    def test_another_unwinder_is_refused(self):
        done = profc("record", "--unwinder", "guess", "--", "true", status=2)
        self.assertIn("guess", done.stderr)
