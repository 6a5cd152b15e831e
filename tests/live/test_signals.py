# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals and job control: as they are without profc."""

import json
import os
import random
import signal
import sys
import time

import procfs
from counters import Counters
from live import LiveCase
from profc import Recorder, attach, record
from targets import Running, build, need

FAST = ("-F", "1000", "--max-overhead", "0")


class Storm(LiveCase):
    def check(self, said):
        self.assertEqual(said["handlers"], said["sent"], said)
        self.assertEqual(said["eintr"], said["sent"], said)
        self.assertEqual(said["wakes_lost"], 0, said)

    def test_every_signal_is_seen_once_when_recorded(self):
        recording = record(self.directory, [build("signal_storm"), "2000"], *FAST)
        (said,) = recording.said
        self.check(said)

    def test_every_signal_is_seen_once_when_attached(self):
        with Running([build("signal_storm"), "2000"]) as target:
            target.wait_ready()
            attach(self.directory, target.pid, *FAST, "-d", "1")
            (said,) = target.finish()
        self.check(said)

    def test_every_signal_is_seen_once_where_waits_are_short(self):
        """A wait that a look has broken off was given its end, and then the handler ran."""
        recording = record(self.directory, [build("signal_storm"), "2000", "1"], *FAST)
        (said,) = recording.said
        self.check(said)

    def test_every_signal_is_seen_once_that_follows_upon_an_ignored_one(self):
        """Between the end that a wait was given and its handler there was a stop for the other."""
        recording = record(self.directory, [build("signal_storm"), "4000", "1", "1"], *FAST)
        (said,) = recording.said
        self.check(said)

    def test_one_ignored_signal_does_not_slow_the_target(self):
        """A stray stop that is taken for the wanted one would freeze the target."""
        path = self.path("counters")
        with Running([build("progressing"), path]) as target:
            target.wait_ready()
            counters = Counters(path)
            with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                before = counters.speed(0.5)
                for _ in range(5):
                    os.kill(target.pid, signal.SIGWINCH)
                    time.sleep(0.02)
                self.eventually(
                    lambda: counters.speed(0.5) > 0.5 * before, "rounds as fast as before the signals"
                )
                recorder.interrupt()

    def test_timer_signals_all_arrive(self):
        path = self.path("counters")
        with Running([build("progressing"), path]) as target:
            target.wait_ready()
            attach(self.directory, target.pid, *FAST, "-d", "1")
            (said,) = target.finish()
        # Those that a handler came too late for are counted with the next.
        self.assertGreater(said["alarms"], 0.9 * said["due_alarms"])


class AllWays(LiveCase):
    def test_each_comes_once_and_as_it_was_sent(self):
        for options in (FAST, ("-F", "100")):
            recording = record(self.directory, [build("signals_of_all_ways"), "300"], *options)
            self.assertGreater(len(recording.said), 10)
            for said in recording.said:
                with self.subTest(way=said["name"]):
                    self.assertEqual(said["wrong"], 0, said)


class Ignored(LiveCase):
    """Signals that nobody catches, faster than any timeout: untraced, they wake nobody."""

    def test_no_timeout_starves(self):
        """Begun anew by each signal, a wait would never end: beside it the same program untraced."""
        program = [build("ignored_signals"), "2000"]
        with Running(program) as untraced:
            recording = record(self.directory, program, *FAST)
            plain = untraced.finish()
        self.assertEqual(len(recording.said), 12)
        for said, beside in zip(recording.said, plain, strict=True):
            with self.subTest(wait=said["name"]):
                self.assertEqual((said["eintr"], said["wrong"]), (0, 0), said)
                self.assertGreater(said["waits"], beside["waits"] / 4, said)

    def test_none_ends_early_that_went_to_another_cpu(self):
        """When it left its CPU is said by that one's clock; others are seconds ahead or behind."""
        command = [build("receives_beside_signals"), "5000"]
        (said,) = record(self.directory, command, "-F", "10").said
        self.assertGreater(said["waits"], 20, said)
        self.assertEqual(said["early"], 0, said)


