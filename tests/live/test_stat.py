# SPDX-License-Identifier: GPL-2.0-or-later
"""`profc stat`: the numbers of a run, beside those that the kernel, time(1) and perf stat have."""

import json
import os
import shutil
import signal
import subprocess
import sys

from live import LiveCase
from paths import PROFC
from profc import profc
from targets import Running, build
from terminal import on_terminal

# Runs a program and says what the kernel counted of both, as time(1) does.
WITNESS = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
def usage(who):
    of = resource.getrusage(who)
    return {"cpu_s": of.ru_utime + of.ru_stime, "peak_kib": of.ru_maxrss,
            "minor": of.ru_minflt, "major": of.ru_majflt,
            "voluntary": of.ru_nvcsw, "involuntary": of.ru_nivcsw}
print(json.dumps([usage(resource.RUSAGE_SELF), usage(resource.RUSAGE_CHILDREN)]))
"""
# Sleeps in a child, and has 64 MiB for a moment.
PROGRAM = "import time; x = bytearray(64 << 20); time.sleep(0.2); sum(i * i for i in range(2000000))"


class Stat(LiveCase):
    def stat(self, *words, status=0, **popen):
        """What JSON says of a run, and the run."""
        done = profc("stat", "--json", *words, status=status, cwd=self.directory, **popen)
        return json.loads(done.stderr.splitlines()[-1]), done

    def test_true(self):
        done = profc("stat", "--width", "80", "--", "true", cwd=self.directory)
        lines = done.stderr.splitlines()
        self.assertEqual(done.stdout, "")
        self.assertEqual(lines[:2], ["", "true"])
        self.assertEqual([line.split()[-1] for line in lines[2:3]], ["elapsed"])
        self.assertLessEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(os.listdir(self.directory), [])

    def test_status_is_that_of_the_command(self):
        told, _ = self.stat("sh", "-c", "exit 3", status=3)
        self.assertEqual((told["exit_status"], told["signal"]), (3, None))
        text = profc("stat", "sh", "-c", "exit 3", status=3).stderr
        self.assertRegex(text, r"\n +3  exit status\n")

    def test_command_that_a_signal_kills(self):
        told, _ = self.stat("sh", "-c", "kill -KILL $$", status=-signal.SIGKILL)
        self.assertEqual((told["exit_status"], told["signal"]), (None, 9))
        text = profc("stat", "sh", "-c", "kill -TERM $$", status=-signal.SIGTERM).stderr
        self.assertRegex(text, r"\n +15  killed by signal\n")

    def test_command_that_is_not_there(self):
        done = profc("stat", "no-such-command", status=127, cwd=self.directory)
        self.assertEqual(done.stderr.splitlines()[0],
                         "profc: cannot run 'no-such-command': No such file or directory")
        profc("stat", "/", status=126)

    def test_words_that_make_no_sense(self):
        for words, said in (
            ((), "which command? None was given"),
            (("-p", os.getpid(), "true"), "-p cannot be combined with a command"),
            (("-d", "1s", "true"), "--duration needs -p"),
        ):
            self.assertIn(said, profc("stat", *words, status=2).stderr)

    def test_output_of_the_command_goes_through(self):
        _, done = self.stat("sh", "-c", "cat; echo heard >&2", input="said\n", stdin=None)
        self.assertEqual(done.stdout, "said\n")
        self.assertEqual(done.stderr.splitlines()[0], "heard")

    def test_file_in_place_of_standard_error(self):
        done = profc("stat", "--json", "-o", self.path("run.json"), "sh", "-c", "echo said >&2")
        self.assertEqual(done.stderr, "said\n")
        with open(self.path("run.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["command"], ["sh", "-c", "echo said >&2"])

    def test_numbers_are_those_of_the_kernel(self):
        told, done = self.stat(sys.executable, "-c", WITNESS, sys.executable, "-c", PROGRAM)
        own, child = json.loads(done.stdout)
        cpu_s = own["cpu_s"] + child["cpu_s"]
        # The witness does not see its own end, nor its beginning before exec.
        self.assertWithin(told["cpu_ns"] / 1e9, cpu_s, 0.02 + 0.05 * cpu_s, "CPU time")
        self.assertWithin(told["peak_memory_bytes"] / 1024, child["peak_kib"], 0, "peak")
        self.assertGreater(told["peak_memory_bytes"], 64 << 20)
        for member, name in (("minor_faults", "minor"), ("voluntary_switches", "voluntary"),
                             ("involuntary_switches", "involuntary")):
            self.assertWithin(told[member], own[name] + child[name],
                              200 if name == "minor" else 30, member)
        self.assertGreater(told["elapsed_ns"], 200e6)
        self.assertGreater(told["blocked_ns"], 400e6)  # both slept
        self.assertEqual((told["processes"], told["threads"]), (2, 2))

    def test_numbers_are_those_of_perf(self):
        perf = ["perf", "stat", "-x,", "-e", "task-clock,page-faults", "-o", self.path("perf")]
        if not shutil.which("perf") or subprocess.run([*perf, "true"], check=False).returncode:
            self.skipTest("perf stat does not work here")
        told, _ = self.stat(*perf, "--", sys.executable, "-c", PROGRAM)
        with open(self.path("perf"), encoding="utf-8") as file:
            rows = [line.split(",") for line in file if "," in line]
        counted = {row[2].split(":")[0]: float(row[0]) for row in rows}
        # Both, and perf beside its command.
        self.assertWithin(told["cpu_ns"] / 1e6, counted["task-clock"],
                          60 + 0.1 * counted["task-clock"], "CPU time, ms")
        self.assertGreaterEqual(told["minor_faults"] + told["major_faults"], counted["page-faults"])

    def test_script_with_short_children(self):
        told, _ = self.stat("sh", "-c", "for i in $(seq 100); do /bin/true; done")
        self.assertEqual(told["exit_status"], 0)
        # Those that no tick has found are told from the ids that the kernel gave away.
        self.assertGreater(told["processes"] + told["processes_not_found"], 50)
        self.assertGreater(told["minor_faults"], 100 * 30)
        self.assertIn(told["waits"][0]["syscall"], ("wait4", "vfork"))

    def test_hot_functions_and_long_waits(self):
        told, _ = self.stat("-n", "2", sys.executable, "-c", PROGRAM)
        self.assertEqual(len(told["functions"]), 2)
        self.assertGreater(told["functions"][0]["pct"], told["functions"][1]["pct"])
        told, _ = self.stat("-n", "0", build("mutex_contention"), "500")
        self.assertIn("mutex", {wait.get("lock") for wait in told["waits"]})

    def test_what_a_command_leaves_is_not_waited_for(self):
        told, _ = self.stat("sh", "-c", "sleep 60 >&- 2>&- & echo $!")
        self.assertLess(told["elapsed_ns"], 30e9)

    def test_ctrl_c_ends_the_command_and_has_its_numbers(self):
        # No shell: one that has not begun its sleep yet waits for that whole, with or without profc.
        with subprocess.Popen([PROFC, "stat", "cat"], text=True, bufsize=1, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as process:
            process.stdin.write("up\n")
            process.stdout.readline()
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertRegex(said, r"\n +2  killed by signal\n")

    def test_running_process(self):
        with Running([build("sleeping"), "20000"]) as target:
            told, _ = self.stat("-p", target.pid, "-d", "500ms")
        self.assertWithin(told["elapsed_ns"] / 1e9, 0.5, 0.2, "elapsed")
        self.assertIsNone(told["exit_status"])
        self.assertGreater(told["peak_memory_bytes"], 0)
        self.assertEqual(told["processes"], 1)
        self.assertTrue(told["waits"])

    def test_counters_are_among_the_numbers(self):
        told, _ = self.stat("--metrics", "switches", "sleep", "0.1")
        self.assertIn("switches", told["counters"])

    def test_page_fits_a_terminal(self):
        _, text = on_terminal([PROFC, "stat", "--", "sh", "-c", "sleep 0.1; sleep 0.1"])
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 24)
        self.assertIn("longest waits", text)
