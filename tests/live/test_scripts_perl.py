# SPDX-License-Identifier: GPL-2.0-or-later
"""Subs of Perl programs in the stacks, between the native functions that they call."""

import json
import re
import shutil
import subprocess
import unittest

from live import LiveCase
from profc import attach, profc, record
from targets import build, need

# Each sub knows how much of the program's CPU time it takes: a method, a sub, and one that the
# block of a sort calls.
SHARES = """use strict; use warnings;
sub cpu { my @t = times; return $t[0] + $t[1] }
sub busy {
    my $until = cpu() + shift;
    my $n = 0;
    while (cpu() < $until) {
        for my $i (1 .. 2000) {
            $n += $i * $i;
        }
    }
    return $n;
}
package Work;
sub new { return bless {}, shift }
sub half { return main::busy(0.75) }
package main;
sub more { return busy(0.45) }
sub compare { busy(0.3); return $_[0] <=> $_[1] }
sub main {
    Work->new->half;
    more();
    my @sorted = sort { compare($a, $b) } 2, 1;
}
main();
"""
LINE_OF_LOOP = 8

# Where each of these waits is known.
WAITS = {
    "sleep": ("sub inner { sleep 60 } sub outer { inner() } outer();",
              ["(main)", "main::outer", "main::inner"]),
    "read": ("pipe(my $in, my $out); sub inner { sysread $in, my $x, 1 } sub outer { inner() } outer();",
             ["(main)", "main::outer", "main::inner"]),
    "recursion": ("sub down { my $n = shift; $n ? down($n - 1) : sleep 60 } down(200);",
                  ["(main)"] + ["main::down"] * 201),
    "evals": ("sub inner { eval { eval 'sleep 60' } } inner();",
              ["(main)", "main::inner", "(eval)", "(eval)"]),
    "sort": ("sub by { sleep 60; $_[0] <=> $_[1] } my @x = sort { by($a, $b) } 2, 1;",
             ["(main)", "(sort block)", "main::by"]),
    "overload": ("package O; use overload '+' => sub { sleep 60 }; package main;"
                 "sub add { my $x = bless {}, 'O'; $x + 1 } add();",
                 ["(main)", "main::add", "O::__ANON__"]),
    "signal": ("$SIG{ALRM} = sub { sleep 60 }; alarm 1; sub inner { 1 while 1 } inner();",
               ["(main)", "main::inner", "(eval)", "main::__ANON__"]),
    "begin": ("sub inner { sleep 60 } BEGIN { inner() }", ["main::BEGIN", "main::inner"]),
}

# Subs that are made and dropped all the time, by evals and as closures.
MADE = """use strict;
sub work { my $s = 0; for my $i (1 .. 300) { $s += $i } return $s }
my $end = time + 2;
while (time < $end) {
    for my $n (1 .. 50) { my $made = eval "package P$n; sub { main::work() + $n }"; $made->() }
    my $k = 3; my $closure = sub { work() + $k }; $closure->();
}
"""

THREADS = """use strict; use threads;
sub burn { my $end = time + 2; inner() while time < $end }
sub inner { my $s = 0; for my $i (1 .. 1000) { $s += $i } }
my @threads = map { threads->create(\\&burn) } 1, 2;
burn();
$_->join for @threads;
"""


