# SPDX-License-Identifier: GPL-2.0-or-later
"""--spans usdt:...: the time between two static probes, and the words by which programs know of it."""

import json
import os
import platform
import signal
import subprocess
import time
import unittest

from live import LiveCase
from profc import Recorder, attach_to_count, profc, record
from targets import Running, build, need

SPANS = "usdt:profc_test:request__begin:request__end"


def spans_of(recording):
    return json.loads(profc("report", "-i", recording.path, "--spans", "--json").stdout)["spans"]


def has_probes(path):
    done = subprocess.run([need("readelf"), "-n", path], check=False, capture_output=True, text=True)
    return "stapsdt" in done.stdout


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
        for flags in ((), ("-no-pie",), ("-O0",), ("-O3",), ("-fcf-protection=full",)):
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
        with Running([build(self.PROGRAM), "2", "300000", "wait"]) as running:
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
        with Running([build(self.PROGRAM), "1", "1000", "wait"]) as running:
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
        with Running([build(self.PROGRAM), "1", "1000", "wait"]) as running:
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
                [build(self.PROGRAM), "2", "100000", "wait"]
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
