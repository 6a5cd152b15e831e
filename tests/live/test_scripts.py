# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of Python programs in the stacks, between the native ones, without any option."""

import json
import os
import shutil
import struct
import subprocess
import unittest

from live import LiveCase
from profc import attach, profc, record
from targets import build, need, pythons

PYTHON = "/usr/bin/python3.11"
# Their frames are objects, and their functions have no qualified names.
OLDER = "3.8", "3.9", "3.10"

# Each function knows how much of the program's CPU time it takes.
SHARES = """import time
def busy(seconds):
    end = time.process_time() + seconds
    n = 0
    while time.process_time() < end:
        for i in range(2000):
            n += i * i
    return n
class Work:
    def half(self):
        return busy(0.75)
    def more(self):
        return busy(0.45)
    def less(self):
        return busy(0.3)
def main():
    work = Work()
    work.half(), work.more(), work.less()
main()
"""
LINE_OF_LOOP = 7

# A function of C calls back, in a thread; each generator is another object.
MERGED = """import sys, threading
class Key:
    def of(self, value):
        return sum(part(value))
def part(value):
    for i in range(60):
        yield i * value
def work():
    key = Key()
    while True:
        sorted(range(40), key=key.of)
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
"""


# Each of its threads ends within some samples.
SHORT_THREADS = """
import threading, time
def burn():
    n = 0
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        for i in range(100):
            n += i
end = time.monotonic() + 2
while time.monotonic() < end:
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
"""


# Another interpreter runs in the middle of a thread's stack, and then a thread of its own. Each is
# begun when the recording has long found the first one.
INTERPRETERS = """
import threading, time
try:
    import _interpreters as interpreters
    run = lambda name, text: interpreters.exec(name, text)
except ImportError:
    import _xxsubinterpreters as interpreters
    run = lambda name, text: interpreters.run_string(name, text)
CODE = '''
import time
def inner():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        for i in range(2000): i * i
inner()
'''
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(2000): i * i
def outer():
    name = interpreters.create()
    run(name, CODE)
    interpreters.destroy(name)
def main():
    burn(0.1)
    outer()
    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
    burn(0.1)
main()
"""


# One thread computes, and the other has to wait for it each time that it wakes.
COMPETE = """
import threading, time
end = time.monotonic() + 2
def hold():
    while time.monotonic() < end:
        sum(range(20000))
def want():
    while time.monotonic() < end:
        time.sleep(0.001)
threads = [threading.Thread(target=function) for function in (hold, want)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


# One thread runs, the other sleeps.
TWO_THREADS = """
import sys, threading
def wait():
    sys.stdin.readline()
def spin():
    while True:
        sum(range(100))
threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True)
wait()
"""


# Code objects live for less than a millisecond, and others come to stand where they were.
MADE_CODE = """
import time
text = '''
def f{0}():
    end = time.perf_counter() + 0.0006
    while time.perf_counter() < end: x = 1
f{0}()
'''
end = time.time() + 4
n = 0
while time.time() < end:
    n += 1
    k = n % 7 if n % 50 else 9
    now = time.monotonic_ns()
    exec(compile(text.format(k), "<s%d>" % k, "exec"), {"time": time})
    str(now)
"""


# Whose it is may differ at its first samples and when it gives its code a file.
NAMES_A_FILE = """
import os, time
end = time.process_time() + 0.4
while time.process_time() < end:
    pass
{then}
code = "def busy():\\n    end = time.process_time() + 1\\n    while time.process_time() < end: pass\\nbusy()"
exec(compile(code, {secret!r}, "exec"))
"""


def is_in_order(frames, wanted):
    rest = iter(frames)
    return all(name in rest for name in wanted)


DEEP = """import time
def spin():
    begun = time.process_time()
    while time.process_time() - begun < 1: pass
def down(n):
    down(n - 1) if n else spin()
