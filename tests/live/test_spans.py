# SPDX-License-Identifier: GPL-2.0-or-later
"""record --spans: how long each call of a function took, beside what the program measures itself."""

import json
import os
import platform
import signal
import time
import unittest

from live import LiveCase
from profc import Recorder, profc, record
from targets import Running, build

PROGRAM = ("timed_calls.c", "-O2", "-g", "-D_GNU_SOURCE", "-pthread")
PROGRAM_OF_LOCK = ("slow_calls.c", "-O2", "-g", "-D_GNU_SOURCE", "-pthread")


def spans_of(recording):
    return json.loads(profc("report", "-i", recording.path, "--spans", "--json").stdout)["spans"]


@unittest.skipIf(platform.machine() == "x86_64", "calls are timed here")
class Elsewhere(LiveCase):
    def test_refused_before_the_command_starts(self):
        started = self.path("started")
        done = profc("record", "--spans", "main", "-o", self.path("none"), "--", "touch", started,
                     status=2)
        self.assertIn("calls cannot be timed on this kind of processor", done.stderr)
        self.assertFalse(os.path.exists(started))


@unittest.skipUnless(platform.machine() == "x86_64", "calls are timed on x86-64 only")
class Spans(LiveCase):
    def record(self, *words, spans="handle_request", options=()):
        program = build(*PROGRAM)
        recording = record(
            self.directory, [program, *map(str, words)], "--spans", spans, *options
        )
        (row,) = spans_of(recording)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertEqual(counters["probe_dropped"], 0)
        return recording.said[0], row

    def assert_times(self, said, row):
        """The program begins earlier and ends later: some may be in the range before."""
        ns = said["ns_per_cycle"]
        self.assertEqual(row["calls"], said["ended"])
        self.assertEqual(sum(length["calls"] for length in row["lengths"]), said["ended"])
        self.assertLessEqual(row["total_ns"], said["total"] * ns * 1.001)
        self.assertLessEqual(row["longest_ns"], said["longest"] * ns * 1.001 + 1)
        own = [
            (index if index < 16 else (8 + index % 8) << index // 8 - 1, nr)
            for index, nr in enumerate(said["lengths"])
        ]
        for length in row["lengths"]:
            # No more are as long as that by the probes than by the program, and not many less.
            as_long = sum(other["calls"] for other in row["lengths"] if other["least_ns"] >= length["least_ns"])
            of_own = sum(nr for least, nr in own if least * ns >= length["least_ns"] * 0.99 - 1)
            self.assertLessEqual(as_long, of_own, length)
            shorter = sum(nr for least, nr in own if least * ns >= length["end_ns"] * 1.3 + 100)
            self.assertGreaterEqual(as_long, shorter - said["ended"] // 200 - 10, length)

    def test_as_the_program_measures_itself(self):
        for threads in (1, 2, 8):
            with self.subTest(threads=threads):
                said, row = self.record("mixed", threads, 40000 // threads)
                self.assertEqual(said["calls"], 40000)
                self.assert_times(said, row)
                self.assertEqual(row["not_ended"], 0)

    def test_no_call_is_lost(self):
        for threads in (1, 2, 8):
            with self.subTest(threads=threads):
                said, row = self.record("short", threads, 2000000 // threads, options=["--no-cpu"])
                self.assertEqual(row["calls"], said["calls"])
                self.assertEqual(row["not_ended"], 0)

    def test_the_longest_has_its_thread_and_time(self):
        said, row = self.record("mixed", 2, 10000)
        self.assertEqual(row["longest_thread"], "timed_calls")
        self.assertGreater(row["longest_from_ns"], 0)
        # Unless the thread lost its CPU between its own clock and that of the probe.
        if row["longest_ns"] >= 0.999 * said["longest"] * said["ns_per_cycle"]:
            self.assertEqual(row["longest_tid"], said["tid"])

    def test_recursion_is_part_of_the_outermost_call(self):
        said, row = self.record("recursion", 2, 4000)
        self.assert_times(said, row)
        self.assertEqual(row["not_ended"], 0)

    def test_calls_that_are_left_have_no_length(self):
        said, row = self.record("jumps", 2, 4000)
        self.assert_times(said, row)
        self.assertEqual(row["not_ended"], said["calls"] - said["ended"])
        said, row = self.record("ends", 4, 500)
        self.assert_times(said, row)
        self.assertEqual(row["not_ended"], 4)

    def test_from_one_function_to_another(self):
        pair = "begin_request:end_request"
        for threads in (1, 8):
            with self.subTest(threads=threads):
                said, row = self.record("pairs", threads, 40000 // threads, spans=pair)
                self.assertEqual(row["function"], pair)
                self.assertEqual(said["ended"], 35000)
                self.assert_times(said, row)
                self.assertEqual(row["not_ended"], 5000)

    def test_a_pair_beside_a_function(self):
        recording = record(
            self.directory, [build(*PROGRAM), "pairs", "2", "80000"],
            "--spans", "begin_request:end_request>150us", "--spans", "handle_request",
        )
        rows = {row["function"]: row for row in spans_of(recording)}
        pair, calls = rows["begin_request:end_request"], rows["handle_request"]
        self.assertEqual((pair["calls"], pair["not_ended"]), (140000, 20000))
        self.assertEqual((calls["calls"], calls["not_ended"]), (160000, 0))
        self.assertTrue(all(call["length_ns"] >= 150_000 for call in pair["slow"]))
        slow = profc("report", "-i", recording.path, "--slow", "begin_request:end_request>150us").stdout
        self.assertIn("of 140,000 calls took 150", slow)
        text = profc("report", "-i", recording.path, "--spans", "--width", "150").stdout
        self.assertIn("20,000 calls were not seen to end", " ".join(text.split()))
        self.assertIn("or the first function of a pair was entered again", " ".join(text.split()))

    def test_pairs_that_cannot_be(self):
        program = build(*PROGRAM)
        for spans, words in (
            (["end_request:end_request"], "'end_request:end_request' are not two functions"),
            (["begin_request:end_request", "end_request"], "'end_request' is given twice"),
            (["run", "run"], "'run' is given twice"),
        ):
            options = [word for name in spans for word in ("--spans", name)]
            failed = profc("record", "-o", self.path("no.data"), *options, "--", program, "pairs", "1", "9", status=2)
            self.assertIn(words, failed.stderr)
        for options, words, timed in (
            # It may be in a file that comes later.
            (
                ["--spans", "begin_request:end_reques"],
                "no function is named 'end_reques'\nhint: did you mean 'end_request'?",
                [(0, 9)],
            ),
            (
                ["--spans", "begin_request:end_request", "--count", "^end_request$"],
                "the function is also counted",
                [],
            ),
        ):
            recording = record(self.directory, [program, "pairs", "1", "9"], *options)
            self.assertIn(words, recording.stderr)
            shown = profc("report", "-i", recording.path, "--spans", "--json", status=None).stdout
            rows = json.loads(shown)["spans"] if shown else []
            self.assertEqual([(row["calls"], row["not_ended"]) for row in rows], timed)

    def test_calls_among_the_first_bytes_of_a_pair(self):
        """The first function counts its calls, and a call with them; the second counts none."""
        recording = record(
            self.directory, [build("calls_at_entries"), "3000"], "--spans", "from_here:to_here",
            "--count-calls-in", "from_here", "--count-calls-in", "to_here",
        )
        (row,) = spans_of(recording)
        self.assertEqual((row["calls"], row["not_ended"]), (3000, 0))
        self.assertIn("counted 3,000 calls at 1 call site; 1 could not be", recording.stderr)
        (refused,) = json.loads(recording.info("--json"))["probes"]["refused"]
        self.assertIn("to_here", refused["function"])

    def test_a_pair_of_which_one_is_loaded_later(self):
        plugin = build("counted_plugin.c", "-O2", "-g", "-shared", "-fPIC")
        recording = record(
            self.directory, [build("calls_of_plugins"), plugin], "--spans", "main:plugin_function"
        )
        (row,) = spans_of(recording)
        self.assertEqual((row["calls"], row["not_ended"]), (0, 1))
        info = " ".join(recording.info("--width", "200").split())
        self.assertIn("its file was loaded after that of the other function of the pair", info)

    def test_several_functions(self):
        program = build(*PROGRAM)
        recording = record(
            self.directory, [program, "parts", "2", "4000"],
            "--spans", "look_up", "--spans", "run", "--spans", "handle_request",
        )
        rows = spans_of(recording)
        said = recording.said[0]
        # The slowest in total first: the threads, their requests, and parts of these.
        self.assertEqual([row["function"] for row in rows], ["run", "handle_request", "look_up"])
        self.assertEqual([row["calls"] for row in rows], [2, 8000, 16000])
        self.assertEqual([row["not_ended"] for row in rows], [0, 0, 0])
        self.assert_times(said, rows[1])
        text = profc("report", "-i", recording.path, "--spans", "--color", "never").stdout
        self.assertRegex(text, r"(?s) run\n.* handle_request\n.* look_up\n")

    def assert_slow(self, said, row):
        """Each call that was meant to be slow is there, with its thread, and nothing is that long else."""
        own = sorted((begin * said["ns_per_cycle"], tid) for begin, tid in said["slow"])
        self.assertGreater(len(own), 5)
        slow = [(call["from_ns"], call["from_ns"] + call["length_ns"], call["tid"]) for call in row["slow"]]

        def missing(offset):
            """The program read its clock within the call; the clocks differ by the offset."""
            return [
                (at, tid) for at, tid in own
                if not any(
                    begin - 20_000 <= at + offset <= end + 20_000 and tid == other
                    for begin, end, other in slow
                )
            ]

        self.assertEqual(min((missing(begin + 5_000 - own[0][0]) for begin, *_ in slow), key=len), [])

    def test_slow_calls_are_those_of_the_program(self):
        for limit in ("", ">150us"):
            with self.subTest(limit=limit):
                recording = record(
                    self.directory, [build(*PROGRAM), "mixed", "2", "20000"],
                    "--spans", "handle_request" + limit,
                )
                (row,) = spans_of(recording)
                self.assert_slow(recording.said[0], row)
                counters = json.loads(recording.info("--json"))["counters"]
                self.assertNotIn("slow_calls_dropped", counters)
                long = sum(length["calls"] for length in row["lengths"] if length["least_ns"] >= 150_000)
                if limit:
                    self.assertTrue(all(call["length_ns"] >= 150_000 for call in row["slow"]))
                    self.assertGreaterEqual(len(row["slow"]), long)

    def test_slow_calls_that_were_too_many_are_counted(self):
        recording = record(
            self.directory, [build(*PROGRAM), "short", "2", "300000"],
            "--spans", "handle_request>1ns", "--no-cpu",
        )
        (row,) = spans_of(recording)
        counters = json.loads(recording.info("--json"))["counters"]
        # The clocks of some processors go in steps: calls within one take no time.
        short = sum(length["calls"] for length in row["lengths"] if length["end_ns"] <= 2)
        nr_slow = len(row["slow"]) + counters["slow_calls_dropped"]
        self.assertLessEqual(nr_slow, 600000)
        self.assertGreaterEqual(nr_slow, 600000 - short)
        self.assertIn("slow calls whose times are missing", recording.info())

    def test_what_slow_calls_do_differently(self):
        """Every 40th call waits for a lock, for as long as the kernel says."""
        # All samples: within the overhead few may come to a wait of 8 ms.
        recording = record(
            self.directory, [build(*PROGRAM_OF_LOCK), "3000", "40"],
            "--spans", "handle_request>2ms", "--max-overhead", "0",
        )
        said = recording.said[0]
        (row,) = spans_of(recording)
        limit = ["-i", recording.path, "--slow", "handle_request>5ms"]
        found = json.loads(profc("report", *limit, "--json").stdout)
        long = [call for call in row["slow"] if call["length_ns"] >= 5_000_000]
        self.assertEqual(found["slow"]["calls"], len(long))
        self.assertGreaterEqual(len(long), said["slow"])
        self.assertEqual(found["slow"]["calls"] + found["others"]["calls"], said["calls"])
        self.assertAlmostEqual(
            found["slow"]["mean_ns"], sum(call["length_ns"] for call in long) / len(long), delta=1
        )
        (lock,) = [
            row for row in found["rows"] if row["object"] == "big_lock" and row["function"] == "take_lock"
        ]
        self.assertEqual(lock["state"], "blocked")
        self.assertLessEqual(lock["others"]["percent"], lock["others"]["ci"])
        total_ns = found["slow"]["mean_ns"] * len(long)
        blocked_ns = lock["slow"]["percent"] / 100 * total_ns
        self.assertAlmostEqual(
            blocked_ns, said["blocked_ns"],
            delta=1.5 * lock["slow"]["ci"] / 100 * total_ns + 0.1 * said["blocked_ns"],
        )
        for side in ("slow", "others"):
            whole = sum(row[side]["percent"] for row in found["rows"] if row["whole_state"])
            self.assertAlmostEqual(whole, 100, delta=0.1)
        # Through the lock the chain goes to the thread that slept with it.
        chain = json.loads(profc("report", *limit, "--chain", "--json").stdout)
        self.assertEqual(chain["slow_calls"], len(long))
        self.assertWithin(chain["total_ns"], total_ns, len(long), "the length of the calls")
        self.assertGreater(chain["links"]["owner"], said["slow"] / 2)
        owner_ns = sum(row["elapsed_ns"] for row in chain["rows"]
                       if (row["function"], row["wait"]) == ("hold", "clock_nanosleep"))
        self.assertGreater(owner_ns, blocked_ns / 2)
        # A filter of any view.
        locks = profc("report", *limit, "-m", "blocked", "--by", "lock", "--csv").stdout
        self.assertIn("big_lock", locks)
        self.assertIn("take_lock", profc("report", *limit, "-m", "wall", "--tree").stdout)
        self.assertNotIn("hold", profc("report", *limit, "-m", "wall", "--tree").stdout)
        self.assertIn("take_lock", profc("export", *limit, "--folded", "-m", "wall", "-o", "-").stdout)
        tree = profc("diff", recording.path, *limit[2:], "-m", "wall", "--tree", "--all").stdout
        self.assertIn(" take_lock\n", tree)
        text = profc("report", *limit, "--color", "never").stdout
        self.assertRegex(text, "calls took 5.00 ms or longer.* in the mean, and the others")
        self.assertRegex(text, "big_lock in take_lock")

    def test_slow_calls_that_there_are_not(self):
        recording = record(
            self.directory, [build(*PROGRAM_OF_LOCK), "300", "100"], "--spans", "handle_request"
        )
        for text, status, message in (
            ("handle_request>1h", 1, "no call of 'handle_request' as long as that"),
            ("handle_reqest", 1, "calls of 'handle_reqest' were not timed"),
            ("handle_request>p100", 2, "'>' is followed by a time"),
        ):
            done = profc("report", "-i", recording.path, "--slow", text, status=status)
            self.assertIn("--slow: ", done.stderr)
            self.assertIn(message, done.stderr)
        done = profc("report", "-i", recording.path, "--slow", "handle_request", "-m", "alloc", status=2)
        self.assertIn("--slow needs a metric of time", done.stderr)
        recording = record(self.directory, [build(*PROGRAM_OF_LOCK), "300", "100"])
        done = profc("report", "-i", recording.path, "--slow", "handle_request", status=1)
        self.assertIn("no calls were timed", done.stderr)

    def test_too_many_functions(self):
        names = [word for i in range(17) for word in ("--spans", f"f{i}")]
        done = profc("record", "-o", self.path("none"), *names, "--", "true", status=2)
        self.assertIn("--spans: 17 functions are too many, 16 can be timed at once", done.stderr)

    def test_attached_to(self):
        program = build(*PROGRAM)
        with Running([program, "mixed", "2", "20000", "wait"]) as running:
            running.wait_ready()
            with Recorder(
                self.directory, "attach", "-p", running.pid, "--spans", "handle_request", "-q"
            ) as recorder:
                self.eventually(lambda: self.is_timing(recorder.path), "probes")
                said = running.process.communicate("\n", timeout=60)[0]
                recording = recorder.finish()
        (row,) = spans_of(recording)
        self.assert_times(json.loads(said), row)
        self.assertEqual(row["not_ended"], 0)

    @staticmethod
    def is_timing(path):
        done = profc("report", "-i", path, "--spans", "--json", status=None)
        return done.returncode == 0 and json.loads(done.stdout)["spans"]

    def test_a_killed_recorder_leaves_the_program_alone(self):
        program = build(*PROGRAM)
        for wait_s in (0, 0.002, 0.005, 0.01, 0.02, 0.05):
            with self.subTest(wait_s=wait_s), Running(
                [program, "mixed", "2", "20000", "wait"]
            ) as running:
                running.wait_ready()
                with Recorder(
                    self.directory, "attach", "-p", running.pid, "--spans", "handle_request", "-q"
                ) as recorder:
                    running.process.stdin.write("\n")
                    running.process.stdin.flush()
                    time.sleep(wait_s)
                    os.kill(recorder.process.pid, signal.SIGKILL)
                    recorder.process.wait()
                said = json.loads(running.process.communicate(timeout=60)[0])
                self.assertEqual(running.process.returncode, 0)
                self.assertEqual(said["calls"], 40000)

    def test_names_and_combinations_that_cannot_be(self):
        program = build(*PROGRAM)
        recording = record(self.directory, [program], "--spans", "handle_reqest")
        self.assertIn("--spans: no function is named 'handle_reqest'", recording.stderr)
        with Running([program, "mixed", "1", "10", "wait"]) as running:
            running.wait_ready()
            done = profc(
                "attach", "-p", running.pid, "-o", self.path("none"), "--spans", "handle_reqest",
                status=1,
            )
            self.assertIn("--spans: no function is named 'handle_reqest'", done.stderr)
        for limit in ("10", "p99", "5x", "p101"):
            done = profc(
                "record", "-o", self.path("none"), "--spans", f"run>{limit}", "--", program,
                status=0 if limit == "10" else 2,
            )
            self.assertEqual("--spans: 'run>" in done.stderr, limit != "10")
        done = profc(
            "record", "-o", self.path("none"), "--spans", "run", "--within", "run", "--", program,
            status=2,
        )
        self.assertIn("--spans cannot be combined with --within", done.stderr)

    def test_a_function_that_cannot_be_timed(self):
        program = build(*PROGRAM, "-O0")
        recording = record(self.directory, [program, "mixed", "1", "2000"], "--spans", "note")
        self.assertIn("calls of note cannot be timed: ", recording.stderr)
        done = profc("report", "-i", recording.path, "--spans", status=1)
        self.assertIn("no calls were timed", done.stderr)

    def test_the_table(self):
        program = build(*PROGRAM)
        recording = record(
            self.directory, [program, "jumps", "1", "4000"], "--spans", "handle_request"
        )
        text = profc("report", "-i", recording.path, "--spans", "--color", "never").stdout
        self.assertIn("p99.9 longest", text)
        self.assertRegex(text, r"2,000 .*handle_request")
        self.assertIn("note: 2,000 calls were not seen to end", text)
