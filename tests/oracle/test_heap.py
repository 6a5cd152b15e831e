# SPDX-License-Identifier: GPL-2.0-or-later
"""The allocations of running programs beside what the programs know of them."""

import ctypes.util
import json
import os
import subprocess
import tempfile
import unittest

from completeness import Account
from paths import BUILD, PROFC
from profc import Recording
from targets import build, need, source_path

PROGRAM = os.path.join(BUILD, "tests", "oracle", "heap")
# Of 10,000 true estimates one is further off.
SIGMAS = 4


def regions(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return [line for line in maps if "profc-probes" in line]


def heap(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"status {done.returncode}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout.splitlines()[-1])


class Running:
    """A target that says when it is ready, and is let go by a line."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, f"status {self.process.returncode}: {err}"
        return out


class Heap(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.uname().machine != "x86_64":
            raise unittest.SkipTest("there are no probes for this processor")

    def with_musl(self, name, *flags):
        compiler = need("musl-gcc")
        path = os.path.join(BUILD, "tests", name + "-musl" + "".join(flags))
        subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-w", "-pthread", *flags, "-o", path,
                        source_path(name)], check=True)
        return path

    def check_estimate(self, found):
        # Some are left out where the reader is late: others represent them.
        self.assertLess(found["dropped"], found["samples"], found)
        self.assertEqual(found["lost"], 0, found)
        self.assertGreater(found["samples"], 1000, found)
        off = abs(found["estimated_bytes"] - found["allocated_bytes"])
        self.assertLess(off, SIGMAS * found["sigma_bytes"], found)

    def check_exact(self, path, *rate):
        target = Running(path)
        rate = rate or ("--mean", "65536")
        sampler = subprocess.Popen([PROGRAM, *rate, "--stack", "256", "--ms", "0",
                                    str(target.pid)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.assertEqual(sampler.stdout.readline(), "on\n")
        own = target.go()
        found = json.loads(sampler.communicate()[0])
        target.end()
        self.assertEqual(found["left"], 0, found)
        self.assertEqual(found["allocated_bytes"], own["bytes"], (found, own))
        self.assertEqual(found["allocations"], own["allocations"], (found, own))
        self.assertEqual(own["failed"], 0)
        self.assertEqual(found["unmatched_frees"], 0, found)
        self.assertEqual(found["frees"], found["samples"], found)
        if rate != ("--all",):
            self.check_estimate(found)
            return
        self.assertEqual(found["samples"], own["allocations"], found)
        self.assertEqual(found["estimated_bytes"], own["bytes"], found)
        self.assertEqual(found["dropped"] + found["lost"], 0, found)

    def test_totals_are_the_programs_own(self):
        self.check_exact(build("heap_exact"))

    def test_each_block_is_recorded(self):
        self.check_exact(build("heap_exact"), "--all")
        self.check_exact(build("heap_exact", "-O2", "-g", "-static"), "--all")

    def test_each_block_is_recorded_with_musl(self):
        self.check_exact(self.with_musl("heap_exact"), "--all")
        self.check_exact(self.with_musl("heap_exact", "-static"), "--all")

    def test_totals_of_a_static_program(self):
        self.check_exact(build("heap_exact", "-O2", "-g", "-static"))

    def test_totals_with_musl(self):
        self.check_exact(self.with_musl("heap_exact"))

    def test_totals_of_a_static_program_with_musl(self):
        self.check_exact(self.with_musl("heap_exact", "-static"))

    def check_hammer(self, path, *rate):
        target = Running(path)
        rate = rate or ("--mean", "65536")
        cycles = "5" if rate == ("--all",) else "20"
        found = heap(*rate, "--stack", "256", "--ms", "20", "--cycles", cycles, str(target.pid))
        # Threads that get no CPU for two seconds are left to the next of the cycles.
        self.assertLess(found["left"], 4, found)
        self.assertEqual(regions(target.pid), [])
        own = json.loads(target.end())
        self.assertGreater(own["signals"], 0)
        if rate == ("--all",):
            # What was allocated before is freed, too. An allocation that is under way when probes
            # are taken away may be given what was freed a moment later, without one.
            self.assertLess(found["doubled"], 15, found)
            self.assertEqual(found["dropped"], 0, found)
            self.assertGreater(found["other_pids"], 0, found)
            return
        # On a busy machine the ring may be full while threads are waited for: not most of the time.
        self.assertLessEqual(found["unmatched_frees"], found["dropped"], found)
        self.assertLess(found["dropped"], found["samples"], found)
        self.assertGreater(found["other_pids"], 0, found)
        if not found["dropped"]:
            self.check_estimate(found)

    def test_nothing_breaks_while_probes_come_and_go(self):
        self.check_hammer(build("heap_hammer"))

    def test_nothing_breaks_while_each_block_is_recorded(self):
        for path in (build("heap_hammer"), self.with_musl("heap_hammer", "-static")):
            self.check_hammer(path, "--all")

    def test_nothing_breaks_in_a_static_program(self):
        self.check_hammer(build("heap_hammer", "-O2", "-g", "-static"))

    def test_nothing_breaks_with_musl(self):
        self.check_hammer(self.with_musl("heap_hammer"))

    def test_what_a_killed_profc_left_is_taken_away(self):
        target = Running(build("heap_hammer"))
        for rate in ((), ("--all",)) * 3:
            subprocess.run([PROGRAM, "--crash", *rate, "--ms", "20", str(target.pid)],
                           check=True, stdout=subprocess.DEVNULL)
            self.assertNotEqual(regions(target.pid), [])
            found = heap("--mean", "65536", "--stack", "256", "--ms", "50", str(target.pid))
            self.assertEqual(found["left"], 0, found)
            self.assertEqual(regions(target.pid), [])
        target.end()

    def test_stacks_are_complete_through_the_probes(self):
        """realloc() is called from a frame of ours, which has no CFI but a frame record."""
        target = Running(build("heap_reallocs", "-O2", "-g", "-fomit-frame-pointer"))
        sampler = subprocess.Popen([PROGRAM, "--mean", "4194304", "--ms", "0", str(target.pid)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(sampler.stdout.readline(), "on\n")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "profc.data")
            subprocess.run([PROFC, "attach", "-F", "1000", "--max-overhead", "0", "-d", "1",
                            "-o", path, "-p", str(target.pid)],
                           check=True, capture_output=True)
            account = Account(Recording(path))
            tree = subprocess.run([PROFC, "report", "--tree", "-i", path], check=True,
                                  capture_output=True, text=True).stdout
        self.assertEqual(json.loads(sampler.communicate()[0])["left"], 0)
        target.end()
        rooted = account.percent(account.rooted)
        self.assertGreaterEqual(rooted, 99 - account.allowance(99), account)
        self.assertRegex(tree, "(?s) main\n.* grow\n.*profc-probes.* realloc\n")

    def check_throws(self, *libraries):
        path = build("heap_throws", libraries=libraries)
        found = heap("--mean", "4096", "--stack", "256", "--", path)
        self.assertEqual(found["status"], 0, found)
        self.assertGreater(found["functions"], 30 if libraries else 5, found)
        self.assertLessEqual(found["unmatched_frees"], found["dropped"], found)
        if not found["dropped"]:
            self.check_estimate(found)

    def test_exceptions_leave_operator_new(self):
        self.check_throws()

    def test_exceptions_leave_an_operator_new_that_is_hooked_itself(self):
        """That of jemalloc does not call malloc()."""
        library = ctypes.util.find_library("jemalloc")
        if not library:
            self.skipTest("jemalloc is not installed")
        self.check_throws("-Wl,--no-as-needed", f"-l:{library}")

    def check_command(self, path):
        own = subprocess.run([path], input="go\n", capture_output=True, text=True, check=True)
        bytes_of_target = json.loads(own.stdout.splitlines()[1])["bytes"]
        read, write = os.pipe()
        os.write(write, b"go\n")
        os.close(write)
        with os.fdopen(read) as lines:
            done = subprocess.run([PROGRAM, "--mean", "65536", "--stack", "256", "--", path],
                                  stdin=lines, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(found["status"], 0, found)
        # What the C library allocates before main() is in it.
        self.assertGreaterEqual(found["allocated_bytes"], bytes_of_target, found)
        self.assertLess(found["allocated_bytes"], bytes_of_target + 10000, found)
        self.check_estimate(found)

    def test_a_command_is_sampled_from_its_start(self):
        self.check_command(build("heap_exact"))

    def test_a_static_command_is_sampled_before_it_has_thread_data(self):
        self.check_command(build("heap_exact", "-O2", "-g", "-static"))
