# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocations of PHP programs have the functions and lines that made them."""

import json
import os
import platform
import re
import struct
import subprocess
import threading
import urllib.request

from live import LiveCase
from profc import Recorder, attach, profc, record
from targets import Running, build, need

IN_COMPANY = True

# PHP has an allocator of its own, which takes two megabytes at a time from the C library, unless
# it is told not to.
ENVIRONMENT = {**os.environ, "USE_ZEND_ALLOC": "0"}

# Until profc has told the program how its frames are linked, and where it may read, none have
# functions, which takes a moment on busy CPUs.
BEGIN = "<?php for ($i = 0; $i < 600; $i++) { str_repeat('w', 1000); usleep(4000); }"

# It does not free them in the end.
CACHE = BEGIN + """
class Cache {
    public $kept = [];
    function put($i) {
        $this->kept[] = str_repeat('x', 70000 + $i);
    }
    static function items($nr) {
        for ($i = 0; $i < $nr; $i++)
            yield str_repeat('y', 20000 + $i);
    }
}
function keep() {
    $kept = [];
    foreach (Cache::items(500) as $item) $kept[] = $item;
    return $kept;
}
function work() {
    $GLOBALS['cache'] = new Cache;
    for ($i = 0; $i < 300; $i++) $GLOBALS['cache']->put($i);
    for ($i = 0; $i < 300; $i++) str_repeat('z', 80000);
    $values = [2, 1];
    usort($values, function ($a, $b) {
        $GLOBALS['sorted'] = str_repeat('s', 300000);
        return $a - $b;
    });
    return keep();
}
$kept = work();
usleep(500000);
posix_kill(posix_getpid(), 9);
"""
LINE_OF_PUT, LINE_OF_ITEMS, LINE_OF_CLOSURE = 5, 9, 23


# Beside its characters.
TEXT_BYTES = 32


# Functions that live for one call, and others come to stand where they were: each has a line of
# its own, and a size.
MADE_CODE = BEGIN + """
$kept = [];
for ($n = 0; $n < 3000; $n++) {
    $k = $n % 50 ? $n % 7 : 9;
    $made = eval(str_repeat("\\n", $k) .
                 "return function () { \\$GLOBALS['kept'][] = str_repeat('m', 10000 * $k + 10000); };");
    $made();
    unset($made);
}
posix_kill(posix_getpid(), 9);
"""

# Some are so deep that not all of their functions are copied.
DEEP = BEGIN + """
$kept = [];
function down($n) {
    global $kept;
    if ($n) return down($n - 1);
    $kept[] = str_repeat('d', 50000);
}
for ($i = 0; $i < 100; $i++) down(200);
posix_kill(posix_getpid(), 9);
"""

# Attached to.
LINE_OF_SERVE = 2
SERVES = """<?php
function serve() { $GLOBALS['kept'][] = str_repeat('v', 60000); }
$kept = [];
echo "ready\\n";
while (true) { serve(); usleep(5000); if (count($kept) > 1000) $kept = []; }
"""

# Once a request is answered PHP gives its stack back to the system.
ANSWERS = "<?php function answer() { return str_repeat('a', 1000); } echo strlen(answer());"

PT_DYNAMIC, DT_FLAGS_1, DF_1_PIE = 2, 0x6ffffffb, 0x08000000


def write_as_library(program, path):
    """A copy that dlopen(3) does not refuse. It has an entry, as libraries of old linkers have."""
    with open(program, "rb") as file:
        image = bytearray(file.read())
    table, = struct.unpack_from("<Q", image, 32)
    nr, = struct.unpack_from("<H", image, 56)
    for at in range(table, table + 56 * nr, 56):
        kind, _, start, _, _, nr_bytes = struct.unpack_from("<IIQQQQ", image, at)
        for row in range(start, start + nr_bytes, 16) if kind == PT_DYNAMIC else ():
            tag, value = struct.unpack_from("<QQ", image, row)
            if tag == DT_FLAGS_1:
                struct.pack_into("<Q", image, row + 8, value & ~DF_1_PIE)
    with open(path, "wb") as file:
        file.write(image)