class FirstOfNamespace(LiveCase):
    """Signals that stop others it is not told of, if they come from within."""

    def said_by_first(self, number):
        program = [build("first_of_namespace"), str(int(number))]
        self.need_root()
        recording = record(self.directory, [need("unshare"), "-pf", *program], *FAST)
        (said,) = recording.said
        self.assertTrue(said["first"])
        return said

    def need_root(self):
        if os.geteuid():
            self.skipTest("only root may make PID namespaces")

    def child_of(self, pid):
        self.eventually(lambda: procfs.children(pid), "a child")
        return procfs.children(pid)[0]

    def test_no_wait_of_it_ends_by_them(self):
        for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGSTOP):
            with self.subTest(number.name):
                said = self.said_by_first(number)
                self.assertEqual(said["eintr"], 0, said)

    def test_it_is_stopped_from_outside(self):
        self.need_root()
        program = [build("first_of_namespace"), str(int(signal.SIGURG)), "300"]
        with Recorder(
            self.directory, "record", "--", need("unshare"), "-pf", "--kill-child", *program
        ) as recorder:
            outer = self.child_of(recorder.process.pid)
            first = self.child_of(outer)
            self.child_of(first)
            os.kill(first, signal.SIGSTOP)
            self.eventually(lambda: procfs.state(first) in "tT", "that it stands")
            os.kill(first, signal.SIGCONT)
            self.eventually(lambda: procfs.state(first) not in "tT", "that it goes on")
            os.kill(outer, signal.SIGTERM)
            recorder.finish()


class Timeouts(LiveCase):
    """Stops just when a timeout is up, for the sake of signals that woke somebody in vain."""

    def test_none_ends_early_that_a_signal_meets_at_its_beginning(self):
        """It was taken for the one before, at whose end the thread had been seen asleep."""
        recording = record(self.directory, [build("signals_at_begin"), "4000"], *FAST)
        (said,) = recording.said
        self.assertGreater(said["waits"], 20, said)
        self.assertEqual((said["early"], said["wrong"]), (0, 0), said)

    def test_none_ends_early_beside_children_that_are_watched(self):
        """Detached at their end, they die when they like, and SIGCHLD comes when it likes."""
        nr = dict.fromkeys(("children", "waits", "signals"), 0)
        while min(nr.values()) <= 200:  # a busy machine starts less than that in one run
            (said,) = record(self.directory, [build("waits_beside_pidfds"), "8000"], *FAST).said
            self.assertEqual(said["early"], 0, said)
            # And those whose handler runs fail as ever.
            self.assertEqual(said["handled"], said["signals"], said)
            self.assertGreaterEqual(said["told"], said["signals"], said)
            for what in nr:
                self.assertGreater(said[what], 0, said)
                nr[what] += said[what]


