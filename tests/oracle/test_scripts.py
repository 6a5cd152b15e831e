# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions of Python programs, beside what Python says of itself at the same instruction."""

import collections
import contextlib
import ctypes
import json
import os
import random
import re
import signal
import subprocess
import time

import procfs
from live import LiveCase
from profc import profc, record
from python_scripts import NEEDS, PROGRAMS
from targets import BUILD, need, pythons

# faulthandler writes what the thread runs when the signal is handled.
WITNESS = """
import faulthandler, signal, sys
faulthandler.register(
    signal.SIGUSR2, file=open(sys.argv[1], "a", buffering=1), all_threads=False, chain=False)
"""
GENERATORS = """
def leaf(n):
    for i in range(n):
        yield i * i
def rec(t, d=0):
    if d == 12:
        yield t
        return
    for x in rec(t, d + 1):
        yield x
    yield from rec(t + 1, d + 6) if d < 7 else ()
while True:
    list(leaf(100)); sum(rec(1)); max(x for x in (y for y in leaf(30)))
"""
CALLBACKS = """
import json, re
class Work:
    def hook(self, d):
        return dict(sorted(d.items(), key=lambda kv: kv[0]))
    def up(self, m):
        return m.group(0).upper() + str(sum(range(10)))
    def run(self):
        json.loads('[{"b": 1, "a": [1, 2, {"c": 3}]}]', object_hook=self.hook)
        re.sub(r"[a-m]+", self.up, "hello world abc " * 20)
work = Work()
while True:
    work.run()
"""
DEEP = """
import sys
sys.setrecursionlimit(5000)
def down(n):
    if n == 0:
        return sum(i for i in range(3000))
    return down(n - 1)
def via_c(n):
    return max(map(via_c, [n - 1])) if n else down(300)
while True:
    down(900); via_c(60)
"""
# The witness says no more of a stack.
WITNESSED = 100
SAID = re.compile(r'File "(.*)", line (\d+|\?\?\?) in (.*)')
STOPS = 40
# The witness crashes programs now and then, or says only half, with nobody beside it as well: its
# words then end in the middle of a stack, and the program is begun again.
MUTE_SECONDS, MUTE_MOST = 3, 3
# The outermost function of a program, and of a thread, which from 3.12 on the interpreter's follows.
END = re.compile(r'(/script\.py", line \d+ in <module>|in _bootstrap|\.\.\.)\n( *File "<shim>".*\n)*\Z')
# An evaluation may just begin, or end: what is half done is not proved.
REFUSED = 2
# Stops of each interpreter, in all programs together: `SCRIPT_STOPS=1000` is for a whole run.
STOPS_OF_ALL = int(os.environ.get("SCRIPT_STOPS", "50"))
# Of these, 1 % may be refused.
REFUSED_PART = 0.01
# From 3.12 on the witness crashes programs after some hundred signals, with nobody beside it; in 3.13
# those that destroy generators after a few.
SIGNALS = 100
MUTE_PART, MUTE_PART_LATER = 0.01, 0.2


