# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocations of Perl programs have the subs and lines that made them."""

import json
import subprocess

from live import LiveCase
from profc import attach, profc, record
from targets import Running, need

IN_COMPANY = True

# Until profc has told the program how its frames are linked, and where it may read, none have subs,
# which takes a moment on busy CPUs. At its end perl would free all.
BEGIN = """use strict; use warnings;
my (@kept, $i);
for (1..600) { my $text = 'w' x (2000 + $_); select undef, undef, undef, 0.004; }
"""
END = "select undef, undef, undef, 0.5;\nkill 9, $$;\n"

CACHE = BEGIN + """
package Cache;
sub new { return bless {kept => []}, shift }
sub put {
    my ($self, $i) = @_;
    push @{$self->{kept}}, 'x' x (70000 + $i);
}
package main;
sub try_it {
    my $text;
    eval { $text = 'e' x (30000 + $_[0]); push @kept, $text; 1 } or die;
}
sub by_size {
    push @kept, 's' x (200000 + $a);
    return $a <=> $b;
}
sub work {
    my $cache = Cache->new;
    $cache->put($_) for 1..300;
    push @kept, $cache;
    for my $i (1..300) { my $text = 'z' x (80000 + $i); }
    try_it($_) for 1..100;
    my @sorted = sort by_size 2, 1;
    my $closure = sub { push @kept, 'c' x (400000 + $_[0]) };
    $closure->($_) for 1..20;
    "text" =~ s/(t)/push @kept, 'r' x (900000 + length $1); ''/gre;
}
work();
""" + END
LINE_OF_PUT, LINE_OF_TRY, LINE_OF_SORT, LINE_OF_WORK = 9, 14, 17, 28

# Subs that live for one call, and others come to stand where they were: each has a line of its own,
# and a size.
MADE_CODE = BEGIN + """
for my $n (1..3000) {
    my $k = $n % 50 ? $n % 7 : 7;
    my $made = eval(("\\n" x $k) . 'sub { my $size = shift; push @kept, "m" x $size; }');
    $made->(2000 << $k);
}
""" + END

# Contexts of a deep recursion have a block of their own, which moves as it grows.
DEEP = BEGIN + """
no warnings 'recursion';
sub down {
    my $n = shift;
    push @kept, 'd' x (50000 + $n) if $n % 50 == 0;
    down($n - 1) if $n;
}
down(200);
select undef, undef, undef, 2;
down(200) for 1..20;
down(20000);
""" + END

THREADS = """use strict; use threads; use threads::shared;
my $over :shared;
sub grow { my @mine; push @mine, 't' x (60000 + $_) for 1..100; return scalar @mine }
sub run { while (!$over) { grow(); select undef, undef, undef, 0.01; } }
my @all = map { threads->create(\\&run) } 1..3;
$| = 1; print "ready\\n";
select undef, undef, undef, $ARGV[0];
$over = 1;
$_->join for @all;
"""


class PerlMemory(LiveCase):
    def setUp(self):
        super().setUp()
        self.perl = need("perl")
        said = subprocess.run(
            [self.perl, "-MConfig", "-e",
             'print "$Config{PERL_VERSION} $Config{useithreads} $Config{usemymalloc}"'],
            stdout=subprocess.PIPE, text=True, check=True).stdout
        if said != "36 define n":
            self.skipTest(f"this Perl is {said}")

    def script(self, text):
        path = self.path("app.pl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def record(self, text, *options):
        return record(self.directory, [self.perl, self.script(text)], *options, status=None)

    def left_at(self, recording, least):
        """{(sub, line) of the innermost of the script: sizes and number} of blocks so large."""
        leaks = json.loads(profc("report", "-i", recording.path, "--leaks", "--json", "-n", "0")
                           .stdout)["leaks"]
        found = {}
        for leak in leaks:
            if leak["bytes"] < least * leak["blocks"]:
                continue
            places = [(frame["function"], frame["line"]) for frame in leak["stack"]
                      if "(eval" in (frame["file"] or "") or "app.pl" in (frame["file"] or "")]
            has = found.setdefault(places[0] if places else None, [0, 0])
            has[0] += leak["bytes"]
            has[1] += leak["blocks"]
        return found

    def counters(self, recording):
        return json.loads(recording.info("--json"))["counters"]

    def test_all_that_is_left_has_its_line(self):
        recording = self.record(CACHE, "--mem=all", "--no-cpu")
        left = self.left_at(recording, 20000)
        left.pop(None, None)
        self.assertEqual({place: has[1] for place, has in left.items()},
                         {("Cache::put", LINE_OF_PUT): 300, ("(eval)", LINE_OF_TRY): 100,
                          ("main::by_size", LINE_OF_SORT): 1,
                          ("main::__ANON__", LINE_OF_WORK - 1): 20,
                          ("main::work", LINE_OF_WORK - 4): 1,  # perl keeps room for the next call
                          ("main::work", LINE_OF_WORK + 1): 2})
        counters = self.counters(recording)
        self.assertGreater(counters["script_blocks_proved"], 0)
        self.assertNotIn("script_blocks_torn", counters)

    def test_their_callers_are_the_script_s(self):
        recording = self.record(CACHE, "--mem=64K", "--no-cpu")
        subs = ("(main)", "main::work", "Cache::put", "main::try_it", "(eval)", "main::by_size",
                "main::__ANON__")
        found = {tuple(name for name in frames if name in subs)
                 for frames, _ in recording.folded("-m", "alloc") if "Perl_pp_repeat" in frames}
        self.assertLessEqual(found, {
            (), ("(main)",), ("(main)", "main::work"), ("(main)", "main::work", "Cache::put"),
            ("(main)", "main::work", "main::try_it", "(eval)"),
            ("(main)", "main::work", "main::by_size"), ("(main)", "main::work", "main::__ANON__")})
        self.assertGreaterEqual(len(found), 4)

    def test_code_that_lives_for_a_moment_lends_nobody_its_name(self):
        left = self.left_at(self.record(MADE_CODE, "--mem=all", "--no-cpu"), 2000)
        lines = {place[1]: has for place, has in left.items()
                 if place and place[0].endswith("__ANON__")}
        self.assertGreaterEqual(len(lines), 6)
        for line, (nr_bytes, nr_blocks) in lines.items():
            size = 2000 << (line - 1)
            self.assertTrue(size <= nr_bytes / nr_blocks < 1.3 * size + 64, (line, lines))

    def test_deep_ones_are_the_sub_s(self):
        recording = self.record(DEEP, "--mem=all", "--no-cpu")
        left = self.left_at(recording, 50000)
        # Those of more contexts than are copied have native functions alone.
        self.assertLessEqual(set(left) - {None}, {("main::down", 8)})
        self.assertGreaterEqual(left["main::down", 8][1], 20 * 5)

    def test_threads_have_interpreters_of_their_own(self):
        with Running([self.perl, self.script(THREADS), "4"]) as perl:
            perl.wait_ready()
            recording = attach(self.directory, perl.pid, "--mem=64K", "-d", "2")
            self.assertUntouched(perl.pid)
            perl.finish()
        rows = {row["function"]: row for row in recording.rows("-m", "alloc", "--by", "script")}
        # The first ones come before profc has told it how its frames are linked.
        self.assertGreater(rows["main::grow"]["total_bytes"],
                           0.8 * recording.report("-m", "alloc")["total_bytes"])
        self.assertEqual(rows["main::run"]["total_bytes"], rows["main::grow"]["total_bytes"])
