# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded allocations: compared with the sums of the programs themselves."""

import json
import os
import tempfile

from live import LiveCase
from profc import profc, record
from targets import build

IN_COMPANY = True


class MemoryCase(LiveCase):
    def record(self, argv, *options, **popen):
        """In a place of its own, and of memory alone: what a tick misses has no part in it."""
        directory = tempfile.mkdtemp(dir=self.directory)
        return record(directory, argv, "--no-cpu", *options, **popen)

    def heap(self, recording):
        return json.loads(recording.info("--json"))["heap"]

    def leaks(self, recording, *options):
        """{function of the program itself: bytes, blocks} of what was not freed."""
        text = profc("report", "-i", recording.path, "--leaks", "--json", *options).stdout
        found = {}
        for leak in json.loads(text)["leaks"]:
            names = [frame["function"] for frame in leak["stack"]]
            self.assertIn("main", names)
            name = next(name for name in names if name not in ("malloc", "calloc", "operator new"))
            has = found.setdefault(name, {"bytes": 0, "blocks": 0})
            has["bytes"] += leak["bytes"]
            has["blocks"] += leak["blocks"]
        return found


class NoCpu(MemoryCase):
    WORDS = ("leaks:100:5000", "temporaries:100:64")

    def test_memory_alone_stops_no_thread(self):
        recording = self.record([build("allocates"), *self.WORDS, "exit:7"], "--mem=1", status=7)
        info = json.loads(recording.info("--json"))
        self.assertEqual(info["counters"]["stops"], 0)
        self.assertEqual(info["counters"]["blocked_looks"], 0)
        self.assertEqual(info["heap"]["allocated_bytes"], recording.said[0]["bytes"])
        self.assertIn("recorded 200 of 200 blocks, 495 KiB; 488 KiB in 100 blocks", recording.stderr)
        self.assertIn(f"hint: profc report --leaks -i {recording.path}", recording.stderr)
        self.assertIn("none of threads (--no-cpu)", recording.info())
        ended = profc("report", "-i", recording.path, status=1)
        self.assertIn("hint: it has memory", ended.stderr)

    def test_programs_that_follow_are_recorded_with_it(self):
        """Nothing but the sampling of threads told that a process executes another program."""
        words = (*self.WORDS, "waits", "exec", "waits", "leaks:50:3000", "fork", "leaks:30:1000")
        recording = self.record([build("allocates"), *words], "--mem=1")
        self.assertEqual(len(recording.said), 3)
        self.assertEqual(self.heap(recording)["allocated_bytes"],
                         sum(said["bytes"] for said in recording.said))

    def test_counts_alone(self):
        recording = self.record([build("allocates"), *self.WORDS], "--count", "^took$")
        self.assertIn("counted 200 calls of 1 function", recording.stderr)
        self.assertIn(f"hint: profc report -m calls -i {recording.path}", recording.stderr)
        self.assertEqual(recording.function("took", "-m", "calls")["calls"], 200)

    def test_alone_it_is_refused(self):
        ran = self.path("ran")
        for options, why in (
            ((), "--no-cpu leaves nothing to be recorded"),
            (("--mem", "--threads", "x"), "--threads cannot be combined with --no-cpu"),
        ):
            ended = profc("record", "--no-cpu", *options, "--", "touch", ran, status=2)
            self.assertIn(why, ended.stderr)
        self.assertFalse(os.path.exists(ran))