class JobControl(LiveCase):
    """SIGSTOP, SIGTSTP and SIGCONT, as a shell sees them through waitpid."""

    def start_job(self, path):
        """In a process group of its own, as shells do: SIGTSTP spares orphaned groups."""
        return Running([build("progressing"), path], preexec_fn=lambda: os.setpgid(0, 0))

    def wait_status(self, pid, flags):
        seen = []

        def changed():
            got, status = os.waitpid(pid, flags | os.WNOHANG)
            seen.append(status)
            return got == pid

        self.eventually(changed, "a change of the target's state, seen by its parent")
        return seen[-1]

    def check_stop_and_continue(self, target, counters, number):
        os.kill(target.pid, number)
        status = self.wait_status(target.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        self.assertEqual(os.WSTOPSIG(status), number)
        self.assertEqual(counters.speed(0.3), 0, "a stopped target runs")
        os.kill(target.pid, signal.SIGCONT)
        status = self.wait_status(target.pid, os.WCONTINUED)
        self.assertTrue(os.WIFCONTINUED(status))
        self.assertProgress(counters, "a continued target")

    def test_stop_and_continue_under_attach(self):
        path = self.path("counters")
        with self.start_job(path) as target:
            target.wait_ready()
            counters = Counters(path)
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGSTOP):
                    self.check_stop_and_continue(target, counters, number)
                recording = recorder.interrupt()
            self.assertUntouched(target.pid)
            self.assertGreater(recording.report()["total_ns"], 0)

    def test_profc_ends_while_the_target_is_stopped(self):
        path = self.path("counters")
        with self.start_job(path) as target:
            target.wait_ready()
            counters = Counters(path)
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                os.kill(target.pid, signal.SIGSTOP)
                self.wait_status(target.pid, os.WUNTRACED)
                recorder.interrupt()
            self.assertEqual(procfs.tracer(target.pid), 0)
            self.assertEqual(counters.speed(0.3), 0, "the stop was lost")
            self.assertEqual(procfs.state(target.pid), "T")
            os.kill(target.pid, signal.SIGCONT)
            self.wait_status(target.pid, os.WCONTINUED)
            self.assertProgress(counters)

    def test_attach_to_a_stopped_process(self):
        path = self.path("counters")
        with self.start_job(path) as target:
            target.wait_ready()
            counters = Counters(path)
            os.kill(target.pid, signal.SIGSTOP)
            self.wait_status(target.pid, os.WUNTRACED)
            recording = attach(self.directory, target.pid, "-d", "300ms", status=None)
            self.assertIn(f"process {target.pid} is stopped", recording.stderr)
            self.assertIn(f"kill -CONT {target.pid}", recording.stderr)
            self.assertEqual(counters.speed(0.2), 0, "attaching continued a stopped process")
            self.assertEqual(procfs.state(target.pid), "T")
            os.kill(target.pid, signal.SIGCONT)
            self.wait_status(target.pid, os.WCONTINUED)
            self.assertProgress(counters)

    def test_attach_to_a_stopped_process_and_another(self):
        """Nor does it go unsaid where there are samples: here of who sleeps."""
        with self.start_job(self.path("counters")) as target, Running(["sleep", "1000"]) as other:
            target.wait_ready()
            os.kill(target.pid, signal.SIGSTOP)
            self.wait_status(target.pid, os.WUNTRACED)
            recording = attach(self.directory, f"{target.pid},{other.pid}", "-d", "300ms")
            self.assertIn(f"process {target.pid} is stopped", recording.stderr)
            self.assertIn(f"kill -CONT {target.pid}", recording.stderr)
            os.kill(target.pid, signal.SIGCONT)

    def test_storm_of_stops_and_continuations(self):
        """Each cancels the other, in any order and as fast as they can be sent."""
        path = self.path("counters")
        moments = random.Random(11)
        with self.start_job(path) as target:
            target.wait_ready()
            counters = Counters(path)
            with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                for _ in range(1500):
                    os.kill(target.pid, moments.choice(
                        (signal.SIGSTOP, signal.SIGCONT, signal.SIGTSTP, signal.SIGWINCH)
                    ))
                    if moments.random() < 0.3:
                        time.sleep(moments.uniform(0, 0.002))
                for _ in range(10):
                    os.kill(target.pid, signal.SIGCONT)
                    self.eventually(lambda: procfs.state(target.pid) not in "Tt", "going on")
                    self.assertProgress(counters, "a continued target")
                    os.kill(target.pid, signal.SIGSTOP)
                    # Its state may be that of a look at it, and who waits for a CPU stands, too.
                    self.eventually(
                        lambda: counters.speed(0.05) == 0 and procfs.state(target.pid) in "Tt",
                        "stopping",
                    )
                    self.assertEqual(counters.speed(0.05), 0, "a stopped target runs")
                    # To be let go on to listen it leaves its stop for a moment.
                    self.eventually(lambda: procfs.state(target.pid) in "Tt", "a lasting stop")
                os.kill(target.pid, signal.SIGCONT)
                recording = recorder.interrupt()
            self.assertEqual(recording.status, 0, recording.stderr)
            self.assertUntouched(target.pid)
            self.assertProgress(counters)

    def interrupted_waits(self, disturb):
        """How often each wait failed with EINTR: {name: count}."""
        with Running([build("stopped_waits")], preexec_fn=lambda: os.setpgid(0, 0)) as target:
            target.wait_ready()
            self.eventually(
                lambda: all(
                    procfs.state(target.pid, tid) == "S" for tid in procfs.threads(target.pid)
                ),
                "sleeping",
            )
            disturb(target)
            said = target.finish()
        self.assertEqual([wait["failed"] for wait in said], [0] * len(said), said)
        return {wait["name"]: wait["eintr"] for wait in said}

    def stop_and_continue(self, pid):
        """Each time until every thread has noticed."""
        for number in 10 * (signal.SIGSTOP, signal.SIGTSTP):
            for sent, states in ((number, "Tt"), (signal.SIGCONT, "S")):
                os.kill(pid, sent)
                self.eventually(
                    lambda wanted=states: all(
                        procfs.state(pid, tid) in wanted for tid in procfs.threads(pid)
                    ),
                    f"state {states}",
                )

    def test_calls_that_a_stop_breaks_off_fail_as_ever(self):
        """EINTR after SIGCONT, which signal(7) tells of, comes as without profc."""

        def stop_under_profc(target):
            with Recorder(self.directory, "attach", "-p", str(target.pid), *FAST) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                self.stop_and_continue(target.pid)
                counters.update(json.loads(recorder.interrupt().info("--json"))["counters"])

        counters = {}
        plain = self.interrupted_waits(lambda target: self.stop_and_continue(target.pid))
        profiled = self.interrupted_waits(stop_under_profc)
        self.assertEqual(plain["epoll_wait"], 20)
        # One that is sampled on its way out of the stop begins its call again: more often where it waits long for a CPU.
        for name, nr in plain.items():
            self.assertLessEqual(profiled[name], nr, name)
        self.assertLessEqual(sum(plain.values()) - sum(profiled.values()), counters["fixed_up_calls"])

    def test_command_of_record_stops_and_continues(self):
        """A shell between profc and the signals: `kill -STOP` of the recorded command."""
        script = (
            "import os, signal, subprocess, sys, time\n"
            "child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
            "time.sleep(0.1)\n"
            "for _ in range(3):\n"
            "    os.kill(child.pid, signal.SIGSTOP)\n"
            "    _, status = os.waitpid(child.pid, os.WUNTRACED)\n"
            "    assert os.WIFSTOPPED(status), status\n"
            "    os.kill(child.pid, signal.SIGCONT)\n"
            "    _, status = os.waitpid(child.pid, os.WCONTINUED)\n"
            "    assert os.WIFCONTINUED(status), status\n"
            "print('{\"status\": %d}' % child.wait())\n"
        )
        recording = record(
            self.directory, [sys.executable, "-c", script, build("spin_leaf"), "500"]
        )
        self.assertEqual(recording.said, [{"status": 0}])
        self.assertGreater(recording.report()["total_ns"], 400e6)


