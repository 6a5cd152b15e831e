# SPDX-License-Identifier: GPL-2.0-or-later
"""The stops in which probes come and go: nothing is missed, and what they cost is told."""

import json
import random
import subprocess

from live import LiveCase
from paths import PROFC
from profc import Recording, attach
from rounds import rounds
from targets import Running, build, need, parse_json_lines

IN_COMPANY = True

class Stops(LiveCase):
    def test_a_command_that_begins_quickly_is_counted(self):
        """Each ptrace call takes so long that the command would be in its program before."""
        path = self.path("profc.data")
        done = subprocess.run(
            [
                need("strace"), "-qq", "-o", "/dev/null", "-e", "trace=ptrace",
                "--inject=ptrace:delay_enter=20000",
                PROFC, "record", "-o", path, "--count", "^leaf$", "--",
                build("counted_leaf"), "1", "1000000", "40",
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("warning", done.stderr)
        recording = Recording(path, done)
        (said,) = recording.said
        self.assertEqual(recording.function("leaf")["calls"], said["calls"])

    def test_stops_of_both_ends_are_told(self):
        with Running([build("threads_idle"), "20", "20000"]) as target:
            target.wait_ready()
            recording = attach(
                self.directory, target.pid, "-d", "200ms", "--count", "^(main|busy_work)$"
            )
            self.assertUntouched(target.pid)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["probe_install_ns"], 0)
        self.assertGreater(counters["probe_remove_ns"], 0)
        self.assertEqual(
            counters["probe_stop_ns_max"],
            max(counters["probe_install_ns"], counters["probe_remove_ns"]),
        )

    def test_words_like_those_of_a_signal_are_no_alternate_stack(self):
        """postgres has some on its stack, by chance: its processes were refused."""
        with Running([build("resembles_signal_frame")]) as target:
            target.wait_ready()
            recording = attach(
                self.directory, target.pid, "-d", "200ms", "--no-cpu", "--count", "^counted$"
            )
            self.assertUntouched(target.pid)
        self.assertEqual(recording.status, 0, recording.stderr)
        self.assertGreater(recording.function("counted", "-m", "calls")["calls"], 0)


class KilledWhileACommandBegins(LiveCase):
    """profc has it run up to its entry: whenever it dies the command goes on by itself."""

    # So many of its calls of ptrace(2) are tried, and the first ones; PROFC_TEST_CYCLES=500: all.
    MOMENTS = rounds(8)

    FIRST = 12  # its program is executed by then

    def run_to(self, program, nr):
        """Until profc is killed at its call number nr; did it come to that?"""
        done = subprocess.run(
            [
                need("strace"), "-qq", "-o", "/dev/null", "-e", "trace=ptrace",
                "-e", f"inject=ptrace:signal=SIGKILL:when={nr}",
                PROFC, "record", "-o", self.path("killed"), "--count", "^leaf$", "--",
                program, "1", "1000", "40",
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )
        # The output ends with the command: what it says is all that can be known of it then.
        said = parse_json_lines(done.stdout)
        if said or nr >= self.FIRST:  # else profc may not have let it begin
            self.assertEqual(said[0]["calls"], 40000, f"killed at {nr}")
        return done.returncode != 0

    def check(self, program):
        nr_calls = self.FIRST
        while self.run_to(program, 2 * nr_calls):
            nr_calls *= 2
        later = range(self.FIRST + 4, 2 * nr_calls)
        chosen = random.Random(7).sample(later, min(self.MOMENTS, len(later)))
        for nr in (*range(1, self.FIRST + 4), *chosen):
            self.run_to(program, nr)

    def test_with_shared_libraries(self):
        self.check(build("counted_leaf"))

    def test_without_shared_libraries(self):
        self.check(build("counted_leaf", "-O2", "-g", "-static"))
