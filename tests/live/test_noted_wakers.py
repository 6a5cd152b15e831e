# SPDX-License-Identifier: GPL-2.0-or-later
"""record --wakers: which thread ended a wait, beside what the kernel's scheduler says of it."""

import bisect
import collections
import contextlib
import json
import os
import platform
import random
import re
import subprocess
import sys
import time
import unittest

from live import LiveCase
from paths import TESTS
from profc import Recorder, attach, profc, record
from rounds import rounds
from targets import Running, build, need
from uprobes import place as place_of

sys.path.insert(0, os.path.join(TESTS, "cli"))
import read_profc_data  # pylint: disable=wrong-import-position

PROGRAM = ("two_wakers", "-O2", "-g", "-pthread")
TRACING = "/sys/kernel/tracing"
WAITERS = ("taker", "eater", "worker")
# A line of the trace: the thread that woke another one, when, and that one.
WAKING = re.compile(r"^.{16}-(\d+) .* (\d+)\.(\d{6}): sched_waking: .* pid=(\d+) ")


class Trace:
    """What the kernel's scheduler says of wakes: {thread: [(time in us, by which thread)]}."""

    def __init__(self, directory):
        self.directory = directory
        self.wakes = collections.defaultdict(list)

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
            file.write(text)

    @classmethod
    @contextlib.contextmanager
    def of(cls, names):
        """Of threads with these names; None where nothing can be traced."""
        directory = f"{TRACING}/instances/profc-{os.getpid()}"
        try:
            os.mkdir(directory)
        except OSError:
            yield None
            return
        trace = cls(directory)
        try:
            trace.write("trace_clock", "mono")
            trace.write("buffer_size_kb", "8192")
            trace.write("events/sched/sched_waking/filter",
                        " || ".join(f'comm == "{name}"' for name in names))
            trace.write("events/sched/sched_waking/enable", "1")
            yield trace
        finally:
            os.rmdir(directory)

    def read(self):
        self.write("events/sched/sched_waking/enable", "0")
        with open(os.path.join(self.directory, "trace"), encoding="utf-8", errors="replace") as lines:
            for found in filter(None, map(WAKING.match, lines)):
                by, seconds, us, tid = map(int, found.groups())
                self.wakes[tid].append((seconds * 10**6 + us, by))


@unittest.skipIf(platform.machine() == "x86_64", "calls are noted here")
class Elsewhere(LiveCase):
    def test_refused_before_the_command_starts(self):
        started = self.path("started")
        done = profc("record", "--wakers", "-o", self.path("none"), "--", "touch", started, status=2)
        self.assertIn("cannot be noted on this kind of processor", done.stderr)
        self.assertFalse(os.path.exists(started))


