# SPDX-License-Identifier: GPL-2.0-or-later
"""What parents see of their children, by every way the kernel has: as without profc."""

import os
import resource

from live import LiveCase
from profc import Recorder, record
from targets import Running, build, parse_json_lines, run
import procfs

FAST = ("-F", "1000", "--max-overhead", "0")


def with_core_dumps():
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


class ChildEnds(LiveCase):
    ROUNDS = "60"

    def argv(self):
        return [build("children_of_all_ends"), self.ROUNDS]

    def check(self, profiled):
        plain = run(self.argv(), cwd=self.directory, preexec_fn=with_core_dumps)
        self.assertEqual([one["name"] for one in profiled], [one["name"] for one in plain])
        for before, after in zip(plain, profiled):
            with self.subTest(way=after["name"]):
                # On a busy machine some come late without profc, too.
                self.assertLessEqual(after["wrong"], before["wrong"], after)

    def test_recorded(self):
        for options in (FAST, ("-F", "100")):
            recording = record(self.directory, self.argv(), *options, cwd=self.directory,
                               preexec_fn=with_core_dumps)
            self.check(recording.said)

    def test_attached(self):
        with Running([build("children_of_all_ends"), "0", self.ROUNDS], cwd=self.directory,
                     preexec_fn=with_core_dumps) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                self.eventually(lambda: procfs.tracer(target.pid), "attaching")
                said, _ = target.process.communicate("go\n", timeout=60)
                recorder.finish()
        self.check(parse_json_lines(said))


class WatchedChildren(LiveCase):
    """A child whose pidfd can be read is dead: who asks without waiting is told so."""

    def watch(self, *arguments):
        argv = [build("watched_children"), *arguments]
        recording = record(self.directory, argv, *FAST)
        for way in recording.said:
            self.assertGreaterEqual(way["children"], 30, way)
        return recording.said

    def check(self, said, most):
        for way in said:
            with self.subTest(way=way["name"]):
                self.assertLessEqual(way["missed"], most, way)

    def test_dead_at_once(self):
        # Beside another it was one of four; of eight threads' children, 5 to 54 of 4,000.
        ways = ("at_once", "soon", "with_pidfd", "with_threads", "program", "among_others",
                "beside_another")
        self.check(self.watch("1500", "1", *ways, "after_any"), 1)
        self.check(self.watch("3000", "8", *ways), 1)

    def test_the_first_is_dead(self):
        """It ends before its parent has come to opening the pidfd, of which nothing is known."""
        program = build("watched_children")
        script = f"for i in $(seq 80); do {program} 8 8 at_once; done"
        recording = record(self.directory, ["sh", "-c", script], *FAST)
        self.assertEqual(len(recording.said), 80)
        # It was 20 of them, and 40 as an ordinary user.
        self.assertLessEqual(sum(one["missed"] > 0 for one in recording.said), 1)

    def test_all_but_the_first_whose_pidfd_is_opened_as_they_die(self):
        # It was 40 to 900.
        for threads in ("1", "8"):
            self.check(self.watch("2000", threads, "after_end_of_pipe"), 20)

    def test_dead_at_once_in_a_container(self):
        """Beside waits that a filter might kill they did not part: 62 to 85 of 100 lived."""
        user = self.ordinary_user()
        programs = [self.public(build(name)) for name in ("filtered", "watched_children")]
        argv = [*programs, "1000", "8", "at_once", "soon", "with_threads"]
        os.chmod(self.directory, 0o777)
        # Who may not read the filter does not know what it allows.
        for who in (user, {}):
            recording = record(self.directory, argv, *FAST, cwd=self.directory, **who)
            self.check(recording.said, 1)
