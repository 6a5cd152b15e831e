# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting calls changes the code of a program that runs: nobody may be harmed by it."""

import json
import os
import platform
import random
import signal
import subprocess
import time

import procfs
from live import LiveCase
from paths import PROFC
from profc import Recorder, attach, attach_to_count, profc, record
from rounds import CYCLES, rounds
from targets import Running, build, need

IN_COMPANY = True

COUNTED = ("--count", "^(counted|malloc|free|calloc|realloc)$")
# Without a look at the symbols of libraries it is all over within some 50 ms.
QUICK = ("--count", "counted_storm!^counted$")
MORE_WAITS = ("blocking_waits", "blocking_transfers", "blocking_locks")


def code(pid):
    """Where code is mapped, which memory of probes there is, and the bytes of all code of files."""
    mapped = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(
        f"/proc/{pid}/mem", "rb", buffering=0
    ) as memory:
        for line in maps:
            fields = line.split()
            path = fields[5] if len(fields) > 5 else ""
            if "x" not in fields[1] and "profc-probes" not in path:
                continue
            contents = 0
            if path.startswith("/"):
                start, end = (int(text, 16) for text in fields[0].split("-"))
                memory.seek(start)
                contents = hash(memory.read(end - start))
            mapped.append((fields[0], fields[1], path, contents))
    return mapped


def own_state(pid):
    """What of a process is not to change but through itself."""
    fields = procfs.status(pid)
    return [fields.get(name) for name in ("SigBlk", "SigIgn", "SigCgt", "TracerPid")] + [
        sorted(procfs.open_files(pid))
    ]


class Storm(LiveCase):
    """Threads born, forks, vforks, signals and the whole of malloc while probes come and go."""

    def check(self, program, **user):
        with Running([program, "4"], **user) as target:
            target.wait_ready()
            before = code(target.pid), own_state(target.pid)
            stays = True
            for nr in range(CYCLES + 4):
                if nr >= CYCLES and not stays:
                    break
                recording = attach_to_count(
                    self.directory, target.pid, "-d", "0.02", *COUNTED, **user
                )
                stays = "probes stay" in recording.stderr
                # A thread that gets no CPU in time leaves its process to the next profc.
                self.assertTrue(not stays or "does not stop" in recording.stderr, recording.stderr)
            self.assertFalse(stays, "on a busy machine, five times")
            self.assertUntouched(target.pid)
            # It has pipes of its own while it makes a process.
            self.eventually(
                lambda: (code(target.pid), own_state(target.pid)) == before, "as it was before"
            )
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertGreater(said["calls"], 0)
        self.assertGreater(said["forks"], 0)

    def test_program_with_shared_libraries(self):
        self.check(build("counted_storm"))

    def test_program_without_shared_libraries(self):
        self.check(build("counted_storm", "-O2", "-g", "-static"))

    def test_program_of_another_c_library(self):
        need("musl-gcc")
        program = self.path("storm_of_musl")
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        source = os.path.join(here, "targets", "counted_storm.c")
        for flags in ((), ("-static",)):
            subprocess.run(
                ["musl-gcc", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-O2", "-g", *flags,
                 "-o", program, source],
                check=True,
            )
            self.check(program)

    def test_program_of_an_ordinary_user(self):
        user = self.ordinary_user()
        program = self.public(build("counted_storm"))
        os.chmod(self.directory, 0o777)
        self.check(program, **user)


def keeps_registers(case):
    flags = ["-mavx"] if platform.machine() == "x86_64" else []
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if flags and " avx " not in file.read():
            case.skipTest("this CPU has no AVX")
    return build("keeps_registers", "-O2", "-g", *flags)


