# SPDX-License-Identifier: GPL-2.0-or-later
"""32-bit programs: refused by name, and unharmed where they are someone's child."""

import os
import subprocess
import unittest

from live import LiveCase
from paths import TARGETS
from profc import profc, record
from targets import Running, need

IN_COMPANY = True


@unittest.skipUnless(os.uname().machine == "x86_64", "the program is for i386")
class ThirtyTwoBit(LiveCase):
    def program(self):
        need("as")
        need("ld")
        path = self.path("program32")
        source = os.path.join(TARGETS, "program_32_bit.s")
        subprocess.run(["as", "--32", "-o", path + ".o", source], check=True)
        subprocess.run(["ld", "-m", "elf_i386", "-o", path, path + ".o"], check=True)
        try:
            subprocess.run([path], stdout=subprocess.DEVNULL, check=False)
        except OSError as failure:
            self.skipTest(f"this kernel runs no 32-bit programs: {failure}")
        return path

    def test_command_is_refused_before_it_runs(self):
        program = self.program()
        output = self.path("none.data")
        done = profc("record", "-o", output, "--", program, status=125)
        self.assertIn(f"'{program}' is a 32-bit program (i386)", done.stderr)
        self.assertNotIn("ready", done.stdout)
        self.assertFalse(os.path.exists(output))
        done = profc("top", "--", program, status=None)
        self.assertIn("is a 32-bit program (i386)", done.stderr)

    def test_process_is_refused_and_runs_on(self):
        with Running([self.program()]) as target:
            target.wait_ready()
            for command in ("attach", "dump"):
                done = profc(command, "-p", target.pid, status=1)
                self.assertIn(f"process {target.pid} runs a 32-bit program (i386)", done.stderr)
            self.assertUntouched(target.pid)
            self.assertEqual(target.process.wait(timeout=60), 7)

    def test_child_is_unharmed_and_its_time_is_counted(self):
        recording = record(self.directory, ["sh", "-c", f"{self.program()}; exit $?"], status=7)
        report = recording.report()
        self.assertGreater(report["total_ns"], 50_000_000)
        self.assertIn("32-bit program", recording.info())
        self.assertIn("64-bit programs only", recording.info())
        for row in report["rows"]:
            if row["self_pct"] > 50:
                self.assertEqual(row["function"], "[unknown]")