class Seccomp(LiveCase):
    def test_filter_without_restart_syscall_is_not_tripped(self):
        recording = record(self.directory, [build("seccomp_strict"), "1500"], *FAST)
        (said,) = recording.said
        self.assertGreater(said["naps"], 20)

    def test_filter_is_not_tripped_when_attached(self):
        with Running([build("seccomp_strict"), "1500"]) as target:
            target.wait_ready()
            attach(self.directory, target.pid, *FAST, "-d", "1")
            (said,) = target.finish()
        self.assertGreater(said["naps"], 20)

    def need_filters(self):
        if not procfs.reads_filters():
            self.skipTest("who may not read filters cannot know what they allow")

    def crowd(self, *arguments):
        self.need_filters()
        self.recording = recording = record(
            self.directory, [build("seccomp_crowd"), "4000", *arguments], *FAST
        )
        self.assertEqual(recording.status, 0)
        (said,) = recording.said
        self.assertGreater(said["waits"], 200, said)
        self.assertEqual(said["early"], 0, said)
        return said

    def test_waits_under_a_filter_end_under_signals_that_nobody_cares_for(self):
        """Begun anew by each, they never did."""
        said = self.crowd("signals")
        self.assertEqual(said["failed"], 0, said)

    def test_signals_while_the_main_thread_runs_wake_no_other(self):
        """While it is traced, the kernel would wake one of those that wait."""
        said = self.crowd("busy")
        self.assertEqual(said["failed"], 0, said)
        # It is not stopped, and its time is known all the same.
        rows = {row["function"]: row for row in self.recording.rows()}
        self.assertGreater(rows["[unknown]"]["self_pct"], 80)
        self.assertIn("no stack taken", self.recording.info())

    def test_ends_of_children_wake_no_other_than_who_waits_for_them(self):
        """They are for the thread that has started the child."""
        for mode in ("unwatched", "watched"):
            with self.subTest(mode=mode):
                said = self.crowd(mode)
                self.assertGreater(said["children"], 200, said)
                self.assertEqual(said["failed"], 0, said)

    def test_signals_wake_no_other_when_attached(self):
        self.need_filters()
        with Running([build("seccomp_crowd"), "4000", "busy"]) as target:
            target.wait_ready()
            attach(self.directory, target.pid, *FAST, "-d", "2")
            (said,) = target.finish()
        self.assertEqual(said["failed"], 0, said)

    def test_a_main_thread_is_sampled_whose_filter_harms_none(self):
        self.need_filters()
        recording = record(self.directory, [build("seccomp_crowd"), "2000", "allowed"], *FAST)
        self.assertGreater(recording.function("run_for")["total_pct"], 80)

    def test_so_are_threads_that_all_may_get_signals_once_a_filter_is_read(self):
        """Which is after a second, at the stop of one of them."""
        self.need_filters()
        recording = record(self.directory, [build("seccomp_crowd"), "4000", "parents"], *FAST)
        self.assertGreater(recording.function("run_for")["total_pct"], 50)

    def test_so_is_one_that_alone_has_a_filter(self):
        """No other thread will show it."""
        self.need_filters()
        recording = record(self.directory, [build("seccomp_crowd"), "4000", "late"], *FAST)
        self.assertGreater(recording.function("run_for")["total_pct"], 50)

    def test_threads_without_a_filter_are_no_reason_to_wake_others(self):
        said = self.crowd("mixed")
        self.assertEqual(said["failed"], 0, said)

    def test_answers_of_others_stay(self):
        """SECCOMP_RET_TRACE, which is not meant for us, and SECCOMP_RET_USER_NOTIF."""
        recording = record(self.directory, [build("seccomp_answers"), "1500"], *FAST)
        if "absent" in recording.said[0]:
            self.skipTest(recording.said[0]["absent"])
        for said in recording.said:
            with self.subTest(answered_by=said["name"]):
                self.assertGreater(said["calls"], 50, said)
                self.assertEqual(said["wrong"], 0, said)