class Stopped(LiveCase):
    def setUp(self):
        super().setUp()
        self.reader = os.path.join(BUILD, "tests", "oracle", "script_stack")

    def run_script(self, python, text):
        path, said = self.path("script.py"), self.path("said")
        with open(path, "w", encoding="utf-8") as file:
            file.write(WITNESS + text)
        with contextlib.suppress(FileNotFoundError):
            os.remove(said)  # of a program before it
        process = subprocess.Popen([python, path, said])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.eventually(lambda: os.path.exists(said), "a witness")
        time.sleep(0.1)
        return process, said

    def stop(self, pid):
        os.kill(pid, signal.SIGSTOP)
        self.eventually(lambda: all(procfs.state(pid, tid) in "TZ" for tid in procfs.threads(pid)),
                        "a stop")

    def seen(self, pid, tid):
        done = subprocess.run([self.reader, str(pid), str(tid)], check=True, text=True,
                              capture_output=True)
        return done.stdout.splitlines()

    def witnessed(self, pid, tid, said):
        """
        The signal is handled before the thread executes any other instruction. None: the witness
        did not say all.
        """
        before = os.path.getsize(said)
        ctypes.CDLL(None).tgkill(pid, tid, signal.SIGUSR2)
        os.kill(pid, signal.SIGCONT)
        text, until = "", time.monotonic() + MUTE_SECONDS
        while not (END.search(text) or
                   (text.endswith("\n") and len(SAID.findall(text)) >= WITNESSED)):
            if time.monotonic() > until:
                return None
            time.sleep(0.001)
            with open(said, encoding="utf-8") as file:
                file.seek(before)
                text = file.read()
        return text

    def assert_agrees(self, seen, text):
        # The first instruction of a generator has no line.
        lines = [f"{name} {path}:{line if line != '???' else 0}"
                 for path, line, name in SAID.findall(text) if path != "<shim>"]
        seen = [line.encode("ascii", "backslashreplace").decode() for line in seen]
        is_cut = len(SAID.findall(text)) >= WITNESSED
        self.assertEqual(seen[: len(lines)] if is_cut else seen, lines)


class Scripts(Stopped):
    def check(self, script, older=None):
        self.check_with(need("/usr/bin/python3.11"), script)
        for python in pythons("3.8", "3.9", "3.10"):
            with self.subTest(python):
                self.check_with(python, older or script)

    def check_with(self, python, script):
        process, said = self.run_script(python, script)
        nr_refused = nr_mute = 0
        for _ in range(STOPS):
            time.sleep(random.uniform(0.001, 0.01))
            self.stop(process.pid)
            seen = self.seen(process.pid, process.pid)
            witnessed = self.witnessed(process.pid, process.pid, said)
            if witnessed is None:
                nr_mute += 1
                process.kill()
                process, said = self.run_script(python, script)
                continue
            if seen and seen[0].startswith("#"):
                nr_refused += 1
                continue
            self.assert_agrees(seen, witnessed)
        self.assertLessEqual(nr_refused, REFUSED)
        self.assertLessEqual(nr_mute, MUTE_MOST)

    def test_generators(self):
        self.check(GENERATORS)

    def test_callbacks_from_c(self):
        self.check(CALLBACKS)

    def test_recursion(self):
        self.check(DEEP, DEEP.replace("900", "200").replace("300)", "100)"))


