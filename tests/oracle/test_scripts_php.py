# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions of PHP programs, beside what PHP says of itself where a thread waits."""

import collections
import json
import os
import platform
import random
import signal
import subprocess
import time

import procfs
from live import LiveCase
from targets import BUILD, need

# Each way by which PHP comes from one function to another, in any order; stop() says where it is,
# and waits there, in the very same line.
WAYS = r"""<?php
namespace Any\Où;
mt_srand((int)$argv[1]);
function stop() {
    echo json_encode(array_map(fn ($f) => array_diff_key($f, ['args' => 0]), debug_backtrace(0))), "\n"; fgets(STDIN);
}
trait Twice { function twice($d) { $x = 1;
    go($d); return $x; } }
class Magic implements \IteratorAggregate, \ArrayAccess, \Countable {
    use Twice;
    public $d;
    function __construct($d, $now = false) { $this->d = $d; if ($now) go($d); }
    function __get($name) { go($this->d); return $name; }
    function __call($name, $args) { go($this->d); }
    static function __callStatic($name, $args) { go($args[0]); }
    function __toString() { go($this->d); return ''; }
    function __invoke() { go($this->d); }
    function getIterator(): \Iterator { go($this->d); yield 1; go($this->d); }
    function offsetExists($o): bool { go($this->d); return true; }
    function offsetGet($o): mixed { go($this->d); return 1; }
    function offsetSet($o, $v): void { go($this->d); }
    function offsetUnset($o): void { go($this->d); }
    function count(): int { go($this->d); return 1; }
    static function of($d) { go($d); }
}
class Dying { public $d; function __construct($d) { $this->d = $d; }
    function __destruct() { go($this->d); } }
function dies($d) { $local = new Dying($d); $n = 1;
    return $n; }
function values($d) { yield 1; go($d); yield 2; }
function delegates($d) { $n = yield from values($d);
    yield from inner($d); }
function inner($d) { yield from values($d); go($d); yield 3; }
function fails($d) { try { $x = new Dying($d); throw new \Exception('a'); } finally { go($d); } }
function variadic($d, ...$more) { go($d); }
function down($d, $n) { if ($n) { down($d, $n - 1); } else { go($d); } }
function go($d) {
    if ($d <= 0) { stop(); return; }
    $d--;
    switch (mt_rand(0, 27)) {
    case 0: $m = new Magic($d, true); break;
    case 1: $m = new Magic($d); $m->nothing; break;
    case 2: $m = new Magic($d); $m->nothing(1); break;
    case 3: Magic::nothing($d); break;
    case 4: $m = new Magic($d); $s = "a$m"; break;
    case 5: (new Magic($d))(); break;
    case 6: foreach (new Magic($d) as $x) { if ($d > 2) break; } break;
    case 7: $m = new Magic($d); $x = isset($m[1]) && $m[1]; break;
    case 8: $m = new Magic($d); $m[2] = 3; unset($m[2]); break;
    case 9: count(new Magic($d)); break;
    case 10: (new Magic($d))->twice($d); break;
    case 11: dies($d); break;
    case 12: foreach (values($d) as $v) ; break;
    case 13: foreach (delegates($d) as $v)
            $n = $v;
        break;
    case 14: try { fails($d); } catch (\Exception $e) { } break;
    case 15: variadic($d, 1, 2, 3); break;
    case 16: down($d, mt_rand(1, 300)); break;
    case 17: $a = [2, 1]; usort($a, function ($x, $y) use ($d) { go($d);
        return $x <=> $y; }); break;
    case 18: array_map(fn ($x) => go($d), [1]); break;
    case 19: preg_replace_callback('/b/', function ($m) use ($d) { go($d); return ''; }, 'abc'); break;
    case 20: call_user_func_array([Magic::class, 'of'], [$d]); break;
    case 21: eval("namespace Any\\Où;\n\$x = 1;\ngo(\$d);"); break;
    case 22: include __DIR__ . '/more.php'; break;
    case 23: (new \ReflectionFunction('Any\Où\variadic'))->invoke($d); break;
    case 24: $f = go(...); $f($d); break;
    case 25: call_user_func('call_user_func', 'array_filter', [1], fn ($x) => go($d)); break;
    case 26: $fiber = new \Fiber(function () use ($d) { inside($d); }); $fiber->start(); break;
    case 27: ob_start(fn ($text) => ''); iterator_apply($it = new \ArrayIterator([1]), function () use ($d) {
            ob_end_flush(); go($d); }); break;
    }
}
function inside($d) { variadic($d); }
while (true) {
    try { go(mt_rand(1, 6)); } catch (\FiberError $e) { } // of a destructor
}
"""
MORE = """<?php namespace Any\\Où;
// Comes from another file.

Magic::of($d);
go($d);
"""
LINE_OF_STOP = WAYS[:WAYS.index("fgets")].count("\n") + 1
SEEDS, STOPS = 3, 50
# A fiber has stacks of its own.
FIBER = "Fiber::start"