@unittest.skipUnless(platform.machine() == "x86_64", "calls are noted on x86-64 only")
class NotedWakers(LiveCase):
    def waits_of(self, path):
        report = profc("report", "-m", "blocked", "--wakers", "--json", "-n", "0", "-i", path)
        return json.loads(report.stdout)["waits"]

    def assert_known(self, path):
        """And in the function that made the call."""
        waits = collections.defaultdict(list)
        for wait in self.waits_of(path):
            waits[wait["wait"]] += wait["ended_by"]
        for name, functions in (("filled", {"often": "fill", "rarely": "fill_rarely"}),
                                ("given", {"giver-a": "give", "giver-b": "give"}),
                                ("queued", {"queuer-a": "enqueue", "queuer-b": "enqueue"})):
            with self.subTest(wait=name):
                whole = sum(row["blocked_ns"] for row in waits[name])
                known = [row for row in waits[name] if row["how"] == "wake" and row["thread"] in functions]
                self.assertGreater(sum(row["blocked_ns"] for row in known), 0.9 * whole, waits[name])
                self.assertEqual({row["thread"] for row in known}, set(functions))
                for row in known:
                    self.assertEqual(row["function"], functions[row["thread"]])

    def test_who_woke_whom_is_what_the_scheduler_says(self):
        with Running([build(*PROGRAM), "4"]) as target, Trace.of(WAITERS) as trace:
            target.wait_ready()
            apart_us = (time.time_ns() - time.monotonic_ns()) // 1000
            recording = attach(self.directory, target.pid, "--wakers", "-d", "3")
            if trace:
                trace.read()
        self.assert_known(recording.path)
        if not trace:
            self.skipTest("no trace points of the kernel here")
        read = read_profc_data.Recording(recording.path)
        begun_us = read.facts["start"] // 1000 - apart_us
        same, others = 0, []
        for row in read.wakes:
            wakes = trace.wakes[read.threads[row["thread"]]["tid"]]
            end_us = begun_us + row["end"] / 1000
            at = bisect.bisect(wakes, (end_us - 100,))
            if at < len(wakes) and wakes[at][1] == read.threads[row["waker"]]["tid"]:
                same += 1
            else:
                others.append((end_us, row, wakes[at:at + 1]))
        self.assertGreater(len(read.wakes), 500)
        self.assertGreater(same, 0.9 * len(read.wakes), others[:5])
        print(f"# {same} of {len(read.wakes)} wakes are the scheduler's")

    def test_command_from_its_start(self):
        recording = record(self.directory, [build(*PROGRAM), "2"], "--wakers")
        self.assert_known(recording.path)

    def test_chain_goes_on_in_the_thread_that_woke_the_other(self):
        recording = record(self.directory, [build(*PROGRAM), "2"], "--wakers")
        chain = recording.report("--chain", "--thread", "^eater$")
        self.assertGreaterEqual(chain["links"]["wake"], 1, chain)
        self.assertLessEqual({row["thread"] for row in chain["rows"]},
                             {"eater", "giver-a", "giver-b", "two_wakers"})

    def assert_apart(self, path):
        """Words at the same address are not the same in another process."""
        read = read_profc_data.Recording(path)
        self.assertGreater(len(read.wakes), 200)
        processes = set()
        for row in read.wakes:
            of = read.threads[row["thread"]]["process"]
            self.assertEqual(of, read.threads[row["waker"]]["process"], row)
            processes.add(of)
        self.assertEqual(len(processes), 2)

    def test_forked_child(self):
        recording = record(self.directory, [build(*PROGRAM), "2", "fork"], "--wakers")
        self.assert_apart(recording.path)
        self.assert_known(recording.path)

    def test_executed_program(self):
        program = build(*PROGRAM)
        shell = f"{program} 2 & {program} 2; wait"
        recording = record(self.directory, ["sh", "-c", shell], "--wakers")
        self.assert_apart(recording.path)

    def test_without_the_option_nothing_is_put_in(self):
        recording = record(self.directory, [build(*PROGRAM), "0.5"])
        self.assertFalse(read_profc_data.Recording(recording.path).wakes)


    def ended_by(self, path, thread):
        """{how: ns} of the waits of a thread for memory."""
        report = json.loads(profc("report", "-m", "blocked", "--wakers", "--json", "-n", "0", "-i", path,
                                  "--thread", f"^{thread}$").stdout)
        ways = collections.Counter()
        for wait in report["waits"]:
            for row in wait["ended_by"] if wait["wait"] != "clock_nanosleep" else ():
                ways[row["how"]] += row["blocked_ns"]
        return ways

    def test_waits_end_by_their_time_out(self):
        recording = record(self.directory, [build("timed_waits"), "4"], "--wakers")
        read = read_profc_data.Recording(recording.path)
        alone = collections.Counter(row["thread"] for row in read.wakes if row["thread"] == row["waker"])
        said = {name: list(map(int, counts)) for name, *counts in map(str.split, recording.stdout.splitlines())
                if name != "ready"}
        self.assertEqual(len(said), 6)
        for name, (by_time_ms, nr_by_time, otherwise_ms, _) in said.items():
            with self.subTest(thread=name):
                ways = self.ended_by(recording.path, name)
                blocked_ns, own_ms = sum(ways.values()), by_time_ms + otherwise_ms
                (row,) = (row for row, thread in enumerate(read.threads) if read.text(thread["name"]) == name)
                if name == "disturbed":
                    self.assertLessEqual(ways["time"], 1.1e6 * by_time_ms, ways)
                    continue
                self.assertLessEqual(alone[row], nr_by_time)
                self.assertWithin(ways["time"] / blocked_ns, by_time_ms / own_ms, 0.1, ways)
                self.assertWithin(ways["wake"] / blocked_ns, otherwise_ms / own_ms, 0.1, ways)


INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t(\S+)", re.MULTILINE)