down(950)
"""

# So that a program exports what a Python before 3.8 does, which exports no version.
EXPORTS_OF_OLD = ("-O2", "-rdynamic", "-Wl,--defsym=PyCode_Type=main,--defsym=PyGen_Type=main,"
                  "--defsym=PyEval_EvalCode=main,--defsym=Py_GetVersion=main")


class Scripts(LiveCase):
    def setUp(self):
        super().setUp()
        self.python = need(PYTHON)

    def script(self, text):
        path = self.path("app.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def counters(self, recording):
        return json.loads(recording.info("--json"))["counters"]

    def check_shares(self, python, prefix):
        path = self.script(SHARES)
        recording = record(self.directory, [python, path])
        rows = {row["function"]: row for row in recording.rows()}
        whole = rows["busy"]["total_ns"]
        for name, share, line in (("half", 0.5, 10), ("more", 0.3, 12), ("less", 0.2, 14)):
            row = rows[prefix + name]
            self.assertEqual((row["file"], row["line"]), (path, line))
            self.assertPart(recording, row["total_ns"] / whole, share, name)

    def test_functions_have_their_shares(self):
        self.check_shares(self.python, "Work.")

    def older(self):
        found = list(pythons(*OLDER))
        if not found:
            raise unittest.SkipTest("there is no Python 3.8 to 3.10")
        return found

    def test_functions_of_older_versions_have_their_shares(self):
        for python in self.older():
            with self.subTest(python):
                self.check_shares(python, "")

    def test_deep_stacks_of_older_versions_are_whole(self):
        """As deep as they let a program be that does not ask for more."""
        path = self.script(DEEP)
        for python in self.older():
            with self.subTest(python):
                recording = record(self.directory, [python, path], "--max-overhead", "0")
                depths = [frames.count("down") for frames, weight in recording.folded("-m", "cpu")
                          if "spin" in frames]
                self.assertEqual(max(depths, default=0), 951)
                counters = self.counters(recording)
                self.assertGreater(counters["script_proved"], 20)
                self.assertNotIn("script_too_deep", counters)

    def test_rows_of_scripts_have_the_native_code_that_they_called(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.python, path])
        whole = recording.report()["total_ns"]
        lines = [row for row in recording.report("--by", "script,line")["rows"]
                 if row["function"] == "busy"]
        for options in ((), ("--native",)):
            report = recording.report("--by", "script", *options)
            rows = {row["function"]: row for row in report["rows"]}
            self.assertEqual(sum(row["self_ns"] for row in report["rows"]), whole)
            busy = rows["busy"]
            self.assertEqual((busy["file"], busy["line"]), (path, 2))
            self.assertEqual(busy["self_ns"], busy["total_ns"])
            self.assertEqual(sum(row["self_ns"] for row in lines), busy["self_ns"])
            self.assertNotIn("_PyEval_EvalFrameDefault", rows)

    def test_who_called_the_hottest_function_needs_no_other_start(self):
        path = self.script("def work():\n    return sum(range(3_000_000))\nfor _ in range(12): work()\n")
        recording = record(self.directory, [self.python, path])
        said = profc("explain", "-i", recording.path).stdout
        self.assertIn("work", said.splitlines()[0])
        self.assertNotIn("-X perf", said)

    def test_a_native_program_has_no_rows_of_scripts(self):
        recording = record(self.directory, [build("spin_leaf"), "100"])
        said = profc("report", "-i", recording.path, "--by", "script", status=1)
        self.assertIn("no functions of scripts in the recording", said.stderr)

    def test_lines_have_their_time(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.python, path])
        source = profc("annotate", "-i", recording.path, "busy").stdout
        loop = [line for line in source.splitlines() if line.endswith("n += i * i")]
        self.assertEqual(len(loop), 1, source)
        self.assertIn(str(LINE_OF_LOOP), loop[0].split())

    def test_files_that_another_user_names_are_not_opened(self):
        """As root profc could read any file whose path a program gives to its code."""
        if os.geteuid():
            raise unittest.SkipTest("only root may read what others cannot")
        secret = self.path("secret.py")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("the secret of root\n" * 9)
        os.chmod(secret, 0o600)
        for then, shown in (("pass", True), ("os.setuid(65534)", False)):
            path = self.script(NAMES_A_FILE.format(then=then, secret=secret))
            recording = record(self.directory, [self.python, path])
            said = profc("annotate", "-i", recording.path, "busy", status=None)
            check = self.assertIn if shown else self.assertNotIn
            check("the secret of root", said.stdout, (then, said.stderr))

    def test_native_functions_are_between_them(self):
        self.check_merged(self.python, "Thread.run", "work", "Key.of", "part")

    def test_native_functions_are_between_those_of_older_versions(self):
        for python in self.older():
            with self.subTest(python):
                self.check_merged(python, "run", "work", "of", "part")

    def check_merged(self, python, *names):
        process = subprocess.Popen([python, self.script(MERGED)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        process.stdout.readline()
        # The first sample of a thread is not copied whole: it must not be much of all, however dear stops are.
        recording = attach(self.directory, process.pid, "-d", "2", "--max-overhead", "0")
        stacks, folded = recording.folded("--native"), recording.folded()
        whole = sum(weight for _, weight in stacks)
        found = sum(weight for frames, weight in stacks
                    if is_in_order(frames, (*names[:2], "_PyEval_EvalFrameDefault", *names[2:])))
        self.assertGreater(found / whole, 0.5, stacks[:5])
        # Without the interpreter's own functions nothing is lost.
        self.assertEqual(sum(weight for _, weight in folded), whole)
        self.assertIn(list(names), [frames[-4:] for frames, _ in folded])
        # One that sleeps all the while is looked at once more.
        asleep = [frames for frames, _ in recording.folded("-m", "blocked")]
        self.assertTrue([frames for frames in asleep if "<module>" in frames], asleep)
        counters = self.counters(recording)
        refused = sum(number for name, number in counters.items()
                      if name.startswith("script_") and name != "script_proved")
        self.assertLess(refused, 0.1 * counters["script_proved"] + 5, counters)

    def test_dump_shows_functions_at_once(self):
        process = subprocess.Popen([self.python, self.script(TWO_THREADS)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        process.stdout.readline()
        dumped = json.loads(profc("dump", "-p", process.pid, "--json").stdout)
        for thread in dumped["processes"][0]["threads"]:
            names = [level["function"] for level in thread["stack"]]
            wanted = (("wait", "<module>") if thread["tid"] == process.pid
                      else ("spin", "Thread.run", "Thread._bootstrap"))
            self.assertTrue(is_in_order(names, wanted), names)

    def test_short_threads_have_functions_at_their_first_sample(self):
        recording = record(self.directory, [self.python, self.script(SHORT_THREADS)], "-F", "1000")
        evaluate = [(frames, weight) for frames, weight in recording.folded("--native", "-m", "cpu")
                    if "_PyEval_EvalFrameDefault" in frames and "Py_BytesMain" not in frames]
        proved = sum(weight for frames, weight in evaluate if "Thread._bootstrap" in frames)
        self.assertGreater(proved / sum(weight for _, weight in evaluate), 0.9, evaluate[:5])

    def test_functions_of_other_interpreters_are_among_those_of_the_first(self):
        for python in pythons("3.11", "3.12", "3.13"):
            with self.subTest(python):
                recording = record(self.directory, [python, self.script(INTERPRETERS)])
                stacks = [(frames, weight) for frames, weight in recording.folded("-m", "cpu")
                          if "main" in frames or "Thread.run" in frames or "inner" in frames]
                whole = sum(weight for _, weight in stacks)
                for chain, share in ((("main", "outer", "<module>", "inner"), 0.42),
                                     (("Thread.run", "outer", "<module>", "inner"), 0.42),
                                     (("main", "burn"), 0.16)):
                    found = sum(weight for frames, weight in stacks
                                if is_in_order(frames, chain))
                    self.assertGreater(found / whole, share / 2, (chain, stacks[:5]))

    def test_who_has_the_lock_of_the_interpreter(self):
        for python in pythons("3.8", "3.10", "3.11", "3.12", "3.13"):
            with self.subTest(python):
                recording = record(self.directory, [python, self.script(COMPETE)])
                rows = {row["name"]: row for row in recording.rows("--by", "lock", "-m", "blocked")}
                name = "GIL of " + os.path.basename(python)
                self.assertIn(name, rows)
                self.assertEqual(rows[name]["kind"], "gil")
                owners = rows[name]["owners"]
                self.assertTrue(owners, rows[name])
                functions = [function["function"] for owner in owners
                             for function in owner["functions"]]
                self.assertIn("hold", functions, owners)

    def test_code_may_be_made_all_the_time(self):
        recording = record(self.directory, [self.python, self.script(MADE_CODE)], "-F", "1000",
                           "--max-overhead", "0")
        names = {row["function"] for row in recording.rows()}
        self.assertIn("<module>", names)

    def test_nothing_is_read_of_an_unknown_version(self):
        with open(self.python, "rb") as file:
            code = file.read()
        version = subprocess.run([self.python, "-c", "import sys; print(sys.hexversion)"],
                                 check=True, capture_output=True, text=True).stdout
        known = struct.pack("<Q", int(version))
        if code.count(known) != 1:
            raise unittest.SkipTest("its version is not at one place of the file")
        patched = self.path("python3.11")
        with open(patched, "wb") as file:
            file.write(code.replace(known, struct.pack("<Q", int(version) + (9 << 16))))
        shutil.copymode(self.python, patched)
        recording = record(self.directory, [patched, self.script(SHARES)],
                           env=dict(os.environ, PYTHONHOME="/usr"))
        names = {row["function"] for row in recording.rows()}
        self.assertNotIn("busy", names)
        self.assertEqual([name for name in self.counters(recording) if name.startswith("script_")],
                         ["script_unknown_version_Python_3.20"])
        said = " ".join(recording.info().split())
        self.assertIn("Python 3.20 in 1 process: its functions are not read (known: 3.8 to 3.13)",
                      said)
        report = " ".join(profc("report", "-i", recording.path).stdout.split())
        self.assertIn("Python 3.20: its functions are not read", report)

    def test_older_versions_are_named_by_their_file(self):
        python = build("spin_leaf", *EXPORTS_OF_OLD, called="python3.7")
        recording = record(self.directory, [python, "200"])
        self.assertEqual([name for name in self.counters(recording) if name.startswith("script_")],
                         ["script_unknown_version_Python_3.7"])
