# SPDX-License-Identifier: GPL-2.0-or-later
"""Death of profc at any moment leaves the target running and the recording readable."""

import json
import os
import random
import resource
import signal
import subprocess
import time

import procfs
from counters import Counters
from live import LiveCase
from paths import PROFC
from profc import Recorder, profc, record
from targets import Running, build

IN_COMPANY = True

FAST = ("-F", "1000", "--max-overhead", "0")
ZSTD_MAGIC = bytes.fromhex("28b52ffd")


def nr_frames(path):
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as file:
        return file.read().count(ZSTD_MAGIC)


class Killed(LiveCase):
    def check(self, said):
        """Each signal ran its handler and ended one wait, and nothing else did."""
        self.assertEqual(said["handlers"], said["sent"], said)
        self.assertEqual(said["eintr"], said["sent"], said)
        self.assertEqual(said["wakes_lost"], 0, said)

    def test_target_progresses_after_sigkill_at_random_moments(self):
        moments = random.Random(3)
        path = self.path("counters")
        with Running([build("progressing"), path, "4"]) as target:
            target.wait_ready()
            counters = Counters(path)
            for _ in range(25):
                with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                    time.sleep(moments.uniform(0, 0.12))
                    recorder.process.kill()
                    recorder.process.wait()
                before = counters.total()
                self.eventually(lambda seen=before: counters.total() > seen + 10, "progress")
                self.eventually(lambda: procfs.observer(target.pid) == 0, "release")
                self.assertUntouched(target.pid)
            (said,) = target.finish()
            self.assertGreater(said["rounds"], 0)

    def test_recording_of_a_moment_is_readable(self):
        """The first frame had a whole second, as all others."""
        with Running([build("spin_leaf"), "60000"]) as target:
            with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                self.eventually(lambda: nr_frames(recorder.path) >= 4, "frames")
                recorder.process.kill()
                recorder.process.wait()
        done = profc("report", "-i", recorder.path, "--json", status=0)
        report = json.loads(done.stdout)
        self.assertIn("spin_leaf", report["rows"][0]["function"])
        # A busy machine lets it come later: then there are more of them, one a second.
        most_ns = (nr_frames(recorder.path) - 1.5) * 1e9
        self.assertLess(report["total_ns"], most_ns, "of the CPU time in four frames")

    def test_recording_that_had_only_begun_is_readable(self):
        """Up to the first look, and the 10 ms that the worker rests then, it held nothing."""
        moments = random.Random(11)
        for _ in range(12):
            with Running([build("spin_leaf"), "60000"]) as target:
                with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                    self.eventually(lambda path=recorder.path: nr_frames(path), "a file")
                    time.sleep(moments.uniform(0.001, 0.015))
                    recorder.process.kill()
                    recorder.process.wait()
                self.eventually(lambda pid=target.pid: procfs.observer(pid) == 0, "release")
            done = profc("info", "-i", recorder.path, "--json", status=0)
            info = json.loads(done.stdout)
            self.assertGreater(info["start_realtime_ns"], 0, info)
            self.assertIn("did not finish", done.stderr)

    def test_no_signal_of_the_target_is_lost_with_it(self):
        moments = random.Random(7)
        deaths = 0
        with Running([build("signal_storm"), "6000"]) as target:
            target.wait_ready()
            while target.process.poll() is None and deaths < 200:
                with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                    time.sleep(moments.uniform(0.01, 0.08))
                    recorder.process.kill()
                    recorder.process.wait()
                    deaths += 1
                    self.eventually(lambda: procfs.observer(target.pid) == 0, "release")
                self.assertUntouched(target.pid)
            (said,) = target.finish(60)
        self.assertGreater(deaths, 10)
        # The kernel tells a tracer of an ignored signal, and breaks the wait off for it, before
        # the tracer can do anything: whoever dies between that stop and its first answer
        # leaves an EINTR that nobody sent. None may be missing, and no more may come of it.
        invented = len(said["invented"])
        self.assertLess(invented, deaths, said)
        self.check(said | {"eintr": said["eintr"] - invented})

    def test_recording_is_readable_up_to_the_last_second(self):
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                time.sleep(2.5)
                recorder.process.kill()
                recorder.process.wait()
            done = profc("report", "-i", recorder.path, "-m", "samples", "--json", status=0)
            self.assertIn('"samples"', done.stdout)
            self.assertNotEqual(done.stderr, "", "nothing is said about the missing end")
            info = json.loads(profc("info", "-i", recorder.path, "--json").stdout)
            self.assertGreater(info["counters"]["stops"], 0)
            self.assertGreater(info["counters"]["frequency_hz_effective"], 0)
            self.assertIn("Losses", profc("info", "-i", recorder.path).stdout)

    def test_recorded_command_is_not_killed_with_profc(self):
        """record's command belongs to the user: it runs on when profc dies."""
        mark = self.path("mark")
        script = f"echo $$ > {mark}.pid; sleep 0.6; {build('spin_leaf')} 100; echo done > {mark}"
        with Recorder(self.directory, "record", "--", "sh", "-c", script) as recorder:
            self.eventually(lambda: os.path.exists(mark + ".pid"), "start of the command")
            time.sleep(0.1)
            recorder.process.kill()
            recorder.process.wait()
        self.eventually(lambda: os.path.exists(mark), "end of the command")

    def test_other_signals_end_in_order(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number.name):
                with Running([build("progressing"), self.path(number.name)]) as target:
                    target.wait_ready()
                    with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                        self.wait_until_recorded(recorder.path)
                        recording = recorder.interrupt(number)
                    self.assertUntouched(target.pid)
                    self.assertGreaterEqual(recording.report()["total_ns"], 300e6)
                    self.assertProgress(Counters(self.path(number.name)))


class TargetDies(LiveCase):
    def test_target_killed_at_random_moments(self):
        moments = random.Random(5)
        for _ in range(8):
            path = self.path("counters")
            with Running([build("progressing"), path, "4"]) as target:
                target.wait_ready()
                with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                    self.eventually(lambda: procfs.observer(target.pid), "attaching")
                    time.sleep(moments.uniform(0, 0.1))
                    target.process.kill()
                    self.assertEqual(target.process.wait(timeout=20), -signal.SIGKILL)
                    recording = recorder.finish()
                self.assertIn(recording.status, (0, 1), recording.stderr)


class FullDisk(LiveCase):
    def test_no_room_for_the_recording_is_said(self):
        """/dev/full fails every write with ENOSPC."""
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        done = subprocess.run(
            ["sh", "-c", 'exec "$0" record -o - -- "$1" 300 >/dev/full',
             PROFC, build("spin_leaf")],
            stderr=subprocess.PIPE, text=True, check=False,
        )
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("profc: standard output: cannot write the profile: No space left",
                      done.stderr)

    def test_what_there_was_room_for_can_be_read(self):
        """A second is written at a time: 6,000 bytes with the first, 1,000 to 5,000 with each other."""
        recording = record(
            self.directory, [build("spin_leaf"), "6000"], *FAST, status=125,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8500, 8500)),
        )
        self.assertIn(f"{recording.path}: cannot write the profile: File too large",
                      recording.stderr)
        self.assertIn(f"profc report -i {recording.path}", recording.stderr)
        self.assertEqual(len(recording.said), 1, "the command did not run to its end")
        self.assertGreater(recording.report()["total_ns"], 0)
