# SPDX-License-Identifier: GPL-2.0-or-later
"""What parents see of their children, by every way the kernel has: as without profc."""

import collections
import functools
import math
import resource
import tempfile

from live import LiveCase
from profc import Recorder, record
from targets import Running, build, parse_json_lines
import procfs

IN_COMPANY = True

FAST = ("-F", "1000", "--max-overhead", "0")


def with_core_dumps():
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def chance_of_as_many(nr, of_nr):
    """That of `of_nr` events at least `nr` are in one of two places, if each is as likely."""
    return sum(math.comb(of_nr, n) for n in range(nr, of_nr + 1)) / 2**of_nr


class ChildEnds(LiveCase):
    ROUNDS = "60"

    def argv(self):
        return [build("children_of_all_ends"), self.ROUNDS]

    def untraced(self):
        """Beside the one that is recorded: on a busy machine some come late to both."""
        apart = tempfile.mkdtemp(dir=self.directory)
        return Running(self.argv(), cwd=apart, preexec_fn=with_core_dumps)

    def check(self, both):
        """
        On a busy machine children come late by themselves. If more did beside profc, both are run
        again: what profc does to them it does to more of them each time.
        """
        profiled, plain = collections.Counter(), collections.Counter()
        for _ in range(3):
            traced, untraced = both()
            self.assertEqual([one["name"] for one in traced], [one["name"] for one in untraced])
            profiled.update({one["name"]: one["wrong"] for one in traced})
            plain.update({one["name"]: one["wrong"] for one in untraced})
            if all(profiled[name] <= plain[name] + 1 for name in plain):
                return
        for name, wrong in profiled.items():
            with self.subTest(way=name):
                self.assertGreater(chance_of_as_many(wrong, wrong + plain[name]), 0.001,
                                   (wrong, plain[name]))

    def test_recorded(self):
        for options in (FAST, ("-F", "100")):
            self.check(functools.partial(self.recorded, options))

    def recorded(self, options):
        with self.untraced() as plain:
            recording = record(self.directory, self.argv(), *options, cwd=self.directory,
                               preexec_fn=with_core_dumps)
            return recording.said, plain.finish(120)

    def test_attached(self):
        self.check(self.attached)

    def attached(self):
        with Running([build("children_of_all_ends"), "0", self.ROUNDS], cwd=self.directory,
                     preexec_fn=with_core_dumps) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                with self.untraced() as plain:
                    said, _ = target.process.communicate("go\n", timeout=120)
                    recorder.finish(120)
                    return parse_json_lines(said), plain.finish(120)