class PhpMemory(LiveCase):
    def setUp(self):
        super().setUp()
        self.php = need("php")
        if platform.machine() != "x86_64":
            self.skipTest("functions of PHP are read on x86-64 alone")
        said = subprocess.run([self.php, "-n", "-r", "echo PHP_VERSION, PHP_ZTS ? ' ZTS' : '';"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        if not said.startswith("8.2.") or "ZTS" in said:
            self.skipTest(f"this is PHP {said}")

    def script(self, text):
        path = self.path("app.php")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def record(self, text, *options):
        return record(self.directory, [self.php, self.script(text)], *options, env=ENVIRONMENT,
                      status=None)

    def left_at(self, recording, least):
        """{(function, line) of the innermost of the script: [bytes, blocks]} of blocks so large."""
        leaks = json.loads(profc("report", "-i", recording.path, "--leaks", "--json", "-n", "0")
                           .stdout)["leaks"]
        found = {}
        for leak in leaks:
            if leak["bytes"] < least * leak["blocks"]:
                continue
            places = [(frame["function"], frame["line"]) for frame in leak["stack"]
                      if "app.php" in (frame["file"] or "")]
            has = found.setdefault(places[0] if places else None, [0, 0])
            has[0] += leak["bytes"]
            has[1] += leak["blocks"]
        return found

    def counters(self, recording):
        return json.loads(recording.info("--json"))["counters"]

    def test_without_the_setting_a_hint_has_it(self):
        self.assertIn("USE_ZEND_ALLOC", ENVIRONMENT)
        script = self.script("<?php str_repeat('x', 100000); usleep((int)$argv[1]);")
        plain = {name: value for name, value in ENVIRONMENT.items() if name != "USE_ZEND_ALLOC"}
        for environment, expected in (
            (plain, 1), ({**plain, "USE_ZEND_ALLOC": "1"}, 1), (ENVIRONMENT, 0)
        ):
            recording = record(self.directory, [self.php, script, "300000"], "--mem",
                               env=environment)
            self.assertEqual(recording.stderr.count("started with USE_ZEND_ALLOC=0,"), expected)
            with subprocess.Popen([self.php, script, "600000000"], env=environment) as target:
                attached = attach(self.directory, target.pid, "--mem", "-d", "300ms")
                target.kill()
            self.assertEqual(attached.stderr.count("started with USE_ZEND_ALLOC=0,"), expected)
        recording = record(self.directory, [self.php, script, "300000"], env=plain)
        self.assertNotIn("USE_ZEND_ALLOC", recording.stderr)

    def test_all_that_is_left_has_its_line(self):
        recording = self.record(CACHE, "--mem=all", "--no-cpu")
        left = self.left_at(recording, 20000)
        left.pop(None)  # PHP's own, before the script
        self.assertEqual(left, {
            ("Cache::put", LINE_OF_PUT): [sum(70000 + i + TEXT_BYTES for i in range(300)), 300],
            ("Cache::items", LINE_OF_ITEMS): [sum(20000 + i + TEXT_BYTES for i in range(500)), 500],
            ("{closure}", LINE_OF_CLOSURE): [300000 + TEXT_BYTES, 1]})
        counters = self.counters(recording)
        self.assertGreater(counters["script_blocks_proved"], 0)
        for name in ("torn", "no_native_frame", "not_a_generator"):
            self.assertNotIn("script_blocks_" + name, counters)

    def test_their_callers_are_the_script_s(self):
        recording = self.record(CACHE, "--mem=64K", "--no-cpu")
        found = {tuple(name for name in frames if name in
                       ("{main}", "work", "Cache::put", "keep", "Cache::items", "usort", "{closure}",
                        "str_repeat"))
                 for frames, _ in recording.folded("-m", "alloc") if "str_repeat" in frames}
        self.assertLessEqual(found, {
            ("{main}", "str_repeat"),
            ("{main}", "work", "Cache::put", "str_repeat"),
            ("{main}", "work", "keep", "Cache::items", "str_repeat"),
            ("{main}", "work", "str_repeat"),
            ("{main}", "work", "usort", "{closure}", "str_repeat")})
        self.assertGreaterEqual(len(found), 3)

    def test_code_that_lives_for_a_moment_lends_nobody_its_name(self):
        left = self.left_at(self.record(MADE_CODE, "--mem=all", "--no-cpu"), 10000)
        # It is read from the program, which has thrown some away by then.
        lines = {place[1]: has for place, has in left.items()
                 if place and place[0] == "{closure}" and place[1]}
        self.assertTrue(lines)
        for line, (nr_bytes, nr_blocks) in lines.items():
            self.assertEqual(nr_bytes, nr_blocks * (10000 * line + TEXT_BYTES), lines)

    def test_deep_ones_are_the_function_s(self):
        recording = self.record(DEEP, "--mem=all", "--no-cpu")
        left = self.left_at(recording, 50000)
        left.pop(None)  # PHP's own, before the script
        self.assertEqual(left, {("down", 6): [100 * (50000 + TEXT_BYTES), 100]})

    def test_a_process_that_runs_already(self):
        with Running([self.php, self.script(SERVES)], env=ENVIRONMENT) as php:
            php.wait_ready()
            recording = attach(self.directory, php.pid, "--mem=1", "--no-cpu", "-d", "2")
            self.assertUntouched(php.pid)
        rows = {row["function"]: row for row in recording.rows("-m", "alloc", "--by", "script")}
        # The first ones come before profc has told it how its frames are linked.
        self.assertGreater(rows["serve"]["total_bytes"],
                           0.8 * recording.report("-m", "alloc")["total_bytes"])

    def test_a_server_between_requests_has_no_stack(self):
        command = [self.php, "-S", "127.0.0.1:0", self.script(ANSWERS)]
        unmaps = {**ENVIRONMENT, "MALLOC_MMAP_THRESHOLD_": "131072"}
        with subprocess.Popen(command, env=unmaps, stderr=subprocess.PIPE, text=True) as php:
            url = re.search(r"http://[0-9.:]+", php.stderr.readline())[0]
            log = threading.Thread(target=php.stderr.read)
            log.start()
            with Recorder(self.directory, "attach", "-p", php.pid, "--mem=all", "--no-cpu",
                          "-d", "3") as recorder:
                while recorder.process.poll() is None and php.poll() is None:
                    with urllib.request.urlopen(url) as answer:
                        self.assertEqual(answer.read(), b"1000")
                recording = recorder.finish()
            self.assertIsNone(php.poll())
            php.kill()
            log.join()
        self.assertGreater(self.counters(recording)["script_blocks_proved"], 0)

    def test_a_library_may_be_unloaded(self):
        library = self.path("php.so")
        write_as_library(os.path.realpath(self.php), library)
        command = [build("unloads_program", libraries=["-ldl"]), library, self.script(BEGIN)]
        alone = subprocess.run(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True,
                               check=False)
        if alone.returncode:
            self.skipTest(f"this PHP cannot be unloaded: {alone.stderr}")
        record(self.directory, command, "--mem=1", "--no-cpu", env=ENVIRONMENT)
