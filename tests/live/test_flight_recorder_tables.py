# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tables of a flight recorder keep, for how long: names, counts, blocks."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from profc import Recorder, Recording
from recorder_case import RecorderCase, files
from targets import build

IN_COMPANY = True


class Restarts(RecorderCase):
    def restarts(self, recorder):
        """The newest file, and how often the recorder began again until then."""
        before = set(files(recorder.path))
        recorder.process.send_signal(signal.SIGUSR2)
        self.eventually(lambda: set(files(recorder.path)) - before, "a file", patience=60)
        (name,) = set(files(recorder.path)) - before
        recording = Recording(os.path.join(recorder.path, name))
        return recording, self.info(recording)["counters"].get("recorder_restarts", 0)

    def test_memory_is_flat_while_tables_are_left_for_new_ones(self):
        """A target gives each child a name of its own, which the tables would keep.

        -F: finding that many children is more than the budget of a recorder allows at 49 Hz.
        """
        sizes, found = [], []

        def rss():
            with open(f"/proc/{recorder.process.pid}/status", encoding="ascii") as status:
                return int(re.search(r"VmRSS:\s*(\d+)", status.read()).group(1))

        with Recorder(
            self.directory, "record", "--keep", "2s", "--keep-size", "1M", "--trigger", "exit",
            "--limit", "1000", "-F", "49", "--", build("names_children"), "600000",
        ) as recorder:
            self.eventually(lambda: os.path.isdir(recorder.path), "the directory")
            nr, last = 0, time.monotonic() + 240
            while nr < 5 and time.monotonic() < last:
                time.sleep(1)
                recording, nr = self.restarts(recorder)
                sizes += [rss()] if nr >= 2 else []
                found.append(self.has_children(recording))
            recorder.process.send_signal(signal.SIGINT)
            recorder.process.send_signal(signal.SIGINT)
            recorder.process.wait(timeout=60)
        self.assertGreaterEqual(nr, 5, "the recorder never began again")
        self.assertLess(sizes[-1], 1.7 * sizes[0], sizes)
        # Where CPUs are scarce, all may end before they are found in their own program.
        self.assertGreater(sum(found), len(found) / 2, found)

    def test_processes_of_a_name_join_a_recorder_that_has_begun_again(self):
        path = self.path(f"begins{os.getpid()}")
        shutil.copy(build("names_children"), path)
        with Recorder(
            self.directory, "attach", "--comm", f"^{os.path.basename(path)}$", "--keep", "2s",
            "--keep-size", "1M", "--limit", "1000",
        ) as recorder:
            self.assertIn("waiting for a process", recorder.process.stderr.readline())
            nr, last = 0, time.monotonic() + 240
            with subprocess.Popen([path, "600000"]) as target:
                while nr < 2 and time.monotonic() < last:
                    time.sleep(1)
                    recording, nr = self.restarts(recorder)
                target.kill()
            self.assertGreaterEqual(nr, 2, "the recorder never began again")
            self.assertIn(target.pid, [row["pid"] for row in recording.rows("--by", "pid")])
            with subprocess.Popen([path, "600000"]) as target:
                time.sleep(1)
                recording, _ = self.restarts(recorder)
                target.kill()
            self.assertIn(target.pid, [row["pid"] for row in recording.rows("--by", "pid")])
            recorder.process.send_signal(signal.SIGINT)
            _, said = recorder.process.communicate(timeout=60)
        self.assertNotIn("waiting for a process", said)
        self.assertEqual(recorder.process.returncode, 0)

    def test_with_counts_a_recorder_keeps_its_tables(self):
        with Recorder(
            self.directory, "record", "--keep", "2s", "--keep-size", "1M", "--count",
            "compute_between", "--", build("names_children"), "600000",
        ) as recorder:
            self.eventually(lambda: os.path.isdir(recorder.path), "the directory")
            time.sleep(8)
            recording, nr = self.restarts(recorder)
            recorder.process.send_signal(signal.SIGINT)
            recorder.process.send_signal(signal.SIGINT)
            recorder.process.wait(timeout=60)
        self.assertEqual(nr, 0)
        self.assertTrue(recording.rows("-m", "calls"))

    def has_children(self, recording):
        """It is whole, and has the parent; are its children in it, too?"""
        info = self.info(recording)
        self.assertTrue(info["complete"])
        self.assertGreater(info["duration_ns"], 1.9e9)
        self.assertIn("compute_between", [row["function"] for row in recording.rows()])
        return "exe" in [
            row["name"] for row in recording.rows("--by", "process", "-m", "wall")
        ]


