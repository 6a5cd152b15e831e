# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's process does what it can to root's profc, which counts its calls or its allocations."""

import array
import json
import os
import socket

import procfs
from live import LiveCase
from paths import TARGETS
from profc import Recorder, attach, attach_to_count, record
from targets import Running, build

IN_COMPANY = True

LIB = os.path.join(TARGETS, "..", "..", "lib")
SECRET = b"of root, and of nobody else\n"


class Hostile(LiveCase):
    """Targets run as an ordinary user, profc as root."""

    def setUp(self):
        super().setUp()
        self.user = self.ordinary_user()
        os.chmod(self.directory, 0o755)
        self.victim = self.path("victim")
        with open(self.victim, "wb") as file:
            file.write(SECRET)
        os.chmod(self.victim, 0o600)

    def assertUnharmed(self):
        with open(self.victim, "rb") as file:
            self.assertEqual(file.read(), SECRET)

    def attach(self, pid, *options, refusal=None):
        """
        profc ends by itself, with a profile that can be read; or without one, for the reason
        `refusal` (a regular expression).
        """
        if refusal is None:
            recording = attach_to_count(self.directory, pid, *options, timeout=60)
        else:
            recording = attach(self.directory, pid, *options, timeout=60, status=None)
        if recording.status == 0:
            # Of the CPU others may have had all.
            self.assertGreater(recording.report("-m", "wall")["total_ns"], 0)
        else:
            self.assertEqual(recording.status, 1, recording.stderr)
            self.assertRegex(recording.stderr, refusal)
        return recording


