# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocations of Python programs have the functions and lines that made them."""

import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

from live import LiveCase
from profc import Recorder, attach_to_count, profc, record
from pythons import VERSIONS, pythons
from targets import need

IN_COMPANY = True

# It does not free them in the end. Until profc has told the program how its frames are linked none have
# functions, which takes a moment on busy CPUs.
CACHE = """import os, time; time.sleep(1.5)
CACHE = {}
class Cache:
    def put(self, key, nr):
        CACHE[key] = bytes(nr)
def items(nr):
    for i in range(nr):
        yield bytes(20000 + i)
def keep():
    return list(items(500))
def work():
    cache = Cache()
    for i in range(300):
        cache.put(i, 70000 + i)
    for i in range(300):
        bytes(80000)
    return keep()
kept = work()
os._exit(0)
"""
LINE_OF_PUT, LINE_OF_ITEMS = 5, 8
# Of a bytes object, beside its bytes: the same in all of these versions.
HEAD_BYTES = 33
BYTES_OF_PUT = sum(70000 + i + HEAD_BYTES for i in range(300))
BYTES_OF_ITEMS = sum(20000 + i + HEAD_BYTES for i in range(500))

# Objects that malloc() never sees: with what the collector of garbage needs, one takes 40 bytes.
SMALL = """import os, time; time.sleep(1.5)
KEPT = []
class Node:
    __slots__ = ("value",)
def put(nr):
    for i in range(nr):
        KEPT.append(Node())
def churn(nr):
    for i in range(nr):
        Node()
put(50000)
churn(50000)
os._exit(0)
"""
LINE_OF_NODE = 7
NODES = 50000
NODE_BYTES = 40

# Attached to. It writes a line for each that it reads, and what its allocator says of itself.
ALLOCATES = """import sys, time, tracemalloc
KEPT = []
class Node:
    __slots__ = ("value",)
def serve():
    for i in range(100): KEPT.append(Node())
def answer(line):
    if line == "trace": tracemalloc.start()
    if line == "stop": tracemalloc.stop()
    if line == "say": sys._debugmallocstats()
    print(line, flush=True)
import os, threading
def ask():
    for line in sys.stdin: answer(line.strip())
    os._exit(0)
threading.Thread(target=ask).start()
print("ready", flush=True)
while True:
    serve()
    time.sleep(0.002)
    if len(KEPT) > 100000: KEPT.clear()
"""

# Each thread keeps blocks of a size of its own; all calls go through the same native frames.
THREADS = """import os, threading, time; time.sleep(1.5)
KEPT = []
{functions}
threads = [threading.Thread(target=function) for function in ({names})]
for thread in threads: thread.start()
for thread in threads: thread.join()
time.sleep(0.5)
os._exit(0)
"""
FUNCTION_OF_THREAD = """
def {name}():
    for i in range(200): KEPT.append(bytes({size}))
"""

# Functions that live for one call, and others come to stand where they were.
MADE_CODE = """import os, time; time.sleep(1.5)
KEPT = []
text = '''
def f{0}(): KEPT.append(bytes(10000 + {0}))
f{0}()
'''
for n in range(3000):
    k = n % 7 if n % 50 else 9
    exec(compile(text.format(k), "<s%d>" % k, "exec"), {"KEPT": KEPT})
os._exit(0)
"""

FORKS = """import os, time; time.sleep(1.5)
KEPT = []
def child():
    for i in range(100): KEPT.append(bytes(50000))
    time.sleep(0.2)
    os._exit(0)
for _ in range(3):
    pid = os.fork()
    if not pid: child()
    os.waitpid(pid, 0)
os._exit(0)
"""

# Attached to.
LINE_OF_SERVE = 4
SERVES = """import time
KEPT = []
def serve():
    KEPT.append(bytes(60000))
print("ready", flush=True)
while True:
    serve()
    time.sleep(0.005)
"""


# It ends without giving anything back.
GROWS = """
import os, time
kept = []
def keep():
    kept.append(["%d" % i for i in range(2000)])
end = time.monotonic() + 1.5
while time.monotonic() < end:
    keep()
    time.sleep(0.002)
os._exit(0)
"""


# Linked with Python. Libraries that are loaded later are below others, and so are found first.
BOTH = r"""
#include <dlfcn.h>
void Py_Initialize(void);
int PyRun_SimpleString(const char *);
int main(void)
{
	if (!dlopen("libperl.so.5.36", RTLD_NOW | RTLD_GLOBAL))
		return 1;
	Py_Initialize();
	return PyRun_SimpleString("import time\nprint('ready', flush=True)\nend = time.time() + 20\n"
		"while time.time() < end: [bytes(3000) for i in range(100)]; time.sleep(0.001)\n");
}
"""

