# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that programs map themselves: compared with their own sums."""

import json
import os
import subprocess
import tempfile

from live import LiveCase
from profc import Recorder, profc, record
from targets import Running, build, need, source_path

IN_COMPANY = True

# Of the C library: for each thread something about its thread-local storage.
BESIDES = 3 * 1000
MIB = 1 << 20
PAGE = 4096


class Maps(LiveCase):
    def record(self, argv, *options, **popen):
        directory = tempfile.mkdtemp(dir=self.directory)
        return record(directory, argv, "--no-cpu", *options, **popen)

    def info(self, recording):
        return json.loads(recording.info("--json"))

    def by_kind(self, recording, *options):
        """{kind: {function of the program: bytes}} of what is left."""
        text = profc("report", "-i", recording.path, "--leaks", "--json", *options).stdout
        found = {}
        for leak in json.loads(text)["leaks"]:
            names = [frame["function"] for frame in leak["stack"]]
            name = next((name for name in names if name.endswith("_maps")), names[0])
            of_kind = found.setdefault(leak["kind"], {})
            of_kind[name] = of_kind.get(name, 0) + leak["bytes"]
        return found

    RATES = ("--mem=1", "--mem=all")
    LEFT = {
        "keeps_maps": 5 * MIB,
        "maps_files": 4 * MIB,
        "cuts_maps": 8 * PAGE,
        "resizes_maps": 64 * PAGE,
    }

    def check(self, recording, said, times=1):
        heap = self.info(recording)["heap"]
        self.assertTrue(heap["allocated_exact"])
        whole = said["bytes"] + said["heap_bytes"]
        self.assertGreaterEqual(heap["allocated_bytes"], whole)
        self.assertLessEqual(heap["allocated_bytes"], whole + times * BESIDES)
        self.assertGreaterEqual(heap["live_bytes"], said["live"])
        self.assertLessEqual(heap["live_bytes"], said["live"] + times * BESIDES)
        self.assertEqual(
            self.by_kind(recording)["map"],
            {name: times * size for name, size in self.LEFT.items()},
        )
        self.assertEqual(self.info(recording)["counters"]["mem_cut_maps"], times * said["cut"])

    def test_what_is_mapped_beside_the_allocator(self):
        """At any rate: that of the allocator, for large blocks and stacks, is not in it."""
        for rate in ("--mem=1", "--mem=1M", "--mem=all"):
            with self.subTest(rate=rate):
                recording = self.record([build("maps_memory")], rate)
                self.check(recording, recording.said[0])
                blocks = sum(recording.said[0][key] for key in ("blocks", "heap_blocks"))
                self.assertWithin(self.info(recording)["heap"]["allocated_blocks"], blocks + 3, 3,
                                  "blocks")

    def test_it_is_told_that_a_part_is_gone(self):
        recording = self.record([build("maps_memory")], "--mem")
        self.assertIn("mappings that were unmapped in part: they count until", recording.info())
        self.assertIn("of mmap, ", profc("report", "-i", recording.path, "--leaks").stdout)

    def test_who_unmaps_and_what_moves(self):
        """What mremap() has moved is one mapping all the time, as a block of realloc() is."""
        recording = self.record([build("maps_memory")], "--mem=1", "--mem-free-stacks")
        text = profc("report", "-i", recording.path, "--leaks", "--json").stdout
        left = json.loads(text)["total_blocks"]
        rows = {row["function"]: row for row in recording.rows("-m", "freed")}
        self.assertEqual(rows["borrows_maps"]["total_bytes"], 7 * (2 * MIB + PAGE))
        self.assertEqual(rows["resizes_maps"]["self_bytes"], (4 + 8 + 16 + 32) * PAGE)
        self.assertEqual(rows["unmaps_two_at_once"]["total_bytes"], 16 * PAGE)
        lives = {row["name"]: row for row in recording.rows("-m", "alloc", "--by", "lifetime")}
        self.assertEqual(lives["alive at the end"]["self_blocks"], left + len((4, 8, 16, 32)))

    def test_musl(self):
        need("musl-gcc")
        program = self.path("musl")
        subprocess.run(
            ["musl-gcc", "-O2", "-g", "-D_GNU_SOURCE", "-o", program, source_path("maps_memory")],
            check=True,
        )
        for rate in self.RATES:
            recording = self.record([program], rate)
            self.check(recording, recording.said[0])

    def test_a_static_program(self):
        """It has one code for itself and the allocator: what it maps is not told apart."""
        program = build("maps_memory", "-O2", "-g", "-static", called="static")
        for rate in self.RATES:
            recording = self.record([program], rate)
            heap, said = self.info(recording)["heap"], recording.said[0]
            self.assertNotIn("map", self.by_kind(recording))
            self.assertGreaterEqual(heap["allocated_bytes"], said["heap_bytes"])
            self.assertLess(heap["allocated_bytes"], said["heap_bytes"] + 200000)

    def test_a_pool_on_top_of_mappings(self):
        """What it maps when it is called is part of its blocks; its first block is at a map's."""
        specs = ("--mem-functions", "alloc:arena_get(size=1) free:arena_put(1)")
        for rate in self.RATES:
            recording = self.record([build("pool_of_maps"), "100"], rate, *specs)
            said, heap = recording.said[0], self.info(recording)["heap"]
            self.assertNotIn("could not be watched", recording.stderr)
            self.assertEqual(heap["allocated_bytes"], said["mapped"] + said["bytes"])
            self.assertEqual(heap["live_bytes"], said["mapped_live"] + said["live"])
            self.assertEqual(self.by_kind(recording), {"pool": {"main": said["live"]}})

    def test_a_forked_child_has_maps_of_its_own(self):
        for rate in self.RATES:
            self.check_forked(self.record([build("maps_memory"), "fork"], rate))

    def check_forked(self, recording):
        heap = self.info(recording)["heap"]
        whole = sum(one["bytes"] + one["heap_bytes"] for one in recording.said)
        self.assertEqual(len(recording.said), 2)
        self.assertGreaterEqual(heap["allocated_bytes"], whole)
        self.assertLessEqual(heap["allocated_bytes"], whole + 2 * BESIDES)
        # The child unmaps what its parent has mapped: that is there in the parent.
        self.assertEqual(self.by_kind(recording)["map"]["keeps_maps"], 2 * 5 * MIB)

    def test_attached(self):
        """What is there from before is not known, neither is it that it goes."""
        for rate in self.RATES:
            with self.subTest(rate=rate):
                self.check_attached(rate)

    def attach(self, rate):
        target = Running([build("maps_memory"), "serve"])
        self.addCleanup(target.__exit__)
        target.wait_ready()
        before = self.ask(target)
        fifo = self.path(f"control{rate}")
        os.mkfifo(fifo, 0o600)
        recorder = Recorder(
            self.directory, "attach", "-p", target.pid, rate, "--no-cpu", "--control",
            f"fifo:{fifo}",
        )
        self.addCleanup(recorder.__exit__, None, None, None)
        self.until_done(fifo, "")
        return target, before, fifo, recorder

    def test_not_while_memory_is_stopped(self):
        """What was mapped before is seen to go: here nothing of that is left to go."""
        for rate in self.RATES:
            target, before, fifo, recorder = self.attach(rate)
            self.until_done(fifo, "mem stop\n")
            between = self.ask(target)
            self.until_done(fifo, "mem start\n")
            after = self.ask(target)
            recording = recorder.interrupt()
            self.check(recording, {key: after[key] - between[key] for key in after})
            self.assertEqual(between["bytes"], 2 * before["bytes"])

    def check_attached(self, rate):
        target, before, _, recorder = self.attach(rate)
        self.ask(target)
        after = self.ask(target)
        recording = recorder.interrupt()
        said = {key: after[key] - before[key] for key in after}
        self.check(recording, {**said, "cut": 1}, times=2)
        again = self.ask(target)
        self.assertEqual(again["bytes"] - after["bytes"], before["bytes"])
        target.process.stdin.close()
        self.assertEqual(target.process.wait(timeout=20), 0)

    def ask(self, target):
        target.process.stdin.write("again\n")
        target.process.stdin.flush()
        return json.loads(target.process.stdout.readline())