def changed_code(pid, name):
    """The file of that name that a process has mapped, and where its code in memory is not the file's."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        mapped = [line.split() for line in maps if name in line and "x" in line.split()[1]]
    (fields,) = mapped
    start, end = (int(text, 16) for text in fields[0].split("-"))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory, open(fields[5], "rb") as file:
        memory.seek(start)
        file.seek(int(fields[2], 16))
        pairs = zip(memory.read(end - start), file.read(end - start))
        return fields[5], [int(fields[2], 16) + at for at, (here, there) in enumerate(pairs) if here != there]


@unittest.skipUnless(platform.machine() == "x86_64", "calls are noted on x86-64 only")
class Safety(LiveCase):
    def test_probes_are_whole_instructions_before_system_calls(self):
        with Running([build(*PROGRAM), "60"]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid), "--wakers"):
                self.eventually(lambda: changed_code(target.pid, "/libc.so.6")[1], "probes are in")
                path, changed = changed_code(target.pid, "/libc.so.6")
        done = subprocess.run([need("objdump"), "-d", "--no-show-raw-insn", path], check=True,
                              stdout=subprocess.PIPE, text=True)
        instructions = {int(at, 16): name for at, name in INSTRUCTION.findall(done.stdout)}
        places = [at for at, before in zip(changed, [0, *changed]) if at - before > 24]
        self.assertGreater(len(places), 30)
        for place in places:
            self.assertIn(place, instructions)
            behind = [instructions.get(at) for at in range(place + 5, place + 20)]
            self.assertIn("syscall", behind, hex(place))
            self.assertFalse({"call", "ret", "jmp"} & set(behind[:behind.index("syscall")]), hex(place))

    def test_breakpoint_of_another_tool_refuses_its_place_alone(self):
        """In a function that the program never calls."""
        with Running([build(*PROGRAM), "60"]) as target:
            target.wait_ready()

            def places():
                with Recorder(self.directory, "attach", "-p", str(target.pid), "--wakers") as recorder:
                    self.eventually(lambda: len(changed_code(target.pid, "/libc.so.6")[1]) > 100, "probes are in")
                    path, changed = changed_code(target.pid, "/libc.so.6")
                    recorder.interrupt()
                return path, changed, {at for at, before in zip(changed, [0, *changed]) if at - before > 24}

            path, _, before = places()
            _, begin = place_of(path, "pthread_barrier_wait")
            at = min(at for at in before if begin <= at < begin + 1024)
            with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
                (code,) = [line.split() for line in maps if "/libc.so.6" in line and "x" in line.split()[1]]
            address = int(code[0].split("-")[0], 16) + at - int(code[2], 16)
            with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
                memory.seek(address)
                old = memory.read(1)
                memory.seek(address)
                memory.write(b"\xcc")
                _, changed, after = places()
                memory.seek(address)
                memory.write(old)
            self.assertEqual(after, before)
            self.assertFalse({at + 1, at + 2, at + 3, at + 4} & set(changed))
            self.assertIsNone(target.process.poll())

    def come_and_go(self, pid, nr):
        """Probes, so many times: fewer on a busy machine, where the program may end before."""
        ways = [attach(self.directory, pid, "--wakers", "-d", "0.1", status=None).status
                for _ in range(rounds(nr))]
        self.assertEqual(ways[0], 0)

    def test_cancelled_threads_run_all_handlers(self):
        flags = ("-O2", "-g", "-pthread", "-fexceptions")
        with Running([build("cancelled_waits", *flags), "8000"]) as target:
            target.wait_ready()
            self.come_and_go(target.pid, 5)
            (said,) = target.finish()
        self.assertGreater(said["cancelled"], 100)
        self.assertEqual(said["wrong"], 0, said)

    def test_killed_at_any_moment_leaves_the_program_as_it_was(self):
        moments = random.Random(4)
        with Running([build(*PROGRAM), "100"]) as target:
            target.wait_ready()
            for _ in range(rounds(16)):
                with Recorder(self.directory, "attach", "-p", str(target.pid), "--wakers") as recorder:
                    time.sleep(moments.uniform(0, 0.2))
                    recorder.process.kill()
                    recorder.process.wait()
            recording = attach(self.directory, target.pid, "--wakers", "-d", "0.5")
            self.assertNotIn("stay", recording.stderr)
            self.assertUntouched(target.pid)
            with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
                self.assertNotIn("profc-probes", maps.read())
            self.assertFalse(changed_code(target.pid, "/libc.so.6")[1])
            self.assertIsNone(target.process.poll())

    def test_no_wait_ends_early(self):
        waits = ("blocking_waits", "blocking_transfers", "blocking_locks")
        with Running([build("blocking_calls", more=waits), "6000"]) as target:
            target.wait_ready()
            self.come_and_go(target.pid, 2)
            cases = target.finish()
        for case in cases:
            with self.subTest(call=case["name"]):
                self.assertEqual(case["eintr"], 0, case)
