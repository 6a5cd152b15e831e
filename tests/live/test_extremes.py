# SPDX-License-Identifier: GPL-2.0-or-later
"""Many processes, many threads, deep stacks, and recordings with a bound."""

import json
import os
import subprocess
import sys
import unittest

import procfs
from live import LiveCase
from profc import Recorder, attach, profc, record
from targets import Running, build

FAST = ("-F", "1000", "--max-overhead", "0")


class Shell:
    """A shell that starts so many programs as it is told, and profc that records it."""

    SCRIPT = """
while read nr; do
    i=0; while [ $i -lt $nr ]; do /bin/true; i=$((i+1)); done; echo done
done"""

    def __init__(self, case):
        self.process = subprocess.Popen(["sh", "-c", self.SCRIPT], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.end)
        self.recorder = Recorder(case.directory, "attach", "-q", "--no-symbols", "-p",
                                 str(self.process.pid))
        case.addCleanup(self.recorder.__exit__, None, None, None)
        case.eventually(lambda: procfs.observer(self.process.pid), "attaching")

    def end(self):
        self.process.kill()
        self.process.communicate()

    def cost_ns(self, nr):
        """CPU time of profc for so many programs."""
        before_ns = procfs.cpu_ns(self.recorder.pid)
        self.process.stdin.write(f"{nr}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()
        return procfs.cpu_ns(self.recorder.pid) - before_ns


class Storms(LiveCase):
    def test_cost_of_a_process_stays_the_same(self):
        """A shell that has started thousands of programs costs as much as one that has just begun."""
        old, new = Shell(self), Shell(self)
        old.cost_ns(2500)
        costs = [(old.cost_ns(100), new.cost_ns(100)) for _ in range(5)]
        # In turns: others that use the machine make both dearer, and some of these more than others.
        of_old, of_new = (min(each) for each in zip(*costs))
        self.assertLess(of_old, 2.5 * of_new, costs)

    def test_programs_of_many_threads_executed_over_and_over(self):
        """Each exec waits for the deaths of threads of which one may be traced at that moment."""
        few = build("exec_storm", "-O2", "-g", "-DNR_THREADS=6", "-DSPINS_EACH=2")
        recording = record(self.directory, [few, "3000"], *FAST, "--no-symbols", timeout=60)
        # Each that waits for a thread which profc holds does so for half a second or more. On busy
        # CPUs there are some 60 in the three seconds, without profc as well.
        self.assertGreater(recording.said[-1]["execs"], 25)

    # Threads that end take CPU time, too, as do these when all is said.
    RUN_AND_SAY = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"cpu_ns": (used.ru_utime + used.ru_stime) * 1e9}))"""

    def test_ten_thousand_threads(self):
        command = [sys.executable, "-c", self.RUN_AND_SAY, build("threads_idle"), "10000", "2000"]
        recording = record(self.directory, command, timeout=100)
        said, used = recording.said
        self.assertEqual((said["threads"], said["eintr"]), (10000, 0))
        times = {row["name"]: row["self_ns"] for row in recording.rows("--by", "process")}
        # What it uses after the last tick that finds it is [short-lived]: the ends of so many threads
        # take hundreds of milliseconds, and ticks of so many come a few times a second on busy CPUs.
        ended_ns = times.get("[short-lived]", 0)
        self.assertLessEqual(times["threads_idle"], 1.1 * used["cpu_ns"])
        self.assertGreaterEqual(times["threads_idle"] + ended_ns, 0.9 * used["cpu_ns"])
        idle = recording.function("idle_wait", "-m", "blocked")
        # Looked at one in each tick, a fourteenth of it would be known.
        self.assertGreater(idle["total_pct"], 60)


class Crowds(LiveCase):
    @unittest.skipUnless(os.geteuid() == 0, "needs root, for real-time priority")
    def test_ticks_go_on_while_threads_wait_for_a_cpu(self):
        """Of many threads on one CPU each stops when it gets that, many periods later."""
        crowd = ["taskset", "-c", str(min(os.sched_getaffinity(0))), build("work_rate"), "16", "1500"]
        recording = record(self.directory, crowd, *FAST, "--no-symbols")
        counters = json.loads(recording.info("--json"))["counters"]
        # Held up by each stop, nineteen of twenty are missed.
        self.assertLess(counters["missed_ticks"], counters["ticks"], counters)


class Depth(LiveCase):
    def test_deep_recursion_costs_what_is_allowed(self):
        recording = record(self.directory, [build("recursion_deep"), "20000", "3000"])
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertEqual(counters["dropped_stacks"], 0)
        (said,) = recording.said
        # Of 2 %; with what is over before the governor knows, and lasts longer on busy CPUs.
        self.assertLess(counters["held_ns_total"], 0.04 * said["cpu_ns"])
        self.assertMostlyIn(recording, "main", 0.99)


class Bounds(LiveCase):
    def test_samples(self):
        recording = record(self.directory, [build("spin_leaf"), "2000"], "--max-samples", "100", "--max-overhead", "0")
        self.assertIn("spin_leaf", recording.stdout, "the command ran on")
        samples = json.loads(recording.info("--json"))["totals"]["samples"]
        self.assertGreaterEqual(samples, 100)
        # The command has one a millisecond; it is looked at until the recorder has counted them.
        self.assertLess(samples, 500)
        self.assertMostlyIn(recording, "spin_leaf", 0.9)

    def test_bytes(self):
        bound = 20 * 1024
        with Running([build("blocking_calls", more=("blocking_waits", "blocking_transfers", "blocking_locks")), "60000"]) as target:
            recording = attach(
                self.directory, target.pid, *FAST, "--no-symbols", "--max-size", "20K", timeout=60
            )
            self.assertUntouched(target.pid)
        size = os.path.getsize(recording.path)
        self.assertGreater(size, bound / 2)
        self.assertLess(size, 3 * bound)
        self.assertGreater(recording.report("-m", "wall")["total_ns"], 0)