class Scripts(LiveCase):
    def setUp(self):
        super().setUp()
        self.perl = need("/usr/bin/perl")
        version = subprocess.run([self.perl, "-e", "print $^V"], check=True, capture_output=True,
                                 text=True).stdout
        if not version.startswith("v5.36."):
            raise unittest.SkipTest(f"subs of Perl {version} are not read")

    def script(self, text):
        path = self.path("app.pl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def counters(self, recording):
        return json.loads(recording.info("--json"))["counters"]

    def check_refused(self, recording):
        counters = self.counters(recording)
        refused = sum(counters.get(name, 0) for name in ("script_torn", "script_no_native_frame",
                                                         "script_no_thread_state"))
        self.assertLessEqual(refused, 0.01 * counters["script_proved"] + 2, counters)
        self.assertEqual(counters["script_read_Perl_5.36"], 1)

    def test_subs_have_their_shares(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.perl, path])
        rows = {row["function"]: row for row in recording.rows("--by", "script")}
        whole = rows["main::busy"]["total_ns"]
        for name, share, line in (("Work::half", 0.5, 15), ("main::more", 0.3, 17),
                                  ("main::compare", 0.2, 18), ("(sort block)", 0.2, 22)):
            row = rows[name]
            self.assertEqual((row["file"], row["line"]), (path, line))
            self.assertPart(recording, row["total_ns"] / whole, share, name)
        self.check_refused(recording)

    def test_rows_of_scripts_have_the_native_code_that_they_called(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.perl, path])
        whole = recording.report()["total_ns"]
        for options in ((), ("--native",)):
            report = recording.report("--by", "script", *options)
            rows = {row["function"]: row for row in report["rows"]}
            self.assertEqual(sum(row["self_ns"] for row in report["rows"]), whole)
            self.assertEqual((rows["main::busy"]["file"], rows["main::busy"]["line"]), (path, 4))
            self.assertNotIn("Perl_runops_standard", rows)

    def test_lines_have_their_time(self):
        path = self.script(SHARES)
        recording = record(self.directory, [self.perl, path])
        source = profc("annotate", "-i", recording.path, "main::busy").stdout
        loop = [line for line in source.splitlines() if line.endswith("$n += $i * $i;")]
        self.assertEqual(len(loop), 1, source)
        self.assertIn(str(LINE_OF_LOOP), loop[0].split())
        # What Perl's own functions have of it is in the totals of the lines that called them.
        said = profc("annotate", "-i", recording.path, "--json", path)
        page = json.loads(said.stdout)
        report = recording.report("--by", "script,line")
        whole = sum(row["self_ns"] for row in report["rows"] if row["file"] == path)
        native = whole - sum(line["self_ns"] for line in page["lines"])
        found = re.search(r"profc: ([\d.]+)% of the time is in native code that app.pl calls", said.stderr)
        self.assertTrue(found, said.stderr)
        self.assertWithin(float(found[1]), 100 * native / report["total_ns"], 0.1, "share")

    def test_native_functions_are_between_them(self):
        recording = record(self.directory, [self.perl, self.script(SHARES)])
        stacks = recording.folded("--native")
        whole = sum(weight for _, weight in stacks)
        sort = ["main::main", "Perl_pp_sort", "Perl_sortsv_flags"]
        found = sum(weight for frames, weight in stacks
                    if "(sort block)" in frames and "Perl_pp_sort" in frames and
                    frames.index("main::main") < frames.index("Perl_pp_sort")
                    < frames.index("(sort block)") < frames.index("main::compare"))
        self.assertPart(recording, found / whole, 0.2, sort)
        # Without the interpreter's own functions nothing is lost.
        folded = recording.folded()
        self.assertEqual(sum(weight for _, weight in folded), whole)
        self.assertIn(["(main)", "main::main", "(sort block)", "main::compare", "main::busy"],
                      [frames[-6:-1] for frames, _ in folded])

    def waiting(self, text):
        """The subs of a program that waits, the outermost first."""
        process = subprocess.Popen([self.perl, "-e", text])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        found = []

        def is_there():
            dumped = json.loads(profc("dump", "-p", process.pid, "--json").stdout)
            stack = dumped["processes"][0]["threads"][0]["stack"]
            found[:] = [level["function"] for level in reversed(stack)]
            return "clock_nanosleep" in found or "read" in found or "__libc_read" in found

        self.eventually(is_there, "a wait")
        return [name for name in found if name.startswith("(") or "::" in name]

    def test_where_programs_wait(self):
        for name, (text, wanted) in WAITS.items():
            with self.subTest(name):
                self.assertEqual(self.waiting(text), wanted)

    def test_those_that_run_already_are_read(self):
        process = subprocess.Popen([self.perl, "-e", "sub spin { 1 while 1 } spin()"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        recording = attach(self.directory, process.pid, "-d", "3")
        self.assertMostlyIn(recording, "main::spin", 0.8, options=("--by", "script"))

    def test_subs_may_be_made_all_the_time(self):
        path = self.script(MADE)
        recording = record(self.directory, [self.perl, path], "-F", "1000", "--max-overhead", "0")
        rows = {row["function"]: row for row in recording.rows("--by", "script")}
        whole = recording.report()["total_ns"]
        self.assertGreater(rows["main::work"]["total_ns"], 0.2 * whole)
        self.assertLess(rows.get("[perl, gone]", {"total_ns": 0})["total_ns"], 0.1 * whole, rows)
        # Evals are not told apart by their numbers.
        self.assertEqual({row["file"] for row in rows.values()} - {None, path, "(eval)", "[perl]"},
                         {row["file"] for row in rows.values()
                          if row["file"] and "/perl" in row["file"]})
        self.check_refused(recording)

    def test_each_thread_has_its_own(self):
        probe = subprocess.run([self.perl, "-e", "use threads"], capture_output=True, check=False)
        if probe.returncode:
            raise unittest.SkipTest("this Perl has no threads")
        recording = record(self.directory, [self.perl, self.script(THREADS)])
        stacks = recording.folded("-m", "cpu")
        whole = sum(weight for _, weight in stacks)
        for of_main in (True, False):
            found = sum(weight for frames, weight in stacks
                        if "main::inner" in frames and ("(main)" in frames) == of_main)
            self.assertPart(recording, found / whole, 1 / 3 if of_main else 2 / 3, of_main, 0.15)

    def test_nothing_is_read_of_an_unknown_version(self):
        with open(self.perl, "rb") as file:
            code = file.read()
        patched = self.patched(code)
        recording = record(self.directory, [patched, self.script(SHARES)])
        self.assertNotIn("main::busy", {row["function"] for row in recording.rows()})
        self.assertEqual([name for name in self.counters(recording) if name.startswith("script_")],
                         ["script_unknown_version_Perl_5.38"])
        said = " ".join(recording.info().split())
        self.assertIn("Perl 5.38 in 1 process: its functions are not read (known: 5.36)", said)
        report = " ".join(profc("report", "-i", recording.path).stdout.split())
        self.assertIn("Perl 5.38: its functions are not read", report)

    def patched(self, code):
        """The same program, that says of itself it is 5.38."""
        symbols = subprocess.run(["readelf", "--dyn-syms", "-W", self.perl], check=True,
                                 capture_output=True, text=True).stdout
        at = [int(line.split()[1], 16) for line in symbols.splitlines()
              if line.endswith(" PL_version")]
        segments = subprocess.run(["readelf", "-lW", self.perl], check=True, capture_output=True,
                                  text=True).stdout
        for line in segments.splitlines():
            words = line.split()
            if words[:1] == ["LOAD"] and at:
                offset, start, size = (int(words[i], 16) for i in (1, 2, 4))
                if start <= at[0] < start + size and code[at[0] - start + offset] == 36:
                    place = at[0] - start + offset
                    path = self.path("perl5.38")
                    with open(path, "wb") as file:
                        file.write(code[:place] + b"\x26" + code[place + 1:])
                    shutil.copymode(self.perl, path)
                    return path
        raise unittest.SkipTest("this Perl is a library's")


class Plain(LiveCase):
    def test_nothing_is_read_of_a_build_without_threads(self):
        perl = build("spin_leaf", "-O2", "-rdynamic", called="perl", more=("plain_perl",))
        recording = record(self.directory, [perl, "200"])
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertEqual([name for name in counters if name.startswith("script_")],
                         ["script_other_layout_Perl_5.36"])
        self.assertIn("spin_leaf", {row["function"] for row in recording.rows()})


if __name__ == "__main__":
    unittest.main()
