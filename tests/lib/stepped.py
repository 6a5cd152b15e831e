# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks against the truth: programs run one instruction at a time, see tests/oracle."""

import os
import re
import subprocess
import unittest

from paths import BUILD

ORACLE = os.path.join(BUILD, "tests", "oracle", "single_step")
LAZY = "-Wl,-z,lazy"


@unittest.skipUnless(os.uname().machine == "x86_64", "the oracle reads x86-64 instructions")
class SteppedCase(unittest.TestCase):
    def check(self, program, *options, arguments=(), rules=()):
        """`rules` of lib/unwind/rules.c are those that the program is a test of."""
        command = [ORACLE, *options, program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = set(re.findall(r"^ *\d+ by (.*)$", done.stdout, re.MULTILINE))
        self.assertLessEqual(set(rules), found, done.stdout)
