# SPDX-License-Identifier: GPL-2.0-or-later
"""Ctrl-Z: profc and what it records stop and go on as one job."""

import json
import os
import signal
import sys
import time

import procfs
from counters import Counters
from live import LiveCase
from profc import Recorder
from targets import Running, build

IN_COMPANY = True

# Stops as editors do: once it has put the terminal right, by sending itself the signal again.
PREPARES = """
import os, signal, sys, time
def suspend(number, frame):
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.signal(number, suspend)
signal.signal(signal.SIGTSTP, {handler})
with open(sys.argv[1], "wb", buffering=0) as rounds:
    while True:
        time.sleep(0.001)
        rounds.write(b".")
"""


def own_group():
    os.setpgid(0, 0)


class Suspend(LiveCase):
    def start(self, handler, *options):
        """profc record in a process group of its own, as a shell starts a job."""
        self.rounds = self.path("rounds")
        command = [sys.executable, "-c", PREPARES.format(handler=handler), self.rounds]
        recorder = Recorder(
            self.directory, "record", *options, "--", *command, preexec_fn=own_group
        )
        self.eventually(self.nr_rounds, "the command's first rounds")
        return recorder

    def nr_rounds(self):
        return os.path.getsize(self.rounds) if os.path.exists(self.rounds) else 0

    def goes_on(self):
        before = self.nr_rounds()
        self.eventually(lambda: self.nr_rounds() > before + 20, "the command goes on")

    def stops(self, recorder):
        """As the shell learns of it."""
        self.eventually(
            lambda: os.waitpid(recorder.pid, os.WUNTRACED | os.WNOHANG)[0] == recorder.pid,
            "profc stops",
        )

    def test_command_that_prepares_for_its_stop_goes_on_with_the_job(self):
        with self.start("suspend") as recorder:
            for _ in range(3):
                os.killpg(recorder.pid, signal.SIGTSTP)
                self.stops(recorder)
                before = self.nr_rounds()
                self.assertEqual(procfs.state(recorder.pid), "T")
                os.killpg(recorder.pid, signal.SIGCONT)
                self.goes_on()
                self.assertGreater(self.nr_rounds(), before)
            os.killpg(recorder.pid, signal.SIGTERM)
            recorder.finish()

    def goes_on_after(self, recorder):
        os.killpg(recorder.pid, signal.SIGCONT)
        self.goes_on()
        self.eventually(lambda: procfs.state(recorder.pid) != "T", "profc goes on")

    def test_command_that_does_not_stop_has_the_signal_once(self):
        """It goes on, unrecorded, as beside any other program that stops."""
        handler = "lambda *_: open(sys.argv[1] + '.signals', 'ab').write(b'T')"
        with self.start(handler) as recorder:
            os.killpg(recorder.pid, signal.SIGTSTP)
            self.stops(recorder)
            self.goes_on()
            self.goes_on_after(recorder)
            self.finish(recorder)
        self.assertEqual(os.path.getsize(self.rounds + ".signals"), 1)

    def finish(self, recorder):
        os.killpg(recorder.pid, signal.SIGTERM)
        return recorder.finish()

    def test_time_of_a_stop_is_not_recorded(self):
        with self.start("signal.SIG_DFL", "-F", "1000", "--max-overhead", "0") as recorder:
            os.killpg(recorder.pid, signal.SIGTSTP)
            self.stops(recorder)
            begun = time.monotonic()
            time.sleep(2)
            stopped_ms = 1000 * (time.monotonic() - begun)
            self.goes_on_after(recorder)
            recording = self.finish(recorder)
        info = json.loads(recording.info("--json"))
        # While it runs, a busy machine may let it miss each tick.
        running_ms = info["duration_ns"] / 1e6 - stopped_ms
        self.assertLess(info["counters"]["missed_ticks"], 0.5 * stopped_ms + running_ms)
        self.assertLess(info["totals"]["blocked_ns"] / 1e6, running_ms + 0.1 * stopped_ms)

    def test_killed_while_it_stands_leaves_none_behind(self):
        with self.start("signal.SIG_DFL") as recorder:
            (command,) = procfs.children(recorder.pid)
            os.killpg(recorder.pid, signal.SIGTSTP)
            self.stops(recorder)
            # The kernel ends those of an orphaned group that are stopped, and lets no other stop.
            self.eventually(lambda: procfs.state(command) == "T", "the command's stop")
            os.kill(recorder.pid, signal.SIGKILL)
            recorder.finish()
            self.eventually(lambda: self.group_is_gone(recorder.pid), "all have ended")

    def group_is_gone(self, group):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    def test_command_that_is_stopped_alone_is_recorded_on(self):
        """The stop is the command's, as under any other parent that waits."""
        with self.start("signal.SIG_DFL") as recorder:
            (command,) = procfs.children(recorder.pid)
            os.kill(command, signal.SIGSTOP)
            self.eventually(lambda: procfs.state(command) == "T", "the stop")
            time.sleep(0.2)
            self.assertNotEqual(procfs.state(recorder.pid), "T")
            self.assertEqual(procfs.state(command), "T")
            os.kill(command, signal.SIGCONT)
            self.goes_on()
            os.kill(command, signal.SIGSTOP)
            os.kill(command, signal.SIGKILL)
            self.assertEqual(recorder.finish().status, -signal.SIGKILL)

    def test_command_that_is_slowed_down_by_stops_is_recorded_on(self):
        with self.start("signal.SIG_DFL") as recorder:
            (command,) = procfs.children(recorder.pid)
            for _ in range(200):
                os.kill(command, signal.SIGSTOP)
                time.sleep(0.001)
                os.kill(command, signal.SIGCONT)
                time.sleep(0.001)
            self.goes_on()
            self.eventually(lambda: procfs.state(recorder.pid) != "T", "profc goes on")
            self.assertEqual(procfs.children(recorder.pid), [command])
            self.finish(recorder)

    def test_attached_processes_that_are_stopped_do_not_stop_profc(self):
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            with Recorder(
                self.directory, "attach", "-p", str(target.pid), preexec_fn=own_group
            ) as recorder:
                self.wait_until_recorded(recorder.path)
                os.kill(target.pid, signal.SIGSTOP)
                self.eventually(lambda: procfs.state(target.pid) in "tT", "the stop")
                recording = recorder.interrupt()
            self.assertEqual(recording.status, 0, recording.stderr)
            self.eventually(lambda: procfs.state(target.pid) == "T", "left stopped")
            os.kill(target.pid, signal.SIGCONT)

    def test_attached_processes_are_not_left_standing(self):
        path = self.path("counters")
        with Running([build("progressing"), path]) as target:
            target.wait_ready()
            counters = Counters(path)
            with Recorder(
                self.directory, "attach", "-p", str(target.pid), preexec_fn=own_group
            ) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                os.killpg(recorder.pid, signal.SIGTSTP)
                self.stops(recorder)
                self.assertProgress(counters)
                os.killpg(recorder.pid, signal.SIGCONT)
                self.eventually(lambda: procfs.state(recorder.pid) != "T", "profc goes on")
                recording = recorder.interrupt()
            self.assertEqual(recording.status, 0, recording.stderr)
            self.assertUntouched(target.pid)