class Programs(Stopped):
    """A thread of each program in turn, some hundred times in a whole run."""

    def has_module(self, python, module):
        return module is None or subprocess.run(
            [python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0

    def stop_program(self, python, name, stops, counts):
        process, said = self.run_script(python, PROGRAMS[name])
        nr_signals = 0
        for _ in range(stops):
            if nr_signals == SIGNALS or process.poll() is not None:
                process.kill()
                process, said = self.run_script(python, PROGRAMS[name])
                nr_signals = 0
            time.sleep(random.uniform(0.001, 0.01))
            self.stop(process.pid)
            if process.poll() is not None:
                counts["mute"] += 1
                counts[f"mute: {name}"] += 1
                continue
            tid = random.choice(procfs.threads(process.pid))
            seen = self.seen(process.pid, tid)
            said_then = self.witnessed(process.pid, tid, said)
            nr_signals += 1
            if said_then is None:
                counts["mute"] += 1
                counts[f"mute: {name}"] += 1
                process.kill()
                process.wait()
            elif seen and seen[0].startswith("#"):
                counts["refused"] += 1
                counts[f"refused: {name}: {seen[0]}"] += 1
            else:
                with self.subTest(python=python, program=name):
                    self.assert_agrees(seen, said_then)
                    counts["equal"] += 1
                    counts["functions"] += len(seen)
        process.kill()

    def check(self, python, mute_part=MUTE_PART):
        names = [name for name in PROGRAMS if self.has_module(python, NEEDS.get(name))]
        counts = collections.Counter()
        for i, name in enumerate(names):
            stops = STOPS_OF_ALL * (i + 1) // len(names) - STOPS_OF_ALL * i // len(names)
            self.stop_program(python, name, stops, counts)
        print(f"# {python}, {len(names)} programs: {dict(counts)}", flush=True)
        self.assertLessEqual(counts["refused"], max(REFUSED, REFUSED_PART * STOPS_OF_ALL))
        self.assertLessEqual(counts["mute"], max(MUTE_MOST, mute_part * STOPS_OF_ALL))
        self.assertGreater(counts["equal"], STOPS_OF_ALL // 2)

    def test_threads_are_where_python_says(self):
        self.check(need("/usr/bin/python3.11"))

    def test_threads_of_later_versions_are_where_python_says(self):
        for python in pythons("3.12", "3.13"):
            with self.subTest(python):
                self.check(python, MUTE_PART_LATER)


# Each text makes other code, which dies with it, and the next one stands where it was. The program
# says when each lived.
STORM = """
import sys, time
TEXT = '''
def f{0:06}():
{1}
    end = clock() + 0.0006
    while clock() < end: x = 1
f{0:06}()
'''
lives = []
until = time.monotonic() + 3
while time.monotonic() < until:
    n = len(lives)
    born = time.monotonic_ns()
    exec(compile(TEXT.format(n, "\\n" * (n % 5)), "<s%06d>" % n, "exec"),
         {"clock": time.perf_counter})
    lives.append([born, time.monotonic_ns()])
with open(sys.argv[1], "w") as file:
    print(lives, file=file)
"""
LINES_BEFORE = 4  # of the loop, beside those that are empty
# The stop of a sample takes some time, and so does the program's look at its clock.
SLACK_NS = 20_000


class Storms(LiveCase):
    """Code objects that live for less than a millisecond, all in the same places."""

    def storm(self, python):
        path, said = self.path("storm.py"), self.path("lives")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STORM)
        recording = record(self.directory, [python, path, said], "-F", "1000",
                           "--max-overhead", "0")
        with open(said, encoding="utf-8") as file:
            lives = json.load(file)
        return json.loads(profc("export", "-i", recording.path, "--json").stdout), lives

    def functions_of(self, exported):
        """Each sample's time with the name, the file and the line of each function in its stack."""
        frames, stacks, functions = (exported[key] for key in ("frames", "stacks", "functions"))
        for sample in (sample for thread in exported["threads"] for sample in thread["samples"]):
            stack = sample[1]
            while stack is not None:
                frame = frames[stacks[stack]["frame"]]
                function = functions[frame["function"]]
                yield sample[0], function["name"], frame["file"], frame["line"]
                stack = stacks[stack]["prefix"]

    def check(self, python):
        """There is a begin of the recording with which each function lived at its samples."""
        exported, lives = self.storm(python)
        lower, upper, nr = float("-inf"), float("inf"), 0
        for time_ns, name, path, line in self.functions_of(exported):
            found = re.fullmatch("f([0-9]{6})", name) or re.fullmatch("<s([0-9]{6})>", path or "")
            if not found:
                continue
            serial = int(found[1])
            self.assertEqual(path, f"<s{serial:06}>", name)
            if name != "<module>" and line:
                first = LINES_BEFORE + serial % 5
                self.assertIn(line, (2, first, first + 1), name)
            born, died = lives[serial]
            lower, upper, nr = max(lower, born - time_ns), min(upper, died - time_ns), nr + 1
        self.assertLess(lower, upper + SLACK_NS)
        return nr

    def test_names_are_of_what_lived_at_the_sample(self):
        need("/usr/bin/python3.11")
        for python in pythons("3.11", "3.12", "3.13"):
            with self.subTest(python):
                self.assertGreater(self.check(python), 10)
