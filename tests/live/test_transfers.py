# SPDX-License-Identifier: GPL-2.0-or-later
"""Long transfers come out whole: a thread is not stopped in the midst of one.

Of a thread that is off its CPU root can see where it is in the kernel. Only one that is
taken over by another CPU between that look and the stop can still be met: one in thousands of
stops. Were they not asked, nearly each stop would cut one: that tells the two apart anywhere.
"""

import json
import os

from live import LiveCase
from profc import attach, record
from targets import Running, build

FAST = ("-F", "1000", "--max-overhead", "0")
MORE = ("blocking_waits", "blocking_transfers", "blocking_locks")


# What was cut of these is carried on; not so of streams.
CARRIED_ON = (
    "read_zero",
    "read_zero_mixed",
    "pread_zero_mixed",
    "getrandom",
    "sendfile_file",
    "sendfile_null",
    "copy_file_range",
)


class OrdinaryUser(LiveCase):
    """Without real-time priority and kernel stacks, how a thread sleeps tells."""

    def test_who_computes_and_sends_in_turns_is_seen_computing(self):
        """It was left alone for 50 ms after each look that found it sending: for ever."""
        user = self.ordinary_user()
        program = self.public(build("computes_and_sends"))
        os.chmod(self.directory, 0o777)
        recording = record(self.directory, [program, "2000"], *FAST, cwd=self.directory, **user)
        (said,) = recording.said
        compute = recording.function("compute")
        share = 0.7 - recording.missed_share()
        self.assertShareAtLeast(compute["total_ns"], said["compute_ns"], share, "seen computing")

    def test_what_is_carried_on_comes_out_whole(self):
        user = self.ordinary_user()
        program = self.public(build("long_transfers"))
        os.chmod(self.directory, 0o777)
        recording = record(self.directory, [program, "2000"], *FAST, cwd=self.directory, **user)
        for case in recording.said:
            self.assertGreater(case["calls"], 0, case)
            self.assertEqual(case["failed"], 0, case)
            if case["name"] in CARRIED_ON:
                # Its thread's first may be: nothing is known of it yet; and some that wait for a CPU
                # in between. Were they not guarded, nearly all would be: samples are 1 ms apart.
                self.assertLessEqual(case["shorts"], 3 + case["calls"] / 20, case)
        self.assertGreater(recording.report("-m", "samples")["samples"], 100)

    def test_what_is_carried_on_beside_signals_says_what_it_did(self):
        """Also where the first transfer of a new thread was cut, or a signal cuts one."""
        user = self.ordinary_user()
        program = self.public(build("reads_by_many"))
        os.chmod(self.directory, 0o777)
        recording = record(self.directory, [program, "2000"], *FAST, cwd=self.directory, **user)
        (said,) = recording.said
        self.assertGreater(said["handled"], 50, said)
        self.assertEqual((said["wrong"], said["changed"]), (0, 0), said)

    def test_calls_that_wait_come_out_as_ever(self):
        """But for the long transfers, which are what the test above is about."""
        user = self.ordinary_user()
        program = self.public(build("blocking_calls", more=MORE))
        os.chmod(self.directory, 0o777)
        for _ in range(2):
            recording = record(
                self.directory, [program, "3000"], *FAST, cwd=self.directory, **user
            )
            for case in recording.said:
                with self.subTest(call=case["name"]):
                    # A connect() that is begun again and runs into its time-out says EALREADY.
                    most = 1 if case["name"] == "connect_tcp_timeout" else 0
                    self.assertEqual(case["eintr"], 0, case)
                    self.assertLessEqual(case["wrong"], most, case)


class AtOnce(LiveCase):
    def assertNeverSpared(self, recording):
        (said,) = recording.said
        self.assertGreater(said["calls"], 1000, said)
        self.assertEqual(said["shorts"], 0, said)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["stops"], 100)
        self.assertEqual(counters["spared_stops"], 0)

    def test_who_sends_what_there_is_room_for_is_not_spared(self):
        """A transfer that never waits looks for no signal: nothing cuts it short."""
        self.assertNeverSpared(record(self.directory, [build("sends_at_once"), "2000"], *FAST))

    def test_nor_is_an_ordinary_user(self):
        user = self.ordinary_user()
        program = self.public(build("sends_at_once"))
        os.chmod(self.directory, 0o777)
        self.assertNeverSpared(
            record(self.directory, [program, "2000"], *FAST, cwd=self.directory, **user)
        )


class Transfers(LiveCase):
    def test_timeouts_of_io_uring_come_though_signals_break_the_waits_off(self):
        recording = record(self.directory, [build("uring_timeouts"), "10"], *FAST)
        (said,) = recording.said
        self.assertEqual((said["submitted"], said["timed_out"]), (10, 10), said)
        self.assertEqual(said["early"], 0, said)

    def setUp(self):
        super().setUp()
        try:
            with open("/proc/thread-self/stack", encoding="ascii") as stack:
                stack.read()
        except OSError as error:
            self.skipTest(f"/proc/PID/stack is not to be had: {error}")
        if os.geteuid() != 0:
            self.skipTest("only root gets real-time priority and kernel stacks")

    def assertWhole(self, cases, *recordings, share=0.01):
        for case in cases:
            self.assertGreater(case["calls"], 0, case)
        cut = {case["name"]: case["shorts"] for case in cases if case["shorts"]}
        stops = sum(json.loads(one.info("--json"))["counters"]["stops"] for one in recordings)
        self.assertLessEqual(sum(cut.values()), share * stops, cut)

    def test_among_blocking_calls(self):
        program = build("blocking_calls", more=MORE)
        recording = record(self.directory, [program, "2000"], *FAST)
        whole = [case for case in recording.said if case["expects"] == "transfer"]
        self.assertGreaterEqual(len(whole), 4)
        self.assertWhole(whole, recording)

    def test_as_fast_as_they_can_and_mixed(self):
        recording = record(self.directory, [build("long_transfers"), "1000"], *FAST)
        self.assertWhole(recording.said, recording)

    def test_short_writes_that_wait_for_room(self):
        """Of a page to a terminal, or of three to a pipe: a part may have been taken."""
        options = ("-F", "4000", "--max-overhead", "0", "--no-symbols", "-d", "2s")
        with Running([build("transfers_in_parts")]) as target:
            target.wait_ready()
            recording = attach(self.directory, target.pid, *options)
            self.assertWhole(target.finish(), recording, share=0.003)

    def test_when_attached_in_the_midst(self):
        with Running([build("long_transfers"), "3000"]) as target:
            target.wait_ready()
            options = (*FAST, "--no-symbols", "-d", "700ms")
            recording = attach(self.directory, target.pid, *options)
            self.assertWhole(target.finish(), recording)
