# SPDX-License-Identifier: GPL-2.0-or-later
"""The subs of Perl programs, beside what caller() says of them at the same instruction."""

import json
import os
import random
import re
import signal
import subprocess
import time

import procfs
from live import LiveCase
from paths import BUILD
from profc import profc, record
from targets import need

# An unsafe signal is handled where it comes, and not between two operations. Each sub is at the line
# at which it has called the next one.
WITNESS = """
BEGIN {
  open(our $said, '>>', shift @ARGV) or die; select((select($said), $| = 1)[0]);
  $SIG{USR2} = sub {
    my ($text, $i, @at) = ('', 0, caller(0)); my ($file, $line) = @at[1, 2];
    while (my @frame = caller(++$i)) {
      $text .= "$frame[3] $file:$line\\n"; ($file, $line) = @frame[1, 2];
    }
    print {$said} $text, "(main) $file:$line\\n--\\n";
  };
}
"""
SUBS = """
use List::Util qw(reduce first);
sub work { my $s = 0; for my $i (1 .. $_[0] * 3) { $s += $i * 2 } return $s }
sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
sub target { work(3) }
sub by_number { return $_[0] <=> $_[1] }
sub last_call { my @x = sort { by_number($a, $b) } 5, 3, 8, 1, 9, 2 }
sub nested { my @x = sort { my @y = sort { work(1); $b <=> $a } 3, 1, 2; $a <=> $b } 5, 3, 8, 1 }
sub compare { work(2); return $a <=> $b }
sub sorted { my @x = sort compare 4, 3, 2, 1 }
sub in_c { my $r = reduce { work(1); $a + $b } 1 .. 3; my $f = first { fib(2) > $_ } 0 .. 3 }
sub of_c { my @x = sort { in_c(); $a <=> $b } 3, 2, 1 }
sub jump { @_ = (3); goto &work }
sub deep { my $n = shift; my @r = $n ? map { deep($n - 1) } 1 : work(2); $r[0] }
sub closure { my $k = shift; my $f; $f = sub { $_[0] ? $f->($_[0] - 1) : work($k) }; $f->(4) }
while (1) {
  fib(7); last_call(); nested(); sorted(); in_c(); of_c(); jump(); deep(20); closure(2);
  'target'->can('x'); main->can('target')->(2); my @g = grep { work(1) } 1 .. 3;
}
"""
OBJECTS = """
package T; sub TIESCALAR { my $v = 0; bless \\$v } sub FETCH { main::work(4); 1 } sub STORE { main::work(2) }
package A; our $AUTOLOAD; sub new { bless {} }
sub AUTOLOAD { my $n = $AUTOLOAD; return if $n =~ /DESTROY/; main::work(4); goto &main::work }
package O; use overload '<=>' => sub { main::work(2); $_[0]{v} <=> (ref $_[1] ? $_[1]{v} : $_[1]) },
  '""' => sub { main::work(1); $_[0]{v} }, '+' => \\&plus, '0+' => sub { main::work(1); $_[0]{v} };
sub new { bless {v => $_[1]}, $_[0] } sub plus { main::work(1); O->new(4) } sub DESTROY { main::work(1) }
package main;
sub work { my $s = 0; for my $i (1 .. ($_[0] || 1) * 3) { $s += $i * 2 } return $s }
sub objects { my @s = sort { $a <=> $b } O->new(2), O->new(1), O->new(3); my $x = $s[0] + 1; "$x" }
sub result { my @t = sort { O->new($a - $b) } 3, 1, 2 }
sub tied_one { tie my $x, 'T'; my $y = $x + 1; $x = 3; untie $x }
sub auto { A->new->foo(2) }
while (1) { objects(); result(); tied_one(); auto() }
"""
EVALS = """
sub work { my $s = 0; for my $i (1 .. $_[0] * 3) { $s += $i * 2 } return $s }
sub risky { my $d = shift; eval { die 'x' if !$d; risky($d - 1); 1 } or work(2) }
sub nested { for (1 .. 2) { eval { eval { die {a => 1} }; work(2); die 'y' }; work(1) } }
sub sorted { my @x = sort { eval { work(2); 1 } && $a <=> $b } 3, 1, 2 }
sub text { eval 'work(3); eval q(work(5)); 1' or die }
sub warned { local $SIG{__WARN__} = sub { work(2) }; warn 'x'; local $SIG{__DIE__} = sub { work(3) };
  eval { die 'x' } }
sub regex { my $n; 'aaaabbbb' =~ /(?:a(?{ $n += work(1) }))+b/; my $s = 'ab cd'; $s =~ s/(\\w+)/work(1)/ge }
while (1) { risky(4); nested(); sorted(); text(); warned(); regex() }
"""
NOT_OF_CALLER = "(sort block) ", "(regex code) "
NAMED_OTHERWISE = re.compile(r"^\((require|do)\)")
STOPS = 40
# A frame that has just begun or ended may not be provable.
REFUSED = 1
# A handler may run where Perl is not ready for it: then the program dies, and is started again.
DEAD_MOST = 3 * STOPS
SECONDS = 3


def place(said):
    return said.rpartition(" ")[2]


