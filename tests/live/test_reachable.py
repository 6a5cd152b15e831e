# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks to which nothing points, among those that were not freed."""

import json
import os
import signal
import subprocess
import time

import procfs
from live import LiveCase
from profc import Recorder, profc, record
from targets import build, need, source_path

IN_COMPANY = True

# What each function of the target allocates: bytes, blocks.
LOST = {"loses": (1600, 10), "loses_ring": (64, 1), "loses_large": (1 << 20, 1)}
KEPT = {
    "keeps_in_global": (320, 1),
    "keeps_middle": (640, 1),
    "keeps_in_list": (640, 10),
    "keeps_on_stack": (480, 1),
    "keeps_in_register": (800, 1),
}
HIDDEN = {
    "keeps_in_closed": (1040, 1),
    "keeps_packed": (1056, 1),
    "keeps_across_pages": (1072, 1),
}
OWN = {*LOST, *KEPT, *HIDDEN, "keeps_end"}
BY_SIGNAL = "it ended by a signal, or without _exit() of its C library"


class ReachableCase(LiveCase):
    RATE = "--mem=1"

    def setUp(self):
        super().setUp()
        self.program = build("loses_pointers", libraries=("-lpthread",))

    def record(self, *words, options=("--reachable", "--no-cpu"), **more):
        return record(self.directory, [self.program, *words], self.RATE, *options, **more)

    def leaks(self, recording, *options):
        text = profc(
            "report", "-i", recording.path, "--leaks", "--reachable", "--json", *options
        ).stdout
        return json.loads(text)

    def parts(self, leaks):
        """{function: ((bytes, blocks) lost, pointed to, and of neither)} of the target's own."""
        found = {}
        for leak in leaks["leaks"]:
            names = [(frame["function"] or "").split("(")[0] for frame in leak["stack"]]
            own = next((name for name in names if name in OWN), None)
            if not own:
                continue
            lost = leak["lost_bytes"], leak["lost_blocks"]
            kept = leak["pointed_to_bytes"], leak["pointed_to_blocks"]
            rest = leak["bytes"] - lost[0] - kept[0], leak["blocks"] - lost[1] - kept[1]
            before = found.get(own, ((0, 0),) * 3)
            found[own] = tuple(
                (a[0] + b[0], a[1] + b[1]) for a, b in zip(before, (lost, kept, rest))
            )
        return found

    def assertRight(self, leaks, lost=LOST, kept=KEPT):
        """Of what is lost, a block may have an allocator's own pointer just behind it."""
        none = (0, 0)
        parts = self.parts(leaks)
        for name, what in lost.items():
            found, pointed_to, perhaps = parts.pop(name)
            self.assertEqual((pointed_to, found[0] + perhaps[0], found[1] + perhaps[1]),
                             (none, *what), name)
            self.assertLessEqual(perhaps[1], 2, name)
        self.assertEqual(parts, {name: (none, what, none) for name, what in kept.items()})

    def start(self, *words):
        """The target, which waits for a byte; ended at the latest with the test."""
        target = subprocess.Popen(
            [self.program, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

        def end():
            target.kill()
            target.stdin.close()
            target.stdout.close()
            target.wait()

        self.addCleanup(end)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        return target

    def go_on(self, target):
        target.stdin.write(b"x")
        target.stdin.flush()

    def attach(self, target, *options):
        fifo = self.fifo = self.path("control")
        os.mkfifo(fifo, 0o600)
        recorder = Recorder(
            self.directory, "attach", "-p", target.pid, self.RATE, "--reachable", "--control",
            f"fifo:{fifo}", *options,
        )
        self.addCleanup(recorder.__exit__, None, None, None)
        self.until_done(fifo, "")  # the recording has begun
        return recorder

    def begin(self, *options):
        target = self.start("again", "all", "again", "exit")
        recorder = self.attach(target, *options)
        self.go_on(target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        return target, recorder


class EndsOfCommands(ReachableCase):
    """Of blocks that are sampled, and of all."""

    def test_marks_are_right_whichever_way_it_exits(self):
        for words, status in ((("exit",), 3), (("_exit",), 4), ((), 0)):
            with self.subTest(words=words):
                leaks = self.leaks(self.record("all", *words, status=status))
                self.assertRight(leaks)
                search = leaks["reachable"]
                self.assertEqual(search["processes"], 1)
                self.assertEqual(search["not_searched"], [])
                self.assertGreater(search["stop_ns"], 0)
                self.assertGreater(search["searched_bytes"], 4096)
                self.assertLessEqual(leaks["lost_blocks"], 12)
                self.assertGreaterEqual(leaks["lost_blocks"], 10)

    def test_who_is_killed_is_told_as_not_searched(self):
        recording = self.record("all", "kill", status=-signal.SIGKILL)
        leaks = self.leaks(recording)
        none = (0, 0)
        self.assertEqual(
            self.parts(leaks), {name: (none, none, what) for name, what in (LOST | KEPT).items()}
        )
        self.assertEqual(leaks["reachable"]["processes"], 0, leaks["reachable"])
        (told,) = leaks["reachable"]["not_searched"]
        self.assertEqual(told["reason"], BY_SIGNAL)
        self.assertIn(BY_SIGNAL, " ".join(recording.info().split()))

    def test_a_child_of_vfork_that_ends_does_not_have_its_parent_searched(self):
        leaks = self.leaks(self.record("spawn", "all"))
        self.assertRight(leaks)
        self.assertEqual(leaks["reachable"]["processes"], 1, leaks["reachable"])

    def test_a_forked_child_is_searched_for_its_own(self):
        leaks = self.leaks(self.record("all", "fork"))
        self.assertEqual(leaks["reachable"]["processes"], 2, leaks["reachable"])
        self.assertRight(leaks, lost=LOST | {"loses": (3200, 20)})

    def test_merged_recordings_keep_what_was_found(self):
        first = self.record("all")
        merged = self.path("merged.data")
        os.rename(first.path, self.path("first.data"))
        second = self.record("fork")
        profc("merge", "-o", merged, self.path("first.data"), second.path)
        first.path = merged
        leaks = self.leaks(first)
        self.assertEqual(leaks["reachable"]["processes"], 2, leaks["reachable"])
        self.assertRight(leaks, lost=LOST | {"loses": (3200, 20)})


class Commands(ReachableCase):
    """A search goes through memory in one way, however many blocks are recorded."""

    def test_what_is_kept_in_odd_places_is_not_lost(self):
        recording = self.record("all", "hidden", "exit", status=3)
        leaks = self.leaks(recording)
        self.assertEqual(self.parts(leaks)["keeps_end"], ((0, 0), (0, 0), (1008, 1)))
        leaks["leaks"] = [
            leak for leak in leaks["leaks"]
            if not any(frame["function"] == "keeps_end" for frame in leak["stack"])
        ]
        self.assertRight(leaks, kept=KEPT | HIDDEN)
        text = profc("report", "-i", recording.path, "--leaks", "--reachable", "-n", "0").stdout
        self.assertRegex(text, r"(?s)perhaps\s+pointed\s+to.*keeps_end")

    def test_lost_stacks_come_first(self):
        recording = self.record("all")
        self.assertIn(
            f"hint: profc report --leaks --reachable -i {recording.path}", recording.stderr
        )
        leaks = self.leaks(recording)["leaks"]
        lost = [leak["lost_bytes"] for leak in leaks]
        self.assertEqual(lost, sorted(lost, reverse=True))
        self.assertGreater(lost[2], 0)

    def test_who_freed_all_is_not_searched(self):
        recording = self.record()
        self.assertEqual(json.loads(recording.info("--json"))["heap"]["reachable"], None)

    def test_static_programs_are_searched_too(self):
        self.program = build("loses_pointers", "-O2", "-g", "-static", libraries=("-lpthread",))
        self.assertRight(self.leaks(self.record("all")))

    def test_musl(self):
        need("musl-gcc")
        for flags in ((), ("-static",)):
            with self.subTest(flags=flags):
                self.program = self.path("loses_musl")
                source = source_path("loses_pointers")
                subprocess.run(
                    ["musl-gcc", "-O2", "-g", *flags, "-o", self.program, source], check=True
                )
                self.assertRight(self.leaks(self.record("all", "exit", status=3)))

    def test_samples_beside_it_do_no_harm(self):
        options = ("--reachable", "-F", "2000")
        self.assertRight(self.leaks(self.record("all", options=options)))

    def test_without_being_asked_nobody_waits_or_searches(self):
        recording = self.record("all", options=("--no-cpu",))
        leaks = self.leaks(recording)
        self.assertIsNone(leaks["reachable"])
        self.assertEqual(leaks["lost_blocks"], 0)
        text = profc("report", "-i", recording.path, "--leaks", "--reachable").stdout
        self.assertIn("'profc record --mem --reachable' does", text)


class EndsOfCommandsOfAllBlocks(EndsOfCommands):
    RATE = "--mem=all"


class Searches(ReachableCase):
    """Of blocks that are sampled, and of all."""

    def test_who_runs_on_is_searched_in_the_end(self):
        target, recorder = self.begin()
        leaks = self.leaks(recorder.interrupt())
        self.assertRight(leaks)
        self.assertEqual(leaks["reachable"]["processes"], 1, leaks["reachable"])
        self.assertUntouched(target.pid)
        self.go_on(target)
        self.assertEqual(target.wait(timeout=20), 3)

    def test_who_ends_by_itself_is_searched_before(self):
        target, recorder = self.begin()
        self.go_on(target)
        self.assertEqual(target.wait(timeout=20), 3)
        self.assertRight(self.leaks(recorder.finish()))

    def test_at_marks_too(self):
        """A pointer of the first time is overwritten by the second: its block is lost by then."""
        target = self.start("again", "all", "again", "all", "again", "exit")
        recorder = self.attach(target)
        for mark in ("mem search before", "mem search first", "mark first", "mem search the second"):
            self.until_done(self.fifo, f"{mark}\n")
            if mark in ("mem search before", "mark first"):
                self.go_on(target)
                self.assertEqual(target.stdout.readline(), b"ready\n")
        self.go_on(target)
        self.assertEqual(target.wait(timeout=20), 3)
        recording = recorder.finish()
        first = self.leaks(recording, "--at", "mark:first")
        self.assertRight(first)
        self.assertEqual(first["reachable"]["processes"], 1)
        self.assertEqual(first["total_blocks"], 28)
        second = self.leaks(recording, "--at", "mark:the second")
        self.assertEqual(second["total_blocks"], 2 * 28)
        self.assertGreater(self.parts(second)["keeps_in_global"][0], (0, 0))
        self.assertEqual(self.leaks(recording)["total_blocks"], 2 * 28)
        self.assertEqual(self.leaks(recording, "--at", "mark:before")["total_blocks"], 0)
        marks = json.loads(recording.info("--json"))["marks"]
        self.assertEqual(
            [(mark["text"], "reachable" in mark) for mark in marks],
            [("before", False), ("first", True), ("first", False), ("the second", True)],
        )
        self.assertIn("at mark:the second", recording.info())
        self.assertIn("searched at mark:first: ", recording.stderr)


class Attached(ReachableCase):
    """However many blocks are recorded."""

    def test_what_is_forked_is_searched_at_marks_as_well(self):
        target = self.start("again", "all", "fork_again", "again")
        recorder = self.attach(target)
        self.go_on(target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        self.until_done(self.fifo, "mem search both\n")
        self.go_on(target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        self.go_on(target)
        leaks = self.leaks(recorder.finish(), "--at", "mark:both")
        self.assertEqual(leaks["reachable"]["processes"], 2, leaks["reachable"])
        self.assertRight(leaks, lost=LOST | {"loses": (3200, 20)})


    def test_who_asks_for_the_end_meanwhile_ends_the_search(self):
        """At a mark, and in the end: each would take seconds of zeros, and find nothing."""
        target = self.start("zeros", "again", "all", "again", "exit")
        recorder = self.attach(target, "--no-cpu")
        self.go_on(target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        with open(self.fifo, "w", encoding="utf-8") as fifo:
            fifo.write("mem search first\n")
        self.eventually(lambda: procfs.state(target.pid) == "t", "that it stands")
        while recorder.process.poll() is None:
            recorder.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        recording = recorder.finish()
        self.assertUntouched(target.pid)
        self.go_on(target)
        self.assertEqual(target.wait(timeout=20), 3)
        for options in (), ("--at", "mark:first"):
            search = self.leaks(recording, *options)["reachable"]
            self.assertEqual(search["processes"], 0)
            (told,) = search["not_searched"]
            self.assertIn("the end was requested", told["reason"])


class SearchesOfAllBlocks(Searches):
    RATE = "--mem=all"


class Abandoned(ReachableCase):
    """By profc. At its end a process waits in the same way whatever is recorded."""

    def test_profc_that_is_killed_holds_nobody(self):
        target, recorder = self.begin()
        recorder.process.kill()
        recorder.process.wait()
        self.go_on(target)
        # It waits for five seconds at most.
        self.assertEqual(target.wait(timeout=60), 3)

    def test_profc_that_is_killed_while_somebody_waits(self):
        target, recorder = self.begin()
        self.suspend_between_stops(recorder.process, target.pid)
        self.go_on(target)
        self.eventually(lambda: self.waits_to_go(target.pid), "that it waits to be searched")
        recorder.process.kill()
        recorder.process.wait()
        self.assertEqual(target.wait(timeout=60), 3)

    def suspend_between_stops(self, process, pid):
        """A profc that is suspended while it holds a thread holds it until it is continued."""
        states = ("", "")
        while states[0] != "T" or states[1] in "tT":
            process.send_signal(signal.SIGCONT)
            time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.01)
            states = [procfs.status(one)["State"][0] for one in (process.pid, pid)]

    def waits_to_go(self, pid):
        """It spins, and makes no system call meanwhile."""
        for _ in range(30):
            with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
                if file.read() != "running\n":
                    return False
            time.sleep(0.01)
        return True


class Maps(ReachableCase):
    def test_mappings_are_searched_for(self):
        for rate in ("--mem=1", "--mem=all"):
            self.RATE = rate
            leaks = self.leaks(self.record("maps"))["leaks"]
            found = {
                leak["stack"][1]["function"]: (leak["lost_bytes"], leak["pointed_to_bytes"])
                for leak in leaks
                if leak["kind"] == "map"
            }
            self.assertEqual(
                found, {"loses_map": (1 << 20, 0), "keeps_map": (0, 3 << 20)}
            )


class Options(ReachableCase):
    def test_a_search_at_a_mark_needs_one_in_the_end(self):
        target = self.start("again")
        fifo = self.path("control")
        os.mkfifo(fifo, 0o600)
        recorder = Recorder(
            self.directory, "attach", "-p", target.pid, "--mem", "--control", f"fifo:{fifo}"
        )
        self.addCleanup(recorder.__exit__, None, None, None)
        self.until_done(fifo, "mem search now\n")
        self.go_on(target)
        self.assertIn("'mem search' needs --reachable", recorder.finish().stderr)

    def test_it_needs_memory(self):
        done = profc("record", "--reachable", "--", "true", status=2)
        self.assertIn("--reachable needs --mem", done.stderr)

    def test_the_view_needs_leaks(self):
        done = profc("report", "--reachable", status=2)
        self.assertIn("--reachable needs --leaks", done.stderr)


class ReservedMemory(LiveCase):
    def test_terabytes_that_are_not_used_are_not_gone_through(self):
        """As AddressSanitizer, Java and Go reserve them: the process would stand for minutes."""
        recording = record(self.directory, [build("reserves_memory"), "16"], "--mem=1",
                           "--reachable", "--no-cpu", timeout=60)
        (said,) = recording.said
        if not said["terabytes"]:
            self.skipTest("addresses are limited")
        leaks = json.loads(profc("report", "-i", recording.path, "--leaks", "--reachable",
                                 "--json").stdout)
        (lost,) = [leak for leak in leaks["leaks"]
                   if any((frame["function"] or "").startswith("loses")
                          for frame in leak["stack"])]
        self.assertEqual((lost["lost_bytes"], lost["lost_blocks"]), (1600, 1))
