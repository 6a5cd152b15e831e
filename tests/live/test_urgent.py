# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads of real-time priority, which have the CPUs before all others."""

import contextlib
import fcntl
import os
import subprocess
import tempfile
import time

from live import LiveCase
from profc import attach, profc, record
from targets import Running, build

BY_ITSELF = True  # beside another test they leave that, and the profc that it runs, no CPU


class Urgent(LiveCase):
    def setUp(self):
        """Those of two test runs at once would have all CPUs, and profc, which is none of them, none."""
        super().setUp()
        lock = open(os.path.join(tempfile.gettempdir(), "profc-test-urgent.lock"), "a+b")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)

    def check(self, recording, said):
        self.assertRatio(recording.report()["total_ns"], said["cpu_ns"], 0.02, "CPU time")
        self.assertMostlyIn(recording, "urgent_work", 0.95)

    def test_threads_of_realtime_priority_are_seen(self):
        program = build("realtime")
        if subprocess.run([program, "1", "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("no real-time priority is to be had")
        for arguments in (["1"], ["50"], ["99"], ["50", "600", "rr"]):
            with self.subTest(arguments=arguments):
                recording = record(self.directory, [program, *arguments])
                self.check(recording, recording.said[0])

    def test_a_thread_that_takes_the_priority_when_profc_is_already_beside_it(self):
        """It then has the very CPU to which the sampling thread is bound."""
        program = build("realtime")
        if subprocess.run([program, "1", "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("no real-time priority is to be had")
        with contextlib.ExitStack() as loops:
            for _ in os.sched_getaffinity(0):
                loops.enter_context(Running([build("spin_leaf"), "60000"]))
            recording = record(self.directory, [program, "50", "900", "fifo", "300"])
        self.check(recording, recording.said[0])

    def test_more_of_the_highest_priority_than_there_are_cpus(self):
        program = build("realtime_crowd")
        if subprocess.run([program, "1", "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("no real-time priority is to be had")
        recording = record(self.directory, [program, "99", "1500"])
        report = recording.report()
        lost_ns = sum(row["self_ns"] for row in report["rows"] if row["function"] == "[unattributed]")
        if lost_ns > 0.4 * report["total_ns"]:
            # Where the kernel admits no deadline (a cpuset, another profiler) that is said.
            self.assertIn("profc had no CPU", profc("report", "-i", recording.path).stdout)
        else:
            self.assertMostlyIn(recording, "urgent_work", 0.5)

    def test_attached_to(self):
        program = build("realtime")
        if subprocess.run([program, "1", "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("no real-time priority is to be had")
        with Running([program, "50", "3000"]) as target:
            recording = attach(self.directory, target.pid, "-d", "1")
        self.assertMostlyIn(recording, "urgent_work", 0.95)

    def test_one_that_reaps_children_on_the_cpu_of_profc(self):
        """
        A look-up in /proc of a process that is being reaped waits for that in a loop, in the kernel:
        at a higher priority, on the CPU of the thread that reaps it, for ever.
        """
        program = build("realtime_reaps")
        if subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("no real-time priority is to be had")
        for _ in range(3):
            (said,) = record(self.directory, [program, "2000"], "-F", "2000").said
            self.assertEqual(said["stuck"], 0)
            self.assertGreater(said["children"], 100)

    def test_that_keep_a_process_off_its_cpu_do_not_keep_profc_from_ending(self):
        """A thread of profc that looks whether it may stop another one goes to the CPU of that."""
        program = build("realtime")
        if subprocess.run([program, "1", "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("no real-time priority is to be had")
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("there is one CPU only")

        def on_the_last_cpu(*argv):
            return Running(argv, preexec_fn=lambda: os.sched_setaffinity(0, cpus[-1:]))

        with on_the_last_cpu(build("spin_leaf"), "60000") as target:
            for priority in ("1", "99"):
                with self.subTest(priority=priority), on_the_last_cpu(program, priority, "30000") as urgent:
                    time.sleep(0.3)
                    done = profc("attach", "--count", "^spin_leaf$", "-p", target.pid, "-d", "1",
                                 "-o", self.path("starved.data"), status=None, timeout=25)
                    # The kernel may leave a twentieth of each second to others.
                    self.assertIn("does not stop" if done.returncode else "counted", done.stderr)
                    self.assertIn(done.returncode, (0, 1))
                    self.assertIsNone(urgent.process.poll())
            self.assertUntouched(target.pid)
            recording = attach(self.directory, target.pid, "--count", "^spin_leaf$", "-d", "1")
            self.assertGreater(recording.function("spin_leaf")["calls"], 0)
