# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded allocations: compared with the sums of the programs themselves."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import procfs
from live import LiveCase
from profc import Recorder, Recording, attach_to_count, profc, record
from targets import Running, build, need

IN_COMPANY = True

# Reports tell half the width of 95 % intervals, 1.96 standard deviations. Of the estimates compared
# here one in 15,000 would be four of them away, were they as uncertain as they say.
FOUR_SIGMA = 4 / 1.96


def plain(function):
    """Its own name, as of `program::leaks` and `leaks(int)`."""
    return (function or "").split("(")[0].split("::")[-1]


class MemoryCase(LiveCase):
    def record(self, argv, *options, **popen):
        """In a place of its own, and of memory alone: what a tick misses has no part in it."""
        directory = tempfile.mkdtemp(dir=self.directory)
        return record(directory, argv, "--no-cpu", *options, **popen)

    def heap(self, recording):
        return json.loads(recording.info("--json"))["heap"]

    def leaks(self, recording, *options):
        """{function of the program itself: bytes, blocks and their interval} of what is left."""
        text = profc("report", "-i", recording.path, "--leaks", "--json", *options).stdout
        found = {}
        for leak in json.loads(text)["leaks"]:
            names = [plain(frame["function"]) for frame in leak["stack"]]
            name = next((name for name in names if name in OWN), names[0])
            has = found.setdefault(name, {"bytes": 0, "blocks": 0, "variance": 0})
            has["bytes"] += leak["bytes"]
            has["blocks"] += leak["blocks"]
            has["variance"] += leak["ci_bytes"] ** 2
        return found

    def total(self, recording, function, metric, *options):
        """Bytes of a function and what it calls, and half the width of their interval."""
        report = recording.report("-m", metric, *options)
        row = next(row for row in report["rows"] if row["function"] == function)
        return row["total_bytes"]

    def assertExact(self, recording, said=None, besides=0):
        """The sums are those of the program; `besides` is what others may have allocated."""
        said = recording.said if said is None else said
        heap = self.heap(recording)
        self.assertTrue(heap["allocated_exact"])
        self.assertEqual(heap["dropped"], 0)
        for key, words in (("allocated_bytes", "bytes"), ("allocated_blocks", "blocks")):
            own = sum(one[words] for one in said)
            self.assertGreaterEqual(heap[key], own)
            self.assertLessEqual(heap[key], own + besides)

    def wait_for_probes(self, pid):
        """Their memory is there before they are."""
        self.eventually(lambda: self.differing_code(pid), "that probes are there")

    def differing_code(self, pid):
        """Which mappings are not as their files have them."""
        differing = []
        with open(f"/proc/{pid}/mem", "rb") as memory:
            for line in self.maps(pid).splitlines():
                words = line.split()
                if "x" not in words[1] or len(words) < 6 or not words[5].startswith("/"):
                    continue
                if "memfd:" in words[5]:
                    continue
                start, end = (int(word, 16) for word in words[0].split("-"))
                with open(words[5], "rb") as file:
                    file.seek(int(words[2], 16))
                    memory.seek(start)
                    if memory.read(end - start) != file.read(end - start):
                        differing.append(line)
        return differing

    def maps(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            return maps.read()

    def assertNear(self, estimate, truth, ci_bytes, what):
        self.assertGreater(ci_bytes, 0, what)
        self.assertWithin(estimate, truth, FOUR_SIGMA * ci_bytes, what)


def libraries(suffix):
    """{name: path} of the other allocators that the loader knows, by the end of a file's name."""
    text = subprocess.run(
        [need("ldconfig"), "-p"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    found = {}
    for line in text.splitlines():
        for name in ("jemalloc", "tcmalloc_minimal", "mimalloc"):
            if line.strip().startswith(f"lib{name}.so{suffix}") and "=>" in line:
                found.setdefault(name, line.split("=>")[1].strip())
    return found


# Functions of the targets that allocate.
OWN = {"leaks", "leaks_large", "temporaries", "peaks", "callocs", "aligned", "grows", "hammers", "frees", "drops"}


class NoCpu(MemoryCase):
    WORDS = ("leaks:100:5000", "temporaries:100:64")

    def test_memory_alone_stops_no_thread(self):
        recording = self.record([build("allocates"), *self.WORDS, "exit:7"], "--mem=1", status=7)
        info = json.loads(recording.info("--json"))
        self.assertEqual(info["counters"]["stops"], 0)
        self.assertEqual(info["counters"]["blocked_looks"], 0)
        self.assertEqual(info["heap"]["allocated_bytes"], recording.said[0]["bytes"])
        self.assertIn("recorded 200 of 200 blocks, 495 KiB; 488 KiB in 100 bl", recording.stderr)
        self.assertIn(f"hint: profc report --leaks -i {recording.path}", recording.stderr)
        self.assertIn("none of threads (--no-cpu)", recording.info())
        ended = profc("report", "-i", recording.path, status=1)
        self.assertIn("hint: it has memory", ended.stderr)

    def test_a_library_that_is_loaded_later_is_known_in_the_end(self):
        """No sample leads through it, and the process is gone when its blocks are looked at."""
        library = build("pool_library", "-O2", "-g", "-shared", "-fPIC", called="libpool.so")
        program = build("loads_a_pool", "-O2", "-g", called="loads")
        for rate in ("--mem=1", "--mem=all"):
            recording = self.record([program, library, "50", "ends"], rate)
            rows = [row for row in recording.rows("-m", "live") if row["function"] == "library_get"]
            self.assertEqual([row["self_bytes"] for row in rows], [50 * 3000])

    def test_programs_that_follow_are_recorded_with_it(self):
        """Nothing but the sampling of threads told that a process executes another program."""
        words = (*self.WORDS, "waits", "exec", "waits", "leaks:50:3000", "fork", "leaks:30:1000")
        recording = self.record([build("allocates"), *words], "--mem=1")
        self.assertEqual(len(recording.said), 3)
        self.assertEqual(self.heap(recording)["allocated_bytes"],
                         sum(said["bytes"] for said in recording.said))

    def test_a_block_whose_realloc_fails_is_alive(self):
        for rate in ("--mem=1", "--mem=all"):
            recording = self.record([build("allocates"), "keeps:50:3000"], rate)
            rows = [row for row in recording.rows("-m", "leaked") if row["function"] == "keeps"]
            self.assertEqual([row["total_bytes"] for row in rows], [150000], rate)

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


class Allocators(MemoryCase):
    """With a rate of one byte all blocks are recorded, and all numbers are the program's own."""

    RATE = "--mem=1"
    RATE_OF_PYTHON = "--mem=64K"
    WORDS = (
        "leaks:60:500", "temporaries:60:64", "peaks:60:3000", "callocs:60:800", "aligned:60:1000",
        "grows:60:100",
    )
    LEFT = {"leaks": 30000, "callocs": 48000, "aligned": 60000, "grows": 6000}

    def check(self, program, besides=0, **popen):
        recording = self.record([program, *self.WORDS], self.RATE, **popen)
        self.assertExact(recording, besides=besides)
        self.assertEqual(recording.said[0]["wrong"], 0)
        left = {name: one["bytes"] for name, one in self.leaks(recording).items()}
        self.assertEqual({name: left.get(name) for name in self.LEFT}, self.LEFT)
        if not besides:
            self.assertEqual(set(left), set(self.LEFT))
        heap = self.heap(recording)
        self.assertWithin(
            heap["peak_bytes"], recording.said[0]["peak"], besides, "bytes at the peak"
        )
        for name, size in (("temporaries", 64), ("peaks", 3000)):
            self.assertEqual(self.total(recording, name, "alloc"), 60 * size)
        return recording

    def test_glibc(self):
        recording = self.check(build("allocates"))
        self.assertEqual(self.total(recording, "temporaries", "temporary"), 60 * 64)
        self.assertEqual(self.total(recording, "peaks", "peak"), 60 * 3000)

    def test_static_glibc(self):
        """The C library allocates in it, too, before main()."""
        self.check(build("allocates", "-O2", "-g", "-static", called="static"), besides=100000)

    def test_musl(self):
        need("musl-gcc")
        source = os.path.join(os.path.dirname(__file__), "..", "targets", "allocates.c")
        program = self.path("musl")
        subprocess.run(
            ["musl-gcc", "-O2", "-g", "-D_GNU_SOURCE", "-o", program, source], check=True
        )
        self.check(program)

    def test_others_that_are_preloaded(self):
        """They may allocate for themselves at their beginning, by mmap(2) or by their functions."""
        found = libraries(".")
        if not found:
            self.skipTest("neither jemalloc nor tcmalloc nor mimalloc is installed")
        for name, path in found.items():
            with self.subTest(allocator=name):
                environment = {**os.environ, "LD_PRELOAD": path}
                argv = [build("allocates"), *self.WORDS]
                recording = self.record(argv, self.RATE, env=environment)
                left = {name: one["bytes"] for name, one in self.leaks(recording).items()}
                self.assertEqual({name: left.get(name) for name in self.LEFT}, self.LEFT)

    def test_others_that_are_linked(self):
        found = libraries(".")
        if not found:
            self.skipTest("neither jemalloc nor tcmalloc nor mimalloc is installed")
        for name, path in found.items():
            with self.subTest(allocator=name):
                program = build("allocates", libraries=("-Wl,--no-as-needed", path), called=name)
                self.check(program, besides=200000)

    def test_operator_new(self):
        recording = self.record([build("allocates_new")], self.RATE)
        self.assertExact(recording, besides=100000)
        left = self.leaks(recording)
        self.assertEqual(left["leaks"]["bytes"], recording.said[0]["live"])
        self.assertEqual(left["leaks"]["blocks"], 150)
        self.assertNotIn("frees", left)

    def test_an_exception_of_operator_new_is_caught(self):
        recording = self.record([build("allocates_new"), "fail"], self.RATE)
        self.assertEqual(recording.said[0]["caught"], 1)

    def test_rust(self):
        recording = self.record([build("rust_allocates")], self.RATE)
        left = self.leaks(recording)
        # Of blocks of some bytes, as the runtime has them, not all are recorded at this rate.
        self.assertWithin(left["leaks"]["bytes"], recording.said[0]["leaked"], 20, "leaked")
        self.assertNotIn("drops", left)

    def test_python(self):
        script = (
            "import os, time\n"
            "kept = []\n"
            "for i in range(2000):\n"
            "    kept.append(bytes(5000))\n"
            "    if i % 20 == 19: time.sleep(0.001)\n"
            "os._exit(0)\n"
        )
        recording = self.record([sys.executable, "-c", script], self.RATE_OF_PYTHON)
        names = ("_PyBytes_FromSize", "bytes_new", "bytes_new_impl", "type_call")
        found = [
            row["total_bytes"]
            for row in recording.rows("-m", "leaked", "--native")
            if row["function"] in names
        ]
        self.assertTrue(found)
        self.assertWithin(max(found), 2000 * 5033, 0.33 * 2000 * 5033, "bytes of Python")


class Reallocations(MemoryCase):
    def test_of_what_is_not_recorded_touch_little_memory(self):
        """The sets of sampled pointers have 256 pages, of which these would touch each."""
        recording = self.record([build("reallocates")], "--mem=16M")
        (said,) = recording.said
        self.assertEqual(said["moved"], 0)
        self.assertLess(said["faults"], 64)


class Lifetimes(MemoryCase):
    def lives(self, recording, *options):
        report = recording.report("--by", "lifetime", *options)
        return {row["name"]: row["self_bytes"] for row in report["rows"]}

    def test_of_what_realloc_moves(self):
        """One block each, which is made 60 times and kept, and 30 times and freed in the end."""
        words = ("grows:60:100", "temporaries:60:64", "shrinks:30:100")
        recording = self.record([build("allocates"), *words], "--mem=1")
        self.assertExact(recording)
        lives = self.lives(recording)
        grown, shrunk = (100 * n * (n + 1) // 2 for n in (60, 30))
        self.assertEqual(sum(lives.values()), recording.said[0]["bytes"])
        self.assertEqual(lives["alive at the end"], grown)
        soon = recording.report("-m", "temporary", "--temporary", "1m")
        names = {plain(row["function"]): row["total_bytes"] for row in soon["rows"]}
        self.assertEqual(names["temporaries"], 60 * 64)
        self.assertEqual(names["shrinks"], shrunk)
        self.assertNotIn("grows", names)
        # Its steps are apart by more than what passes for soon: as a whole it is not temporary.
        soon = recording.report("-m", "temporary", "--temporary", "1ms")
        self.assertNotIn("shrinks", [plain(row["function"]) for row in soon["rows"]])
        self.assertNotIn("[moved by realloc, rest unknown]", lives)

    def test_what_is_not_recorded_of_them_is_told(self):
        """Large enough to be met with, and seldom twice in a row."""
        recording = self.record([build("allocates"), "grows:300:100"], "--mem=64K")
        lives = self.lives(recording)
        self.assertGreater(lives["[moved by realloc, rest unknown]"], 0)
        notes = profc("report", "-i", recording.path, "-m", "temporary", "--temporary", "1m",
                      status=1)
        self.assertIn("realloc()", notes.stderr)


class Freed(MemoryCase):
    def freed(self, recording, *options):
        return {plain(row["function"]): row["self_bytes"]
                for row in recording.report("-m", "freed", *options)["rows"]}

    def test_by_whom(self):
        """Some by who allocated them, some by another function, and some by realloc()."""
        words = ("holds:40:500", "temporaries:50:64", "lets_go:40:500", "grows:20:100",
                 "leaks:10:1000")
        recording = self.record([build("allocates"), *words], "--mem=1", "--mem-free-stacks")
        self.assertExact(recording)
        report = recording.report("-m", "freed")
        freed = {plain(row["function"]): row["total_bytes"] for row in report["rows"]}
        self.assertEqual(freed["lets_go"], 40 * 500)
        self.assertEqual(freed["temporaries"], 50 * 64)
        self.assertEqual(freed["grows"], 100 * 20 * 19 // 2)
        self.assertNotIn("holds", freed)
        self.assertNotIn("leaks", freed)
        leaked = recording.report("-m", "leaked")["total_bytes"]
        self.assertEqual(report["total_bytes"] + leaked, recording.said[0]["bytes"])
        self.assertNotIn("freeing stack", profc("report", "-i", recording.path, "-m", "freed").stdout)

    def test_of_operator_delete(self):
        recording = self.record([build("allocates_new")], "--mem=1", "--mem-free-stacks")
        freed = {plain(row["function"]) for row in recording.report("-m", "freed")["rows"]}
        self.assertIn("frees", freed)

    def test_without_the_option_it_is_named(self):
        recording = self.record([build("allocates"), "temporaries:50:64"], "--mem=1")
        for command in (("report",), ("annotate",), ("export", "--folded")):
            ended = profc(command[0], "-i", recording.path, *command[1:], "-m", "freed", status=1)
            self.assertIn("no stacks that freed memory were recorded", ended.stderr)
            self.assertIn("--mem-free-stacks", ended.stderr)
        ended = profc("record", "--mem-free-stacks", "--", "true", status=2)
        self.assertIn("--mem-free-stacks needs --mem", ended.stderr)


class All(Allocators):
    """The same to the block, without a pause now and then, too: a target waits rather than lose."""

    RATE = "--mem=all"
    RATE_OF_PYTHON = "--mem=all"

    @staticmethod
    def has_best_nice(pid, highest):
        """Threads of profc may end while they are asked."""
        found = []
        for tid in procfs.threads(pid):
            with contextlib.suppress(ProcessLookupError):
                found.append(os.getpriority(os.PRIO_PROCESS, tid))
        return len(found) > 1 and min(found) == highest

    def test_is_read_before_the_threads_that_wait_for_that(self):
        """Where the priority may be raised: they wait on the CPU. Other recordings keep theirs."""
        if os.geteuid():
            self.skipTest("only root may raise priorities")
        for rate, highest in ((self.RATE, -20), ("--mem", os.nice(0))):
            with Running([build("threads_idle"), "1", "20000"]) as target:
                target.wait_ready()
                with Recorder(self.directory, "attach", "-p", target.pid, "--no-cpu", rate) as one:
                    self.eventually(lambda: self.has_best_nice(one.pid, highest),
                                    f"nice {highest} with {rate}")
                    one.interrupt()

    def test_as_fast_as_it_can_with_threads(self):
        words = ("threads:4", "hammers:400000:300")
        recording = self.record([build("allocates"), *words], self.RATE)
        self.assertExact(recording, besides=4 * 4096)
        blocks = self.heap(recording)["allocated_blocks"]
        self.assertEqual(recording.report("-m", "alloc")["samples"], blocks)
        self.assertEqual(recording.said[0]["wrong"], 0)
        self.assertEqual(set(self.leaks(recording)) & OWN, set())
        self.assertTrue(self.report_of_leaks(recording)["exact"])

    def test_callers_that_take_turns_at_the_same_depth(self):
        """What is seen of a stack without a walk must not hide what is further out."""
        for flags in ((), ("-O2", "-g", "-fno-omit-frame-pointer"), ("-O1", "-g")):
            recording = self.record([build("allocates_by_turns", *flags), "100000"], self.RATE)
            leaks = self.report_of_leaks(recording)["leaks"]
            names = [[frame["function"] for frame in leak["stack"]] for leak in leaks]
            blocks = {
                turn: sum(leak["blocks"] for leak, has in zip(leaks, names) if turn in has)
                for turn in ("first_turn", "second_turn", "third_turn")
            }
            self.assertEqual(list(blocks.values()), recording.said[0]["calls"])
            for has in names:
                if "allocates" in has:
                    self.assertEqual(has[-1], "_start")

    def report_of_leaks(self, recording):
        text = profc("report", "-i", recording.path, "--leaks", "--json").stdout
        return json.loads(text)

    def test_forks_and_programs_that_are_executed(self):
        """What a child frees of its parent's is none of the parent's."""
        words = (
            "leaks:50:500", "holds:100:40", "fork", "lets_go:100:40", "leaks:24:3000", "waits",
            "exec", "waits", "leaks:10:7000",
        )
        recording = self.record([build("allocates"), *words], self.RATE)
        self.assertExact(recording)
        left = self.leaks(recording)
        self.assertEqual(left["leaks"]["bytes"], 50 * 500 + 24 * 3000 + 10 * 7000)
        self.assertEqual(left["holds"]["bytes"], 100 * 40)

    def test_children_that_end_at_once(self):
        """Shorter than a tick: they have the addresses of their parent."""
        for options in ((), ("--no-children",)):
            recording = self.record([build("children_free"), "40"], "--mem=all", *options)
            self.assertEqual(recording.status, 0)
            report = json.loads(
                profc("report", "-i", recording.path, "--leaks", "--json").stdout
            )
            blocks = {}
            for leak in report["leaks"]:
                names = [plain(frame["function"]) for frame in leak["stack"]]
                name = next(name for name in names if name in ("holds", "leaves"))
                blocks[name] = blocks.get(name, 0) + leak["blocks"]
            expected = {"holds": 2000} if options else {"holds": 2000, "leaves": 40 * 10}
            self.assertEqual(blocks, expected, options)
            made = 2000 if options else 2000 + 40 * 50
            self.assertEqual(self.heap(recording)["allocated_blocks"], made)
            self.assertEqual(self.heap(recording)["live_bytes"], 2000 * 1000)

    @unittest.skipIf(os.geteuid() != 0, "only root makes a PID namespace")
    def test_child_in_a_namespace_of_its_own(self):
        """It names itself 1, which is no child of its parent's; the blocks there are its copies."""
        recording = self.record([build("children_free"), "1", "namespace"], "--mem=all")
        self.assertEqual(self.heap(recording)["live_bytes"], 2000 * 1000)
        self.assertEqual(self.heap(recording)["allocated_blocks"], 2000)

    def test_processes_that_live_on(self):
        """They end with the recording, none of them earlier than another."""
        recording = self.record([build("children_hold"), "5"], "--mem=all", "-d", "2")
        heap = self.heap(recording)
        self.assertGreater(heap["live_bytes"], 100 * 1000)
        self.assertEqual(heap["live_bytes"], heap["allocated_bytes"])

    def test_deep_stacks(self):
        """Deeper than what is remembered of the last one, and than what is copied at first."""
        recording = self.record([build("allocates_deep"), "400", "20"], self.RATE)
        self.assertExact(recording)
        rows = [row for row in recording.rows("-m", "alloc") if row["function"] == "descend"]
        self.assertEqual(rows[0]["total_bytes"], recording.said[0]["bytes"])
        text = profc("report", "-i", recording.path, "--leaks", "--json").stdout
        depths = {len(leak["stack"]) for leak in json.loads(text)["leaks"]}
        self.assertTrue(any(depth > 400 for depth in depths), depths)


class Estimates(MemoryCase):
    WORDS = (
        "leaks:4000:5000", "temporaries:40000:600", "peaks:3000:9000", "leaks:300:40000",
    )

    def test_they_are_within_their_intervals(self):
        recording = self.record([build("allocates"), *self.WORDS], "--mem=64K")
        said, heap = recording.said[0], self.heap(recording)
        self.assertExact(recording)
        self.assertNear(heap["live_bytes"], said["live"], heap["live_ci_bytes"], "alive")
        self.assertNear(heap["peak_bytes"], said["peak"], heap["peak_ci_bytes"], "at the peak")
        left = self.leaks(recording)
        self.assertEqual(set(left), {"leaks"})
        one = left["leaks"]
        self.assertNear(one["bytes"], 32e6, one["variance"] ** 0.5, "leaked")
        self.assertWithin(
            self.total(recording, "temporaries", "alloc"), 24e6, 0.25 * 24e6, "temporaries"
        )
        report = recording.report("-m", "alloc")
        self.assertWithin(report["total_bytes"], said["bytes"], 2, "all bytes")

    def test_of_one_in_512K(self):
        recording = self.record([build("allocates"), "leaks:20000:4000"], "--mem")
        heap = self.heap(recording)
        self.assertEqual(heap["mean_bytes"], 512 * 1024)
        self.assertNear(heap["live_bytes"], 80e6, heap["live_ci_bytes"], "alive")


class Losses(MemoryCase):
    """What is allocated while profc does not read at all: as on a machine that is too busy."""

    def record_crowd(self, rate, *words):
        fifo = os.path.join(tempfile.mkdtemp(dir=self.directory), "control")
        os.mkfifo(fifo, 0o600)
        with Running([build("allocates_in_crowd", "-O2", "-g", "-pthread"), *words]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", target.pid, "--no-cpu", rate,
                          "--control", f"fifo:{fifo}") as recorder:
                self.wait_for_probes(target.pid)
                self.until_done(fifo, "")  # the recording has begun
                os.kill(recorder.pid, signal.SIGSTOP)
                try:
                    self.go_on(target)
                finally:
                    os.kill(recorder.pid, signal.SIGCONT)
                self.go_on(target)
                said = target.finish()[0]
                return recorder.finish(), said

    def go_on(self, target):
        target.process.stdin.write("\n")
        target.process.stdin.flush()
        self.assertEqual(target.process.stdout.readline(), "done\n")

    def test_of_a_sample_others_stand_for_what_found_no_room(self):
        recording, said = self.record_crowd("--mem=64K", "1500", "1000", "1000", "15")
        heap = self.heap(recording)
        self.assertTrue(heap["allocated_exact"])
        self.assertEqual(heap["allocated_bytes"], said["bytes"])
        self.assertEqual(heap["allocated_blocks"], said["blocks"])
        self.assertGreater(heap["dropped"], 5000)
        self.assertNear(heap["live_bytes"], said["live"], heap["live_ci_bytes"], "alive")
        # None of the large ones is lost: they are surely sampled.
        left = self.leaks(recording)
        self.assertEqual(round(left["leaks_large"]["blocks"]), said["large"])
        self.assertWithin(left["leaks_large"]["bytes"], said["large"] * (3 << 20), 1000, "large")
        self.assertIn("left out:", " ".join(recording.info().split()))
        self.assertIn("beside", profc("report", "-i", recording.path, "--leaks").stdout)

    def test_of_all_none_is_lost_while_profc_reads(self):
        """Beside loops that want every CPU, and with far more threads than CPUs."""
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
        crowd = build("allocates_in_crowd", "-O2", "-g", "-pthread")
        try:
            with tempfile.TemporaryFile() as lines:
                lines.write(b"\n\n\n")
                lines.seek(0)
                recording = self.record([crowd, "100", "300", "100", "15"], "--mem=all",
                                        stdin=lines)
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        said = recording.said[-1]
        self.assertExact(recording, [said], besides=100 * 4096)
        left = self.leaks(recording)
        self.assertEqual(left["leaks_large"]["blocks"], said["large"])
        self.assertEqual(left["leaks"]["bytes"] + left["leaks_large"]["bytes"], said["live"])
        self.assertEqual(self.heap(recording)["frees_dropped"], 0)

    def test_of_all_it_is_said_how_much_that_was(self):
        recording, said = self.record_crowd("--mem=all", "20", "320000", "100", "15")
        heap = self.heap(recording)
        self.assertEqual(heap["allocated_bytes"], said["bytes"])
        self.assertEqual(heap["allocated_blocks"], said["blocks"])
        self.assertGreater(heap["dropped"], 0)
        self.assertGreater(heap["frees_dropped"], 0)
        self.assertEqual(round(self.leaks(recording)["leaks_large"]["blocks"]), said["large"])
        text = profc("report", "-i", recording.path, "--leaks").stdout
        self.assertRegex(text, r"frees were not recorded: up to [\d,]+ blocks")
        leaks = json.loads(profc("report", "-i", recording.path, "--leaks", "--json").stdout)
        self.assertFalse(leaks["exact"])
        # What was lost may be alive; what was freed may be shown, which is said.
        self.assertLessEqual(said["live"], heap["live_bytes"] + heap["live_ci_bytes"])
        self.assertGreaterEqual(heap["live_ci_bytes"], 100 * heap["dropped"])
        self.assertLessEqual(heap["live_bytes"], said["live"] + 100 * heap["frees_dropped"])


# Each program lives long enough to be looked at again.
RUNS_PROGRAMS = """
import json, os, subprocess, time
for _ in range(8):
    subprocess.run(["sleep", "0.3"])
time.sleep(0.3)
profc = f"/proc/{os.getppid()}/fd"
links = []
for name in os.listdir(profc):
    try:
        links.append(os.readlink(f"{profc}/{name}"))
    except FileNotFoundError:
        pass
print(json.dumps({"programs": 8, "files": [link for link in links if "profc-probes" in link]}))
"""


class Processes(MemoryCase):
    def test_threads(self):
        """The C library allocates for each of them. All that is recorded fits into the ring."""
        program = build("allocates")
        recording = self.record([program, "threads:4", "leaks:50:1000"], "--mem=1")
        self.assertExact(recording, besides=4 * 4096)
        self.assertEqual(self.leaks(recording)["leaks"]["bytes"], 4 * 50 * 1000)
        self.assertGreaterEqual(len(recording.rows("-m", "leaked", "--by", "thread")), 4)

    def test_forks_and_programs_that_are_executed(self):
        words = ("leaks:50:500", "fork", "leaks:24:3000", "waits", "exec", "waits", "leaks:10:7000")
        recording = self.record([build("allocates"), *words], "--mem=1")
        self.assertExact(recording)
        self.assertEqual(
            self.leaks(recording)["leaks"]["bytes"], 50 * 500 + 24 * 3000 + 10 * 7000
        )

    def test_many_programs_need_no_files_of_profc(self):
        """The memory of their probes, which each of them maps, is no code to be kept open."""
        recording = self.record([sys.executable, "-c", RUNS_PROGRAMS], "--mem")
        self.assertEqual(recording.said, [{"programs": 8, "files": []}])
        self.assertGreater(self.heap(recording)["allocated_blocks"], 0)

    def test_without_children(self):
        """Of a sample the exact totals are of both: they are not those of the parent alone."""
        words = ("leaks:50:500", "fork", "leaks:24:3000")
        for rate, is_exact in (("--mem=1", False), ("--mem=all", True)):
            recording = self.record([build("allocates"), *words], rate, "--no-children")
            heap = self.heap(recording)
            self.assertEqual(heap["allocated_bytes"], 50 * 500)
            self.assertEqual(heap["allocated_blocks"], 50)
            self.assertEqual(heap["allocated_exact"], is_exact)
            self.assertEqual(self.leaks(recording)["leaks"]["bytes"], 50 * 500)

    def test_whose_leaks_they_are(self):
        words = ("leaks:50:500", "threads:2", "leaks:20:400", "fork", "leaks:24:3000")
        recording = self.record([build("allocates"), *words], "--mem=1")
        child, parent = sorted(recording.said, key=lambda said: said["blocks"])
        report = lambda *options: json.loads(  # noqa: E731
            profc("report", "-i", recording.path, "--leaks", "--json", *options).stdout)
        owners = {owner["pid"]: owner["bytes"] for owner in report()["owners"]}
        self.assertEqual(owners[child["pid"]], 24 * 3000)
        # Its threads are the C library's as well.
        self.assertWithin(owners[parent["pid"]], 50 * 500 + 2 * 20 * 400, 4096, "of the parent")
        of_child = report("--process", str(child["pid"]))
        self.assertEqual({leak["pid"] for leak in of_child["leaks"]}, {child["pid"]})
        self.assertEqual(of_child["total_bytes"], 24 * 3000)
        by_thread = report("--by", "thread", "--thread", "^allocates$")
        self.assertEqual({leak["thread"] for leak in by_thread["leaks"]}, {"allocates"})
        text = profc("report", "-i", recording.path, "--leaks").stdout
        self.assertIn("by 2 processes", text)
        self.assertIn(f"70.3 KiB in 24 blocks by allocates ({child['pid']})", text)
        self.assertRegex(text, r"\n    /\S+/allocates\.c:\d+: leaks\n")

    def test_with_samples_of_threads_beside(self):
        recording = record(self.directory, [build("allocates"), "leaks:600:500"], "--mem=1")
        self.assertExact(recording)
        self.assertEqual(self.leaks(recording)["leaks"]["bytes"], 300000)

    def test_the_hint_shows_memory_also_of_what_works(self):
        path = self.path("works.data")
        result = profc("record", "--mem=1", "-o", path, "--", build("spin_leaf"), "100")
        report = json.loads(profc("report", "--json", "-i", path).stdout)
        self.assertGreater(report["total_ns"], 20e6)
        self.assertIn(f"hint: profc report --leaks -i {path}", result.stderr)


class Attached(MemoryCase):
    RATE = "--mem=1"

    def ask(self, target, word):
        """What it says when it has done it."""
        target.process.stdin.write(word + "\n")
        target.process.stdin.flush()
        return json.loads(target.process.stdout.readline())

    def begin(self, *options, cpu=False):
        """A server that has allocated before it is attached to, and the recorder."""
        options = options if cpu else ("--no-cpu", *options)
        target = Running([build("allocates"), "serve"])
        self.addCleanup(target.__exit__)
        target.wait_ready()
        self.ask(target, "leaks:500:10000")
        fifo = self.path("control")
        os.mkfifo(fifo, 0o600)
        recorder = Recorder(
            self.directory, "attach", "-p", target.pid, self.RATE, "--control", f"fifo:{fifo}",
            *options,
        )
        self.addCleanup(recorder.__exit__, None, None, None)
        self.wait_for_probes(target.pid)
        self.until_done(fifo, "")  # the recording has begun
        return target, recorder, fifo

    def test_what_a_server_leaks_between_two_moments(self):
        target, recorder, fifo = self.begin()
        first = self.ask(target, "leaks:30:2000")
        self.until_done(fifo, "mark begin\n")
        self.ask(target, "temporaries:50:700")
        self.ask(target, "leaks:40:3000")
        self.until_done(fifo, "mark end\n")
        last = self.ask(target, "leaks:20:5000")
        recording = recorder.interrupt()
        heap = self.heap(recording)
        self.assertEqual(heap["allocated_bytes"], last["bytes"] - 500 * 10000)
        self.assertEqual(heap["live_bytes"], last["live"] - 500 * 10000)
        self.assertGreater(heap["before_attach_bytes"], 5e6)
        self.assertEqual(first["wrong"], 0)
        between = self.leaks(recording, "--time", "mark:begin..mark:end")
        self.assertEqual(between["leaks"]["bytes"], 40 * 3000)
        self.assertEqual(set(between), {"leaks"})

    def test_what_is_allocated_while_it_is_paused_is_no_part_of_it(self):
        """But that what was recorded is freed meanwhile is."""
        target, recorder, fifo = self.begin("--paused")
        self.ask(target, "leaks:3000:3000")
        self.until_done(fifo, "resume\n")
        before = self.ask(target, "leaks:70:1000")
        last = self.ask(target, "holds:40:2000")
        self.until_done(fifo, "pause\n")
        self.ask(target, "leaks:3000:3000")
        self.ask(target, "lets_go:40:2000")
        recording = recorder.interrupt()
        self.assertEqual(last["bytes"] - before["bytes"], 40 * 2000)
        heap = self.heap(recording)
        self.assertEqual(heap["allocated_bytes"], 70 * 1000 + 40 * 2000)
        self.assertEqual(heap["allocated_blocks"], 110)
        self.assertEqual(heap["live_bytes"], 70 * 1000)
        self.assertEqual(heap["dropped"], 0)
        self.assertEqual(self.leaks(recording)["leaks"]["blocks"], 70)

    def test_who_frees_while_it_is_paused_is_told_as_a_number(self):
        if self.RATE == "--mem=all":
            ended = profc("record", self.RATE, "--mem-free-stacks", "--", "true", status=2)
            self.assertIn("cannot be combined with --mem=all", ended.stderr)
            return
        target, recorder, fifo = self.begin("--mem-free-stacks")
        self.ask(target, "holds:40:2000")
        self.ask(target, "temporaries:30:700")
        self.until_done(fifo, "pause\n")
        self.ask(target, "lets_go:40:2000")
        recording = recorder.interrupt()
        freed = recording.report("-m", "freed")
        self.assertEqual(freed["total_bytes"], 30 * 700)
        self.assertEqual(self.heap(recording)["live_bytes"], 0)
        text = profc("report", "-i", recording.path, "-m", "freed").stdout
        self.assertIn("note: 78.1 KiB in 40 blocks more: the freeing stack was not recorded", text)

    def test_memory_is_left_out_while_it_is_stopped(self):
        """That what was recorded is freed meanwhile is not; nor are samples of threads."""
        target, recorder, fifo = self.begin("--mem-paused", cpu=True)
        self.ask(target, "leaks:300:3000")
        before = self.until_done(fifo, "mem start\n")
        self.ask(target, "leaks:70:1000")
        self.ask(target, "holds:40:2000")
        self.until_done(fifo, "mem stop\nmark stopped\n")
        self.ask(target, "leaks:300:3000")
        self.ask(target, "lets_go:40:2000")
        self.ask(target, "hammers:300000:900")
        self.until_done(fifo, "mem start\nmark started\n")
        self.ask(target, "leaks:5:700")
        recording = recorder.interrupt()
        self.assertEqual(self.heap(before)["allocated_bytes"], 0)
        heap = self.heap(recording)
        self.assertEqual(heap["allocated_bytes"], 70 * 1000 + 40 * 2000 + 5 * 700)
        self.assertEqual(heap["allocated_blocks"], 70 + 40 + 5)
        self.assertTrue(heap["allocated_exact"])
        self.assertEqual(heap["samples"], 70 + 40 + 5)
        self.assertEqual(heap["live_bytes"], 70 * 1000 + 5 * 700)
        self.assertEqual(heap["peak_bytes"], 70 * 1000 + 40 * 2000)
        self.assertEqual(self.leaks(recording)["leaks"]["blocks"], 75)
        self.assertGreater(json.loads(recording.info("--json"))["counters"]["memory_off_ns"], 0)
        self.assertIn("time in which allocations were not to be recorded", recording.info())
        off = recording.report("--time", "mark:stopped..mark:started")
        self.assertGreater(off["total_ns"], 0)

    def test_each_phase_has_a_profile_of_its_own(self):
        """What was discarded is in no view, nor that it is freed later."""
        target, recorder, fifo = self.begin()
        self.ask(target, "leaks:30:2000")
        self.ask(target, "holds:40:3000")
        first = self.until_done(fifo, "")
        self.until_done(fifo, "mem discard\n")
        self.ask(target, "lets_go:40:3000")
        self.ask(target, "leaks:20:500")
        second = self.until_done(fifo, "")
        empty = self.until_done(fifo, "mem discard\n")
        self.ask(target, "temporaries:10:700")
        self.ask(target, "callocs:3:800")
        last = recorder.interrupt()
        for phase, nr_bytes, nr_blocks, left in (
            (first, 30 * 2000 + 40 * 3000, 70, {"leaks": 60000, "holds": 120000}),
            (second, 20 * 500, 20, {"leaks": 10000}),
            (empty, 0, 0, {}),
            (last, 10 * 700 + 3 * 800, 13, {"callocs": 2400}),
        ):
            heap = self.heap(phase)
            self.assertEqual(heap["allocated_bytes"], nr_bytes)
            self.assertEqual(heap["allocated_blocks"], nr_blocks)
            self.assertEqual(heap["samples"], nr_blocks)
            self.assertEqual(heap["dropped"], 0)
            self.assertEqual(heap["live_bytes"], sum(left.values()))
            if nr_blocks:
                found = {name: one["bytes"] for name, one in self.leaks(phase).items()}
                self.assertEqual(found, left)
            self.assertEqual(heap["discarded_at_ns"] is None, phase is first)
            self.assertGreater(heap["before_attach_bytes"], 5e6)
            self.assertGreater(heap["rss_bytes"], 5e6)
        self.assertIn("when what was recorded of it was discarded", last.info())
        self.assertIn("recorded 13 of 13 blocks, 9.18 KiB", last.stderr)
        again = self.path("again.data")
        profc("merge", "-o", again, last.path)
        self.assertEqual(self.heap(Recording(again))["allocated_bytes"], 10 * 700 + 3 * 800)
        early = profc("report", "-i", last.path, "-m", "live", "--at", "1ms", status=2)
        self.assertIn("when what was recorded of memory was discarded", early.stderr)

    def test_the_server_is_as_it_was(self):
        """Its maps, the code of its allocator, and what its memory holds."""
        target, recorder, _ = self.begin()
        during = self.ask(target, "hammers:3000:900")
        self.assertEqual(during["wrong"], 0)
        recording = recorder.interrupt()
        self.assertGreater(self.heap(recording)["allocated_blocks"], 1000)
        self.assertNotIn("profc-probes", self.maps(target.pid))
        after = self.ask(target, "hammers:3000:900")
        self.assertEqual(after["wrong"], 0)
        self.assertEqual(procfs.status(target.pid)["TracerPid"], "0")
        self.assertCodeIsThatOfFiles(target.pid)
        target.process.stdin.close()
        self.assertEqual(target.process.wait(timeout=20), 0)

    def assertCodeIsThatOfFiles(self, pid):
        self.assertEqual(self.differing_code(pid), [])


class AttachedAll(Attached):
    RATE = "--mem=all"


class ChangedCode(MemoryCase):
    def test_only_the_function_that_is_not_as_in_its_file_is_left_out(self):
        with Running([build("changes_memalign")]) as target:
            target.wait_ready()
            recording = attach_to_count(self.directory, target.pid, "--mem=1", "-d", "1")
            target.process.stdin.close()
            self.assertEqual(target.process.wait(timeout=20), 0)
        refused = {row["function"]: row["reason"]
                   for row in json.loads(recording.info("--json"))["probes"]["refused"]}
        self.assertIn("not that of its file", refused["memalign"])
        self.assertNotIn("malloc", refused)
        self.assertGreater(self.heap(recording)["allocated_blocks"], 0)


class WithoutMemory(MemoryCase):
    def test_where_memory_was_never_recorded_that_is_said(self):
        options = ("--mem=1", "--mem-paused", "--control", f"fifo:{self.path('control')}")
        recording = self.record([build("allocates"), "leaks:500:5000"], *options)
        self.assertIn("nothing was allocated while that was recorded", recording.stderr)

    def test_what_only_memory_knows_is_refused_without_it(self):
        fifo = self.path("control")
        recorder = Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", "cat",
            stdin=subprocess.PIPE,
        )
        self.addCleanup(recorder.__exit__, None, None, None)
        self.eventually(lambda: os.path.exists(fifo), "a start")
        self.until_done(fifo, "mem stop\nmem startmem discard\nmem\nmem pause\n")
        recording = recorder.interrupt()
        self.assertEqual(recording.stderr.count("'mem' needs a recording with --mem"), 3)
        self.assertEqual(recording.stderr.count("unknown word 'mem'"), 2)
        self.assertIn("mem start, mem stop, mem discard", recording.stderr)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertEqual(counters["control_refused"], 5)
        for options in (("--mem-paused",), ("--mem-paused", "--mem"),
                        ("--mem-paused", "--control", f"fifo:{fifo}")):
            ended = profc("record", *options, "--", "true", status=2)
            self.assertIn("--mem-paused needs --mem, and --control", ended.stderr)


class Unchanged(MemoryCase):
    def test_what_a_command_prints_and_how_it_ends(self):
        words = ("hammers:20000:700", "threads:4", "hammers:5000:300", "exit:9")
        program = build("allocates")
        alone = subprocess.run([program, *words], stdout=subprocess.PIPE, text=True, check=False)
        for rate in ("--mem=4K", "--mem"):
            recording = self.record([program, *words], rate, status=9)
            self.assertEqual(alone.returncode, 9)
            for said, expected in zip(recording.said, [json.loads(alone.stdout)]):
                for key in ("bytes", "blocks", "live", "wrong"):
                    self.assertEqual(said[key], expected[key], key)

    def test_a_stripped_program_runs_all_the_same(self):
        program = build("allocates", "-O2", "-static", "-s", called="stripped")
        recording = self.record([program, "leaks:10:100", "exit:3"], "--mem", status=125)
        self.assertEqual(recording.said[0]["blocks"], 10)
        self.assertIn("nothing was recorded", recording.stderr)
        self.assertIn("there is no function named malloc", recording.stderr)