class Descriptors(Hostile):
    """Other files in the place of the one that the process was made to make."""

    CYCLES = 3
    # Of the program alone: to look for the symbols of libraries takes longer than all else.
    COUNTED = ("--count", "swaps_descriptors!^counted$")
    REFUSAL = (
        "has replaced the memory for its probes by another file"
        "|has mapped another file instead of the memory for its probes"
        "|has closed the memory that it made for its probes"
        "|may not map executable memory: Bad file descriptor"
    )

    def check(self, target):
        """Where it comes too late nothing is refused: as it does now and then."""
        target.wait_ready()
        nr_recorded = 0
        for i in range(self.CYCLES):
            options = ("--mem",) if i % 2 else self.COUNTED
            recording = self.attach(target.pid, "-d", "0.05", *options, refusal=self.REFUSAL)
            nr_recorded += recording.status == 0
            self.assertUnharmed()
        (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertGreater(said["calls"], 0)
        if not said["swapped"]:
            self.assertEqual(nr_recorded, self.CYCLES)

    def test_path_of_a_file_of_root(self):
        program = self.public(build("swaps_descriptors", "-O2", "-g", "-static"))
        with Running([program, "path", self.victim], **self.user) as target:
            self.check(target)

    def test_descriptor_of_a_file_of_root(self):
        """Which root itself has handed out, for reading and writing."""
        program = self.public(build("swaps_descriptors", "-O2", "-g", "-static"))
        ours, its = socket.socketpair()
        with ours, its, open(self.victim, "r+b") as file:
            kind, handed_out = socket.SCM_RIGHTS, array.array("i", [file.fileno()])
            ours.sendmsg([b"!"], [(socket.SOL_SOCKET, kind, handed_out)])
            command = [program, "socket", str(its.fileno())]
            with Running(command, pass_fds=[its.fileno()], **self.user) as target:
                self.check(target)


class Programs(Hostile):
    """Another program in the place of the one that probes are put into."""

    ASTRAY = 0x10000000

    def test_a_set_user_id_program_amid_an_installation(self):
        """It has rights that its user has not: it is led nowhere by what was found before it."""
        program = self.public(build("executes_amid"))
        other = build(
            "set_user_id", "-O2", "-static", "-no-pie", f"-Wl,--section-start=.astray={self.ASTRAY}"
        )
        other = self.public(other)
        os.chmod(other, 0o4755)
        writable = self.path("writable")
        os.mkdir(writable)
        os.chmod(writable, 0o777)
        command = [program, other, str(self.ASTRAY), os.path.join(writable, "libc.so")]
        with Running(command, **self.user) as target:
            target.wait_ready()
            self.attach(
                target.pid, "-d", "0.5", "--count", "executes_amid!^counted$", refusal="process"
            )
            (said,) = target.finish()
        self.assertEqual(said, {"effective": 0})
        self.assertEqual(target.process.returncode, 0)


class Contents(Hostile):
    """Nonsense in the memory that is shared while it is read: rows are refused one by one."""

    COUNTED = ("--count", "spoils_shared_memory!^counted$")
    WORK_NS = 200e6

    def spoiling(self, how, *arguments):
        # Without libraries, of which symbols would be looked for.
        program = build("spoils_shared_memory", "-O2", "-g", "-static", "-I", LIB)
        return Running([self.public(program), how, *map(str, arguments)], **self.user)

    def refused(self, recording):
        counters = json.loads(recording.info("--json"))["counters"]
        return counters.get("probe_refused", 0)

    def has_probes(self, pid, profc):
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
            return f"/memfd:profc-probes-{profc}-" in maps.read()

    def attach_while_they_work(self, pids, *options):
        """Until each has had a CPU for some time with its probes in."""
        for _ in range(4):  # see attach_to_count()
            with Recorder(
                self.directory, "attach", "-p", ",".join(map(str, pids)), *options
            ) as recorder:
                has_ended = lambda: recorder.process.poll() is not None
                self.eventually(
                    lambda: has_ended() or all(self.has_probes(pid, recorder.pid) for pid in pids),
                    "probes",
                )
                until_ns = {pid: procfs.cpu_ns(pid) + self.WORK_NS for pid in pids}
                self.eventually(
                    lambda: has_ended() or all(procfs.cpu_ns(pid) >= until_ns[pid] for pid in pids),
                    "their work", patience=60,
                )
                recording = recorder.finish() if has_ended() else recorder.interrupt()
            if recording.status == 0:
                break
        self.assertEqual(recording.status, 0, recording.stderr)
        return recording

    def check(self, how, *options, arguments=(), refusal=None):
        for _ in range(4):  # what spoils is one thread of several, which may have had no CPU
            with self.spoiling(how, *arguments) as target:
                target.wait_ready()
                if refusal is None:
                    recording = self.attach_while_they_work([target.pid], *options)
                else:
                    recording = self.attach(target.pid, "-d", "0.3", *options, refusal=refusal)
                (said,) = target.finish()
            self.assertEqual(target.process.returncode, 0)
            if said["spoilt"] or refusal is not None:
                return recording
        self.fail("nothing was spoilt")

    def test_counters(self):
        for _ in range(8):  # once in three times there is a zero in it, which can be
            recording = self.check("fills", *self.COUNTED)
            self.assertNotIn("they stay", recording.stderr)
            if "the process has written to its counter" in recording.info():
                break
        self.assertGreater(self.refused(recording), 0)
        self.assertIn("the process has written to its counter", recording.info())

    def test_blocks(self):
        for how, rate in (
            ("fills", "64K"), ("forges", "64K"), ("fills", "all"), ("forges", "all"),
        ):
            with self.subTest(how=how, rate=rate):
                recording = self.check(how, f"--mem={rate}")
                if how == "forges":  # the others may leave no record at all
                    self.assertGreater(self.refused(recording), 0)

    def test_blocks_of_another_process(self):
        """One of root's, recorded beside: what is said of it elsewhere is not believed."""
        innocent = build("spoils_shared_memory", "-O2", "-g", "-static", "-I", LIB)
        with Running([innocent, "nothing"]) as other:
            other.wait_ready()
            with self.spoiling("forges", other.pid) as target:
                target.wait_ready()
                recording = self.attach_while_they_work([target.pid, other.pid], "--mem=64K")
                target.finish()
            (said,) = other.finish()
        self.assertGreater(self.refused(recording), 0)
        rows = recording.report("--by", "process", "-m", "alloc")["rows"]
        bytes_of = {row["pid"]: row["total_bytes"] for row in rows}
        # Each call allocates at most 4160 bytes, of which a sample is taken.
        self.assertLess(bytes_of.get(other.pid, 0), 2 * 4160 * said["calls"] + 2**20)

    def test_many_records_in_the_names_of_others(self):
        """profc asks for these, but not for each record: its own time is not for others to spend."""
        self.check("accuses", "--mem=all", arguments=[os.getpid()])

    def test_size_of_the_file(self):
        """By whoever has it, too: before it is sized it is refused, and then it cannot be."""
        self.check("keeps", "--mem=all", refusal=Descriptors.REFUSAL)

    def test_what_was_left_behind(self):
        os.chmod(self.victim, 0o644)
        recording = self.check("leaves", *self.COUNTED, arguments=[self.victim])
        self.assertUnharmed()
        self.assertIn("counted", recording.stderr)


class Strangers(Hostile):
    """Processes that nobody records look as if they had probes of root's profc."""

    NR = 60

    def test_they_do_not_hold_it_up(self):
        counted = self.public(build("spoils_shared_memory", "-O2", "-g", "-static", "-I", LIB))
        strangers = self.public(build("looks_probed", "-O2", "-I", LIB))
        with Running([counted, "nothing"], **self.user) as target:
            target.wait_ready()
            options = ("-d", "2", *Contents.COUNTED)
            with Recorder(self.directory, "attach", "-p", target.pid, *options) as profc:
                with Running([strangers, str(profc.pid), str(self.NR)], **self.user) as others:
                    others.wait_ready()
                    recording = profc.finish(timeout=60)
            with open(f"/proc/{target.pid}/maps", encoding="ascii") as maps:
                self.assertNotIn("profc", maps.read().replace(self.directory, ""))
            target.finish()
        self.assertEqual(recording.status, 0)
        self.assertIn(f"probes stay in {self.NR} processes", recording.stderr)


class Children(LiveCase):
    """
    A child that has given up root's rights spoils the memory that it shares with its parent: the
    parent continues, and ends as it should.
    """

    WAYS = ("--mem=64K", "--mem=all", "--count=child_spoils!^counted$")

    def check(self, how, *options):
        program = build("child_spoils", "-O2", "-g", "-static", "-I", LIB)
        recording = record(self.directory, [program, how, "700"], *options, timeout=60)
        said = json.loads(recording.stdout)
        self.assertGreater(said["spoilt"], 0)
        self.assertEqual(said["broken"], 0)
        self.assertGreater(said["calls"], 0)
        self.assertNotIn("stay", recording.stderr)
        return recording, said

    def test_memory_that_is_spoilt(self):
        for options in self.WAYS:
            with self.subTest(options=options):
                self.check("fills", options)

    def test_memory_that_leads_astray(self):
        for options in self.WAYS[:2]:
            with self.subTest(options=options):
                self.check("aims", options)

    def test_code_and_what_leads_to_it(self):
        """Only the child's copy changes: the count of its parent is exact."""
        for options in self.WAYS:
            with self.subTest(options=options):
                recording, said = self.check("breaks", options)
        calls = {row["function"]: row.get("calls") for row in recording.report("-m", "calls")["rows"]}
        self.assertEqual(calls["counted"], said["calls"])
