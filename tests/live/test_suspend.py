# SPDX-License-Identifier: GPL-2.0-or-later
"""Ctrl-Z: profc and what it records stop and go on as one job, or not at all."""

import json
import os
import select
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

    def test_job_goes_on_whose_command_ignores_the_signal(self):
        with self.start("signal.SIG_IGN") as recorder:
            os.killpg(recorder.pid, signal.SIGTSTP)
            self.goes_on()
            self.assertNotEqual(procfs.state(recorder.pid), "T")
            os.killpg(recorder.pid, signal.SIGTERM)
            recorder.finish()

    def test_command_that_does_not_stop_has_the_signal_once(self):
        """It went to the whole job, and profc passes on what was meant for the command alone."""
        handler = "lambda *_: open(sys.argv[1] + '.signals', 'ab').write(b'T')"
        with self.start(handler) as recorder:
            os.killpg(recorder.pid, signal.SIGTSTP)
            self.eventually(lambda: os.path.exists(self.rounds + ".signals"), "the signal")
            time.sleep(0.5)
            self.goes_on()
            self.finish(recorder)
        self.assertEqual(os.path.getsize(self.rounds + ".signals"), 1)

    def stop_alone(self, recorder):
        (command,) = procfs.children(recorder.pid)
        os.kill(command, signal.SIGSTOP)
        self.stops(recorder)
        return command

    def finish(self, recorder):
        os.killpg(recorder.pid, signal.SIGTERM)
        return recorder.finish()

    def test_time_of_a_stop_is_not_missed(self):
        with self.start("signal.SIG_DFL", "-F", "1000", "--max-overhead", "0") as recorder:
            self.stop_alone(recorder)
            begun = time.monotonic()
            time.sleep(2)
            stopped_ms = 1000 * (time.monotonic() - begun)
            os.killpg(recorder.pid, signal.SIGCONT)
            self.goes_on()
            recording = self.finish(recorder)
        info = json.loads(recording.info("--json"))
        others_ms = info["duration_ns"] / 1e6 - stopped_ms
        self.assertLess(info["counters"]["missed_ticks"], others_ms + 0.5 * stopped_ms)

    def test_job_goes_on_when_its_command_alone_is_continued(self):
        with self.start("signal.SIG_DFL") as recorder:
            for _ in range(3):
                os.kill(self.stop_alone(recorder), signal.SIGCONT)
                self.goes_on()
                self.eventually(lambda: procfs.state(recorder.pid) != "T", "profc goes on")
            self.finish(recorder)

    def test_stopped_command_that_is_killed_ends_the_recording(self):
        with self.start("signal.SIG_DFL") as recorder:
            os.kill(self.stop_alone(recorder), signal.SIGKILL)
            self.assertEqual(recorder.finish().status, -signal.SIGKILL)

    def test_killed_while_it_stands_leaves_nobody(self):
        with self.start("signal.SIG_DFL") as recorder:
            self.stop_alone(recorder)
            os.kill(recorder.pid, signal.SIGKILL)
            recorder.finish()
            self.eventually(lambda: self.group_is_gone(recorder.pid), "all have ended")

    def group_is_gone(self, group):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

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
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
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
                said, _, _ = select.select([recorder.process.stderr], [], [], 20)
                self.assertTrue(said, "nothing is said of the stop that does not come about")
                self.assertNotEqual(procfs.state(recorder.pid), "T")
                self.assertProgress(counters)
                recording = recorder.interrupt()
            self.assertEqual(recording.status, 0, recording.stderr)
            self.assertIn("not stopped", recording.stderr)
            self.assertUntouched(target.pid)
