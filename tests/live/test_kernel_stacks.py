# SPDX-License-Identifier: GPL-2.0-or-later
"""Where threads sleep in the kernel, against what the kernel shows a reader beside profc."""

import collections
import json
import os
import re
import signal
import time

import procfs
from control_group import FreezerGroup, UnifiedGroup
from live import LiveCase
from paths import ROOT
from profc import Recorder, Recording, attach, profc
from targets import Running, build

IN_COMPANY = True
FAST = ("-F", "1000", "--max-overhead", "0")  # in an emulated machine a stop takes milliseconds
RECORDINGS = os.path.join(ROOT, "tests", "outputs", "recordings")
NAMES = ("in_futex", "in_pipe", "in_flock", "in_timer", "in_poll")
# The lines below these are the same for every call, and those for every page fault.
ENTRIES = ("x64_sys_call", "do_syscall_64", "invoke_syscall", "el0_svc_common", "do_el0_svc",
           "exc_page_fault", "asm_exc_page_fault", "el0_da", "entry_SYSCALL_64_after_hwframe")


def threads_by_name(pid):
    return {procfs.status(pid, tid)["Name"]: tid for tid in procfs.threads(pid)}


def read(pid, tid, name):
    with open(f"/proc/{pid}/task/{tid}/{name}", encoding="ascii") as file:
        return file.read()


def witness(pid, tid):
    """The functions of a thread's kernel stack, outermost first, without those of the entry."""
    names = re.findall(r"(?m)^\[<\w+>\] (\w[^+\n]*)\+", read(pid, tid, "stack"))
    entry = [at for at, name in enumerate(names) if name.split(".")[0] in ENTRIES]
    return names[: entry[0] if entry else None][::-1]


def kernel_of(recording, function, *options):
    """The functions of the kernel in stacks of a function, with the time of each stack."""
    folded = profc("export", "--folded", "-i", recording.path, "-m", "blocked", "-o", "-", *options)
    found = collections.Counter()
    for line in folded.stdout.splitlines():
        stack, _, weight = line.rpartition(" ")
        frames = stack.split(";")
        if function in frames:
            kernel = [frame[4:] for frame in frames if frame.startswith("[k] ")]
            if kernel and frames[-len(kernel) :] != [f"[k] {name}" for name in kernel]:
                raise AssertionError(f"functions of the kernel are not all below: {stack}")
            found[tuple(kernel)] += int(weight)
    return found


def place(pid, tid):
    """The function of the kernel in which a thread sleeps; 5.10 does not tell it by wchan."""
    name = read(pid, tid, "wchan")
    if name == "0" and os.geteuid() == 0:
        name = (witness(pid, tid) or [name])[-1]
    return name