class Counts(RecorderCase):
    PROGRAM = "calls_on_request"

    def request(self, recorder, calls):
        """So many calls by each of four threads; returns the program's own count of the others."""
        self.tell(recorder, str(calls))
        return json.loads(recorder.process.stdout.readline())["unrequested"]

    def counts_of(self, recorder, word):
        rows = self.file_of(recorder, word).rows()
        return {row["function"]: row["calls"] for row in rows if row["calls"] is not None}

    def test_a_file_has_the_calls_of_its_time_and_no_others(self):
        fifo = self.path("control")
        with self.record(
            "--control", f"fifo:{fifo}", "--count", "^(un)?requested$", "--trigger", "exit", keep="2s"
        ) as recorder:
            self.assertEqual(recorder.process.stdout.readline(), "ready\n")
            with open(fifo, "w", encoding="utf-8") as control:
                self.request(recorder, 1000)
                time.sleep(3.5)
                before = self.request(recorder, 700)
                control.write("dump one\n")
                control.flush()
                one = self.counts_of(recorder, "control-one")
                time.sleep(3.5)
                early = self.request(recorder, 30)
                control.write("dump two\n")
                control.flush()
                late = self.request(recorder, 0)
                two = self.counts_of(recorder, "control-two")
                after = self.request(recorder, 5)
                self.end(recorder)
            at_exit = self.counts_of(recorder, "exit")
        self.assertEqual([of["requested"] for of in (one, two, at_exit)], [2800, 120, 20])
        self.assertGreaterEqual(two["unrequested"], late - early)
        self.assertLessEqual(two["unrequested"], after - before)

    def test_a_file_says_from_when_on_calls_were_counted(self):
        with self.record("--count", "^requested$", "--trigger", "exit", keep="2s") as recorder:
            recorder.process.stdout.readline()
            time.sleep(4)
            self.end(recorder)
            recording = self.file_of(recorder, "exit")
        self.assertRegex(recording.info(), r"counted from \d")
        self.assertFalse(self.info(recording)["probes"]["from_start"])
        with self.record("--count", "^requested$", "--trigger", "exit") as recorder:
            recorder.process.stdout.readline()
            self.request(recorder, 3)
            self.end(recorder)
            recording = self.file_of(recorder, "exit")
        self.assertTrue(self.info(recording)["probes"]["from_start"])
        self.assertEqual(recording.function("requested")["calls"], 12)


class Memory(RecorderCase):
    PROGRAM = "allocates_on_request"
    BLOCK = 64 << 10

    def ask(self, recorder, *lines):
        """Has the program do as they say; returns its own sums then."""
        for line in lines:
            self.tell(recorder, line)
            said = json.loads(recorder.process.stdout.readline())
        return said

    def blocks(self, recording, metric):
        """{function: blocks, as of its bytes}; each of them is recorded with --mem=4K."""
        return {
            row["function"]: row["total_bytes"] / self.BLOCK
            for row in recording.rows("-m", metric)
            if row["function"].endswith("_on_request")
        }

    def assertBlocks(self, recording, metric, expected):
        found = self.blocks(recording, metric)
        for function in found.keys() | expected.keys():
            self.assertAlmostEqual(
                found.get(function, 0), expected.get(function, 0), delta=0.5,
                msg=f"{metric} of {function}: {found}",
            )

    def test_a_file_has_what_its_time_has_allocated_and_what_is_alive(self):
        fifo = self.path("control")
        with self.record("--control", f"fifo:{fifo}", "--mem=4K", "--trigger", "exit") as recorder:
            self.assertEqual(recorder.process.stdout.readline(), "ready\n")
            with open(fifo, "w", encoding="utf-8") as control:
                self.ask(recorder, "keep 300", "turn 1000")
                time.sleep(6)
                self.ask(recorder, "turn 200", "add 50")
                control.write("dump one\n")
                control.flush()
                one = self.file_of(recorder, "control-one")
                time.sleep(6)
                self.ask(recorder, "free 100", "add 20")
                control.write("mem discard\ndump two\n")
                control.flush()
                two = self.file_of(recorder, "control-two")
                time.sleep(3)
                said = self.ask(recorder, "free 220", "turn 30")
                self.end(recorder)
            stderr = recorder.process.stderr.read()
            last = self.file_of(recorder, "exit")
        self.assertBlocks(one, "alloc", {"turn_on_request": 200, "add_on_request": 50})
        self.assertBlocks(one, "live", {"keep_on_request": 300, "add_on_request": 50})
        self.assertBlocks(two, "alloc", {"add_on_request": 20})
        self.assertBlocks(two, "live", {"keep_on_request": 200, "add_on_request": 70})
        self.assertBlocks(two, "peak", {"keep_on_request": 300, "add_on_request": 50})
        self.assertBlocks(last, "alloc", {"turn_on_request": 30})
        self.assertBlocks(last, "live", {"add_on_request": said["alive"]})
        self.assertBlocks(last, "temporary", {"turn_on_request": 30})
        heaps = [self.info(recording)["heap"] for recording in (one, two, last)]
        self.assertEqual([heap["allocated_exact"] for heap in heaps], [True] * 3)
        for heap, blocks in zip(heaps, (250, 20, 30)):
            self.assertBetween(heap["allocated_bytes"], blocks * self.BLOCK, self.BLOCK)
        self.assertLess(sum(heap["allocated_bytes"] for heap in heaps), said["bytes"])
        self.assertIn("a flight recorder has no 'mem discard'", stderr)

    def assertBetween(self, value, least, more):
        self.assertGreaterEqual(value, least)
        self.assertLess(value, least + more)

    def test_what_is_freed_is_forgotten_and_what_lives_is_not(self):
        """Some 20,000 blocks a second, of which there is room for far fewer than the time has."""
        with self.record(
            "--mem=4K", "--trigger", "exit", "--keep-size", "4M", "-q"
        ) as recorder:
            recorder.process.stdout.readline()
            self.ask(recorder, "keep 10")
            for _ in range(400):
                self.ask(recorder, "turn 500")
                time.sleep(0.01)
            self.ask(recorder, "add 10")
            self.end(recorder)
            recording = self.file_of(recorder, "exit")
        self.assertBlocks(recording, "live", {"keep_on_request": 10, "add_on_request": 10})
        counters = self.info(recording)["counters"]
        self.assertGreater(counters["memory_missing_ns"], 0)
        self.assertNotIn("mem_forgotten", counters)
