# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that block: never woken, and their time charged where they block."""

import contextlib
import json
import math
import os
import signal
import time

import procfs
from live import LiveCase
from profc import Recorder, attach, profc, record
from targets import Running, build

FAST = ("-F", "1000", "--max-overhead", "0")
TIMEOUT_NS = 120e6  # of every timed case but sleep()
# Where no CPU is idle, --max-overhead bounds the looks at sleeping threads, too.
SLOW = ("-F", "100", "--max-overhead", "0")
MORE = ("blocking_waits", "blocking_transfers", "blocking_locks")


class Idle(LiveCase):
    def test_report_of_a_sleeper_leads_to_where_it_waits(self):
        recording = record(self.directory, ["sleep", "1"])
        said = profc("report", "-i", recording.path).stdout
        self.assertRegex(said, r"note: the threads were on-CPU for only <?[0-4]\.[0-9]% of\s+"
                               r"their\s+time,\s+blocked\s+for\s+[0-9.]+%\s+\(-m\s+blocked\s+shows\s+where\)")
        self.assertNotIn("higher -F", said)


class BlockingCalls(LiveCase):
    """A thread in each of 83 blocking calls, sampled at 1000 Hz."""

    def check(self, cases):
        self.assertGreaterEqual(len([case for case in cases if not case["absent"]]), 70)
        for case in cases:
            with self.subTest(call=case["name"]):
                for harm in ("eintr", "wrong"):
                    self.assertEqual(case[harm], 0, f"{harm} of {case}")
                if case["expects"] != "never" and not case["absent"]:
                    self.assertGreater(case["calls"], 0)

    def checkTimeouts(self, rounds):
        """
        rounds() gives the cases of a run without profc and of one with it, side by side. A call
        that begins anew is stretched each time; the noise of a machine meets now one, now another.
        """
        stretched = set()
        for nr in range(3):
            plain, cases = rounds()
            self.check(cases)
            found = self.stretched(cases, plain)
            stretched = stretched & found if nr else found
            if not stretched:
                return
        self.fail(f"stretched each time: {stretched}")

    def stretched(self, cases, plain):
        """The timeouts that lasted half as long again as asked for, and as undisturbed."""
        quiet = {case["name"]: max(case["longest_ns"], TIMEOUT_NS) for case in plain}
        return {
            case["name"]
            for case in cases
            if case["expects"] == "timeout"
            and case["longest_ns"] > quiet[case["name"]] + TIMEOUT_NS / 2
        }

    def test_recorded_from_the_start(self):
        program = build("blocking_calls", more=MORE)

        def recorded():
            with Running([program, "3000"]) as untraced:
                cases = record(self.directory, [program, "3000"], *FAST).said
                return untraced.finish(), cases

        self.checkTimeouts(recorded)

    def test_attached_and_detached_midway(self):
        program = build("blocking_calls", more=MORE)

        def attached():
            with Running([program, "3500"]) as untraced, Running([program, "3500"]) as target:
                target.wait_ready()
                for _ in range(2):
                    attach(self.directory, target.pid, *FAST, "-d", "1")
                self.assertUntouched(target.pid)
                return untraced.finish(), target.finish()

        self.checkTimeouts(attached)


