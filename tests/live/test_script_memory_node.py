# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocations of Node.js programs have the functions and lines that made them."""

import json
import platform
import subprocess

from live import LiveCase
from profc import profc, record
from targets import need

IN_COMPANY = True

# Blocks come slowly, so that none is left out, and are not freed.
BEGIN = """const kept = [];
function pause(ms) { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms); }
pause(500);
"""
END = """
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500);
"""

CACHE = BEGIN + """class Cache {
    put(i) {
        kept.push(Buffer.alloc(70000 + i));
    }
}
function* items(nr) {
    for (let i = 0; i < nr; i++) {
        pause(1);
        yield Buffer.alloc(20000 + i);
    }
}
function work() {
    const cache = new Cache;
    for (let i = 0; i < 300; i++) {
        cache.put(i);
        pause(1);
    }
    [1, 2].sort(function compare(a, b) {
        kept.push(Buffer.alloc(300000));
        return a - b;
    });
    kept.push(...items(300));
}
work();
""" + END
LINE_OF_PUT, LINE_OF_ITEMS, LINE_OF_COMPARE = 6, 12, 22

# Functions that live for one call, and others come to stand where they were; the collector moves
# what lives on. Each has a line of its own, and a size.
MADE = BEGIN + """for (let n = 0; n < 600; n++) {
    const k = n % 50 ? n % 7 : 9;
    const made = new Function('kept', '\\n'.repeat(k) +
        `kept.push(Buffer.alloc(${10000 * (k + 1)})); // ${n}`);
    made(kept);
    if (n % 20 == 0) gc(n % 60 ? {type: 'minor'} : undefined);
    pause(2);
}
""" + END
LINE_OF_FIRST = 3


class NodeMemory(LiveCase):
    def setUp(self):
        super().setUp()
        self.node = need("node")
        if platform.machine() != "x86_64":
            self.skipTest("functions of Node.js are read on x86-64 alone")
        said = subprocess.run([self.node, "--version"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        if said.split(".")[0] not in ("v18", "v20"):
            self.skipTest(f"this is Node.js {said}")

    def record(self, text, *options, node=()):
        path = self.path("app.js")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return record(self.directory, [self.node, *node, path], *options, status=None)

    def left_at(self, recording, least, is_of):
        """{(function, line) of the innermost of the script: [bytes, blocks]} of blocks so large."""
        leaks = json.loads(profc("report", "-i", recording.path, "--leaks", "--json", "-n", "0")
                           .stdout)["leaks"]
        found = {}
        for leak in leaks:
            if leak["bytes"] < least * leak["blocks"]:
                continue
            places = [(frame["function"], frame["line"]) for frame in leak["stack"]
                      if is_of(frame["file"] or "")]
            has = found.setdefault(places[0] if places else None, [0, 0])
            has[0] += leak["bytes"]
            has[1] += leak["blocks"]
        return found

    def test_all_that_is_left_has_its_line(self):
        recording = self.record(CACHE, "--mem=1", "--no-cpu")
        left = self.left_at(recording, 20000, lambda file: file.endswith("app.js"))
        for function, line, nr_blocks, nr_bytes in (
                ("put", LINE_OF_PUT, 300, sum(70000 + i for i in range(300))),
                ("items", LINE_OF_ITEMS, 300, sum(20000 + i for i in range(300))),
                ("compare", LINE_OF_COMPARE, 1, 300000)):
            self.assertEqual(left[function, line], [nr_bytes, nr_blocks], left)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["script_blocks_proved"], 600)

    def test_code_that_lives_for_a_moment_lends_nobody_its_name(self):
        recording = self.record(MADE, "--mem=16K", "--no-cpu", node=("--expose-gc",))
        left = self.left_at(recording, 10000, lambda file: file == "[eval]")
        lines = {place[1]: has for place, has in left.items()
                 if place and place[0] == "(anonymous)" and place[1]}
        self.assertEqual(set(lines), {LINE_OF_FIRST + k for k in (*range(7), 9)})
        for line, (nr_bytes, nr_blocks) in lines.items():
            # Each sample stands for a number of blocks that is rounded.
            size = round(nr_bytes / nr_blocks / 10000)
            self.assertEqual(size, line - LINE_OF_FIRST + 1, lines)
        self.assertGreater(sum(has[1] for has in lines.values()), 450)

    def test_all_blocks_have_native_functions_alone(self):
        """The signature of a stack does not tell which function runs in V8's interpreter."""
        recording = self.record(CACHE, "--mem=all", "--no-cpu")
        self.assertEqual(self.left_at(recording, 20000, lambda file: file.endswith("app.js")).keys(),
                         {None})
