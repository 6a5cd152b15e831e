# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of PHP in the stacks, between the native ones, without any option."""

import json
import os
import platform
import subprocess
import unittest

from live import LiveCase
from profc import attach, profc, record
from targets import Running, need

# Each function knows how much of the program's CPU time it takes.
SHARES = """<?php
function cpu() {
    $used = getrusage();
    return $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']
        + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e6;
}
function busy($seconds) {
    $end = cpu() + $seconds;
    $n = 0;
    while (cpu() < $end)
        for ($i = 0; $i < 20000; $i++) $n = ($n * 31 + $i) % 1000003;
    return $n;
}
class Work {
    function half() { return busy(0.75); }
    static function more() { return busy(0.45); }
}
function main() {
    (new Work)->half();
    Work::more();
    $values = [2, 1];
    usort($values, function ($a, $b) { busy(0.3); return $a - $b; });
}
main();
"""

# Native functions call back, a generator delegates, and a file and a text come and go.
MERGED = """<?php
function part($value) { for ($i = 0; $i < 200; $i++) yield $i * $value; }
function all($value) { yield from part($value); yield 0; }
class Key { function of($value) { return array_sum(iterator_to_array(all($value), false)); } }
function work() {
    $key = new Key;
    usort($GLOBALS['values'], fn ($a, $b) => $key->of($a) <=> $key->of($b));
}
$values = range(1, 40);
echo "ready\\n";
while (true) work();
"""

# Lines of one function that take known parts of its time.
LOOPS = """<?php
function work() {
    for ($n = 0; $n < 60; $n++) {
        for ($i = 0, $x = 0; $i < 300000; $i++) $x = ($x * 31 + $i) % 1000003;
        for ($i = 0, $x = 0; $i < 100000; $i++) $x = ($x * 31 + $i) % 1000003;
    }
}
work();
"""

# 50 files, each of other code at another line, which is dropped as soon as it has run.
MADE = """<?php
for ($n = 0; $n < 50; $n++)
    file_put_contents(__DIR__ . "/made$n.inc", "<?php " . str_repeat("\\n", $n)
        . '$s = 0; for ($i = 0; $i < 20000; $i++) $s = ($s * 31 + $i) % 1009; return $s;');
$end = microtime(true) + 1.5;
for ($n = 0; microtime(true) < $end; $n++) {
    include __DIR__ . '/made' . $n % 50 . '.inc';
    if ($n % 8 == 0) eval(str_repeat("\\n", $n % 50) . 'for ($i = 0; $i < 20000; $i++) $s ^= $i;');
}
"""

# It waits for its input.
DEEP = """<?php
function down($n) {
    if ($n) return down($n - 1);
    echo "ready\\n";
    return fgets(STDIN);
}
down(%d);
"""


# It sleeps below a function of its own, which a native one has called.
SLEEPS = """<?php
$values = [2, 1];
usort($values, function ($a, $b) {
    echo "ready\\n";
    return sleep(600);
});
"""


