# SPDX-License-Identifier: GPL-2.0-or-later
"""Other tools set uprobes on functions that have probes: the program lives, and counts are exact."""

import contextlib
import json
import os
import platform
import time
import unittest

from live import LiveCase
from profc import Recorder, profc
from rounds import rounds
from targets import Running, build
from uprobes import Uprobe, need_uprobes, place

IN_COMPANY = True

FUNCTIONS = ("pushes", "subtracts", "compares", "copies", "lands")
INT3 = 0xCC


@unittest.skipUnless(platform.machine() == "x86_64", "uprobes lose calls elsewhere, as is documented")
class Uprobes(LiveCase):
    """They come and go while two threads call."""

    def setUp(self):
        super().setUp()
        need_uprobes()
        self.target = self.enterContext(Running([build("calls_under_uprobes")]))
        self.target.wait_ready()
        self.paths = self.mapped()

    def mapped(self):
        """{name: (path, address)} of the files that the target has mapped."""
        files = {}
        with open(f"/proc/{self.target.pid}/maps", encoding="utf-8") as maps:
            for line in maps:
                words = line.split()
                if words[-1].startswith("/"):
                    path = words[-1]
                    files.setdefault(os.path.basename(path), (path, int(line.split("-")[0], 16)))
        return files

    def places(self, *functions, file="calls_under_uprobes"):
        """Of functions: the file, the offset there, and the address in the target."""
        path, start = self.paths[file]
        found = [place(path, function) for function in functions]
        return [(path, offset, start + address) for address, offset in found]

    def byte_at(self, address):
        with open(f"/proc/{self.target.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(1)[0]

    def begin(self, *options):
        control = self.path("control")
        recorder = Recorder(
            self.directory, "attach", "-p", self.target.pid, *options,
            "--control", f"fifo:{control}",
        )
        self.eventually(lambda: os.path.exists(control), "the recording")
        self.until_done(control, "")
        return recorder

    def send(self, ms):
        self.target.process.stdin.write(f"{ms}\n")
        self.target.process.stdin.flush()

    def answer(self):
        line = self.target.process.stdout.readline()
        self.assertTrue(line, f"the target has died: {self.target.process.poll()}")
        return json.loads(line)

    def set_all(self, places):
        """Uprobes at all of them, until it is closed."""
        stack = contextlib.ExitStack()
        try:
            for path, offset, address in places:
                stack.enter_context(Uprobe(self.target.pid, path, offset))
                self.assertEqual(self.byte_at(address), INT3)
        except ProcessLookupError:
            self.fail("the target has died")
        return stack

    def disturb(self, places, seconds):
        """Sets and removes uprobes one by one, and then all at once."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.target.process.poll() is None:
            for one in places:
                with self.set_all([one]):
                    time.sleep(0.002)
            with self.set_all(places):
                time.sleep(0.01)

    def call(self, places, seconds=1):
        """What the target says of calls with uprobes coming and going meanwhile."""
        self.send(1000 * seconds)
        self.disturb(places, 0.8 * seconds)
        return self.answer()

    def check_counts(self, places, *options):
        for _ in range(rounds(2)):
            before = self.answer_now()
            with self.begin("--count", f"^({'|'.join(FUNCTIONS)})$", *options) as recorder:
                after = self.call(places)
                recording = recorder.interrupt()
            self.assertEqual(recording.status, 0, recording.stderr)
            key = "inside" if "--within" in options else "calls"
            for function in FUNCTIONS:
                self.assertEqual(
                    recording.function(function)["calls"], after[key] - before[key], function
                )
            self.assertGreater(after["inside"], before["inside"])

    def answer_now(self):
        self.send(0)
        return self.answer()

    def test_counts_are_exact(self):
        self.check_counts(self.places(*FUNCTIONS))

    def test_counts_within_a_function_are_exact(self):
        self.check_counts(self.places("serve", *FUNCTIONS), "--within", "serve")

    def test_timed_calls_are_all_there(self):
        before = self.answer_now()
        with self.begin("--spans", "serve", "--spans", "pushes", "--spans", "compares") as recorder:
            after = self.call(self.places("serve", "pushes", "compares"), 2)
            recording = recorder.interrupt()
        text = profc("report", "-i", recording.path, "--spans", "--json").stdout
        spans = {row["function"]: row for row in json.loads(text)["spans"]}
        for function, key in (("serve", "inside"), ("pushes", "calls"), ("compares", "calls")):
            row = spans[function]
            self.assertEqual(row["calls"], after[key] - before[key], function)
            self.assertEqual(row["not_ended"], 0, function)

    def test_allocations_are_exact(self):
        places = self.places("malloc", "free", file="libc.so.6")
        for option in ("--mem", "--mem=all"):
            with self.subTest(option=option):
                before = self.answer_now()
                with self.begin("--no-cpu", option) as recorder:
                    after = self.call(places)
                    recording = recorder.interrupt()
                heap = json.loads(recording.info("--json"))["heap"]
                self.assertTrue(heap["allocated_exact"])
                self.assertEqual(heap["dropped"], 0)
                own = after["inside"] - before["inside"]
                # Threads are made with some blocks, too.
                self.assertWithin(heap["allocated_blocks"], own + 5, 5, "blocks")

    def test_a_uprobe_that_was_there_before(self):
        places = self.places(*FUNCTIONS)
        before = self.answer_now()
        with self.set_all(places):
            recorder = self.begin("--count", f"^({'|'.join(FUNCTIONS)})$")
            with recorder:
                self.send(1000)
                after = self.answer()
                recording = recorder.interrupt()
            for function, (_, _, address) in zip(FUNCTIONS, places):
                self.assertEqual(self.byte_at(address), INT3, "it is there still")
                self.assertEqual(
                    recording.function(function)["calls"], after["calls"] - before["calls"], function
                )
        self.assertGreater(self.call(places)["calls"], after["calls"])
