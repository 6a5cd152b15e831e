# SPDX-License-Identifier: GPL-2.0-or-later
"""What parents see of their children, by every way the kernel has: as without profc."""

import resource
import tempfile

from live import LiveCase
from profc import Recorder, record
from targets import Running, build, parse_json_lines
import procfs

FAST = ("-F", "1000", "--max-overhead", "0")


def with_core_dumps():
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


class ChildEnds(LiveCase):
    ROUNDS = "60"

    def argv(self):
        return [build("children_of_all_ends"), self.ROUNDS]

    def untraced(self):
        """Beside the one that is recorded: on a busy machine some come late to both."""
        apart = tempfile.mkdtemp(dir=self.directory)
        return Running(self.argv(), cwd=apart, preexec_fn=with_core_dumps)

    def check(self, profiled, plain):
        self.assertEqual([one["name"] for one in profiled], [one["name"] for one in plain])
        for untraced, traced in zip(plain, profiled):
            with self.subTest(way=traced["name"]):
                # One of them may be late by itself; what is felt is felt by many.
                most = max(1, untraced["wrong"] + 3 * untraced["wrong"] ** 0.5)
                self.assertLessEqual(traced["wrong"], most, traced)

    def test_recorded(self):
        for options in (FAST, ("-F", "100")):
            with self.untraced() as plain:
                recording = record(self.directory, self.argv(), *options, cwd=self.directory,
                                   preexec_fn=with_core_dumps)
                self.check(recording.said, plain.finish(120))

    def test_attached(self):
        with Running([build("children_of_all_ends"), "0", self.ROUNDS], cwd=self.directory,
                     preexec_fn=with_core_dumps) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                with self.untraced() as plain:
                    said, _ = target.process.communicate("go\n", timeout=60)
                    recorder.finish()
                    self.check(parse_json_lines(said), plain.finish(120))