class Registers(LiveCase):
    """Of the thread that makes system calls for profc."""

    def setUp(self):
        super().setUp()
        self.target = keeps_registers(self)
        self.counted = ("-d", "0.02", "--count", "keeps_registers!^counted$")

    def check(self, disturb, *arguments):
        with Running([self.target, *arguments]) as target:
            target.wait_ready()
            for _ in range(rounds(10)):
                disturb(target.pid)
            (said,) = target.finish()
        self.assertGreater(said["rounds"], 100)
        self.assertEqual(said["wrong"], 0, said)

    def count(self, pid):
        attach_to_count(self.directory, pid, *self.counted)

    def test_are_kept(self):
        self.check(self.count)

    def test_of_the_only_thread_are_kept(self):
        """It makes its calls in a row: signal frames lead from one to the next."""
        self.check(self.count, "alone")

    def test_are_kept_where_profc_is_killed(self):
        moments = random.Random(9)

        def kill(pid):
            with Recorder(
                self.directory, "attach", "-p", str(pid), *self.counted
            ) as recorder:
                time.sleep(moments.uniform(0, 0.03))
                recorder.process.kill()
                recorder.process.wait()

        self.check(kill)
        self.check(kill, "alone")


class Alone(LiveCase):
    """A process with one thread is stopped once; a second one may be born just then, or a child
    keep it waiting."""

    def setUp(self):
        super().setUp()
        self.target = build("alone_at_times", "-g")

    def test_a_second_thread_or_a_child_comes_meanwhile(self):
        nr_calls = 0
        with Running([self.target]) as target:
            target.wait_ready()
            before = code(target.pid)
            for _ in range(rounds(20)):
                recording = attach_to_count(
                    self.directory, target.pid, "-d", "0.02", "--mem", "--count", "^turn$"
                )
                nr_calls += sum(row["calls"] or 0 for row in recording.rows())
                self.assertEqual(code(target.pid), before)
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertEqual(said["wrong"], 0)
        self.assertGreater(said["vforks"], 0)
        self.assertGreater(nr_calls, 0)

    def test_profc_is_killed_meanwhile(self):
        moments = random.Random(11)
        with Running([self.target]) as target:
            target.wait_ready()
            before = code(target.pid)
            for _ in range(rounds(20)):
                with Recorder(
                    self.directory, "attach", "-p", str(target.pid), "--mem"
                ) as recorder:
                    time.sleep(moments.uniform(0.01, 0.15))
                    recorder.process.kill()
                    recorder.process.wait()
                self.assertIsNone(target.process.poll())
            attach_to_count(self.directory, target.pid, "-d", "0.02", "--mem")
            self.assertEqual(code(target.pid), before)
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertEqual(said["wrong"], 0)