def said(backtrace, main):
    """The frames of functions of scripts, and the names of all others, leaf first."""
    scripts, natives = [], []
    callers = [("stop", 0)] + [(call.get("file"), call.get("line")) for call in backtrace]
    for i, call in enumerate(backtrace):
        name = "::".join(filter(None, (call.get("class"), call["function"])))
        file, line = callers[i]
        if file is None:
            natives.append(name)
        else:
            scripts.append(({"include": "{main}", "eval": "{eval}"}.get(name, name), file, line))
    return scripts + [("{main}", *callers[-1])], natives


def shown(lines):
    """The same of what is found."""
    scripts, natives = [], []
    for text in lines:
        name, _, place = text.partition(" ")
        file, _, line = place.rpartition(":")
        if file == "[php]":
            natives.append(name)
        else:
            scripts.append((name, file, int(line)))
    return scripts, natives


class Oracle(LiveCase):
    def setUp(self):
        super().setUp()
        self.reader = os.path.join(BUILD, "tests", "oracle", "script_stack")
        self.php = need("php")
        said = subprocess.run([self.php, "-n", "-r", "echo PHP_VERSION, PHP_ZTS ? ' ZTS' : '';"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        if not said.startswith("8.2.") or "ZTS" in said or platform.machine() != "x86_64":
            self.skipTest(f"this is PHP {said} on {platform.machine()}")


class Scripts(Oracle):

    def seen(self, pid):
        done = subprocess.run([self.reader, str(pid), str(pid)], check=True, text=True,
                              capture_output=True)
        return done.stdout.splitlines()

    def begin(self, seed):
        for name, text in (("ways.php", WAYS), ("more.php", MORE)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        process = subprocess.Popen([self.php, self.path("ways.php"), str(seed)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def compare(self, process, counts):
        backtrace = json.loads(process.stdout.readline())
        self.eventually(lambda: procfs.state(process.pid, process.pid) == "S", "a wait")
        seen = self.seen(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        counts["all"] += 1
        if not seen or seen[0].startswith("#"):
            counts["refused"] += 1
            return
        scripts, natives = said(backtrace, self.path("ways.php"))
        found, found_natives = shown(seen)
        scripts[0] = (scripts[0][0], self.path("ways.php"), LINE_OF_STOP)
        self.assertEqual(found_natives[0], "fgets")
        if FIBER in natives:
            # That has stacks of its own, which begin with the function that it was given.
            scripts = scripts[:len(found)]
            self.assertEqual(scripts[-1][0], "Any\\Où\\{closure}")
            natives = natives[:natives.index(FIBER)]
        # While an exception is handled PHP says the line of the one before, of whatever function.
        counts["no line"] += sum(not line for _, _, line in found)
        scripts = [(*known[:2], known[2] if shown_one[2] else 0) for shown_one, known in zip(found, scripts)] \
            + scripts[len(found):]
        self.assertEqual(found, scripts)
        # One that native code has called is known if it is in that function's own code.
        rest = iter(natives)
        self.assertTrue(all(name in rest for name in found_natives[1:]), (natives, found_natives))
        counts["natives"] += len(natives)
        counts["natives found"] += len(found_natives) - 1
        counts["frames"] += len(found)

    def test_ways(self):
        counts = collections.Counter()
        for seed in range(SEEDS):
            process = self.begin(seed)
            for _ in range(STOPS):
                self.compare(process, counts)
        self.assertLessEqual(counts["refused"], counts["all"] / 100, counts)
        self.assertLessEqual(counts["no line"], counts["frames"] / 500, counts)
        self.assertGreater(counts["natives found"], counts["natives"] / 2, counts)


# Statements of a line, with and without calls of PHP's own functions.
STATEMENTS = (
    "$x = $x * 31 % 1000003;", "$x += $a[$x % 100];", "$t = $s . $x;", "$t .= $s;", "$f = $f * 1.01 + $x;",
    "$o->v = $o->v + 1;", "$x = isset($a[$x]) ? 1 : 2;", "$b = $a; $b[] = $x;", "$x = strlen($t) + ord($t);",
    "$t = substr($t, 0, 900);", "foreach ($c as $k => $v) $x ^= $v;", "$x = (int)\"1$x\" % 1009;",
    "[$y, $z] = [$x, $f];", "$t = \"$x and $s and $y\";", "$x = $t === $s ? 3 : 4;", "$d = ['a' => $x, 'b' => $t];",
    "$x += $d['a'] <=> $y;", "$t = str_replace('a', 'bb', $s);", "for ($i = 0; $i < 9; $i++) $x += $i;",
    "$x = max($x, $y) % 1013;", "$f = sqrt($f * $f + 1);", "unset($b);", "$x = $x & 255 | 7;",
)
LINES = 12
RUNNING_STOPS = 100


class Running(Oracle):
    """The line of the function that runs, beside a word in which the program keeps that itself."""

    def begin(self):
        chosen = random.Random(1)
        lines = ["<?php $line = FFI::new('int'); $at = FFI::addr($line); $word = FFI::new('uintptr_t');"
                 " FFI::memcpy(FFI::addr($word), FFI::addr($at), 8); echo $word->cdata, \"\\n\";",
                 "function work($line) { $a = range(0, 99); $c = range(0, 9); $s = str_repeat('a', 500); $x = 1;"
                 " $f = 1.5; $o = new stdClass; $o->v = $y = $z = 1; $t = $s; $d = ['a' => 1];", "while (true) {"]
        for _ in range(LINES):
            lines.append("$line->cdata = __LINE__; " + " ".join(chosen.choices(STATEMENTS, k=60)))
        path = self.path("lines.php")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, "}", "}", "work($line);"]))
        process = subprocess.Popen([self.php, path], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, int(process.stdout.readline())

    def test_lines(self):
        process, word = self.begin()
        counts = collections.Counter()
        for _ in range(RUNNING_STOPS):
            time.sleep(random.uniform(0.001, 0.005))
            os.kill(process.pid, signal.SIGSTOP)
            self.eventually(lambda: procfs.state(process.pid, process.pid) == "T", "a stop")
            with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
                memory.seek(word)
                line = int.from_bytes(memory.read(4), "little")
            done = subprocess.run([self.reader, str(process.pid), str(process.pid)], check=True, text=True,
                                  capture_output=True)
            os.kill(process.pid, signal.SIGCONT)
            scripts, _ = shown(done.stdout.splitlines()) if done.stdout[0] != "#" else ([], [])
            self.assertEqual([frame[0] for frame in scripts][1:], ["{main}"] if scripts else [])
            # Between two lines one is done, and the word not set so far.
            after = [line + 1, line + 2] if line < 3 + LINES else [3, 4, 4 + LINES]
            if not scripts:
                counts["refused"] += 1
            elif scripts[0][2] == line:
                counts["equal"] += 1
            elif scripts[0][2] in after:
                counts["next"] += 1
            elif not scripts[0][2]:
                counts["no line"] += 1
            else:
                self.fail(f"line {line}: {done.stdout}")
        self.assertGreaterEqual(counts["equal"], RUNNING_STOPS * 0.9, counts)
        self.assertLessEqual(counts["refused"] + counts["no line"], 2, counts)