class Php(LiveCase):
    def setUp(self):
        super().setUp()
        self.php = need("php")
        if platform.machine() != "x86_64":
            self.skipTest("functions of PHP are read on x86-64 alone")
        said = subprocess.run([self.php, "-n", "-r", "echo PHP_VERSION, PHP_ZTS ? ' ZTS' : '';"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        if not said.startswith("8.2.") or "ZTS" in said:
            self.skipTest(f"this is PHP {said}")

    def script(self, text, name="app.php"):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def counters(self, recording):
        return json.loads(recording.info("--json"))["counters"]

    def test_functions_have_their_shares(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.php, path])
        whole = recording.function("main", "--by", "script")["total_ns"]
        for name, share, line in (("Work::half", 50, 15), ("Work::more", 30, 16),
                                  ("{closure}", 20, 22), ("usort", 20, None)):
            row = recording.function(name, "--by", "script")
            self.assertEqual(row["line"], line, row)
            self.assertEqual(row["file"], path if line else None, row)
            half = 100 * row["total_ci_pct"] * recording.report()["total_ns"] / whole / 100
            self.assertWithin(100 * row["total_ns"] / whole, share, max(2, 1.5 * half), name)
        # The functions of PHP itself, which has no debug information, are in none of the rows.
        self.assertNotIn("without symbols",
                         profc("report", "-i", recording.path, "--by", "script").stdout)
        # The time is the kernel's, with the frames and without.
        self.assertEqual(recording.report("--native")["total_ns"], recording.report()["total_ns"])
        counters = self.counters(recording)
        self.assertEqual(counters["script_read_PHP_8.2"], 1)
        refused = sum(nr for name, nr in counters.items() if name in
                      ("script_torn", "script_no_native_frame", "script_not_a_generator", "script_too_deep"))
        self.assertLessEqual(refused, counters["script_proved"] / 100, counters)

    def test_stand_between_native_functions(self):
        with Running([self.php, self.script(MERGED)]) as php:
            php.wait_ready()
            recording = attach(self.directory, php.pid, "-d", "2")
        stacks = [stack for stack, weight in recording.folded() if "part" in stack and weight]
        self.assertTrue(stacks)
        for stack in stacks:
            names = [name for name in stack if name in
                     ("{main}", "work", "usort", "{closure}", "Key::of", "iterator_to_array", "all", "part")]
            self.assertEqual(names, ["{main}", "work", "usort", "{closure}", "Key::of", "iterator_to_array",
                                     "all", "part"], stack)
            self.assertNotIn("execute_ex", stack)
        for stack, weight in recording.folded("--native"):
            if "part" in stack and weight:
                # The loop that runs them is before them: once for each call from native code.
                self.assertEqual(stack[stack.index("all") - 1], "execute_ex", stack)
                self.assertEqual(stack[stack.index("{closure}") - 1], "execute_ex", stack)
                self.assertEqual(stack.count("execute_ex"), 3, stack)

    def test_lines_have_their_shares(self):
        path = self.script(LOOPS)
        recording = record(self.directory, [self.php, path])
        rows = {row["line"]: row for row in recording.rows("--by", "line") if row["function"] == "work"}
        self.assertLessEqual({line for line, row in rows.items() if row["total_ns"] > 0}, {3, 4, 5}, rows)
        total = sum(row["total_ns"] for row in rows.values())
        for line, share in ((4, 75), (5, 25)):
            half = rows[line]["total_ci_pct"] * recording.report()["total_ns"] / total
            self.assertWithin(100 * rows[line]["total_ns"] / total, share, max(3, 1.5 * half), rows)
        shown = profc("annotate", "-i", recording.path, "app.php").stdout
        self.assertRegex(shown, r"\n +[\d.]+ .* 4 +for \(\$i = 0, \$x")

    def test_names_are_of_that_moment(self):
        """Each file has as many lines before its code as its name says."""
        path = self.script(MADE)
        recording = record(self.directory, [self.php, path], "--max-overhead", "0")
        rows = [row for row in recording.rows("--by", "line") if row["file"]]
        made = [row for row in rows if row["file"].endswith(".inc")]
        self.assertGreater(len(made), 20)
        for row in made:
            n = int(os.path.basename(row["file"]).removeprefix("made").removesuffix(".inc"))
            self.assertIn(row["line"], (n + 1, None), row)
        evals = [row for row in rows if row["function"] == "{eval}"]
        self.assertTrue(evals)
        for row in evals:
            self.assertEqual(row["file"], f"{path}(8) : eval()'d code")
        total = sum(row["self_ns"] for row in recording.rows())
        gone = sum(row["self_ns"] for row in recording.rows() if row["function"] == "[php, gone]")
        self.assertLess(gone, 0.05 * total)

    def test_sleeping_threads_have_functions(self):
        path = self.script(SLEEPS)
        with Running([self.php, path]) as php:
            php.wait_ready()
            recording = attach(self.directory, php.pid, "-d", "1")
        stacks = {tuple(name.removesuffix(" ([php])") for name in stack): weight
                  for stack, weight in recording.folded("-m", "wall")}
        known = sum(weight for stack, weight in stacks.items()
                    if [name for name in stack if name in ("{main}", "usort", "{closure}", "sleep")][:4]
                    == ["{main}", "usort", "{closure}", "sleep"])
        self.assertGreater(known, 0.5 * sum(stacks.values()), stacks)
        rows = {row["line"] for row in recording.rows("--by", "line", "-m", "wall")
                if row["function"] == "{closure}"}
        self.assertEqual(rows, {5})

    def test_dump_shows_them(self):
        for depth in (20, 1000):
            path = self.script(DEEP % depth)
            with Running([self.php, path]) as php:
                php.wait_ready()
                dumped = json.loads(profc("dump", "-p", php.pid, "--json").stdout)
            frames = dumped["processes"][0]["threads"][0]["stack"]
            self.assertEqual([frame["line"] for frame in frames if frame["function"] == "down"],
                             [5] + [3] * depth)

    def test_is_refused_where_its_jit_compiles(self):
        path = self.script(SHARES)
        options = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=16M", "-d", "opcache.jit=tracing"]
        said = subprocess.run([self.php, *options, "-r", "echo opcache_get_status()['jit']['on'] ? 'on' : '';"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        if said != "on":
            self.skipTest("this PHP has no JIT")
        recording = record(self.directory, [self.php, *options, path])
        self.assertIn("its functions are not read, as its JIT compiles them",
                      profc("info", "-i", recording.path).stdout)
        self.assertNotIn("main", [row["function"] for row in recording.rows()])

    def test_functions_in_shared_memory(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.php, "-d", "opcache.enable_cli=1", path])
        row = recording.function("Work::half", "--by", "script")
        self.assertEqual((row["file"], row["line"]), (path, 15))

    def patched(self, old, new):
        """PHP with another text in the place of one of its own, without its extensions."""
        path = self.path("php")
        with open(self.php, "rb") as file:
            program = file.read()
        if old not in program:
            self.skipTest(f"{old} is not in {self.php}")
        with open(path, "wb") as file:
            file.write(program.replace(old, new))
        os.chmod(path, 0o755)
        return path

    def check_refused(self, php, said):
        recording = record(self.directory, [php, "-n", self.script(SHARES)])
        self.assertIn(said, profc("info", "-i", recording.path).stdout)
        self.assertNotIn("main", [row["function"] for row in recording.rows()])
        self.assertNotIn("script_proved", self.counters(recording))

    def test_nothing_is_read_of_an_unknown_version(self):
        self.check_refused(self.patched(b"Zend Engine v4.2.", b"Zend Engine v4.9."),
                           "PHP 8.9 in 1 process: its functions are not read (known: 8.2)")

    def test_nothing_is_read_of_a_build_for_several_threads(self):
        """Those have no globals of this name."""
        self.check_refused(self.patched(b"\0executor_globals\0", b"\0executor_elsewhe\0"),
                           "its functions are not read, as it is built for several threads")


if __name__ == "__main__":
    unittest.main()
