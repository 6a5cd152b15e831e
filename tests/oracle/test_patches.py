# SPDX-License-Identifier: GPL-2.0-or-later
"""What probes would be written over the code of this machine, beside the words of Zydis."""

import os
import re
import shutil
import subprocess
import unittest

from paths import BUILD

PROGRAM = os.path.join(BUILD, "tests", "oracle", "patches")
LIBRARY = re.compile(r"(/\S+)")
# Other reasons are properties of the function: a loop leads to its first bytes.
FOR_WANT_OF_SKILL = re.compile(r"(\d+) (?:it is shorter|its first|it begins|one of its|there )")


def files():
    """The libraries of two programs, in C and C++, and themselves."""
    found = []
    for name in ("python3", "gdb"):
        program = shutil.which(name)
        if program:
            words = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
            found += [os.path.realpath(path) for path in [program, *LIBRARY.findall(words.stdout)]]
    return sorted({path for path in found if os.path.isfile(path)})


def run(verb, *paths):
    done = subprocess.run([PROGRAM, verb, *paths], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Patches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.uname().machine != "x86_64":
            raise unittest.SkipTest("there are no probes for this processor")
        cls.files = files()
        if not any("libc.so" in path for path in cls.files):
            raise unittest.SkipTest("there is no shared library of C to look at")

    def test_nearly_every_function_can_be_counted(self):
        for path in self.files:
            with self.subTest(path):
                status, text = run("outcomes", path)
                self.assertEqual(status, 0, text)
                total = int(re.search(r": (\d+) functions", text)[1])
                counted = int((re.search(r"; (\d+) counted", text) or "00")[1])
                if total < 1000:
                    continue  # a share of so few means little
                self.assertGreater(counted, 0.97 * total, text)
                wanted = sum(int(nr) for nr in FOR_WANT_OF_SKILL.findall(text))
                self.assertLess(wanted, 0.01 * total, text)

    def test_instructions_are_those_of_zydis_and_stay_so_when_moved(self):
        for path in self.files:
            with self.subTest(path):
                status, text = run("compare", path)
                if status == 77:
                    self.skipTest("Zydis is not installed")
                self.assertEqual(status, 0, text)
                nr = [int(nr) for nr in re.search(
                    r": (\d+) instr.*, (\d+) moved, \d+ bytes of data, (\d+) unk", text).groups()]
                self.assertLess(nr[2], 1 + nr[0] / 10000, text)
                self.assertTrue(nr[1] > 0 or nr[0] < 1000, text)