# As a plugin does that is unloaded: its program goes on without Python.
UNLOADS = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	void *python = dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_LOCAL);
	void (*begin)(int) = python ? (void (*)(int))dlsym(python, "Py_InitializeEx") : 0;
	int (*run)(const char *) = python ? (int (*)(const char *))dlsym(python, "PyRun_SimpleString") : 0;

	if (!begin || !run)
		return 3;
	begin(0);
	run("import time\nend = time.time() + 2\n"
	    "while time.time() < end: [bytes(3000) for i in range(100)]; time.sleep(0.001)\n");
	((int (*)(void))dlsym(python, "Py_FinalizeEx"))();
	dlclose(python);
	if (dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_NOLOAD))
		return 3;
	for (int i = 0; i < 500; i++) {
		free(malloc(100000));
		usleep(1000);
	}
	return 0;
}
"""


class ScriptMemory(LiveCase):
    def setUp(self):
        super().setUp()
        # Up to 3.10 frames are objects.
        self.found = pythons(("3.10", *VERSIONS))
        if not self.found:
            raise unittest.SkipTest("there is no Python of a known version")

    def script(self, text):
        path = self.path("cache.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def leaks(self, recording):
        return json.loads(profc("report", "-i", recording.path, "--leaks", "--json", "-n", "0")
                          .stdout)["leaks"]

    def left_at(self, recording, least=0):
        """
        {(function, line) of the innermost function of the script: bytes, blocks, interval} of
        blocks with so many bytes: lists, too, need some when they grow.
        """
        found = {}
        for leak in self.leaks(recording):
            if leak["bytes"] < least * leak["blocks"]:
                continue
            places = [(frame["function"], frame["line"]) for frame in leak["stack"]
                      if (frame["file"] or "").endswith((".py", ">"))]
            has = found.setdefault(places[0] if places else None, [0, 0, 0])
            has[0] += leak["bytes"]
            has[1] += leak["blocks"]
            has[2] += leak["ci_bytes"] ** 2
        return found

    def counters(self, recording):
        return json.loads(recording.info("--json"))["counters"]

    def for_each(self, text, *options, **popen):
        """Two at a time, as each sleeps for most of it, but not where blocks that come too fast are left out."""
        path = self.script(text)

        def one(python):
            directory = tempfile.mkdtemp(dir=self.directory)
            return record(directory, [python, path], *options, **popen)

        with concurrent.futures.ThreadPoolExecutor(2 if "--mem=all" in options else 1) as pool:
            yield from pool.map(one, (python for _, python in self.found))

    def test_all_that_is_left_has_its_line(self):
        for recording in self.for_each(CACHE, "--mem=all", "--no-cpu"):
            left = self.left_at(recording, 20000)
            # Before 3.11 code objects have no qualified names.
            (put,) = (has for place, has in left.items()
                      if place in (("Cache.put", LINE_OF_PUT), ("put", LINE_OF_PUT)))
            items = left["items", LINE_OF_ITEMS]
            self.assertEqual(put[1], 300)
            self.assertEqual(items[1], 500)
            self.assertEqual(put[0], BYTES_OF_PUT)
            self.assertEqual(items[0], BYTES_OF_ITEMS)
            counters = self.counters(recording)
            self.assertGreater(counters["script_blocks_proved"], 0)
            for name in ("torn", "no_native_frame", "not_generator"):
                self.assertNotIn("script_blocks_" + name, counters)

    def test_their_callers_are_the_script_s(self):
        for recording in self.for_each(CACHE, "--mem=64K", "--no-cpu"):
            most = next(leak for leak in self.leaks(recording)
                        if any(frame["line"] == LINE_OF_PUT and frame["file"].endswith("cache.py")
                               for frame in leak["stack"] if frame["file"]))
            lines = [(frame["function"].split(".")[-1], frame["line"]) for frame in most["stack"]
                     if (frame["file"] or "").endswith("cache.py")]
            self.assertEqual(lines, [("put", 5), ("work", 14), ("<module>", 18)])

    def test_a_sample_of_them_is_within_its_interval(self):
        for recording in self.for_each(CACHE, "--mem=16K"):
            left = self.left_at(recording)
            for wanted, nr_bytes in (("put", BYTES_OF_PUT), ("items", BYTES_OF_ITEMS)):
                of = [has for place, has in left.items()
                      if place and place[0].split(".")[-1] == wanted]
                estimate, variance = sum(has[0] for has in of), sum(has[2] for has in of)
                self.assertWithin(estimate, nr_bytes, 2 * variance ** 0.5 + 1000 * HEAD_BYTES,
                                  wanted)

    def nodes_of(self, recording):
        """[blocks, bytes, variance] of what the line of the script with Node() has left, by leaks."""
        return [(leak["blocks"], leak["bytes"], leak["ci_bytes"] ** 2)
                for leak in self.leaks(recording)
                if next(((frame["function"], frame["line"]) for frame in leak["stack"]
                         if (frame["file"] or "").endswith(".py")), None) == ("put", LINE_OF_NODE)]

    def test_small_objects_are_exact(self):
        for recording in self.for_each(SMALL, "--mem=all", "--no-cpu"):
            nodes = [has for has in self.nodes_of(recording) if has[1] == has[0] * NODE_BYTES]
            self.assertEqual(sum(has[0] for has in nodes), NODES)
            # Their list, and nothing of what was freed at once.
            others = [has for has in self.nodes_of(recording) if has not in nodes]
            self.assertLessEqual(sum(has[0] for has in others), 1)
            self.assertNotIn("not watched", recording.info())

    def test_a_sample_of_small_objects_is_within_its_interval(self):
        for recording in self.for_each(SMALL, "--mem=4K", "--no-cpu"):
            nodes = self.nodes_of(recording)
            estimate, variance = sum(has[1] for has in nodes), sum(has[2] for has in nodes)
            # The list has one word for each of them, and some to spare.
            self.assertWithin(estimate, NODES * (NODE_BYTES + 8.5), 2 * variance ** 0.5 + NODES,
                              "bytes")

    def test_other_allocators_of_the_interpreter(self):
        for name in ("malloc", "debug"):
            with self.subTest(name):
                environment = {**os.environ, "PYTHONMALLOC": name}
                for recording in self.for_each(SMALL, "--mem=all", "--no-cpu", env=environment):
                    # An interpreter that was built with profiles has copies of the functions where
                    # it checks what they do.
                    if name == "malloc" or "has set an allocator" not in recording.info():
                        self.assertEqual(max(self.nodes_of(recording))[0], NODES)

    def test_the_verdict_names_the_function_that_keeps_more_and_more(self):
        for recording in self.for_each(GROWS, "--mem=64K"):
            said = profc("explain", "-i", recording.path).stdout
            self.assertRegex(said, r"not freed, allocated by[^,]*\bkeep\b")

    def talk(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline().strip(), line)

    def allocating(self, python):
        process = subprocess.Popen([python, self.script(ALLOCATES)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "ready")
        return process

    def end_of(self, process):
        """It goes on as if nothing had been, and its table has the functions of the interpreter."""
        self.talk(process, "say")
        time.sleep(0.1)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("Small block threshold", said)

    def test_the_table_is_as_before_in_the_end(self):
        for version, python in self.found:
            with self.subTest(version):
                process = self.allocating(python)
                recording = attach_to_count(self.directory, process.pid, "--mem=all", "--no-cpu",
                                            "-d", "1")
                self.assertNotIn("not watched", recording.info())
                self.end_of(process)

    def test_a_program_keeps_the_allocator_that_it_sets_meanwhile(self):
        for version, python in self.found:
            with self.subTest(version):
                process = self.allocating(python)
                with Recorder(self.directory, "attach", "-p", process.pid, "--mem=64K") as recorder:
                    self.wait_for_probes(process)
                    self.talk(process, "trace")
                    self.assertEqual(recorder.interrupt().status, 0)
                self.talk(process, "stop")
                time.sleep(0.1)
                # What it has put back leads to the functions, too.
                self.talk(process, "say")
                _, said = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, said)

    def wait_for_probes(self, process):
        def has():
            with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
                return "profc-probes" in maps.read()
        self.eventually(has, "probes are in the program")
        time.sleep(1.5)

    def test_after_a_profc_that_was_killed(self):
        for version, python in self.found:
            with self.subTest(version):
                process = self.allocating(python)
                with Recorder(self.directory, "attach", "-p", process.pid, "--mem=64K") as recorder:
                    self.wait_for_probes(process)
                    recorder.process.kill()
                    recorder.process.wait()
                time.sleep(0.2)
                recording = attach_to_count(self.directory, process.pid, "--mem=all", "--no-cpu",
                                            "-d", "1")
                self.assertNotIn("not watched", recording.info())
                self.end_of(process)

    def test_each_thread_has_its_own(self):
        sizes = {f"keep_{i}": 30000 + 1000 * i for i in range(4)}
        text = THREADS.format(
            functions="".join(FUNCTION_OF_THREAD.format(name=name, size=size)
                              for name, size in sizes.items()),
            names=", ".join(sizes))
        for recording in self.for_each(text, "--mem=all", "--no-cpu"):
            left = self.left_at(recording, 30000)
            for name, size in sizes.items():
                has = [one for place, one in left.items() if place and place[0] == name]
                nr = sum(one[1] for one in has)
                # Memory that was just mapped is copied once profc has told of it.
                self.assertIn(nr, range(198, 201))
                self.assertEqual(sum(one[0] for one in has), nr * (size + HEAD_BYTES))

    def test_no_block_has_the_name_of_another_function(self):
        for recording in self.for_each(MADE_CODE, "--mem=all", "--no-cpu"):
            nr_named = 0
            for leak in self.leaks(recording):
                names = [frame["function"] for frame in leak["stack"]]
                own = [name for name in names if name and re.fullmatch(r"f\d", name)]
                if not own:
                    continue
                k = int(own[0][1:])
                # Their list is larger, and the objects of the function are smaller.
                if 10000 < leak["bytes"] / leak["blocks"] < 10050:
                    nr_named += leak["blocks"]
                    self.assertEqual(leak["bytes"], leak["blocks"] * (10000 + k + HEAD_BYTES))
            self.assertGreater(nr_named, 0)

    def test_of_forked_children(self):
        for recording in self.for_each(FORKS, "--mem=all", "--no-cpu"):
            left = self.left_at(recording, 50000)
            has = [one for place, one in left.items() if place and place[0] == "child"]
            self.assertEqual(sum(one[1] for one in has), 300)

    def test_of_a_program_that_runs(self):
        path = self.script(SERVES)
        for version, python in self.found:
            with self.subTest(version):
                process = subprocess.Popen([python, path], stdout=subprocess.PIPE, text=True)
                self.addCleanup(process.wait)
                self.addCleanup(process.kill)
                process.stdout.readline()
                recording = attach_to_count(self.directory, process.pid, "--mem=all", "--no-cpu",
                                            "-d", "2")
                process.kill()
                left = self.left_at(recording, 60000)
                serves = [one for place, one in left.items()
                          if place == ("serve", LINE_OF_SERVE)]
                self.assertGreater(sum(one[0] for one in serves), 60000)
                # Before it was told how to find them, the program has copied none.
                others = sum(one[0] for place, one in left.items() if not place)
                self.assertLess(others, 60000 * 40)

    def compiled(self, text, *libraries):
        """A C program; the test is skipped where a library is missing."""
        source, program = self.path("program.c"), self.path("program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        result = subprocess.run([need("gcc"), source, "-o", program, *libraries], check=False,
                                stderr=subprocess.PIPE, text=True)
        if result.returncode:
            self.assertIn("cannot find", result.stderr)
            self.skipTest("there is no library of Python 3.11")
        return program

    def test_of_a_program_that_unloads_it(self):
        program = self.compiled(UNLOADS, "-ldl")
        if subprocess.run([program], check=False).returncode == 3:
            self.skipTest("there is no library of Python 3.11, or it stays loaded")
        recording = record(self.directory, [program], "--mem=4K", "--no-cpu")
        self.assertEqual(self.counters(recording).get("script_unloadable"), 1)
        self.assertIn("without its functions in allocations, as", recording.info())

    def test_of_a_program_that_has_perl_as_well(self):
        """As editors do that can run scripts of both: what it does not run does not hide what it does."""
        program = self.compiled(BOTH, "-l:libpython3.11.so.1.0", "-ldl")
        process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if not process.stdout.readline():
            self.skipTest("there is no library of Perl 5.36")
        recording = attach_to_count(self.directory, process.pid, "--mem=64K", "--no-cpu", "-d", "1")
        counters = self.counters(recording)
        self.assertEqual(counters.get("script_read_Python_3.11"), 1, counters)
        self.assertGreater(counters["script_blocks_proved"], 0)

    def test_the_interpreter_s_own_functions_are_shown_on_request(self):
        recording = next(self.for_each(CACHE, "--mem=64K", "--no-cpu"))
        folded, whole = (json.loads(profc("report", "-i", recording.path, "--leaks", "--json",
                                          *options).stdout)["leaks"]
                         for options in ((), ("--native",)))
        nr_frames = [sum(len(leak["stack"]) for leak in leaks) for leaks in (folded, whole)]
        self.assertLess(*nr_frames)
        self.assertEqual(*(sum(leak["bytes"] for leak in leaks) for leaks in (folded, whole)))


if __name__ == "__main__":
    unittest.main()
