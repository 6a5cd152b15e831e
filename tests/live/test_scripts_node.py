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

# One function calls another one at two lines, which know their shares.
CALLS = """'use strict';
function cpu() { return process.cpuUsage().user + process.cpuUsage().system; }
function busy(until) {
    let n = 0;
    while (cpu() < until) for (let i = 0; i < 20000; i++) n = (n * 31 + i) % 1000003;
    return n;
}
function main() {
    busy(cpu() + 600000);
    for (let i = 0; i < 4; i++)
        if (i > 1)
            // Twice.
            busy(cpu() + 200000);
}
main();
"""

# One function that computes at two lines for three quarters and one quarter of its time; it says so.
LOOPS = """'use strict';
function cpu() { return process.cpuUsage().user + process.cpuUsage().system; }
function work(n, times) {
    let s = 0, from = cpu(), to;
    for (let i = 0; i < 3 * n; i++) s = (s * 31 + i) % 1000003;
    times[5] += (to = cpu()) - from;
    for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003;
    times[7] += cpu() - to;
    return s;
}
const times = {5: 0, 7: 0}, end = cpu() + 1500000;
while (cpu() < end) work(200000, times);
for (const line in times) console.log(line, times[line]);
"""

# Calls of all kinds, at lines that the program itself tells.
WITNESS = """'use strict';
const seen = new Set();
Error.prepareStackTrace = (error, sites) => sites;
function note() {
    for (const site of new Error().stack)
        if (site.getFileName() === __filename)
            seen.add((site.getFunctionName() || '(anonymous)') + ' ' + site.getLineNumber());
}
function spin(ms) {
    note();
    const end = Date.now() + ms;
    while (Date.now() < end);
    return ms;
}
function plain() {
    const object = {
        get value() { return spin(2); },
        valueOf() {
            return spin(2);
        },
    };
    let sum = object.value
        + object;
    sum += [spin(1),
        spin(2)].length;
    return sum +
        spin(1);
}
class Thing {
    constructor() { this.a = spin(2);
        this.b = this.more();
    }
    more() {
        return [3, 1, 2]
            .map(function mapped(v) { return v + spin(1); })
            .sort(function sorted(a, b) {
                spin(1);
                return a - b;
            })
            .length;
    }
}
function* generate() {
    yield spin(2);
    yield
    spin(2);
}
async function wait() {
    spin(2);
    await new Promise(function run(done) {
        spin(1);
        setImmediate(done);
    });
    spin(3);
}
function caught(k) {
    try {
        if (k % 2) spin(1); else
            throw spin(2);
    } catch (e) {
        spin(2);
    } finally {
        spin(1);
    }
}
function revive(key, value) { return key === 'a' ? spin(1) : value; }
async function main() {
    const end = Date.now() + 2500;
    for (let k = 0; Date.now() < end; k++) {
        plain();
        new Thing();
        for (const ms of generate())
            spin(ms || 1);
        await wait();
        caught(k);
        JSON.parse('{"a": 1}',
            revive);
        'abc'.replace(/b/, function replaced() { spin(1); return ''; });
    }
    for (const place of seen) console.log(place);
}
main();
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
        # What V8 inlines is in its caller: at times that is `more`, as a whole.
        recording = record(self.directory, [self.node, "--no-turbo-inlining", path])
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
        lacking = 0
        self.assertTrue(stacks)
        for stack in stacks:
            # V8 may inline `work` into its caller.
            names = [name for name in stack if name in ("turn", "work", "compare")]
            if names == ["compare"]:
                # The objects of the others had moved, and were not copied.
                lacking += 1
                continue
            self.assertIn(names, (["turn", "work", "compare"], ["turn", "compare"]), stack)
            between = stack[stack.index(names[-2]) + 1:stack.index("compare")]
            self.assertTrue(any("Sort" in name for name in between), stack)
            self.assertNotIn("[jit]", between)
        self.assertLessEqual(lacking, max(1, len(stacks) // 20), stacks)
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
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["script_proved"], 5 * counters.get("script_not_copied", 0))

    def test_interpreted_callers_have_the_lines_of_their_calls(self):
        path = self.script(CALLS)
        recording = record(self.directory, [self.node, path])
        rows = {(row["function"], row["line"]): row for row in recording.rows("--by", "line")
                if row["file"] == path}
        whole = recording.function("main", "--by", "script")["total_ns"]
        for line, share in ((9, 60), (13, 40)):
            row = rows["main", line]
            half = 100 * row["total_ci_pct"] * recording.report()["total_ns"] / whole / 100
            self.assertWithin(100 * row["total_ns"] / whole, share, max(3, 1.5 * half), rows)
        self.assertEqual({line for name, line in rows if name == "main"} - {None}, {9, 13}, rows)
        # What V8 has optimised has the time, and is at no line.
        self.assertGreater(rows["busy", None]["self_ns"], 0.7 * whole)
        shown = profc("annotate", "-i", recording.path, "app.js")
        self.assertRegex(shown.stdout, r"\n +[\d.]+ +[\d.]+ +9 +busy\(")
        self.assertIn("has no line once V8 has optimised it", shown.stderr)
        said = profc("annotate", "-i", recording.path, "busy", status=None)
        self.assertIn("has no line once V8 has optimised it", said.stderr)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["script_with_line"], 0)
        self.assertGreater(counters["script_without_line"], 0)

    def test_interpreted_lines_are_those_of_node(self):
        self.compare_lines("--no-opt", "--no-sparkplug")

    def test_lines_of_baseline_code_are_those_of_node(self):
        self.compare_lines("--no-opt", "--always-sparkplug")

    def test_lines_of_a_program_are_those_of_node(self):
        """Functions are interpreted, then compiled; few run for long enough to be optimised."""
        self.compare_lines()

    def compare_lines(self, *options):
        """What it says of the same calls itself; of what is not optimised all have lines."""
        path = self.script(WITNESS)
        # However dear stops are here, each place has to be seen.
        recording = record(self.directory, [self.node, *options, path], "--max-overhead", "0")
        witness = set(recording.stdout.splitlines())
        self.assertGreater(len(witness), 30)
        rows = [row for row in recording.rows("--by", "line", "--function", "^spin$")
                if row["file"] == path and row["function"] not in ("spin", "note")]
        known = {f"{row['function'].split('.')[-1]} {row['line']}" for row in rows if row["line"]}
        self.assertLessEqual(known, witness)
        self.assertGreater(len(known), 20)
        # The interpreter may begin or end a function: then its caller's line is known, not its own.
        unknown = sum(row["total_ns"] for row in rows if not row["line"])
        self.assertLess(unknown, 0.1 * sum(row["total_ns"] for row in rows))

    def test_lines_of_baseline_code_have_their_shares(self):
        path = self.script(LOOPS)
        recording = record(self.directory, [self.node, "--no-opt", "--always-sparkplug", path])
        said = dict(line.split() for line in recording.stdout.splitlines())
        whole = sum(int(time) for time in said.values())
        rows = {row["line"]: row for row in recording.rows("--by", "line", "--function", "^work$")
                if row["file"] == path and row["function"] == "work"}
        total = sum(row["total_ns"] for row in rows.values())
        for line, time in said.items():
            row = rows[int(line)]
            half = row["total_ci_pct"] * recording.report()["total_ns"] / total
            share = 100 * int(time) / whole
            self.assertWithin(100 * row["total_ns"] / total, share, max(3, 1.5 * half), rows)
        self.assertLess(rows.get(None, {"total_ns": 0})["total_ns"], 0.1 * total)

    def test_dump_shows_them(self):
        with Running([self.node, self.script(MERGED)]) as node:
            node.wait_ready()
            shown = [profc("dump", "-p", node.pid).stdout for _ in range(20)]
        self.assertTrue(any("compare" in text for text in shown), shown[0])


if __name__ == "__main__":
    unittest.main()
