# SPDX-License-Identifier: GPL-2.0-or-later
"""profc's stacks beside those of gdb, of libunwind, and of a program that keeps its own."""

import json
import os
import random
import signal
import subprocess
import time

import procfs
import scripts
import witnesses
from live import LiveCase
from profc import profc
from programs import made
from targets import Running, build, need

NO_CFI = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
ROOT = "root"
NOT_KNOWN = "register not known"
NOT_COPIED = "memory not copied"
SHADOW = ["shadow_stack.c"]
QUIET = ("-D_GNU_SOURCE", "-pthread", "-Wno-unknown-attributes")

SLEEPY_PYTHON = """
import threading, time
def inner(n): time.sleep(600) if n == 0 else inner(n - 1)
for depth in (3, 20): threading.Thread(target=inner, args=(depth,), daemon=True).start()
sorted([1, 2], key=lambda x: inner(5))
"""


class Beside(LiveCase):
    def running(self, argv):
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.directory,
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.stdin.close()
        process.kill()
        process.wait()

    def script(self, interpreter, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return [need(interpreter), path]


class Gdb(Beside):
    """Of programs that are blocked."""

    def check(self, argv, nr_threads=1):
        process = self.running(argv)
        self.wait_for_rest(process.pid, nr_threads)
        mine = witnesses.by_profc(self.directory, process.pid, nr_threads)
        theirs = witnesses.by_gdb(self.directory, process.pid)
        self.assertGreaterEqual(len(theirs), nr_threads)
        self.assertEqual(mine, theirs, "profc's beside gdb's")
        self.assertEqual(set(witnesses.ends(process.pid).values()), {ROOT})

    def wait_for_rest(self, pid, nr_threads):
        """Until it uses no CPU time any more, and all its threads sleep."""
        seen = []

        def rests():
            tids = procfs.threads(pid)
            seen.append(procfs.cpu_ns(pid))
            time.sleep(0.1)
            sleep = all(procfs.state(pid, tid) == "S" for tid in tids)
            return len(tids) >= nr_threads and sleep and seen[-5:] == [seen[-1]] * 5

        self.eventually(rests, "rest", patience=60)

    def test_python_with_threads(self):
        self.check(self.script("/usr/bin/python3", "sleepy.py", SLEEPY_PYTHON), 3)

    def test_perl(self):
        text = """
            sub deep { my $n = shift; return $n ? deep($n - 1) : sleep 600 }
            my @sorted = sort { deep(9) } 2, 1;
        """
        self.check(self.script("perl", "sleepy.pl", text))

    def test_bash(self):
        text = "deep() { if (($1)); then deep $(($1 - 1)); else read -r line; fi; }; deep 5"
        self.check(self.script("bash", "sleepy.bash", text))

    def test_sqlite(self):
        self.check([need("sqlite3"), ":memory:"])

    def test_ruby(self):
        text = "def deep(n) = n.zero? ? sleep : [n].each { |x| deep(x - 1) }\ndeep(6)"
        self.check(self.script("ruby", "sleepy.rb", text))

    def test_php(self):
        text = "<?php $a = [2, 1]; usort($a, fn($x, $y) => sleep(600));"
        self.check(self.script("php", "sleepy.php", text))

    def test_lua(self):
        text = "table.sort({2, 1}, function() io.read() end)"
        self.check(self.script("lua5.4", "sleepy.lua", text))

    def test_node_and_its_threads(self):
        self.check(self.script("node", "sleepy.js", "setTimeout(() => 0, 600000)"), 5)


class Libunwind(Beside):
    """Of programs that compute, stopped at random moments; where it errs, gdb decides."""

    NR_STOPS = 4

    def check(self, argv):
        process = self.running(argv)
        self.eventually(lambda: procfs.cpu_ns(process.pid) > 1e8, "computing")
        for nr in range(self.NR_STOPS):
            time.sleep(random.uniform(0.01, 0.05))
            process.send_signal(signal.SIGSTOP)
            self.eventually(lambda: self.is_stopped(process.pid), "the stop")
            self.check_stopped(process.pid, nr)
            process.send_signal(signal.SIGCONT)
            self.assertIsNone(process.poll(), "the program should not have ended")

    @staticmethod
    def is_stopped(pid):
        return all(procfs.state(pid, tid) == "T" for tid in procfs.threads(pid))

    def check_stopped(self, pid, nr):
        mine = witnesses.by_profc(self.directory, pid)
        self.assertGreater(len(mine), 0, "threads with a stack")
        if mine != self.those_of(mine, witnesses.by_libunwind(pid)):
            theirs = self.those_of(mine, witnesses.by_gdb(self.directory, pid))
            if not witnesses.lands(pid):
                self.assertEqual(mine, theirs, f"stop {nr}, beside gdb's")

    @staticmethod
    def those_of(mine, theirs):
        """Of a thread that the signal found in a system call profc takes no stack, and says so."""
        return {tid: theirs.get(tid) for tid in mine}

    def test_library_calls(self):
        self.check([build("calls_of_the_library", libraries=["-lm"]), "600000"])

    def test_library_calls_static(self):
        self.check([build("calls_of_the_library", "-O2", "-static", libraries=["-lm"]), "600000"])

    def test_exceptions(self):
        self.check([build("cpp_exceptions"), "600000"])

    def test_rust(self):
        self.check([build("rust_program.rs"), "600000"])

    def test_python(self):
        self.check(self.script("/usr/bin/python3", "w.py", scripts.PYTHON.replace("50", "50000")))

    def test_perl(self):
        self.check(self.script("perl", "w.pl", scripts.PERL.replace(".. 18", ".. 18000")))

    def test_openssl(self):
        self.check([need("openssl"), "speed", "-seconds", "600", "ecdsap384"])


class ShadowStack(LiveCase):
    """A program that goes random ways, and says whose calls it is in when it waits."""

    def check(self, program, seed, proves_ends=True):
        """proves_ends: what its libraries say of their code is enough for profc to be sure."""
        with Running([program, str(seed)]) as target:
            names = set(self.said_by(target)["names"])
            said = self.said_by(target)
            while "end" not in said:
                self.check_parked(target.pid, said, names, proves_ends)
                target.process.stdin.write("\n")
                target.process.stdin.flush()
                said = self.said_by(target)

    @staticmethod
    def said_by(target):
        return json.loads(target.process.stdout.readline())

    def check_parked(self, pid, said, names, proves_ends):
        self.eventually(lambda: procfs.state(pid, said["tid"]) == "S", "being parked")
        dump = json.loads(profc("dump", "-p", pid, "--json").stdout)
        threads = dump["processes"][0]["threads"]
        (thread,) = [thread for thread in threads if thread["tid"] == said["tid"]]
        frames = [frame["function"] for frame in thread["stack"]]
        account = f"{thread['stack_end']}, frames {frames}"
        calls = [frame for frame in frames if frame in names]
        truth = said["calls"][::-1]
        self.assertEqual(calls, truth[: len(calls)], account)
        if thread["stack_end"] == ROOT:
            self.assertTrue(said["is_root"], f"what began in a coroutine has no root: {account}")
        # A peek need not find the stack that a handler interrupted, nor has it the frame
        # pointer that a frame of any size (alloca) needs; but it says so.
        excuses = {NOT_COPIED: "on_signal", NOT_KNOWN: "sized"}
        if excuses.get(thread["stack_end"]) not in truth:
            self.assertEqual(calls, truth, account)
            if proves_ends and said["is_root"]:
                self.assertEqual(thread["stack_end"], ROOT, account)

    def test_optimised(self):
        self.check(build("shadow_stack", "-O2"), 1)

    def test_not_optimised(self):
        self.check(build("shadow_stack", "-O0"), 2)

    def test_by_clang(self):
        self.check(made("shadow_by_clang", "clang", "-O2", *QUIET, sources=SHADOW), 3)

    def test_static(self):
        self.check(build("shadow_stack", "-O2", "-static"), 4)

    def test_without_cfi(self):
        self.check(build("shadow_stack", "-O2", "-fomit-frame-pointer", *NO_CFI), 5)

    def test_frame_pointers_alone(self):
        self.check(build("shadow_stack", "-O2", "-fno-omit-frame-pointer", *NO_CFI), 6)

    def test_musl(self):
        """Its clone() has no CFI."""
        program = made("shadow_musl", "musl-gcc", "-O2", *QUIET, sources=SHADOW)
        self.check(program, 7, proves_ends=False)
