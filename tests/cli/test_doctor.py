# SPDX-License-Identifier: GPL-2.0-or-later
"""profc doctor: whether profiling can work here, and if not why."""

import os
import platform
import subprocess
import unittest

from forbidden import without
from live import LiveCase
from paths import PROFC
from profc import profc
from pythons import candidates, is_program, pythons
from terminal import on_terminal


class Doctor(LiveCase):
    def test_everything_it_needs_is_tried(self):
        said = profc("doctor").stdout
        self.assertRegex(said, r"(?m)^ok +visited a child, copied \d+ bytes of its stack")
        self.assertRegex(said, r"(?m)^ok +sleeping threads can be read")
        self.assertRegex(said, r"(?m)^ok +calls and allocations of processes can be recorded")
        of_x86_64 = r"Node\.js 18 and 20, PHP 8\.2, " if platform.machine() == "x86_64" else ""
        self.assertRegex(
            said, rf"(?m)^ok +functions of Python 3\.8 to 3\.13, {of_x86_64}Perl 5\.36 are read")
        self.assertNotIn("FAIL", said)
        self.assertRegex(said, r"\n\nprofiling works here(, with \d+ warnings?)?\n$")

    def test_a_process_is_attached_to_and_let_go(self):
        with subprocess.Popen(["sleep", "60"]) as target:
            said = profc("doctor", "-p", target.pid).stdout
            self.assertRegex(said, rf"(?m)^ok +process {target.pid} may be traced: 1 thread")
            self.assertUntouched(target.pid)
            target.kill()

    def running(self, python):
        process = subprocess.Popen([python, "-c", "print(flush=True); import time; time.sleep(60)"],
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return process.pid

    def test_says_which_interpreter_a_process_runs(self):
        for version, python in pythons():
            pid = self.running(python)
            self.assertRegex(profc("doctor", "-p", pid).stdout,
                             rf"(?m)^ok +process {pid} runs Python {version}, whose functions are "
                             "read$")

    def test_says_whether_its_version_is_known(self):
        found = [(minor, path) for minor in range(6, 8) for path in candidates(f"python3.{minor}")
                 if path and os.path.exists(path) and is_program(path)]
        if not found:
            self.skipTest("there is no Python before 3.8")
        minor, python = found[-1]
        pid = self.running(python)
        self.assertRegex(profc("doctor", "-p", pid).stdout,
                         rf"(?m)^warn  process {pid} runs Python 3\.{minor}, whose functions are not "
                         r"read: unknown version\n      hint: they are in Python 3\.8 to 3\.13")

    def test_says_why_a_process_cannot_be_attached_to(self):
        said = profc("doctor", "-p", os.getpid(), "-p", 2**22 + 1, status=1).stdout
        self.assertRegex(said, rf"(?m)^ok +process {os.getpid()} may be traced")
        self.assertRegex(said, r"(?m)^FAIL  there is no process 4194305\n      hint: name another")
        self.assertTrue(said.endswith("\n\n1 FAIL: not all that was tried works here\n"), said)

    def test_ends_where_its_child_cannot_be_killed(self):
        """AppArmor may forbid signals to others; it waited forever."""
        with open(self.path("said"), "w+", encoding="utf-8") as said:
            subprocess.run([PROFC, "doctor"], preexec_fn=without("kill"), check=True,
                           stdout=said, timeout=60)
            said.seek(0)
            self.assertIn("profiling works here", said.read())

    def assertSaidOnce(self, said, cause):
        self.assertRegex(said, rf"(?m)^FAIL  .*{cause}")
        self.assertNotRegex(said, r"process \d")
        self.assertNotRegex(said, "(?m)^ok +may attach")
        self.assertTrue(said.endswith("\n\n1 FAIL: not all that was tried works here\n"), said)

    def test_says_one_cause_once(self):
        with subprocess.Popen(["sleep", "60"]) as target:
            said = profc("doctor", "-p", target.pid, preexec_fn=without("ptrace"), status=1).stdout
            target.kill()
        self.assertSaidOnce(said, "the kernel does not allow tracing a child of profc\n")

    def test_a_recording_names_its_command(self):
        """It named the id of a process that nobody had seen."""
        done = profc("record", "-o", self.path("x.data"), "--", "true", preexec_fn=without("ptrace"), status=125)
        self.assertIn("profc: the kernel does not allow tracing the command\n", done.stderr)

    def test_says_once_that_yama_forbids_all(self):
        # Neither the scope nor what it forbids can be taken back on a real one.
        script = ("mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && "
                  f"echo 3 >/proc/sys/kernel/yama/ptrace_scope && exec {PROFC} doctor -p $PPID")
        try:
            done = subprocess.run(["unshare", "--mount", "sh", "-c", script], check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=without("ptrace"))
        except OSError as error:
            self.skipTest(str(error))
        if "profc" not in done.stdout:
            self.skipTest(done.stderr.strip())
        self.assertSaidOnce(done.stdout, "Yama does not let profc trace a child of profc\n"
                            "      hint: kernel.yama.ptrace_scope is 3")

    def test_whatever_is_not_ok_has_one_line_of_advice(self):
        # With few rights and limits, much of it is not.
        script = f"ulimit -n 100; ulimit -R 1000; exec {PROFC} doctor -p 4194305 --color never"
        status, seen = on_terminal(["bash", "-c", script], env={**os.environ, "COLUMNS": "80"})
        lines = seen.splitlines()
        self.assertEqual(status, 1)
        self.assertLessEqual(max(map(len, lines)), 80)
        found = [line[:5].strip() for line in lines[:lines.index("")]]
        self.assertGreaterEqual(found.count("warn"), 2, seen)
        self.assertEqual(found.count("FAIL"), 1, seen)
        for line, word in enumerate(found):
            if word in ("warn", "FAIL"):
                self.assertEqual(lines[line + 1][:12], "      hint: ", seen)
                self.assertNotEqual(found[line + 2 : line + 3], [""], seen)

    def test_verdicts_have_colours_on_a_terminal(self):
        arguments = [PROFC, "doctor", "-p", "4194305"]
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
        coloured = on_terminal(arguments, env=environment)[1]
        self.assertIn("\033[32mok\033[0m    visited", coloured)
        self.assertIn("\033[1;31mFAIL\033[0m  there is no process", coloured)
        for plain in (on_terminal(arguments, env={**environment, "NO_COLOR": "1"})[1],
                      on_terminal([*arguments, "--color", "never"], env=environment)[1],
                      profc("doctor", "-p", 2**22 + 1, status=1).stdout):
            self.assertNotIn("\033", plain)
        self.assertIn("\033[32mok", profc("doctor", "--color", "always").stdout)

    def test_fits_the_terminal(self):
        arguments = ["doctor", "-p", str(2**22 + 1)]
        environment = {**os.environ, "COLUMNS": "44", "NO_COLOR": "1"}
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
