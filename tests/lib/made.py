# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up recordings, for what needs a profile and no program to make one."""

import os
import shutil
import subprocess
import tempfile
import unittest

from paths import BUILD

MAKE_PROFILE = os.path.join(BUILD, "tests", "bench", "make_profile")


def make_profile(path, samples, stacks, threads, counts=0, blocks=0, period_ms=2, marks=0, calls=0,
                 processes=1):
    """The same recording for the same numbers, in every run."""
    subprocess.run(
        [MAKE_PROFILE, path, str(samples), str(stacks), str(threads), str(counts),
         str(blocks), str(period_ms), str(marks), str(calls), str(processes)],
        check=True, stdout=subprocess.DEVNULL,
    )
    return path


class MadeCase(unittest.TestCase):
    """A directory and in it a made-up recording, `data`, the same for all tests of a class."""

    # Samples, stacks, threads, functions counted, blocks allocated, period in ms, marks, calls timed, processes.
    SIZE = (10000, 1000, 3)

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="profc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.data = make_profile(os.path.join(cls.directory, "made.data"), *cls.SIZE)

    def path(self, name):
        return os.path.join(self.directory, name)
