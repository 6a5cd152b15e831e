# SPDX-License-Identifier: GPL-2.0-or-later
"""Where stacks begin, and what is said of that, on programs that end theirs in odd places."""

import json
import os
import subprocess
import unittest

import live
from paths import BUILD
from profc import record
from targets import build, need, source_path

IN_COMPANY = True
FAST = ("-F", "1000", "--max-overhead", "0")  # by default busy CPUs may leave eight samples


class Roots(live.LiveCase):
    def folded(self, argv, *options):
        """The recording, and {stack, a tuple from the root on: its share of attributed time}."""
        recording = record(self.directory, argv, *FAST, *options)
        weights = {}
        for frames, weight in recording.folded():
            frames = tuple(frames)
            if "[unattributed]" not in frames:
                weights[frames] = weights.get(frames, 0) + weight
        whole = sum(weights.values())
        return recording, {stack: weight / whole for stack, weight in weights.items()}

    def share(self, shares, *frames):
        """Of the stacks that have these frames one after the other."""
        return sum(share for stack, share in shares.items()
                   if any(stack[i:i + len(frames)] == frames for i in range(len(stack))))

    def stacks(self, recording):
        return json.loads(recording.info("--json"))["stacks"]

    def complete_pct(self, recording):
        """Of the time that has stacks: short programs have some that has none."""
        info = json.loads(recording.info("--json"))
        unattributed = info["totals"]["unattributed_cpu_ns"] / info["totals"]["cpu_ns"]
        return info["stacks"]["complete_cpu_pct"] / (1 - unattributed)

    def check_call_to(self, address):
        recording, shares = self.folded([build("calls_to_nowhere", "-O1", "-g"), address])
        chain = ("main", "call_nowhere", "[unknown]", "__restore_rt", "on_fault", "work_in_handler")
        self.assertGreater(self.share(shares, *chain), 0.9, shares)
        self.assertGreater(self.share(shares, "_start"), 0.98, shares)
        self.assertGreater(self.complete_pct(recording), 98)

    def go_program(self, name):
        need("go")
        program = self.path(name)
        subprocess.run(["go", "build", "-o", program, source_path(f"{name}.go")], check=True,
                       env={**os.environ, "GOCACHE": self.path("cache")})
        return program

    def test_threads_of_go_begin_in_a_function_of_its_runtime(self):
        """But for one that waits for its first CPU: it is in clone() yet, which has no end of its own."""
        recording = record(self.directory, [self.go_program("go_garbage")], "-F", "1000")
        for metric in ("cpu", "runq", "blocked"):
            ends = {tuple(stack[1:]) for stack, weight in recording.folded("-m", metric)
                    if weight and "[end not proved]" in stack}
            allowed = {("[end not proved]", "runtime.clone")} if metric == "runq" else set()
            self.assertLessEqual(ends, allowed, metric)

    def test_goroutine_that_asks_for_the_time_is_the_caller_of_that(self):
        """But for the first sample of each thread, whose copy lacks the goroutine's stack."""
        _, shares = self.folded([self.go_program("asks_time")])
        self.assertGreater(self.share(shares, "runtime.goexit", "runtime.main", "main.main",
                                      "main.ask"), 0.6, shares)

    def test_call_through_a_null_pointer_keeps_its_caller(self):
        self.check_call_to("0")

    def test_call_to_a_wild_address_keeps_its_caller(self):
        self.check_call_to("0xdead0000")

    def test_context_begins_at_its_start_on_another_stack(self):
        recording, shares = self.folded([build("works_in_context")])
        first = ("[begins on another stack]", "__start_context", "body", "work")
        self.assertGreater(self.share(shares, *first), 0.9, shares)
        stacks = self.stacks(recording)
        self.assertGreater(stacks["other_stack_cpu_pct"], 90)
        self.assertLess(stacks["complete_cpu_pct"], 10)
        text = recording.info()
        self.assertIn("begin where the thread switched to another stack",
                      " ".join(text.split()))

    def check_musl_threads(self, *flags):
        musl_gcc = need("musl-gcc")
        program = os.path.join(BUILD, "tests", "targets", "threads_work" + "".join(flags))
        os.makedirs(os.path.dirname(program), exist_ok=True)
        subprocess.run([musl_gcc, "-O2", "-g", *flags, "-o", program,
                        source_path("threads_work")], check=True)
        recording, shares = self.folded([program])
        at_root = sum(share for stack, share in shares.items() if "__clone" in stack[:2])
        self.assertGreater(at_root, 0.9, shares)
        self.assertGreater(self.complete_pct(recording), 98)

    def test_threads_of_musl_begin_in_its_clone(self):
        self.check_musl_threads()

    def test_threads_of_static_musl_begin_in_its_clone(self):
        self.check_musl_threads("-static")


if __name__ == "__main__":
    unittest.main()
