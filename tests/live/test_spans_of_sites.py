# SPDX-License-Identifier: GPL-2.0-or-later
"""--spans usdt:...: the time between two static probes, and the words by which programs know of it."""

import contextlib
import json
import os
import platform
import re
import signal
import subprocess
import time
import unittest

from live import LiveCase
from profc import Recorder, attach_to_count, profc, record
from targets import Running, build, need
from uprobes import Uprobe, need_uprobes, place

SPANS = "usdt:profc_test:request__begin:request__end"


def spans_of(recording):
    return json.loads(profc("report", "-i", recording.path, "--spans", "--json").stdout)["spans"]


def has_probes(path):
    done = subprocess.run([need("readelf"), "-n", path], check=False, capture_output=True, text=True)
    return "stapsdt" in done.stdout


def address_of(path, name):
    notes = subprocess.run(
        [need("readelf"), "-W", "-n", path], check=True, capture_output=True, text=True
    ).stdout
    return int(re.search(rf"Name: {name}\n\s*Location: (\w+)", notes)[1], 16)


@unittest.skipUnless(platform.machine() == "x86_64", "calls are timed on x86-64 only")
class Sites(LiveCase):
    PROGRAM = "usdt_sites"

    def words_of(self, running):
        running.process.stdin.write("\n")
        running.process.stdin.flush()
        return json.loads(running.process.stdout.readline())["semaphores"]

    def test_each_pass_of_the_program_is_timed(self):
        for threads in (1, 2, 8):
            with self.subTest(threads=threads):
                recording = record(
                    self.directory, [build(self.PROGRAM), threads, 400000 // threads], "--spans", SPANS
                )
                (row,) = spans_of(recording)
                said = recording.said[0]
                self.assertEqual(said["semaphores"], [1, 1])
                self.assertEqual((said["begun"], said["ended"]), (400000, 400000))
                self.assertEqual((row["calls"], row["not_ended"]), (400000, 0))
                self.assertEqual(sum(length["calls"] for length in row["lengths"]), 400000)
                self.assertEqual(row["function"], SPANS)
                # One of sixteen is 200 times as long.
                self.assertGreater(row["p99_ns"], 50 * row["p50_ns"])

    def test_a_probe_without_a_semaphore_and_in_a_position_dependent_program(self):
        for flags in ((), ("-no-pie", "-DIS_AT_FIXED_PLACE"), ("-O0",), ("-O3",), ("-fcf-protection=full",)):
            with self.subTest(flags=flags):
                recording = record(
                    self.directory, [build(self.PROGRAM, "-O2", "-g", *flags), 2, 20000],
                    "--spans", "usdt:profc_test:lone__mark:request__end",
                )
                (row,) = spans_of(recording)
                said = recording.said[0]
                self.assertEqual(said["semaphores"], [0, 1])
                self.assertEqual((said["begun"], said["ended"], said["marked"]), (0, 40000, 10000))
                self.assertEqual((row["calls"], row["not_ended"]), (10000, 0))

    def test_the_words_are_as_before_once_it_is_over(self):
        with Running([build(self.PROGRAM), "2", "300000", "0", "wait"]) as running:
            running.wait_ready()
            self.assertEqual(self.words_of(running), [0, 0])
            for _ in range(3):
                with Recorder(
                    self.directory, "attach", "-p", running.pid, "--spans", SPANS, "-q"
                ) as recorder:
                    self.eventually(lambda: self.words_of(running) == [1, 1], "semaphores")
                    recorder.interrupt()
                self.assertEqual(self.words_of(running), [0, 0])
            # Amid the calls.
            running.process.stdin.write("go\n")
            running.process.stdin.flush()
            recording = attach_to_count(
                self.directory, running.pid, "--spans", SPANS, "-q", "-d", "300ms"
            )
            said = json.loads(running.process.stdout.readline())
            self.assertEqual(said["semaphores"], [0, 0])
            (row,) = spans_of(recording)
            # It passes them from before the recording until after it.
            self.assertGreater(row["calls"], 0)
            self.assertLessEqual(row["calls"], said["ended"])
            self.assertLessEqual(row["not_ended"], 2)

    def test_another_tools_count_stays(self):
        with Running([build(self.PROGRAM), "1", "1000", "0", "wait"]) as running:
            running.wait_ready()
            running.process.stdin.write("want\n")
            running.process.stdin.flush()
            self.assertEqual(json.loads(running.process.stdout.readline())["semaphores"], [1, 0])
            with Recorder(
                self.directory, "attach", "-p", running.pid, "--spans", SPANS, "-q"
            ) as recorder:
                self.eventually(lambda: self.words_of(running) == [2, 1], "semaphores")
                recorder.interrupt()
            self.assertEqual(self.words_of(running), [1, 0])

    def test_a_killed_recorders_count_is_taken_away_by_the_next(self):
        with Running([build(self.PROGRAM), "1", "1000", "0", "wait"]) as running:
            running.wait_ready()
            with Recorder(
                self.directory, "attach", "-p", running.pid, "--spans", SPANS, "-q"
            ) as first:
                self.eventually(lambda: self.words_of(running) == [1, 1], "semaphores")
                os.kill(first.process.pid, signal.SIGKILL)
                first.process.wait()
            self.assertEqual(self.words_of(running), [1, 1])
            attach_to_count(self.directory, running.pid, "--spans", SPANS, "-q", "-d", "100ms")
            self.assertEqual(self.words_of(running), [0, 0])

    def test_a_killed_recorder_leaves_a_program_that_goes_on(self):
        for wait_s in (0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1):
            with self.subTest(wait_s=wait_s), Running(
                [build(self.PROGRAM), "2", "100000", "0", "wait"]
            ) as running:
                running.wait_ready()
                with Recorder(
                    self.directory, "attach", "-p", running.pid, "--spans", SPANS, "-q"
                ) as recorder:
                    running.process.stdin.write("go\n")
                    running.process.stdin.flush()
                    time.sleep(wait_s)
                    os.kill(recorder.process.pid, signal.SIGKILL)
                    recorder.process.wait()
                said = json.loads(running.process.stdout.readline())
                self.assertEqual(said["marked"], 50000)
                self.assertTrue(all(word <= 1 for word in said["semaphores"]), said)
                # The next one clears away what is left, but for one of a stop that was cut short.
                attach_to_count(self.directory, running.pid, "--spans", SPANS, "-q", "-d", "50ms")
                self.assertTrue(all(word <= 1 for word in self.words_of(running)))
                running.process.stdin.close()
                self.assertEqual(running.process.wait(timeout=60), 0)

    LEAVES = "usdt:profc_test:leaf__begin:leaf__end"

    def test_what_is_below_the_stack_pointer_and_the_flags_are_as_before(self):
        for threads in (1, 4):
            with self.subTest(threads=threads):
                recording = record(
                    self.directory, [build(self.PROGRAM), threads, 200000 // threads, 10],
                    "--spans", self.LEAVES,
                )
                (row,) = spans_of(recording)
                self.assertEqual(recording.said[0]["wrong"], 0)
                self.assertEqual((row["calls"], row["not_ended"]), (2000000, 0))

    def test_so_they_are_for_threads_that_are_in_the_probes_when_these_go(self):
        with Running([build(self.PROGRAM), "4", "0", "400", "wait"]) as running:
            running.wait_ready()
            running.process.stdin.write("go\n")
            running.process.stdin.flush()
            calls = 0
            for _ in range(20):
                recording = attach_to_count(
                    self.directory, running.pid, "--spans", self.LEAVES, "-q", "-d", "20ms"
                )
                (row,) = spans_of(recording)
                calls += row["calls"]
            self.assertGreater(calls, 0)
            running.process.stdin.write("over\n")
            running.process.stdin.flush()
            said = json.loads(running.process.stdout.readline())
            self.assertEqual(said["wrong"], 0)
            self.assertGreater(said["marked"], 0)

    def test_names_that_cannot_be(self):
        program = build(self.PROGRAM)
        for spans, words in (
            ("usdt:profc_test:request__begin", "names no two static probes"),
            ("usdt:profc_test", "names no two static probes"),
            ("usdt:profc_test:lone__mark:lone__mark", "names no two static probes"),
        ):
            done = profc("record", "-o", self.path("no"), "--spans", spans, "--", program, status=2)
            self.assertIn(words, done.stderr)
        recording = record(
            self.directory, [program, "1", "10"], "--spans", "usdt:profc_test:request__begin:no"
        )
        self.assertIn("there is no static probe profc_test:no", recording.stderr)

    def test_what_is_refused_is_said_and_by_name(self):
        for probe, why in (
            ("own__mark", "the memory that a jump of one byte leads to is in use"),
            ("led__mark", "a branch leads to the jump after it"),
        ):
            with self.subTest(probe=probe):
                recording = record(
                    self.directory, [build(self.PROGRAM), "1", "1000"],
                    "--spans", f"usdt:profc_test:{probe}:request__end",
                )
                self.assertIn(
                    f"the time from or to profc_test:{probe} cannot be measured: {why}",
                    recording.stderr,
                )
                self.assertEqual(recording.said[0]["wrong"], 0)
                self.assertEqual(recording.said[0]["ended"], 0)

    def test_probes_in_places_that_are_reached_otherwise(self):
        for spans, calls in (
            ("table__begin:table__end", 1000),
            # Before a jump of five bytes; and others come to the instruction after it.
            ("cold__mark:skipped__mark", 4000),
            ("skipped__mark:cold__mark", 3999),
        ):
            with self.subTest(spans=spans):
                recording = record(
                    self.directory, [build(self.PROGRAM), "1", "8000"],
                    "--spans", f"usdt:profc_test:{spans}",
                )
                (row,) = spans_of(recording)
                self.assertEqual(row["calls"], calls)
                self.assertEqual(recording.said[0]["wrong"], 0)

    def counts_of(self, recording):
        return {row["function"]: row["calls"] for row in recording.report("-m", "calls")["rows"]}

    def refusal_of(self, recording):
        return json.dumps(json.loads(recording.info("--json"))["probes"])

    def test_beside_all_other_kinds_of_probes(self):
        recording = record(
            self.directory, [build(self.PROGRAM), "2", "20000", "2"], "--spans", self.LEAVES,
            "--spans", "handle", "--count", "^(leaf|early|by_table)$", "--wakers", "--mem",
        )
        rows = {row["function"]: row for row in spans_of(recording)}
        self.assertEqual(recording.said[0]["wrong"], 0)
        for function, calls in ((self.LEAVES, 80000), ("handle", 40000)):
            self.assertEqual((rows[function]["calls"], rows[function]["not_ended"]), (calls, 0))
        counts = self.counts_of(recording)
        self.assertEqual((counts["leaf"], counts["early"], counts["by_table"]), (80000, 40000, 40000))

    def test_where_another_probe_is_it_is_refused_by_name(self):
        program = [build(self.PROGRAM), "1", "1000"]
        recording = record(
            self.directory, program, "--spans", "usdt:profc_test:early__begin:call__end",
            "--count", "^early$",
        )
        self.assertIn(
            "the time from or to profc_test:early__begin cannot be measured: its place is also counted",
            recording.stderr,
        )
        self.assertEqual(recording.said[0]["wrong"], 0)
        recording = record(
            self.directory, program, "--spans", "usdt:profc_test:early__begin:call__end"
        )
        (row,) = spans_of(recording)
        self.assertEqual((row["calls"], row["not_ended"]), (1000, 0))

    def test_a_call_after_it(self):
        program = [build(self.PROGRAM), "1", "1000"]
        recording = record(
            self.directory, program, "--spans", "usdt:profc_test:call__begin:call__end",
            "--count-calls-in", "caller",
        )
        self.assertEqual(recording.said[0]["wrong"], 0)
        self.assertEqual(spans_of(recording)[0]["calls"], 1000)
        callees = profc("report", "-i", recording.path, "--json", "--no-inline", "--callees", "caller")
        (early,) = (
            node for node in json.loads(callees.stdout)["nodes"] if node["function"] == "early"
        )
        self.assertEqual(early["calls"], 1000)

    def at_probes(self, running, names, more):
        """Uprobes, so many bytes after the beginning of each of these probes."""
        path = os.path.realpath(f"/proc/{running.pid}/exe")
        address, offset = place(path, "leaf")
        stack = contextlib.ExitStack()
        for name in names:
            at = address_of(path, name)
            stack.enter_context(Uprobe(running.pid, path, at - address + offset + more))
        return stack

    def is_timed(self, running, name):
        """Is there a jump in place of the nop?"""
        path = os.path.realpath(f"/proc/{running.pid}/exe")
        with open(f"/proc/{running.pid}/maps", encoding="utf-8") as maps:
            first = next(line for line in maps if line.endswith(path + "\n"))
            start = int(first.split("-")[0], 16)
        with open(f"/proc/{running.pid}/mem", "rb", 0) as memory:
            memory.seek(start + address_of(path, name))
            return memory.read(1) == b"\xe9"

    def go(self, running):
        running.wait_ready()
        running.process.stdin.write("go\n")
        running.process.stdin.flush()

    def end(self, running):
        running.process.stdin.write("over\n")
        running.process.stdin.flush()
        said = json.loads(running.process.stdout.readline())
        self.assertEqual(said["wrong"], 0)
        running.process.stdin.close()
        self.assertEqual(running.process.wait(timeout=60), 0)

    def test_uprobes_of_another_tool_that_are_there_before(self):
        need_uprobes()
        for more in (0, 1):
            with self.subTest(more=more), Running(
                [build(self.PROGRAM), "2", "0", "100", "wait"]
            ) as running:
                self.go(running)
                with self.at_probes(running, ("leaf__end",), more):
                    recording = attach_to_count(
                        self.directory, running.pid, "--spans", self.LEAVES, "-d", "50ms"
                    )
                self.assertIn(
                    "the time from or to profc_test:leaf__end cannot be measured: its code in memory "
                    "is not that of its file",
                    recording.stderr,
                )
                self.end(running)

    def test_uprobes_of_another_tool_come_and_go(self):
        """On the probes, and on the instruction after them, by whose bytes our jumps go."""
        need_uprobes()
        for more in (0, 1):
            with self.subTest(more=more), Running(
                [build(self.PROGRAM), "2", "0", "100", "wait"]
            ) as running:
                self.go(running)
                recorder = Recorder(
                    self.directory, "attach", "-p", running.pid, "--spans", self.LEAVES, "-q"
                )
                with recorder:
                    self.eventually(lambda: self.is_timed(running, "leaf__end"), "probes")
                    time.sleep(0.3)
                    for _ in range(5):
                        with self.at_probes(running, ("leaf__begin", "leaf__end"), more):
                            time.sleep(0.02)
                        time.sleep(0.02)
                    recording = recorder.interrupt()
                self.assertGreater(spans_of(recording)[0]["calls"], 0)
                self.end(running)

    def test_python_says_when_it_collects_garbage(self):
        pythons = [path for path in ("/usr/bin/python3", need("python3")) if os.path.exists(path)]
        python = next((path for path in pythons if has_probes(os.path.realpath(path))), None)
        if not python:
            self.skipTest(f"{' and '.join(pythons)} have no static probes")
        code = "import gc\nfor _ in range(500): gc.collect()"
        recording = record(
            self.directory, [python, "-c", code], "--spans", "usdt:python:gc__start:gc__done"
        )
        (row,) = spans_of(recording)
        # The end of the interpreter has some of its own.
        self.assertGreaterEqual(row["calls"], 500)
        self.assertLess(row["calls"], 520)
        self.assertEqual(row["not_ended"], 0)