class Waits(LiveCase):
    """Each thread is to stand twice, for the probes to come and to go; most are asleep then."""

    def install_once(self, pid, *probes, **user):
        """Put probes in and take them out; on a busy machine that may be refused: False."""
        path = self.path("installed.data")
        done = subprocess.run(
            [PROFC, "attach", "-p", str(pid), "-o", path, "-d", "0.05", "--no-cpu", *probes],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
            **user,
        )
        if done.returncode == 0:
            self.assertNotIn("stay", done.stderr)
        else:
            self.assertRegex(done.stderr, "stopped|exited|has ended")
        return done.returncode == 0

    def install(self, pid, function, nr=2, **user):
        """So many times."""
        nr_done = 0
        for _ in range(4 * nr):
            nr_done += self.install_once(pid, "--count", f"^{function}$", **user)
            if nr_done == nr or procfs.state(pid) in ("gone", "Z"):
                break
        self.assertGreater(nr_done, 0)

    def test_no_wait_ends_early(self):
        with Running([build("blocking_calls", more=MORE_WAITS), "8000"]) as target:
            target.wait_ready()
            self.install(target.pid, "case_main")
            cases = target.finish()
        self.assertGreater(len(cases), 40)
        for case in cases:
            with self.subTest(call=case["name"]):
                self.assertEqual(case["eintr"], 0, case)
                if case["expects"] != "transfer":
                    self.assertEqual(case["shorts"], 0, case)
        # A transfer that begins between the look at its thread and the stop may be cut: one, of
        # all kinds together (lib/decisions/003-what-the-target-may-notice.md).
        cut = [case for case in cases if case["shorts"]]
        self.assertLessEqual(sum(case["shorts"] for case in cut), 1, cut)

    def hour_long_wait(self, pid):
        """The thread of blocking_calls that waits for an hour in epoll_wait(2)."""
        wanted = f"0x{60 * 60 * 1000:x}"
        for tid in procfs.threads(pid):
            with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
                if wanted in file.read().split()[1:5]:
                    return tid
        return None

    def check_waits_begin_again_seldom(self, *probes):
        """
        Once as the probes come, and once as they go, whatever the other threads do: some wake each
        millisecond. It was some twenty times. Each time a thread that sleeps gets a CPU twice.
        """
        nr_done = 0
        with Running([build("blocking_calls", more=MORE_WAITS), "60000"]) as target:
            target.wait_ready()
            self.eventually(lambda: self.hour_long_wait(target.pid), "a wait for an hour")
            tid = self.hour_long_wait(target.pid)
            for _ in range(3):
                before = procfs.nr_scheduled(target.pid, tid)
                nr_done += self.install_once(target.pid, *probes)
                self.assertLessEqual(procfs.nr_scheduled(target.pid, tid) - before, 2 * 4)
            self.assertEqual(self.hour_long_wait(target.pid), tid)
            self.assertUntouched(target.pid)
        self.assertGreater(nr_done, 0)

    def test_waits_begin_again_seldom_beside_counts(self):
        self.check_waits_begin_again_seldom("--count", "^case_main$")

    def test_waits_begin_again_seldom_beside_memory(self):
        self.check_waits_begin_again_seldom("--mem")

    def test_a_sleep_goes_on_with_the_rest_of_its_time(self):
        """Though its thread, the only one, has made calls for profc in between."""
        restart_syscall = {"x86_64": "219", "aarch64": "128"}[platform.machine()]
        with Running(["sleep", "3600"]) as target:
            self.eventually(lambda: procfs.state(target.pid) == "S", "its sleep")
            self.install(target.pid, "malloc")
            with open(f"/proc/{target.pid}/syscall", encoding="ascii") as file:
                self.assertEqual(file.read().split()[0], restart_syscall)

    def check_transfers(self, program, nr, **user):
        with Running([program], **user) as target:
            target.wait_ready()
            self.install(target.pid, "counted_call", nr, **user)
            self.assertUntouched(target.pid)
            cases = target.finish()
        self.assertEqual(len(cases), 16)
        for case in cases:
            if user and "napping" in case["name"]:
                continue  # as it begins its first transfer only root can see it
            with self.subTest(call=case["name"]):
                self.assertGreater(case["calls"], 0)
                # A transfer may begin in the microseconds between the last look and the
                # interrupt: one in some hundred installs. Without that look it is two in each.
                self.assertLessEqual(case["shorts"], 1, case)
                self.assertEqual(case["failed"], 0, case)

    def test_no_transfer_is_cut_short(self):
        """Long or short ones, the first ones after a nap, too."""
        self.check_transfers(build("transfers_in_parts"), rounds(4))

    def test_no_transfer_of_an_ordinary_user_is_cut_short(self):
        user = self.ordinary_user()
        program = self.public(build("transfers_in_parts"))
        os.chmod(self.directory, 0o777)
        self.check_transfers(program, 2, **user)


