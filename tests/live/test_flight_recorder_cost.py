# SPDX-License-Identifier: GPL-2.0-or-later
"""What a flight recorder costs: it takes fewer ticks where they take too much of a CPU."""

import contextlib
import os
import signal
import subprocess
import time

import procfs
from profc import Recorder
from recorder_case import RecorderCase
from targets import build

IN_COMPANY = True

# So many programs that wake up 50 times a second take more of each tick than there may be.
NR_PROGRAMS = 60
# By then the first counters that know of the budget are in the file: after 16 s.
LATE_S = 20


class Budget(RecorderCase):
    @contextlib.contextmanager
    def programs(self):
        with contextlib.ExitStack() as stack:
            programs = [
                stack.enter_context(subprocess.Popen(
                    [build(self.PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    text=True,
                ))
                for _ in range(NR_PROGRAMS)
            ]
            try:
                yield programs
            finally:
                for program in programs:
                    program.kill()

    def test_the_rate_is_lowered_to_keep_it(self):
        with self.programs() as programs:
            pids = ",".join(str(program.pid) for program in programs)
            with Recorder(self.directory, "attach", "-p", pids, "--keep", "8s") as recorder:
                self.eventually(lambda: os.path.isdir(recorder.path), "the directory")
                programs[0].stdin.write("spin 60000\n")
                programs[0].stdin.flush()
                time.sleep(LATE_S - 8)
                before_ns = procfs.cpu_ns(programs[0].pid)
                time.sleep(8)
                recorder.process.send_signal(signal.SIGUSR2)
                time.sleep(2)
                ran_ns = procfs.cpu_ns(programs[0].pid) - before_ns
                recording = self.file_of(recorder, "signal")
        info = self.info(recording)
        counters = info["counters"]
        self.assertEqual(info["frequency_hz"], 49)
        self.assertEqual(counters["budget_ppm"], 4500)
        self.assertIn(counters["budget_hz"], range(5000, 40000))
        self.assertRegex(
            recording.info(),
            r"(?m)^rate +sampled at \d+ Hz of 49: profc may use 0\.45% of a CPU",
        )
        # Fewer samples stand for all of the time.
        spun_ns = recording.function("spin_on_request", "-m", "cpu")["total_ns"]
        self.assertWithin(spun_ns, ran_ns, 0.2 * ran_ns, "the CPU time")

    def test_a_frequency_that_is_asked_for_has_none(self):
        for options, budgets in (((), 1), (("-F", "49"), 0)):
            with self.record("--trigger", "exit", *options, keep="2s") as recorder:
                self.tell(recorder, "spin 300")
                self.end(recorder)
                info = self.info(self.file_of(recorder, "exit"))
            self.assertEqual(info["frequency_hz"], 49)
            self.assertEqual("budget_ppm" in info["counters"], bool(budgets), options)
