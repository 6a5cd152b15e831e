# SPDX-License-Identifier: GPL-2.0-or-later
"""The test case the live and command-line tests derive from."""

import json
import math
import os
import shutil
import tempfile
import time
import unittest

import procfs
from paths import PROFC
from profc import Recording, profc


class LiveCase(unittest.TestCase):
    """A fresh directory for each test, and assertions that name both values."""

    def setUp(self):
        if not os.access(PROFC, os.X_OK):
            self.fail(f"{PROFC} is not built: run make, or name another in PROFC")
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    @classmethod
    def scratch(cls):
        """A directory for what all tests of the class share, made by setUpClass()."""
        directory = tempfile.mkdtemp(prefix="profc-test-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        return directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def public(self, program):
        """A copy of a program in a place where any user may run it."""
        os.chmod(self.directory, 0o755)
        copy = self.path(os.path.basename(program))
        if not os.path.exists(copy):
            shutil.copy(program, copy)
            os.chmod(copy, 0o755)
        return copy

    def ordinary_user(self):
        """Arguments for subprocess that make the child somebody without rights."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        return {"user": 65534, "group": 65534, "extra_groups": []}

    def assertWithin(self, value, expected, tolerance, what):
        """|value - expected| <= tolerance, in the unit of the values."""
        if abs(value - expected) > tolerance:
            self.fail(f"{what}: {value:.6g}, expected {expected:.6g} within {tolerance:.6g}")

    def assertShare(self, row, column, expected, what=""):
        """A share in percent, within 2 points or what so few samples allow."""
        half = row["total_ci_pct" if column.startswith("total") else "ci_pct"]
        tolerance = max(2, 1.5 * half)
        self.assertWithin(row[column], expected, tolerance, f"{column} of {what or row}")

    def assertPart(self, recording, part, expected, what, at_least=0.08):
        """
        A part of the recording's time, from 0 to 1, within at_least or three standard deviations of
        its number of samples: of few where the CPUs are busy.
        """
        nr_samples = json.loads(recording.info("--json"))["totals"]["samples"]
        deviation = math.sqrt(expected * (1 - expected) / max(1, nr_samples))
        self.assertWithin(part, expected, max(at_least, 3 * deviation), what)

    def known_ns(self, recording, *options):
        """
        The CPU time whose stacks are known: most of it, but where the CPUs are busy profc misses
        many of its moments to look, and some gaps between those are all that a thread lives.
        """
        rows = recording.rows(*options)
        whole = sum(row["self_ns"] for row in rows)
        unknown = sum(row["self_ns"] for row in rows if row["function"] == "[unattributed]")
        gap = whole / max(1, sum(row["self_samples"] for row in rows))
        nr_threads = len(recording.rows("--by", "thread", *options))
        bound = (0.1 + recording.missed_share()) * whole + 2 * gap * nr_threads
        self.assertLessEqual(unknown, bound, "time of unknown stacks")
        return whole - unknown

    def assertMostlyIn(self, recording, function, share, column="total_ns", options=()):
        """At least so much of the time of known stacks, or what so few samples allow."""
        row = recording.function(function, *options)
        half = row["total_ci_pct" if column.startswith("total") else "ci_pct"]
        allowance = 1.5 * half / 100
        known_ns = self.known_ns(recording, *options)
        self.assertShareAtLeast(row[column], known_ns, share - allowance, function)

    def until_done(self, control, words):
        """What a recording is told, and that it has heard it."""
        snapshot = self.path(f"snapshot-{len(os.listdir(self.directory))}")
        with open(control, "w", encoding="utf-8") as fifo:
            fifo.write(f"{words}snapshot {snapshot}\n")
        self.eventually(lambda: os.path.exists(snapshot), "a snapshot")
        return Recording(snapshot)

    def assertRatio(self, value, expected, tolerance, what):
        """value / expected is 1 within the tolerance."""
        self.assertGreater(expected, 0, what)
        self.assertWithin(value / expected, 1, tolerance, f"{what} ({value} against {expected})")

    def assertShareAtLeast(self, value, whole, share, what):
        self.assertGreater(whole, 0, what)
        if value < share * whole:
            self.fail(f"{what}: {100 * value / whole:.2f} %, expected at least {100 * share:.2f} %")

    def assertComplete(self, recording, share):
        """So much of the CPU weight is in stacks that reach the root."""
        whole = cut = 0
        for frames, weight in recording.folded():
            whole += weight
            cut += weight if frames[1].startswith("[truncated") else 0
        self.assertShareAtLeast(whole - cut, whole, share, "stacks complete to the root")

    def eventually(self, condition, what, patience=20):
        """Wait until condition() is true; for handshakes that have no descriptor."""
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"{what} did not come about in {patience} s")
            time.sleep(0.005)

    def wait_until_recorded(self, path, cpu_ns=300e6):
        """
        Until so much CPU time of known stacks can be read of a recording that goes on: its first
        part is there after 10 ms, and has a look or two, of which no share says anything.
        """
        size = 0

        def is_enough():
            nonlocal size
            before, size = size, os.path.getsize(path) if os.path.exists(path) else 0
            if size == before:
                return False
            done = profc("report", "-i", path, "--json", status=None)
            rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
            known = [row["self_ns"] for row in rows if row["function"] != "[unattributed]"]
            return sum(known) >= cpu_ns

        self.eventually(is_enough, f"a recording of {cpu_ns / 1e6:.0f} ms", patience=60)

    def assertProgress(self, counters, what="a target that runs"):
        """One that is short of CPU time gets on, too, some time."""
        seen = counters.total()
        self.eventually(lambda: counters.total() > seen, f"progress of {what}")

    def assertUntouched(self, pid):
        """The process runs on as if nothing had been: not traced, not stopped."""
        for tid in procfs.threads(pid):
            status = procfs.status(pid, tid)
            if not status:
                continue
            self.assertEqual(status["TracerPid"], "0", f"thread {tid} is still traced")
            self.assertNotIn(status["State"][0], "Tt", f"thread {tid} is left stopped")