class BlockedTime(LiveCase):
    def test_is_charged_to_the_function_that_blocks(self):
        stolen_ns = -procfs.stolen_ns()
        recording = record(self.directory, [build("sleeping"), "2000"])
        stolen_ns += procfs.stolen_ns()
        rows = {row["function"]: row["total_ns"] for row in recording.rows("-m", "blocked")}
        waits, blocks = (
            {row["tid"]: row["self_ns"] for row in recording.rows("--by", "thread", "-m", metric)}
            for metric in ("runq", "blocked")
        )
        for said in recording.said:
            blocked = rows[said["function"]]
            # What the host takes in between is no CPU time, and where no look met it, as sleep.
            most = 1.03 * said["blocked_ns"] + stolen_ns
            self.assertLessEqual(blocked, most, said["function"])
            # The program's clock also counts the wait for a CPU after each wake-up, of which
            # the stack may be unknown: these threads run for microseconds.
            waited = waits.get(said["tid"], 0)
            whole = blocks[said["tid"]]
            self.assertGreaterEqual(whole + waited, 0.97 * said["blocked_ns"], said["function"])
            # Where it sleeps may be unknown until the first look.
            known = 0.97 - recording.missed_share()
            self.assertGreaterEqual(blocked + waited, known * whole, said["function"])

    def test_cpu_is_not_charged_to_the_call_slept_in(self):
        recording = record(self.directory, [build("sleeping"), "2000"], *FAST)
        (said,) = [one for one in recording.said if one["function"] == "sleep_between_work"]
        times = {row["function"]: row["total_ns"] for row in recording.rows()}
        # Some of it may stand for no stack where the CPUs are busy.
        unknown = recording.report()["total_ns"] - self.known_ns(recording)
        found = times["work_between_sleeps"]
        self.assertLessEqual(found, 1.1 * said["cpu_ns"])
        self.assertGreaterEqual(found + unknown, 0.9 * said["cpu_ns"])
        asleep = [name for name in times if "nanosleep" in name]
        self.assertLess(sum(times[name] for name in asleep), 0.1 * said["cpu_ns"], asleep)

    def test_of_a_stop_is_charged_to_where_the_thread_ran(self):
        """Of one that computes, by job control: nothing else says where it stands."""
        with Running([build("spin_leaf"), "1000"]) as target:
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                # Where it stands is known from the samples before.
                self.wait_until_recorded(recorder.path, cpu_ns=20e6)
                stopping_ns = time.monotonic_ns()
                os.kill(target.pid, signal.SIGSTOP)
                self.eventually(lambda: procfs.state(target.pid) in "tT", "the stop")
                stopped_ns = time.monotonic_ns()
                time.sleep(2)
                continuing_ns = time.monotonic_ns()
                os.kill(target.pid, signal.SIGCONT)
                continued_ns = time.monotonic_ns()
                recording = recorder.finish()
        blocked = recording.function("spin_leaf", "-m", "blocked")["total_ns"]
        self.assertLessEqual(blocked, 1.03 * (continued_ns - stopping_ns))
        # The looks at a sleep come after each eighth of it: its end may be in none, if busy CPUs
        # let the process go on unseen.
        self.assertGreaterEqual(blocked, 0.85 * (continuing_ns - stopped_ns))
        whole = recording.report("-m", "blocked")["total_ns"]
        whole += recording.report("-m", "runq")["total_ns"]
        self.assertGreaterEqual(whole, 0.97 * (continuing_ns - stopped_ns))
        self.assertMostlyIn(recording, "spin_leaf", 0.98)

    def test_of_naps_is_seen_though_ticks_could_end_them(self):
        """The timer of a tick ends sleeps on its CPU that would be over within their slack."""
        with contextlib.ExitStack() as loops:
            for _ in range(2 * os.cpu_count()):
                loops.enter_context(Running([build("spin_leaf"), "60000"]))
            recording = record(self.directory, [build("known_shares"), "naps", "2000"], *FAST)
        found = recording.function("nap_a", "-m", "blocked")["total_pct"]
        self.assertGreater(found, recording.said[0]["pct"] / 2)

    def test_names_the_system_call(self):
        recording = record(self.directory, [build("sleeping"), "800"])
        rows = {row["name"]: row for row in recording.rows("--by", "syscall", "-m", "blocked")}
        for syscall in ("clock_nanosleep", "poll", "read", "futex"):
            self.assertIn(syscall, rows)
            self.assertGreater(rows[syscall]["self_ns"], 500e6, syscall)

    def test_contention_shows_where_threads_wait(self):
        recording = record(self.directory, [build("mutex_contention"), "1500"])
        (said,) = recording.said
        waited = recording.function("wait_for_lock", "-m", "wall")
        held = recording.function("hold_the_lock", "-m", "wall")
        # Who was woken and has no CPU yet may be seen where it goes on next; on an idle machine
        # that is next to nothing.
        runq = sum(row["self_ns"] for row in recording.rows("--by", "thread", "-m", "runq"))
        whole = recording.report("-m", "wall")
        # Before the first sample it may have been either.
        unknown = sum(row["self_ns"] for row in recording.rows("-m", "wall")
                      if row["function"] == "[unattributed]")
        self.assertLess(unknown, (0.1 + recording.missed_share()) * whole["total_ns"])
        for row, said_ns in ((waited, said["waited_ns"]), (held, said["held_ns"])):
            share = said_ns / whole["total_ns"]
            error = 3 * math.sqrt((1 - share) / share / whole["samples"])
            self.assertLessEqual(row["total_ns"] - runq, (1 + error) * said_ns, row["function"])
            known_ns = (1 - error) * said_ns - unknown
            self.assertGreaterEqual(row["total_ns"] + runq, known_ns, row["function"])

    def test_stacks_of_sleepers_are_whole(self):
        """Also where the caller of the blocking call keeps a frame pointer."""
        for flags in (("-O2", "-g"), ("-O0", "-g"), ("-O2", "-g", "-fno-omit-frame-pointer")):
            with self.subTest(flags=flags):
                recording = record(self.directory, [build("sleeping", *flags), "600"])
                whole = complete = unknown = 0
                for frames, weight in recording.folded("-m", "blocked"):
                    if frames[-1] == "[unattributed]":
                        unknown += weight  # before the first sample of a thread
                        continue
                    whole += weight
                    complete += weight if "sleeper_main" in frames or "main" in frames else 0
                self.assertShareAtLeast(complete, whole, 0.95, "stacks to the thread's entry")
                self.assertShareAtLeast(whole, whole + unknown, 0.5, "known stacks")


