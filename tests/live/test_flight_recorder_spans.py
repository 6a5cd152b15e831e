# SPDX-License-Identifier: GPL-2.0-or-later
"""Timed calls of a flight recorder: a file has those of its time, and one that takes long is a trigger."""

import json
import os
import platform
import time
import unittest

from live import LiveCase
from profc import profc
from recorder_case import RecorderCase, words
from targets import build

IN_COMPANY = True
# A busy machine holds up a short call for some 200 ms.
LIMIT_NS = 500_000_000
TRIGGER = "span:handle_request>500ms"


@unittest.skipUnless(platform.machine() == "x86_64", "calls are timed on x86-64 only")
class Spans(RecorderCase):
    PROGRAM = "serves_on_request"

    def begin(self, *options, spans="handle_request", keep="4s"):
        recorder = self.record("--spans", spans, *options, keep=keep)
        self.addCleanup(recorder.__exit__, None, None, None)
        recorder.__enter__()
        self.assertEqual(recorder.process.stdout.readline(), "ready\n")
        return recorder

    def ask(self, recorder, line):
        """Has the program do so; returns its own calls, and the longest of them, up to then."""
        self.tell(recorder, line)
        return json.loads(recorder.process.stdout.readline())

    def spans_of(self, recording):
        (row,) = json.loads(profc("report", "-i", recording.path, "--spans", "--json").stdout)["spans"]
        return row

    def slow_rows(self, recording, limit):
        return json.loads(profc("report", "-i", recording.path, "--slow", limit, "--json").stdout)

    def assertOneSlow(self, recording):
        """The call is in the file, with its thread."""
        row = self.spans_of(recording)
        call = max(row["slow"], key=lambda call: call["length_ns"])
        self.assertGreaterEqual(call["length_ns"], LIMIT_NS)
        self.assertEqual(call["thread"], "serves_on_reque")
        self.assertEqual(call["length_ns"], row["longest_ns"])
        return call

    def test_a_call_that_takes_long_leaves_a_file_with_what_it_waited_for(self):
        recorder = self.begin("--trigger", TRIGGER)
        time.sleep(1)
        said = self.ask(recorder, "wait 1000")
        recording = self.file_of(recorder, "span")
        self.assertTriggered(recording, TRIGGER)
        call = self.assertOneSlow(recording)
        self.assertLessEqual(call["length_ns"], said["longest_ns"] * 1.001 + 1000)
        self.assertGreater(call["length_ns"], said["longest_ns"] * 0.9)
        found = self.slow_rows(recording, TRIGGER.removeprefix("span:"))
        self.assertEqual(found["slow"]["calls"], 1)
        (lock,) = [row for row in found["rows"] if row["object"] == "big_lock"]
        self.assertEqual((lock["function"], lock["state"]), ("await_lock", "blocked"))
        self.assertGreater(lock["slow"]["percent"], 80)
        self.assertLess(lock["others"]["percent"], 20)
        shown = profc("report", "-i", recording.path, "--color", "never").stderr
        self.assertIn("--slow 'handle_request>500ms'", shown)
        self.end(recorder)

    def test_a_call_that_computes_long(self):
        recorder = self.begin("--trigger", TRIGGER, spans="handle_request>100ms")
        self.ask(recorder, "spin 1000")
        recording = self.file_of(recorder, "span")
        self.assertOneSlow(recording)
        found = self.slow_rows(recording, "handle_request>500ms")
        rows = {row["function"]: row["slow"]["percent"] for row in found["rows"] if row["state"] == "cpu"}
        # The rest of the time it may have had no CPU.
        self.assertGreater(rows["spin_on_request"], 0.8 * rows[None], found)
        self.end(recorder)

    def test_what_is_no_long_call_leaves_none(self):
        """Left by longjmp(), a sum of nested calls, and time between two."""
        recorder = self.begin("--trigger", TRIGGER, keep="2s")
        for line in ("leave 800", "nest 240", "beside 900", "spin 200"):
            said = self.ask(recorder, line)
        time.sleep(2.5)
        said = self.ask(recorder, "nest 40")
        if said["longest_ns"] < LIMIT_NS:
            self.assertEqual(words(recorder.path), [])
        self.ask(recorder, "nest 1000")
        self.assertOneSlow(self.file_of(recorder, "span"))
        self.end(recorder)

    def test_the_last_call_of_a_program_is_one_as_well(self):
        recorder = self.begin("--trigger", TRIGGER, "--trigger", "exit")
        self.ask(recorder, "spin 800")
        self.end(recorder)
        self.assertEqual(sorted(words(recorder.path)), ["exit", "span"])
        self.assertOneSlow(self.file_of(recorder, "span"))

    def test_a_file_has_the_calls_of_its_time_and_no_others(self):
        fifo = self.path("control")
        recorder = self.begin("--control", f"fifo:{fifo}", keep="2s")
        with open(fifo, "w", encoding="utf-8") as control:
            self.ask(recorder, "spin 600")
            time.sleep(5)
            early = self.ask(recorder, "spin 1")
            begun = time.monotonic()
            self.ask(recorder, "spin 150")
            control.write("dump one\n")
            control.flush()
            row = self.spans_of(self.file_of(recorder, "control-one"))
            late = self.ask(recorder, "spin 1")
            took_s = time.monotonic() - begun
        # Two seconds before, and two after.
        self.assertGreater(row["calls"], 0)
        self.assertLess(row["calls"], late["calls"])
        self.assertLess(row["calls"], (late["calls"] - early["calls"]) * 1.5 * (took_s + 2) / took_s)
        self.assertEqual(sum(length["calls"] for length in row["lengths"]), row["calls"])
        self.assertGreater(row["longest_ns"], 150_000_000)
        self.assertLess(row["longest_ns"], 600_000_000)
        self.assertLessEqual(row["longest_ns"], row["total_ns"])
        self.assertTrue(all(call["length_ns"] < 600_000_000 for call in row["slow"]))
        self.end(recorder)

    def test_files_that_follow_each_other_add_up(self):
        """What ended between the beginning and the end is in one of them, unless both have it."""
        recorder = self.begin("--trigger", "exit", keep="60s")
        for _ in range(3):
            time.sleep(1)
            self.ask(recorder, "nest 20")
        said = self.ask(recorder, "spin 1")
        self.end(recorder)
        row = self.spans_of(self.file_of(recorder, "exit"))
        self.assertGreaterEqual(row["calls"], said["calls"])
        self.assertLess(row["calls"], said["calls"] + 100)
        self.assertLessEqual(row["not_ended"], 1)


class Options(LiveCase):
    def test_wrong_ones_are_refused_with_the_reason(self):
        for options, words_said in (
            (["--trigger", "span:f>1s"], "--trigger: calls of 'f' are not timed: it needs --spans 'f'"),
            (["--trigger", "span:f>1s", "--spans", "g"], "calls of 'f' are not timed"),
            (["--trigger", "span:f>1s", "--spans", "f>2s"], "leaves out calls that are to trigger"),
            (["--trigger", "span:f"], "it must name a function and a time"),
            (["--every", "10s", "--push", "file:/tmp", "--spans", "f"], "--every cannot be combined with --spans"),
        ):
            if platform.machine() != "x86_64" and "--spans" in options:
                continue
            keep = [] if "--every" in options else ["--keep", "10s"]
            done = profc("record", *keep, *options, "-o", self.path("none"), "--", "true", status=2)
            self.assertIn(words_said, done.stderr)
            self.assertFalse(os.path.exists(self.path("none")))
