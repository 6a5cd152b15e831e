# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of Node.js in the stacks, in place of the code that V8 has made for them."""

import json
import subprocess
import unittest

from live import LiveCase
from profc import attach, profc, record
from targets import Running, need

# Each function knows how much of the program's CPU time it takes.
SHARES = """'use strict';
function cpu() { return process.cpuUsage().user + process.cpuUsage().system; }
function busy(share, until) {
    let n = 0;
    while (cpu() < until)
        for (let i = 0; i < 20000; i++) n = (n * 31 + i) % 1000003;
    return n;
}
class Work {
    half() { return busy(0.5, cpu() + 750000); }
    more() { return busy(0.3, cpu() + 450000); }
}
const less = () => busy(0.2, cpu() + 300000);
function main() {
    const work = new Work();
    work.half(); work.more(); less();
}
main();
"""

# A function of C++ calls back; collections move each closure, which lives for a moment.
MERGED = """'use strict';
const kept = [];
function waste(n) { for (let i = 0; i < n; i++) kept[i % 1000] = {i: i, text: 's' + i}; }
function make(k) { return function compare(a, b) { waste(3); return (a * k) % 7 - (b * k) % 7; }; }
function work() {
    const values = [];
    for (let i = 0; i < 200; i++) values.push(i);
    values.sort(make(values.length));
}
console.log('ready');
process.stdin.on('data', () => process.exit(0));
function turn() { const end = Date.now() + 5; while (Date.now() < end) work(); setImmediate(turn); }
turn();
"""

# 200 functions, of which each has its own line, come and go.
MADE = """'use strict';
const end = Date.now() + 2000;
let sum = 0;
for (let n = 0; Date.now() < end; n++) {
    const name = 'made' + n % 200;
    const text = '\\n'.repeat(n % 200) + 'return function ' + name + '(x) { let s = 0; '
        + 'for (let i = 0; i < 200000; i++) s = (s * 31 + i * x) % 1000003; return s; }';
    sum += new Function(text)()(n);
}
"""


class Node(LiveCase):
    def setUp(self):
        super().setUp()
        self.node = need("node")
        version = subprocess.run([self.node, "-p", "process.versions.v8"], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout
        if not version.startswith(("10.2.", "11.3.")):
            self.skipTest(f"this Node.js has V8 {version}")

    def script(self, text, name="app.js"):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_functions_have_their_shares(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.node, path])
        whole = recording.function("main", "--by", "script")["total_ns"]
        for name, share, line in (("half", 50, 10), ("more", 30, 11), ("less", 20, 13)):
            row = recording.function(name, "--by", "script")
            self.assertEqual((row["file"], row["line"]), (path, line), row)
            half = 100 * row["total_ci_pct"] * recording.report()["total_ns"] / whole / 100
            self.assertWithin(100 * row["total_ns"] / whole, share, max(2, 1.5 * half), name)
        # The time is the kernel's, with the frames and without.
        self.assertEqual(recording.report("--native")["total_ns"], recording.report()["total_ns"])

    def test_stand_between_native_functions(self):
        with Running([self.node, self.script(MERGED)]) as node:
            node.wait_ready()
            recording = attach(self.directory, node.pid, "-d", "2")
        stacks = [stack for stack, weight in recording.folded() if "compare" in stack and weight]
        self.assertTrue(stacks)
        for stack in stacks:
            # V8 may inline `work` into its caller.
            names = [name for name in stack if name in ("turn", "work", "compare")]
            self.assertIn(names, (["turn", "work", "compare"], ["turn", "compare"]), stack)
            between = stack[stack.index(names[-2]) + 1:stack.index("compare")]
            self.assertTrue(any("Sort" in name for name in between), stack)
            self.assertNotIn("[jit]", between)
        for stack, weight in recording.folded("--native"):
            if "compare" in stack and weight:
                # The native frame of its code stands before it.
                self.assertRegex(stack[stack.index("compare") - 1], r"^\[jit\]$|^Builtins_")

    def test_names_are_of_that_moment(self):
        """Each has as many lines before it as its name says."""
        recording = record(self.directory, [self.node, self.script(MADE)])
        made = [row for row in recording.rows() if row["function"].startswith("made")]
        self.assertGreater(len(made), 5)
        for row in made:
            self.assertEqual(row["line"], 3 + int(row["function"].removeprefix("made")), row)

    def test_modules_have_the_path_of_their_file(self):
        path = self.script("function hot() { const end = Date.now() + 700; let n = 0;\n"
                           "while (Date.now() < end) n++; return n; }\nexport default hot();\n",
                           "my app.mjs")
        recording = record(self.directory, [self.node, path])
        row = recording.function("hot")
        self.assertEqual((row["file"], row["line"]), (path, 1))

    def test_are_said_to_have_what_was_inlined(self):
        recording = record(self.directory, [self.node, self.script(SHARES)])
        self.assertIn("has inlined into it", profc("report", "-i", recording.path).stdout)
        self.assertIn("Node.js", profc("info", "-i", recording.path).stdout)
        said = profc("annotate", "-i", recording.path, "app.js", status=None)
        self.assertIn("only the first line of each function is known", said.stderr)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["script_proved"], 5 * counters.get("script_not_copied", 0))

    def test_dump_shows_them(self):
        with Running([self.node, self.script(MERGED)]) as node:
            node.wait_ready()
            shown = [profc("dump", "-p", node.pid).stdout for _ in range(20)]
        self.assertTrue(any("compare" in text for text in shown), shown[0])


if __name__ == "__main__":
    unittest.main()