class Bursts(LiveCase):
    def test_short_bursts_get_their_share(self):
        recording = record(self.directory, [build("bursts"), "4000"], *FAST)
        *bursts, end = recording.said
        cpu = end["cpu_ns"]
        self.assertRatio(recording.report()["total_ns"], cpu, 0.02, "total CPU")
        for said in bursts:
            row = recording.function(said["function"])
            share = 100 * said["burst_ns"] / cpu
            self.assertShare(row, "total_pct", share, said["function"])


class IdleThreads(LiveCase):
    def recorded_ns(self, recording, pid):
        """
        Of all threads but the first. A busy machine leaves no time to find each of hundreds at
        once, and to look at it: those that were, from then on.
        """
        threads = recording.rows("--by", "thread", "-m", "blocked")
        sampled = [row["tid"] for row in threads if row["self_samples"] and row["tid"] != pid]
        self.assertGreater(len(sampled), 100)
        info = json.loads(recording.info("--json"))
        starts = {thread["tid"]: thread["start_ns"] for thread in info["threads"]}
        return sum(info["duration_ns"] - starts[tid] for tid in sampled)

    def test_sleeps_are_known_to_the_end_among_many_threads(self):
        """Each in its turn is looked at every few seconds, and nobody sees the last of it."""
        program = build("crowd_sleeps")
        recording = record(self.directory, [program, "400", "4000"], *SLOW)
        (said,) = recording.said
        self.assertEqual(said["eintr"], 0)
        # Some ten sleeps are a small sample where others have the CPUs; who forgets between its
        # turns finds half of one, and twice the other.
        missed = recording.missed_share()
        rows = recording.rows("-m", "blocked")
        blocked_ns = {row["function"]: row["total_ns"] for row in rows}
        for name, slept_ns, tolerance in (
            ("idle_wait", said["crowd_ns"], 0.05 + missed),
            ("long_sleep", said["long_ns"], 0.3 + missed),
            ("short_sleep", said["short_ns"], 0.45 + missed),
        ):
            found_ns = blocked_ns.get(name, 0)
            self.assertRatio(found_ns, slept_ns, tolerance, f"time blocked in {name}")

    def test_sleeps_are_known_where_a_recording_of_many_threads_ends(self):
        """They wake some times a second and sleep on in the same function when it ends."""
        with Running([build("crowd_sleeps"), "300", "8000", "300"]) as target:
            target.wait_ready()
            recording = attach(self.directory, target.pid, *SLOW, "-d", "1500ms")
            self.assertUntouched(target.pid)
        idle = recording.function("idle_wait", "-m", "blocked")
        self.assertLessEqual(idle["total_ns"], 1.05 * 300 * recording.report()["duration_ns"])
        whole_ns = self.recorded_ns(recording, target.pid)
        # Those that wake wait for a CPU, where others have these.
        waited_ns = recording.report("-m", "runq")["total_ns"]
        share = 0.95 - recording.missed_share()
        self.assertShareAtLeast(idle["total_ns"] + waited_ns, whole_ns, share, "idle_wait")

    def test_a_thousand_sleepers_feel_nothing(self):
        with Running([build("threads_idle"), "1000", "3000"]) as target:
            target.wait_ready()
            recording = attach(self.directory, target.pid, "--max-overhead", "0", "-d", "2")
            self.assertUntouched(target.pid)
            (said,) = target.finish()
        self.assertEqual(said["threads"], 1000)
        self.assertEqual(said["eintr"], 0)
        self.assertMostlyIn(recording, "busy_work", 0.9)
        idle = recording.function("idle_wait", "-m", "blocked")
        share = 0.8 - recording.missed_share()
        whole_ns = self.recorded_ns(recording, target.pid)
        self.assertShareAtLeast(idle["total_ns"], whole_ns, share, "idle_wait")
