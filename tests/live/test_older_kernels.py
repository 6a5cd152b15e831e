# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that lack calls which profc uses: who has none gets less, and is told so."""

import errno

from forbidden import SINCE_5_3, SINCE_5_6, without
from live import LiveCase
from profc import Recording, profc, record
from targets import Running, build

IN_COMPANY = True
FAST = ("-F", "1000", "--max-overhead", "0")  # in an emulated machine a stop takes milliseconds


class OlderKernel(LiveCase):
    MISSING = SINCE_5_6

    def setUp(self):
        super().setUp()
        self.kernel = {"preexec_fn": without(*self.MISSING, error=errno.ENOSYS)}
        target = Running([build("progressing"), self.path("counters")])
        self.addCleanup(target.__exit__)
        self.pid = target.wait_ready().pid

    def test_samples_are_taken(self):
        self.assertTrue(record(self.directory, [build("spin_leaf"), "300"], *FAST, **self.kernel).rows())
        path = self.path("attached.data")
        profc("attach", "-p", self.pid, "-d", "1s", *FAST, "-o", path, **self.kernel)
        self.assertTrue(Recording(path).rows("-m", "wall"))
        self.assertIn("progress_main", profc("dump", "-p", self.pid, **self.kernel).stdout)
        self.assertUntouched(self.pid)

    def test_calls_and_memory_are_refused(self):
        words = "calls and allocations are not counted\nhint: Linux 5.6 and later can"
        for way in (("--count", "^(progress_main|spin_leaf)$"), ("--mem",)):
            done = profc("attach", *way, "-p", self.pid, "-d", "1s", "-o", self.path("x.data"), status=1,
                         **self.kernel)
            self.assertIn(words, done.stderr)
            self.assertUntouched(self.pid)
            command = record(self.directory, [build("spin_leaf"), "300"], *FAST, *way, **self.kernel)
            self.assertIn(words, command.stderr)

    def test_doctor_says_so(self):
        said = profc("doctor", "-p", self.pid, **self.kernel).stdout
        self.assertRegex(said, r"(?m)^warn  calls and allocations cannot be recorded: no pidfd_getfd\(2\)\n"
                         " *hint: it came with Linux 5.6")
        self.assertRegex(said, rf"(?m)^ok +process {self.pid} may be traced")


class StillOlderKernel(OlderKernel):
    MISSING = SINCE_5_3
