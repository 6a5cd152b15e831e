# SPDX-License-Identifier: GPL-2.0-or-later
"""`profc dump`: every thread's stack once, and what it waits for."""

import json
import os
import signal
import subprocess
import sys

import procfs
from live import LiveCase
from paths import PROFC
from profc import profc
from targets import Running, build

IN_COMPANY = True
THREADS = ["waiting", "holder", "locked", "joiner", "reader", "idle-1", "idle-2", "spinner"]


class Dump(LiveCase):
    def setUp(self):
        super().setUp()
        self.target = Running([build("waiting")])
        self.addCleanup(self.target.__exit__)
        self.target.wait_ready()
        self.eventually(self.all_asleep, "the sleep of all but the spinner")

    def all_asleep(self):
        tids = procfs.threads(self.target.pid)
        states = [procfs.state(self.target.pid, tid) for tid in tids]
        return sorted(states) == ["R"] + ["S"] * 7

    def dump(self, *options, status=0):
        done = profc("dump", "-p", self.target.pid, "--json", *options, status=status)
        (process,) = json.loads(done.stdout)["processes"]
        self.assertEqual(process["pid"], self.target.pid)
        return {thread["name"]: thread for thread in process["threads"]}

    def functions(self, thread):
        return [level["function"] for level in thread["stack"]]

    def test_every_thread_once(self):
        # The path of the target may be longer than 80 columns.
        wide = profc("dump", "-p", self.target.pid, "--width", "1000").stdout
        self.assertRegex(wide, rf"^process {self.target.pid}: .*/waiting\n\nthread ")
        text = profc("dump", "-p", self.target.pid, "--width", "80").stdout
        self.assertRegex(text, rf"^process {self.target.pid}: .*\n\nthread ")
        for name in THREADS:
            self.assertEqual(text.count(f" {name}: "), 1, text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)
        # Equal stacks stand there once, below the names of their threads.
        self.assertRegex(text, r"thread \d+ idle-1: sleeping, in futex\(never[^)]*\)\n"
                               r"thread \d+ idle-2: sleeping, in futex\(never[^)]*\)\n    ")
        self.assertEqual(text.count("wait_idly"), 1)

    def test_stacks_are_whole_and_leaf_first(self):
        threads = self.dump()
        for name, function in (("holder", "hold_lock"), ("locked", "want_lock"),
                               ("reader", "read_pipe"), ("idle-1", "wait_idly"),
                               ("spinner", "spin_on")):
            functions = self.functions(threads[name])
            self.assertEqual(threads[name]["stack_end"], "root", threads[name])
            self.assertLess(functions.index(function), functions.index("waiter_main"))
        self.assertIn("main", self.functions(threads["waiting"]))

    def test_what_they_wait_for(self):
        threads = self.dump()
        self.assertEqual(threads["spinner"]["state"], "running")
        self.assertIsNone(threads["spinner"]["syscall"])
        self.assertEqual(threads["holder"]["state"], "sleeping")
        self.assertIn("nanosleep", threads["holder"]["syscall"])
        self.assertEqual(threads["reader"]["syscall"], "read")
        self.assertRegex(threads["reader"]["object"], r"^pipe:\[\d+\]$")
        self.assertEqual(threads["locked"]["syscall"], "futex")
        self.assertEqual(threads["locked"]["lock_owner"], threads["holder"]["tid"])
        self.assertIsNone(threads["idle-1"]["lock_owner"])
        self.assertEqual(threads["idle-1"]["futex"], threads["idle-2"]["futex"])
        self.assertNotEqual(threads["locked"]["futex"], threads["idle-1"]["futex"])
        self.assertIsNone(threads["reader"]["futex"])
        self.assertEqual(next(iter(threads)), "waiting", "the main thread is first")
        text = profc("dump", "-p", self.target.pid).stdout
        self.assertEqual(threads["locked"]["lock"], "wanted")
        self.assertIn(f"in futex(wanted), held by thread {threads['holder']['tid']} holder\n", text)
        ended = f"end of thread {threads['holder']['tid']} holder"
        self.assertEqual(threads["joiner"]["lock"], ended)
        self.assertIsNone(threads["joiner"]["lock_owner"])
        self.assertIn(f"joiner: sleeping, in futex({ended})\n", text)
        self.assertIn("in read(", text)

    def test_the_process_does_not_notice(self):
        switches = self.switches()
        self.dump()
        self.assertUntouched(self.target.pid)
        self.assertEqual(self.switches(), switches)

    def switches(self):
        """How often the sleepers were scheduled in: not woken, not stopped."""
        counts = {}
        for tid in procfs.threads(self.target.pid):
            status = procfs.status(self.target.pid, tid)
            if status["Name"] != "spinner":
                counts[status["Name"]] = status["voluntary_ctxt_switches"]
        return counts

    def test_a_stopped_process_stays_stopped(self):
        os.kill(self.target.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.target.pid, signal.SIGCONT)
        self.eventually(lambda: procfs.state(self.target.pid) == "T", "stopping")
        threads = self.dump()
        self.assertEqual({thread["state"] for thread in threads.values()}, {"stopped"})
        self.assertEqual(threads["locked"]["lock"], "wanted")
        self.assertIn("spin_on", self.functions(threads["spinner"]))
        # It comes to its stop again as soon as it gets a CPU.
        self.eventually(lambda: procfs.state(self.target.pid) == "T", "the stop")

    def test_a_thread_without_a_stack_is_said(self):
        spinner = self.dump()["spinner"]["tid"]
        seize = f"import ctypes; ctypes.CDLL(None).ptrace(0x4206, {spinner}, 0, 0); " \
                "print(flush=True); input()"
        with subprocess.Popen([sys.executable, "-c", seize], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as tracer:
            tracer.stdout.readline()
            threads = self.dump(status=1)
            done = profc("dump", "-p", self.target.pid, status=1)
            tracer.communicate("\n")
        self.assertEqual(threads["spinner"]["no_stack"], "another process traces it")
        self.assertEqual(threads["spinner"]["stack"], [])
        self.assertIsNone(threads["locked"]["no_stack"])
        self.assertIn("1 of 8 threads has no stack: another process traces it", done.stderr)
        self.assertIn("(no stack: another process traces it)", done.stdout)

    def test_several_processes(self):
        with Running([build("waiting")]) as other:
            other.wait_ready()
            done = profc("dump", "-p", f"{self.target.pid},{other.pid}", "--json")
            pids = [process["pid"] for process in json.loads(done.stdout)["processes"]]
        self.assertEqual(pids, [self.target.pid, other.pid])

    def test_failures_are_told(self):
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        done = profc("dump", "-p", gone.pid, status=1)
        self.assertIn(f"there is no process {gone.pid}", done.stderr)
        profc("dump", status=2)
        profc("dump", self.target.pid, status=2)
        profc("dump", "-p", "one", status=2)
        done = subprocess.run(
            [self.public(PROFC), "dump", "-p", str(self.target.pid)], check=False,
            stderr=subprocess.PIPE, text=True, **self.ordinary_user(),
        )
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "\nhint: ")