class KernelStacks(LiveCase):
    def start(self, *arguments, **user):
        target = Running([self.public(build("sleeps_in_kernel")), *arguments], **user)
        self.addCleanup(target.__exit__, None, None, None)
        target.wait_ready()
        self.eventually(lambda: self.all_asleep(target.pid), "sleep of all threads")
        return target

    def all_asleep(self, pid):
        tids = threads_by_name(pid)
        return set(NAMES) <= set(tids) and all(
            read(pid, tids[name], "syscall") != "running\n"
            and place(pid, tids[name]) not in ("0", "futex_wake")
            and procfs.state(pid, tids[name]) == "S"
            for name in NAMES
        )

    def test_are_those_that_the_kernel_shows(self):
        if os.geteuid() != 0:
            self.skipTest("the kernel shows its stacks to root")
        target = self.start()
        expected = {
            name: witness(target.pid, tid)
            for name, tid in threads_by_name(target.pid).items()
            if name in NAMES
        }
        recording = attach(self.directory, target.pid, "--duration", "0.5")
        for name, functions in expected.items():
            with self.subTest(sleep=name):
                self.assertGreaterEqual(len(functions), 2)
                self.assertEqual(set(kernel_of(recording, name, "--kernel")), {tuple(functions)})
                # Otherwise a view ends where the program's own stack does.
                self.assertEqual(set(kernel_of(recording, name)), {()})
        self.check_views(recording, expected["in_flock"][-1])

    def check_views(self, recording, leaf):
        rows = recording.rows("-m", "blocked", "--kernel")
        (row,) = [row for row in rows if row["function"] == f"[k] {leaf}"]
        self.assertEqual((row["module"], row["wait_function"]), ("[kernel]", "in_flock"))
        self.assertFalse([row for row in recording.rows("-m", "blocked")
                          if row["function"].startswith("[k]")])
        text = profc("report", "-i", recording.path, "-m", "blocked", "--tree", "--kernel").stdout
        self.assertIn(f"[k] {leaf}\n", text)
        self.assertNotIn("without symbols", text)
        callers = profc("report", "-i", recording.path, "-m", "blocked", "--kernel",
                        "--callers", leaf).stdout
        self.assertIn("in_flock", callers)

    def test_of_running_processes_are_in_a_dump_and_in_top(self):
        if os.geteuid() != 0:
            self.skipTest("the kernel shows its stacks to root")
        target = self.start()
        tid = threads_by_name(target.pid)["in_flock"]
        expected = [f"[k] {name}" for name in reversed(witness(target.pid, tid))]
        for options, wanted in ((("--kernel",), expected), ((), [])):
            done = profc("dump", "-p", target.pid, "--json", *options)
            (process,) = json.loads(done.stdout)["processes"]
            (thread,) = [thread for thread in process["threads"] if thread["tid"] == tid]
            functions = [level["function"] for level in thread["stack"]]
            self.assertEqual([name for name in functions if name.startswith("[k]")], wanted)
            self.assertEqual(functions[: len(wanted)], wanted)
            self.assertIn("in_flock", functions)
        saved = Recording(self.path("saved.profc"))
        shown = profc("top", "-p", target.pid, "--times", "1", "--width", "100", "-m", "blocked",
                      "--kernel", "-o", saved.path).stdout
        self.assertRegex(shown, rf"{re.escape(expected[0])} +in_flock")
        # The file has them beside the stacks: each once with --kernel.
        self.assertEqual(set(kernel_of(saved, "in_flock")), {()})
        self.assertEqual(set(kernel_of(saved, "in_flock", "--kernel")),
                         {tuple(witness(target.pid, tid))})

    def check_short_sleeps(self, name, function, *arguments):
        """Of a thread that sleeps again and again, among what a reader beside profc sees."""
        if os.geteuid() != 0:
            self.skipTest("the kernel shows its stacks to root")
        target = self.start(name, *arguments)
        self.eventually(lambda: name in threads_by_name(target.pid), "the thread's name")
        tid = threads_by_name(target.pid)[name]
        seen = collections.Counter()
        with Recorder(self.directory, "attach", "-p", target.pid, "-F", "1000") as recorder:
            end = time.monotonic() + 2
            while time.monotonic() < end:
                seen[tuple(witness(target.pid, tid))] += 1
            recording = recorder.interrupt()
        sleeps = {functions: nr for functions, nr in seen.items()
                  if any(function in name for name in functions)}
        if sum(sleeps.values()) < 100:
            self.skipTest(f"threads do not sleep in {function} here")
        found = kernel_of(recording, name, "--kernel")
        known = sum(ns for functions, ns in found.items()
                    if any(function in name for name in functions))
        self.assertGreater(known, 0.5 * found.total())
        (longest, _), = found.most_common(1)
        self.assertIn(longest, seen)

    def test_of_short_sleeps_are_among_those_that_the_kernel_shows(self):
        self.check_short_sleeps("in_fsync", "fsync", self.path("synced"))

    def test_of_page_faults_that_wait_for_a_file(self):
        self.check_short_sleeps("in_page", "filemap_fault", self.path("mapped"))

    def test_of_page_faults_that_wait_for_swapped_pages(self):
        with open("/proc/swaps", encoding="ascii") as file:
            if len(file.readlines()) < 2:
                self.skipTest("this machine has no swap")
        self.check_short_sleeps("in_swap", "do_swap_page")

    def test_of_a_frozen_process(self):
        if os.geteuid() != 0:
            self.skipTest("the kernel shows its stacks to root")
        kinds = [kind for kind in (UnifiedGroup, FreezerGroup) if kind.is_there()]
        if not kinds:
            self.skipTest("no control group can be made and frozen here")
        for kind in kinds:
            with self.subTest(group=kind.__name__):
                group = kind(self)
                target = self.start()
                group.take(target.pid)
                group.freeze(True)
                tids = threads_by_name(target.pid)
                expected = {name: witness(target.pid, tids[name]) for name in NAMES}
                recording = attach(self.directory, target.pid, "--duration", "0.5")
                for name, functions in expected.items():
                    self.assertTrue(functions)
                    self.assertEqual(set(kernel_of(recording, name, "--kernel")),
                                     {tuple(functions)})
                group.freeze(False)
                target.process.kill()
                target.process.wait()

    def test_of_an_ordinary_user_are_the_innermost_ones(self):
        user = self.ordinary_user()
        target = self.start(**user)
        os.chmod(self.directory, 0o777)
        expected = {
            name: read(target.pid, tid, "wchan")
            for name, tid in threads_by_name(target.pid).items()
            if name in NAMES
        }
        if "0" in expected.values():
            self.skipTest("this kernel does not tell in what threads sleep")
        recording = attach(self.directory, target.pid, "--duration", "0.5", **user)
        for name, function in expected.items():
            with self.subTest(sleep=name):
                self.assertEqual(set(kernel_of(recording, name, "--kernel")), {(function,)})

    def test_are_kept_where_a_sleep_is_visited(self):
        """As are threads that job control has stopped."""
        if os.geteuid() != 0:
            self.skipTest("the kernel shows its stacks to root")
        target = self.start()
        tids = threads_by_name(target.pid)
        os.kill(target.pid, signal.SIGSTOP)
        self.eventually(lambda: {procfs.state(target.pid, tid) for tid in tids.values()} == {"T"},
                        "stop of all threads")
        expected = witness(target.pid, tids["in_poll"])
        recording = attach(self.directory, target.pid, "--duration", "0.5", *FAST)
        self.assertGreater(json.loads(recording.info("--json"))["counters"]["stops"], 0)
        for name in NAMES[1:3]:
            self.assertEqual(set(kernel_of(recording, name, "--kernel")), {tuple(expected)})

    def test_of_an_older_recording_are_missed(self):
        path = os.path.join(RECORDINGS, "later.profc")
        said = profc("report", "-i", path, "-m", "blocked", "--kernel")
        self.assertIn("later.profc has no functions of the kernel", said.stderr)
        plain = profc("report", "-i", path, "-m", "blocked")
        self.assertEqual((plain.stdout, plain.stderr), (said.stdout, ""))
