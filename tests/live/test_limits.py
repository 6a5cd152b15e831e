# SPDX-License-Identifier: GPL-2.0-or-later
"""profc with bounds on what it may use, and beside others who trace or freeze."""

import json
import os
import resource
import signal
import subprocess

import procfs
from control_group import UnifiedGroup
from live import LiveCase
from paths import PROFC
from profc import Recorder, Recording, attach, profc, record
from targets import Running, build, need

FAST = ("-F", "1000", "--max-overhead", "0")
RLIMIT_RTTIME = 15  # microseconds; not among the names of the module


class Limits(LiveCase):
    def limit_real_time(self):
        resource.setrlimit(RLIMIT_RTTIME, (4000, 4000))

    def test_real_time_limit_is_not_exceeded(self):
        """The kernel kills who does, and attaching to thousands of threads takes long."""
        if os.geteuid() != 0:
            self.skipTest("only root may surely run at real-time priority")
        with Running([build("threads_idle"), "3000", "20000"]) as target:
            target.wait_ready()
            recording = attach(
                self.directory, target.pid, *FAST, "--no-symbols", "-d", "500ms",
                preexec_fn=self.limit_real_time, status=None,
            )
            self.assertIn(recording.status, (0, 1), recording.stderr)
            self.assertUntouched(target.pid)

    def test_doctor_says_so(self):
        done = profc("doctor", preexec_fn=self.limit_real_time, status=None)
        self.assertIn("ulimit -R", done.stdout)

    def test_few_descriptors(self):
        recording = record(
            self.directory, [build("spin_leaf"), "300"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        )
        self.assertGreater(recording.report()["total_ns"], 250e6)
        self.assertMostlyIn(recording, "spin_leaf", 0.9)

    def test_new_threads_without_descriptors_go_their_way(self):
        """Their files are opened for each sample then."""
        program = build("threads_churn")
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        recording = record(self.directory, [program, "400", "300"], preexec_fn=few, timeout=30)
        (said,) = recording.said
        self.assertEqual(said["threads"], 400)
        self.assertRatio(recording.report()["total_ns"], said["cpu_ns"], 0.05, "CPU of short threads")
        with Running([program, "4000", "300"]) as target:
            recording = attach(
                self.directory, target.pid, "-d", "300ms", preexec_fn=few, timeout=30
            )
            self.assertUntouched(target.pid)
            (said,) = target.finish()
        self.assertEqual(said["threads"], 4000)

    def test_too_few_descriptors_are_named(self):
        """For some counts profc comes further than for others: each time it says what is short."""
        with subprocess.Popen(["sleep", "600"]) as sleeper:
            try:
                for command in (
                    ("record", "-o", self.path("x"), "--", "true"),
                    ("attach", "-p", sleeper.pid, "-d", "1s", "-o", self.path("x")),
                    ("doctor",),
                ):
                    self.check_too_few_descriptors(command)
            finally:
                sleeper.kill()

    def check_too_few_descriptors(self, command):
        for nr in range(5, 64):
            done = profc(
                *command, status=None,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (nr, nr)),
            )
            if done.returncode == 0:
                break
            with self.subTest(command=command[0], descriptors=nr):
                self.assertIn("Too many open files", done.stdout + done.stderr)
                self.assertIn("ulimit -n", done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_too_many_processes_are_named(self):
        profiler = self.public(PROFC)
        os.chmod(self.directory, 0o777)
        limit = lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        for command in (["record", "-o", self.path("x"), "--", "true"], ["doctor"]):
            done = subprocess.run(
                [profiler, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                check=False, preexec_fn=limit, **self.ordinary_user(),
            )
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("ulimit -u", done.stdout)

    def test_files_of_who_rests_are_closed(self):
        """Each process has one for the memory of all its threads."""
        with Running([build("works_then_rests"), "400", "3000"]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                task = f"/proc/{target.pid}/task"
                worker = max(procfs.threads(target.pid))
                opened = lambda name: f"{task}/{name}" in procfs.open_files(recorder.pid)
                self.eventually(lambda: opened(f"{worker}/stat"), "opening")
                self.eventually(lambda: not opened(f"{worker}/stat"), "closing")
                self.eventually(lambda: not opened(f"{target.pid}/mem"), "closing the memory")
                recorder.interrupt()

    def test_descriptor_table_does_not_grow(self):
        """While threads share it, whoever makes it grow waits, and the threads that are stopped."""
        many = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5000, 5000))
        with Running([build("waiting")]) as target:
            target.wait_ready()
            with Recorder(
                self.directory, "attach", "-p", str(target.pid), preexec_fn=many
            ) as recorder:
                self.eventually(lambda: len(procfs.threads(recorder.pid)) > 2, "threads")
                self.assertGreaterEqual(int(procfs.status(recorder.pid)["FDSize"]), 5000)
                recorder.interrupt()

    def test_signals_may_not_be_queued(self):
        """There is no timer then, and a SIGCHLD comes without saying of whom."""
        recording = record(
            self.directory, [build("spin_leaf"), "1500"], *FAST, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0)),
        )
        self.assertMostlyIn(recording, "spin_leaf", 0.98)
        self.assertStopsAreHeardOf(recording)

    def assertStopsAreHeardOf(self, recording):
        """A thread that runs all the time is stopped in most ticks, one that seldom does less."""
        counters = json.loads(recording.info("--json"))["counters"]
        report = recording.report()
        share = report["total_ns"] / report["duration_ns"]
        self.assertGreater(counters["stops"], share * counters["ticks"] / 4, f"share {share:.2f}")

    def test_ignored_children(self):
        """Who ignores SIGCHLD, as its parent did, is not told of stops; the command inherits it."""
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        show = record(self.directory, ["grep", "SigIgn", "/proc/self/status"], preexec_fn=ignore)
        self.assertTrue(int(show.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1, show.stdout)
        program = [build("spin_leaf"), "500"]
        recording = record(self.directory, program, *FAST, timeout=60, preexec_fn=ignore)
        self.assertStopsAreHeardOf(recording)
        with Running([build("spin_leaf"), "60000"]) as target:
            self.assertIn("spin_leaf", profc("dump", "-p", target.pid, preexec_fn=ignore).stdout)
            recording = attach(self.directory, target.pid, *FAST, "-d", "500ms", preexec_fn=ignore)
            self.assertStopsAreHeardOf(recording)
            self.assertUntouched(target.pid)

    def test_no_capabilities_at_all(self):
        path = self.path("plain.data")
        subprocess.run(
            [need("setpriv"), "--bounding-set", "-all", "--inh-caps", "-all", PROFC, "record",
             *FAST, "-q", "-o", path, "--", build("spin_leaf"), "500"],
            check=True, stdout=subprocess.DEVNULL,
        )
        self.assertIn("spin_leaf", profc("report", "-i", path).stdout)


class OtherTracers(LiveCase):
    def test_command_that_is_traced_from_its_birth(self):
        strace = need("strace")
        done = subprocess.run(
            [strace, "-f", "-o", "/dev/null", PROFC, "record", "-o", self.path("x"), "true"],
            stderr=subprocess.PIPE, text=True, check=False, timeout=60,
        )
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("already traced by strace", done.stderr)
        self.assertIn("hint:", done.stderr)

    def test_tracer_among_what_is_recorded(self):
        """What it traces has no stacks meanwhile, and profc says who does."""
        strace = [need("strace"), "-f", "-o", "/dev/null"]
        command = [*strace, build("spin_leaf"), "300"]
        # While profc visits what strace has just started, strace may not attach to it, and gives up.
        for status in (None, None, None, 0):
            recording = record(self.directory, command, status=status)
            if recording.status == 0:
                break
            self.assertIn("PTRACE_SEIZE", recording.stderr)
        self.assertRegex(recording.stderr, r"spin_leaf \(pid \d+\) is traced by strace")
        self.assertGreater(recording.report()["total_ns"], 290e6)

    def test_profc_among_what_is_recorded(self):
        inner = [PROFC, "record", "-o", self.path("inner")]
        recording = record(self.directory, [*inner, build("spin_leaf"), "500"])
        for one in (recording, Recording(self.path("inner"))):
            self.assertMostlyIn(one, "spin_leaf", 0.8)

    def test_debugger_as_command(self):
        """Its children are its own where profc leaves them alone."""
        script = ["-ex", "break spin_leaf", "-ex", "run", "-ex", "bt 1", "-ex", "kill"]
        recording = record(
            self.directory,
            [need("gdb"), "-nx", "-batch", *script, "--args", build("spin_leaf"), "100"],
            *FAST, "--no-children", "--no-symbols",
        )
        self.assertIn("#0  spin_leaf", recording.stdout)


class Frozen(LiveCase):
    """A process that a control group holds still: it can be looked at, and nothing hangs."""

    def check_progress(self, pid):
        before = procfs.cpu_ns(pid)
        self.eventually(lambda: procfs.cpu_ns(pid) > before + 20e6, "progress")

    def test_frozen_before_during_and_after(self):
        if not UnifiedGroup.is_there():
            self.skipTest("no control group can be made and frozen here")
        group = UnifiedGroup(self)
        with Running([build("spin_leaf"), "60000"]) as target:
            group.take(target.pid)
            self.check_progress(target.pid)
            group.freeze(True)
            recording = attach(self.directory, target.pid, *FAST, "-d", "300ms", timeout=30)
            self.assertGreater(recording.report("-m", "wall")["total_ns"], 200e6)
            self.assertIn("no samples with CPU time in",
                          profc("report", "-i", recording.path, status=1).stderr)
            self.assertIn("spin_leaf", profc("dump", "-p", target.pid, timeout=30).stdout)
            with Recorder(self.directory, "attach", "-p", target.pid, *FAST) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                group.freeze(False)
                self.check_progress(target.pid)
                group.freeze(True)
                recording = recorder.interrupt(timeout=30)
            self.assertGreater(recording.function("spin_leaf")["total_ns"], 10e6)
            self.assertTrue(group.is_frozen())
            self.assertEqual(procfs.tracer(target.pid), 0)
            group.freeze(False)
            self.check_progress(target.pid)
            self.assertUntouched(target.pid)
            target.process.kill()
            target.process.wait()
