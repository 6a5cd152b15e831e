# SPDX-License-Identifier: GPL-2.0-or-later
"""What each line of a Python program has left, beside what tracemalloc says in another run of it."""

import json
import os
import subprocess
import tempfile
import unittest

from live import LiveCase
from profc import profc, record
from pythons import pythons

# All of its memory comes from malloc(), as PYTHONMALLOC says; the same in each run.
PROGRAM = """import json, os, sys, threading, time
if len(sys.argv) > 1:
    import tracemalloc
    tracemalloc.start(1)
KEPT = []
class Node:
    def __init__(self, value, below):
        self.value = value
        self.below = below
        self.name = "node %d" % value
def tree(depth):
    if not depth:
        return None
    return Node(depth * 1000, [tree(depth - 1), tree(depth - 1)]) # free list
def numbers(nr):
    for i in range(nr):
        yield i * 1000003
def squares(nr):
    return {i: i * i * 1000003 for i in numbers(nr)}
def texts(nr):
    return [str(i) * 5 for i in numbers(nr)]
def worker():
    KEPT.append([bytes(300 + i) for i in range(200)])
def hook(pairs):
    return [tuple(pairs), float(len(pairs)) + 0.5] # free list
def parse():
    text = json.dumps({str(i): {"a": [i + 1000, i / 7]} for i in range(300)}) # free list
    return json.loads(text, object_pairs_hook=hook) # free list
def grow():
    grown = bytearray()
    for i in range(500):
        grown += b"x" * 100
    return grown
def fill():
    return [tree(7), squares(500), texts(500), parse(), grow(),
            sorted(range(1000, 3000), key=lambda n: -n)]
def rest():
    time.sleep(0 if len(sys.argv) > 1 else 2)
[fill(), fill(), fill(), fill()]
worker()
rest()
KEPT[:] = [fill()]
for _ in range(3):
    thread = threading.Thread(target=worker)
    thread.start()
    thread.join()
for i in range(1000):
    bytearray(i)
rest()
if len(sys.argv) > 1:
    found = {}
    for trace in tracemalloc.take_snapshot().traces:
        frame = trace.traceback[0]
        if frame.filename == __file__:
            has = found.setdefault(frame.lineno, [0, 0])
            has[0] += trace.size
            has[1] += 1
    print(json.dumps(found), flush=True)
os._exit(0)
"""
# What it does with tracemalloc itself is on other lines. What it fills first, and frees, shows profc
# where its memory is. It rests until profc, which takes longer to name a block than it to make one,
# has read all: names end with the process.
FIRST_LINE, LAST_LINE = 6, 50
# The interpreter keeps some freed lists, tuples, dicts and floats for later. tracemalloc moves one of
# these to the line that takes it again; nothing of the allocator is called then.
LINES = [line for line, text in enumerate(PROGRAM.splitlines(), 1)
         if FIRST_LINE <= line < LAST_LINE and not text.endswith("# free list")]
APART_BYTES, APART_BLOCKS = 1024, 8


class ScriptMemory(LiveCase):
    def left(self, recording, path):
        """{line: bytes, blocks}"""
        found = {}
        text = profc("report", "-i", recording.path, "--leaks", "--json", "-n", "0").stdout
        for leak in json.loads(text)["leaks"]:
            place = next((frame for frame in leak["stack"]
                          if (frame["file"] or "").endswith((".py", ">"))), None)
            if place and place["file"] == path:
                has = found.setdefault(place["line"], [0, 0])
                has[0] += leak["bytes"]
                has[1] += leak["blocks"]
        return found

    def check(self, python):
        path = self.path("program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        env = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="0",
                   MALLOC_TRIM_THRESHOLD_=str(1 << 30))
        witnessed = {int(line): has for line, has in json.loads(
            subprocess.run([python, path, "trace"], check=True, env=env, capture_output=True,
                           text=True).stdout).items()}
        recording = record(tempfile.mkdtemp(dir=self.directory), [python, path], "--mem=all",
                           "--no-cpu", env=env)
        left = self.left(recording, path)
        self.assertGreater(sum(has[0] for line, has in witnessed.items() if line in LINES), 300000)
        for line in LINES:
            said, seen = witnessed.get(line, [0, 0]), left.get(line, [0, 0])
            self.assertWithin(seen[0], said[0], APART_BYTES, f"bytes of line {line}")
            self.assertWithin(seen[1], said[1], APART_BLOCKS, f"blocks of line {line}")

    def test_each_line_has_what_tracemalloc_says(self):
        found = pythons()
        if not found:
            raise unittest.SkipTest("there is no Python of a known version")
        for version, python in found:
            with self.subTest(version):
                self.check(python)


if __name__ == "__main__":
    unittest.main()
