# SPDX-License-Identifier: GPL-2.0-or-later
"""profc doctor: whether profiling can work here, and if not why."""

import os
import subprocess
import unittest

from live import LiveCase
from paths import PROFC
from profc import profc
from terminal import on_terminal


class Doctor(LiveCase):
    def test_everything_it_needs_is_tried(self):
        said = profc("doctor").stdout
        self.assertRegex(said, r"(?m)^ok +visited a child, copied \d+ bytes of its stack")
        self.assertRegex(said, r"(?m)^ok +sleeping threads can be read")
        self.assertNotIn("BAD", said)

    def test_a_process_is_attached_to_and_let_go(self):
        with subprocess.Popen(["sleep", "60"]) as target:
            said = profc("doctor", "-p", target.pid).stdout
            self.assertRegex(said, rf"(?m)^ok +process {target.pid} may be traced: 1 thread")
            self.assertUntouched(target.pid)
            target.kill()

    def test_says_why_a_process_cannot_be_attached_to(self):
        said = profc("doctor", "-p", os.getpid(), "-p", 2**22 + 1, status=1).stdout
        self.assertRegex(said, rf"(?m)^ok +process {os.getpid()} may be traced")
        self.assertRegex(said, r"(?m)^BAD +there is no process 4194305")

    def test_fits_the_terminal(self):
        arguments = ["doctor", "-p", str(2**22 + 1)]
        environment = {**os.environ, "COLUMNS": "44"}
        status, seen = on_terminal([PROFC, *arguments], env=environment)
        self.assertEqual(status, 1)
        self.assertLessEqual(max(map(len, seen.splitlines())), 44, seen)
        self.assertRegex(seen, r"\n      \S")
        # What else is said of the two differs in its times only.
        plain = profc(*arguments, status=1).stdout
        lines, plain_lines = (text.replace("\n      ", " ").splitlines() for text in (seen, plain))
        self.assertEqual(len(lines), len(plain_lines))

    def test_wrong_usage(self):
        profc("doctor", "-p", "sleep", status=2)
        profc("doctor", "sleep", status=2)


if __name__ == "__main__":
    unittest.main()