class Scripts(LiveCase):
    def setUp(self):
        super().setUp()
        self.perl = need("/usr/bin/perl")
        self.reader = os.path.join(BUILD, "tests", "oracle", "script_stack")

    def begin(self, text):
        path, said = self.path("script.pl"), self.path("said")
        with open(path, "w", encoding="utf-8") as file:
            file.write(WITNESS + text)
        with open(said, "w", encoding="utf-8"):
            pass
        process = subprocess.Popen([self.perl, path, said], stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, PERL_SIGNALS="unsafe"))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.3)
        return process, said

    def seen(self, process):
        """None: the program has died."""
        pid = process.pid
        os.kill(pid, signal.SIGSTOP)
        self.eventually(lambda: process.poll() is not None or procfs.state(pid, pid) == "T",
                        "a stop")
        if process.poll() is not None:
            return None
        done = subprocess.run([self.reader, str(pid), str(pid)], check=True, text=True,
                              capture_output=True)
        return [NAMED_OTHERWISE.sub("(eval)", line) for line in done.stdout.splitlines()
                if not line.startswith(NOT_OF_CALLER)]

    def witnessed(self, process, said):
        """What the handler says before any other instruction; None: the program has died."""
        before = os.path.getsize(said)
        os.kill(process.pid, signal.SIGUSR2)
        os.kill(process.pid, signal.SIGCONT)
        text, until = "", time.monotonic() + SECONDS
        while not text.endswith("--\n"):
            if process.poll() is not None or time.monotonic() > until:
                return None
            time.sleep(0.001)
            with open(said, encoding="utf-8") as file:
                file.seek(before)
                text = file.read()
        lines = re.sub(r"\(eval \d+\)", "(eval)", text).splitlines()
        # The first is the eval with which Perl calls a handler.
        return lines[1:-1]

    def check_equal(self, seen, witnessed):
        if seen == witnessed:
            return
        # A sub that has just been called is at its caller's line for caller().
        if len(seen) == len(witnessed) and seen[1:] == witnessed[1:]:
            self.assertEqual(place(witnessed[0]), place(witnessed[1]))
            self.assertEqual(seen[0].split()[0], witnessed[0].split()[0])
            return
        # Between two comparisons nothing of the sub that compares runs, nor does an eval that is
        # just beginning.
        self.assertRegex(witnessed[0], r"main::(compare|__ANON__) |O::__ANON__ |\(eval\) ",
                         (seen, witnessed))
        self.assertEqual(seen, witnessed[1:])

    def check(self, text):
        process, said = self.begin(text)
        nr_refused = nr_dead = nr_equal = 0
        while nr_equal < STOPS:
            time.sleep(random.uniform(0.001, 0.01))
            seen = self.seen(process)
            witnessed = None if seen is None else self.witnessed(process, said)
            if witnessed is None:
                nr_dead += 1
                self.assertLessEqual(nr_dead, DEAD_MOST)
                process.kill()
                process, said = self.begin(text)
            # Nothing at all: it is in the middle of a longjmp().
            elif not seen or seen[0].startswith("#"):
                nr_refused += 1
                self.assertLessEqual(nr_refused, REFUSED, seen)
            else:
                self.check_equal(seen, witnessed)
                nr_equal += 1

    def test_subs(self):
        self.check(SUBS)

    def test_objects(self):
        self.check(OBJECTS)

    def test_evals(self):
        self.check(EVALS)


# Each text makes another sub, named or not, which dies with it, and the next one takes its place.
# The program says when each lived.
STORM = """
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
sub now { int(1e9 * clock_gettime(CLOCK_MONOTONIC)) }
my ($until, @lives) = now() + 3e9;
while (now() < $until) {
  my $n = sprintf '%06d', scalar @lives;
  my ($born, $lines) = (now(), "\\n" x ($n % 5));
  my $body = "{$lines my \\$end = main::now() + 400_000; 1 while main::now() < \\$end }";
  if ($n % 2) {
    eval "#line 1 \\"s$n\\"\\npackage P; sub f$n $body f$n(); 1" or die;
    undef &{"P::f$n"}; delete $P::{"f$n"};
  } else {
    eval "#line 1 \\"s$n\\"\\npackage P$n; my \\$f = sub $body; \\$f->(); 1" or die;
    undef %{"P${n}::"}; delete $main::{"P${n}::"};
  }
  push @lives, [$born, now()];
}
open my $said, '>', $ARGV[0]; print {$said} '[', join(',', map { "[$_->[0],$_->[1]]" } @lives), ']';
"""
# The stop of a sample takes some time, and so does the program's look at its clock.
SLACK_NS = 20_000


class Storms(LiveCase):
    """Subs that live for less than a millisecond, all in the same places."""

    def functions_of(self, exported):
        """Each sample's time with the name and the file of each function in its stack."""
        frames, stacks, functions = (exported[key] for key in ("frames", "stacks", "functions"))
        for sample in (sample for thread in exported["threads"] for sample in thread["samples"]):
            stack = sample[1]
            while stack is not None:
                frame = frames[stacks[stack]["frame"]]
                yield sample[0], functions[frame["function"]]["name"], frame["file"]
                stack = stacks[stack]["prefix"]

    def test_names_are_of_what_lived_at_the_sample(self):
        perl = need("/usr/bin/perl")
        path, said = self.path("storm.pl"), self.path("lives")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STORM)
        recording = record(self.directory, [perl, path, said], "-F", "1000", "--max-overhead", "0")
        with open(said, encoding="utf-8") as file:
            lives = json.load(file)
        exported = json.loads(profc("export", "-i", recording.path, "--json").stdout)
        lower, upper, nr = float("-inf"), float("inf"), 0
        for time_ns, name, source in self.functions_of(exported):
            serials = set(re.findall(r"^(?:P::f|P)([0-9]{6})", name))
            serials |= set(re.findall("^s([0-9]{6})$", source or ""))
            self.assertLessEqual(len(serials), 1, (name, source))
            for serial in serials:
                born, died = lives[int(serial)]
                lower, upper, nr = max(lower, born - time_ns), min(upper, died - time_ns), nr + 1
        self.assertGreater(nr, 100)
        self.assertLess(lower, upper + SLACK_NS)