class Killed(LiveCase):
    def remains(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            mapped = [line for line in maps if "profc-probes" in line]
        return mapped + [path for path in procfs.open_files(pid) if "profc-probes" in path]

    def test_target_goes_on_and_the_next_one_cleans_up(self):
        """At any moment of installing, counting and removing."""
        moments = random.Random(5)
        nr_remains = 0
        with Running([build("counted_storm"), "4"]) as target:
            target.wait_ready()
            before = code(target.pid), own_state(target.pid)
            for nr in range(rounds(20)):
                # On a busy machine nothing is there by the first of these moments.
                is_in = nr % 4 == 3
                with Recorder(
                    self.directory, "attach", "-p", str(target.pid), "-d",
                    "5" if is_in else "0.02", *QUICK,
                ) as recorder:
                    if is_in:
                        self.eventually(lambda: self.remains(target.pid), "probes")
                    time.sleep(moments.uniform(0, 0.06))
                    recorder.process.kill()
                    recorder.process.wait()
                nr_remains += bool(self.remains(target.pid))
                self.assertIsNone(target.process.poll(), "the target has died")
                self.assertUntouched(target.pid)
            attach_to_count(self.directory, target.pid, "-d", "0.02", *COUNTED)
            self.assertEqual(self.remains(target.pid), [])
            # It has pipes of its own while it makes a process.
            self.eventually(
                lambda: (code(target.pid), own_state(target.pid)) == before, "as it was before"
            )
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertGreater(said["calls"], 0)
        self.assertGreater(nr_remains, 0, "no death came while there was something to leave")

    def test_at_any_of_its_calls(self):
        said, nr = self.kill_at_calls([build("counted_storm"), "2"], QUICK)
        self.assertGreater(said["calls"], 0)
        self.assertGreater(nr, 20)

    def test_at_any_of_its_calls_with_one_thread(self):
        """All at which it waits for the thread, which makes a row of calls by itself then."""
        said, nr = self.kill_at_calls(
            [keeps_registers(self), "alone"], ("--mem", "--count", "keeps_registers!^counted$"), step_most=3
        )
        self.assertGreater(said["rounds"], 100)
        self.assertEqual(said["wrong"], 0, said)
        self.assertGreater(nr, 15)

    def kill_at_calls(self, command, options, step_most=max(1, 64 // CYCLES)):
        """Before the first of ptrace(2), before one of the next sixteen, and so on to the end; with
        PROFC_TEST_CYCLES=64 before each."""
        strace = need("strace")
        with Running(command) as target:
            target.wait_ready()
            before = code(target.pid), own_state(target.pid)
            nr = 0
            status = None
            while status != 0:
                nr += random.randint(1, step_most) if nr else 1
                status = subprocess.run(
                    [strace, "-f", "-o", "/dev/null", "-e", "trace=ptrace,tgkill",
                     "-e", f"inject=ptrace,tgkill:signal=SIGKILL:when={nr}",
                     PROFC, "attach", "-p", str(target.pid), "-d", "0.02", *options,
                     "-o", self.path("killed")],
                    stderr=subprocess.DEVNULL, check=False, timeout=60,
                ).returncode
                self.assertIsNone(target.process.poll(), f"the target has died of call {nr}")
                self.assertUntouched(target.pid)
            attach_to_count(self.directory, target.pid, "-d", "0.02", *options)
            self.assertEqual(self.remains(target.pid), [])
            # It has pipes of its own while it makes a process.
            self.eventually(
                lambda: (code(target.pid), own_state(target.pid)) == before, "as it was before"
            )
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        return said, nr

    def test_two_at_once_are_refused(self):
        with Running([build("counted_storm"), "2"]) as target:
            target.wait_ready()
            with Recorder(
                self.directory, "attach", "-p", str(target.pid), *COUNTED
            ) as recorder:
                self.eventually(lambda: self.remains(target.pid), "probes")
                self.eventually(lambda: procfs.observer(target.pid), "sampling")
                done = profc(
                    "attach", "-p", target.pid, "-d", "0.1", *COUNTED,
                    "-o", self.path("second"), status=1,
                )
                self.assertIn(f"counted by process {recorder.pid} already", done.stderr)
                self.assertTrue(self.remains(target.pid))
                recorder.interrupt()
            self.assertEqual(self.remains(target.pid), [])
            target.finish()


class FiltersLater(LiveCase):
    """A program that forbids calls to itself only when probes are in it already."""

    def count(self, of):
        with Running([build("filters_later"), of]) as target:
            target.wait_ready()
            before = code(target.pid)
            with Recorder(
                self.directory, "attach", "-p", str(target.pid), "--count", "^counted$"
            ) as recorder:
                self.eventually(lambda: code(target.pid) != before, "probes")
                self.eventually(lambda: procfs.observer(target.pid), "sampling")
                target.process.stdin.write("now\n")
                target.process.stdin.flush()
                self.assertEqual(target.process.stdout.readline(), '{"filtered": true}\n')
                recording = recorder.interrupt()
            self.assertUntouched(target.pid)
            after = code(target.pid)
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertGreater(said["calls"], 0)
        return recording, before, after

    def test_a_thread_without_filter_gives_the_memory_back(self):
        recording, before, after = self.count("main")
        self.assertNotIn("stay", recording.stderr)
        self.assertEqual(after, before)

    def test_where_all_have_one_the_memory_stays_and_that_is_told(self):
        recording, before, after = self.count("all")
        self.assertIn("have a filter of system calls", recording.stderr)
        program = [row for row in after if "filters_later" in row[2]]
        self.assertEqual(program, [row for row in before if "filters_later" in row[2]])


class FiltersBefore(LiveCase):
    """Programs that forbid calls to themselves before probes come, as in a container."""

    def count(self, how, **user):
        """Counts calls of such a program, which is as it was afterwards."""
        with Running([build("filters_later"), how], **user) as target:
            target.wait_ready()
            target.process.stdin.write("now\n")
            target.process.stdin.flush()
            self.assertEqual(target.process.stdout.readline(), '{"filtered": true}\n')
            before = code(target.pid)
            recording = attach(
                self.directory, target.pid, "-d", "500ms", "--count", "^counted$", status=None, **user
            )
            self.assertUntouched(target.pid)
            self.assertEqual(code(target.pid), before)
            target.finish()
        self.assertEqual(target.process.returncode, 0)
        return recording

    def test_calls_are_counted_where_filters_allow_it(self):
        status, cap_sys_admin = procfs.status(os.getpid()), 1 << 21
        if not int(status["CapEff"], 16) & cap_sys_admin or status["Seccomp"] != "0":
            self.skipTest("the kernel does not show us filters")
        recording = self.count("mild")
        self.assertEqual(recording.status, 0, recording.stderr)
        (row,) = [row for row in recording.rows("-n", "0") if row["function"] == "counted"]
        self.assertGreater(row["calls"], 0)

    def test_what_would_kill_is_not_tried(self):
        recording = self.count("all")
        self.assertNotEqual(recording.status, 0)
        self.assertIn("filter of system calls", recording.stderr)

    def test_a_sleep_that_must_not_be_restarted_goes_on(self):
        """The filter kills for restart_syscall(2), by which the kernel would continue it."""
        with Running([build("seccomp_strict"), "3000"]) as target:
            target.wait_ready()
            for _ in range(3):
                attach(
                    self.directory, target.pid, "-d", "20ms", "--no-cpu",
                    "--count", "^strict_work$", status=None,
                )
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertGreater(said["naps"], 20)

    def count_waits(self, mode):
        """Under a filter that kills for that call alone."""
        if not procfs.reads_filters():
            self.skipTest("the kernel does not show us filters")
        with Running([build("seccomp_crowd"), "6000", mode]) as target:
            target.wait_ready()
            recordings = [
                attach(
                    self.directory, target.pid, "-d", "200ms", "--no-cpu",
                    "--count", "^in_poll$", status=None,
                )
                for _ in range(3)
            ]  # fmt: skip
            (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertEqual(said["failed"], 0, said)
        self.assertGreater(said["waits"], 100, said)
        return recordings

    def test_of_more_threads_it_is_said_which_call_would_kill(self):
        for recording in self.count_waits("working"):
            self.assertNotEqual(recording.status, 0)
            self.assertIn("kills process", recording.stderr)
            self.assertIn("restart_syscall", recording.stderr)

    def test_threads_that_will_not_do_go_on_with_their_own_registers(self):
        for _ in range(3):
            recording = self.count("small")
            if platform.machine() == "x86_64":  # the stacks of others are never so small
                self.assertNotEqual(recording.status, 0)

    def test_what_cannot_be_read_is_not_tried(self):
        os.chmod(self.directory, 0o777)
        recording = self.count("mild", **self.ordinary_user())
        self.assertNotEqual(recording.status, 0)
        self.assertIn("only root may read", recording.stderr)


class Others(LiveCase):
    def test_target_of_a_debugger_is_refused(self):
        self.refuse([build("counted_storm"), "1"])

    def test_target_with_one_thread_of_a_debugger_is_refused(self):
        self.refuse([build("alone_at_times")])

    def refuse(self, command):
        strace = need("strace")
        with Running(command) as target:
            target.wait_ready()
            with subprocess.Popen(
                [strace, "-qq", "-e", "trace=none", "-o", "/dev/null", "-p", str(target.pid)]
            ) as tracer:
                self.eventually(lambda: procfs.tracer(target.pid), "tracing")
                done = profc(
                    "attach", "-p", target.pid, "-d", "0.1", *COUNTED,
                    "-o", self.path("none"), status=1,
                )
                tracer.send_signal(signal.SIGINT)
            self.assertIn("strace", done.stderr)
            target.finish()
        self.assertEqual(target.process.returncode, 0)

    def test_stopped_target_stays_stopped(self):
        self.stay([build("counted_storm"), "2"], *COUNTED)

    def test_stopped_target_with_one_thread_stays_stopped(self):
        self.stay([build("alone_at_times")], "--mem")

    def stay(self, command, *options):
        with Running(command) as target:
            target.wait_ready()
            before = code(target.pid)
            os.kill(target.pid, signal.SIGSTOP)
            self.eventually(lambda: procfs.state(target.pid) == "T", "the stop")
            attach(self.directory, target.pid, "-d", "0.1", *options, status=None)
            self.assertEqual(procfs.state(target.pid), "T")
            self.assertEqual(code(target.pid), before)
            os.kill(target.pid, signal.SIGCONT)
            target.finish()
        self.assertEqual(target.process.returncode, 0)

    def test_exec_from_threads_is_not_held_up(self):
        """A thread that is stopped, and killed by the exec of another, is reaped at once."""
        program = build("exec_storm", "-O0", "-g")
        # On busy CPUs an exec of a hundred threads takes long by itself.
        with Running([program, "1500"]) as beside:
            recording = record(
                self.directory, [program, "1500"], "--count", "^execute_anew$", timeout=60
            )
            (plain,) = beside.finish()
        (said,) = recording.said
        self.assertGreaterEqual(said["execs"], min(6, plain["execs"] // 4))


class Commands(LiveCase):
    def test_status_is_that_of_the_command(self):
        counted = ("--count", "^main$")
        for argv, status in (
            (["sh", "-c", "exit 7"], 7),
            (["sh", "-c", "kill -9 $$"], -9),
            (["sh", "-c", "true; exec false"], 1),
            (["/does/not/exist"], 127),
            (["/etc/passwd"], 126),
        ):
            record(self.directory, argv, *counted, status=status)

    def test_program_whose_library_is_missing(self):
        library = self.path("libmissing.so")
        source = self.path("empty.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("int nothing(void) { return 0; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        with open(source, "w", encoding="ascii") as file:
            file.write("int nothing(void);\nint main(void) { return nothing(); }\n")
        program = self.path("lacking")
        subprocess.run(["gcc", "-o", program, source, library], check=True)
        os.unlink(library)
        done = record(self.directory, [program], "--count", "^main$", status=127)
        self.assertIn("libmissing.so", done.stderr)

    def test_script(self):
        script = self.path("script")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 5\n")
        os.chmod(script, 0o755)
        record(self.directory, [script], "--count", "^main$", status=5)

    def test_threads_that_a_library_makes_before_the_beginning(self):
        """They run while the first thread stands before main()."""
        library = self.path("libeager.so")
        source = self.path("eager.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(EAGER)
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-pthread", "-o", library, source], check=True)
        program = build("spin_leaf", "-O2", "-g", "-Wl,--no-as-needed", libraries=(library,))
        for _ in range(2):
            recording = record(
                self.directory, [program, "1000"], "--count", "^(malloc|free)$", timeout=60
            )
            probes = json.loads(recording.info("--json"))["probes"]
            self.assertTrue(probes["from_start"], probes)

    def test_trap_that_a_library_raises_before_the_beginning(self):
        """It is the program's own, and what stands at the entry is still waited for."""
        library = self.path("libtrapping.so")
        source = self.path("trapping.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(TRAPPING)
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        with open(source, "w", encoding="ascii") as file:
            file.write("int nr_traps(void);\nint main(void) { return nr_traps(); }\n")
        program = self.path("traps")
        subprocess.run(["gcc", "-o", program, source, library], check=True)
        recording = record(self.directory, [program], "--count", "^nr_traps$", status=3)
        info = json.loads(recording.info("--json"))
        self.assertTrue(info["probes"]["from_start"], info["probes"])


TRAPPING = """
#include <signal.h>
static volatile sig_atomic_t nr;
static void handle(int number)
{
	nr++;
}
int nr_traps(void)
{
	return nr;
}
__attribute__((constructor)) static void begin(void)
{
	signal(SIGTRAP, handle);
	for (int i = 0; i < 3; i++)
		raise(SIGTRAP);
}
"""

EAGER = """
#include <pthread.h>
#include <stdlib.h>
static void *churn(void *nothing)
{
	for (;;)
		free(malloc(64));
	return nothing;
}
__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, churn, NULL);
}
"""
