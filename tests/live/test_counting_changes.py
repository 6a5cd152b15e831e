# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that change their own code while calls in it are counted, and after that."""

import json
import os

from live import LiveCase
from profc import Recorder, attach_to_count
from targets import Running, build, parse_json_lines

IN_COMPANY = True

KINDS = {kind: f"{kind}_work" for kind in ("plain", "long", "sled", "short", "xray")}


class ChangesCase(LiveCase):
    def begin(self, kind):
        target = Running([build("patches_itself"), kind])
        self.addCleanup(target.__exit__)
        target.wait_ready()
        self.kind = kind
        return target

    def ask(self, target, *lines):
        for line in lines:
            target.process.stdin.write(line + "\n")
            target.process.stdin.flush()
            (said,) = parse_json_lines(target.process.stdout.readline())
        return said

    def count(self, target):
        """profc, when the probes are in; and the way to tell it something."""
        control = self.path("control")
        recorder = Recorder(
            self.directory, "attach", "-p", target.pid,
            "--count", f"patches_itself!^{KINDS[self.kind]}$", "--control", f"fifo:{control}",
        )
        self.eventually(lambda: os.path.exists(control), "the recording")
        self.until_done(control, "")
        return recorder

    def counted(self, recording):
        rows = recording.report("-m", "calls")["rows"]
        return {row["function"]: row["calls"] for row in rows}[KINDS[self.kind]]

    def refusals(self, recording):
        refused = json.loads(recording.info("--json"))["probes"]["refused"]
        return [row["reason"] for row in refused if row["function"] == KINDS[self.kind]]

    def remains(self, target):
        with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
            return [line for line in maps if "profc-probes" in line]

    def assertGoesOn(self, target, calls):
        self.assertEqual(self.ask(target, f"call {calls}")["calls"], self.nr_calls + calls)
        self.nr_calls += calls
        target.finish()
        self.assertEqual(target.process.returncode, 0)

    def assertTold(self, recording):
        (reason,) = self.refusals(recording)
        self.assertIn("the program changed its code", reason)
        self.assertRegex(
            " ".join(recording.info().split()),
            rf"{KINDS[self.kind]} \(patches_itself\): .*the program changed its code",
        )


class Jump(ChangesCase):
    """The jump of profc is what the program saves, or writes over."""

    def test_that_was_saved_is_put_back_when_profc_is_gone(self):
        target = self.begin("plain")
        with self.count(target) as recorder:
            self.ask(target, "call 1500", "save", "patch")
            self.nr_calls = self.ask(target, "call 700")["calls"]
            recording = recorder.interrupt()
        self.assertEqual(recording.status, 0, recording.stderr)
        self.assertEqual(self.counted(recording), 1500)
        self.assertTold(recording)
        self.assertIn("changes its own code", recording.stderr)
        self.assertTrue(self.remains(target))
        self.assertEqual(self.ask(target, "restore", "call 300")["traced"], 700)
        self.nr_calls += 300
        # Another profc finds the jump, and what it leads to, and takes away the one but not the other.
        with self.count(target) as recorder:
            self.ask(target, "call 40")
            self.nr_calls += 40
            recording = recorder.interrupt()
        self.assertEqual(self.counted(recording), 40)
        self.ask(target, "patch", "restore")
        self.assertGoesOn(target, 50)

    def test_that_is_written_over_is_missed_while_profc_counts(self):
        """By the looks once a second: the bytes are those of the file again in the end."""
        target = self.begin("plain")
        self.ask(target, "save")
        with self.count(target) as recorder:
            self.ask(target, "call 1500", "patch", "call 7", "restore")
            self.nr_calls = self.ask(target, "call 300")["calls"]
            recording = recorder.interrupt()
        self.assertEqual(self.counted(recording), 1500)
        self.assertTold(recording)
        self.assertGoesOn(target, 50)

    def test_that_comes_back_counts_on_and_that_is_no_whole_count(self):
        target = self.begin("plain")
        with self.count(target) as recorder:
            self.ask(target, "call 1500", "save", "patch", "call 7")
            self.eventually(lambda: self.has_seen(target), "a look at the code")
            self.nr_calls = self.ask(target, "restore", "call 300")["calls"]
            recording = recorder.interrupt()
        self.assertEqual(self.counted(recording), 1800)
        self.assertTold(recording)
        self.assertTrue(self.remains(target))
        self.ask(target, "patch", "restore")
        self.assertGoesOn(target, 50)

    def test_is_not_touched_by_a_patch_of_the_instruction_in_front_of_it(self):
        target = self.begin("long")
        with self.count(target) as recorder:
            self.ask(target, "call 1500", "save", "patch", "call 7")
            self.eventually(lambda: self.has_seen(target), "a look at the code")
            self.nr_calls = self.ask(target, "restore", "call 300")["calls"]
            recording = recorder.interrupt()
        self.assertEqual(self.counted(recording), 1800)
        self.assertTold(recording)
        self.assertEqual(self.ask(target, "patch", "call 20", "restore")["traced"], 27)
        self.nr_calls += 20
        self.assertGoesOn(target, 50)

    def has_seen(self, target):
        """The first page of the memory says that the code has changed, see struct region_header."""
        (start,) = [line.split("-")[0] for line in self.remains(target)][:1]
        with open(f"/proc/{target.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(int(start, 16) + 32)
            return memory.read(8) != bytes(8)

    def test_in_code_that_is_writable_may_come_back(self):
        target = self.begin("plain")
        self.ask(target, "open")
        recording = attach_to_count(
            self.directory, target.pid, "-d", "0.1", "--count", "patches_itself!^plain_work$"
        )
        self.assertEqual(self.refusals(recording), [])
        self.assertIn("changes its own code", recording.stderr)
        self.assertTrue(self.remains(target))
        self.nr_calls = 0
        self.assertGoesOn(target, 5)


class Forks(ChangesCase):
    def test_children_that_are_forked_amid_an_installation_change_nothing(self):
        """Their pages are their own by then, with the bytes from before."""
        with Running([build("forks_often")]) as target:
            target.wait_ready()
            for _ in range(8):
                recording = attach_to_count(
                    self.directory, target.pid, "-d", "0.3", "--no-cpu",
                    "--count", "^forks_often_work$",
                )
                self.assertNotIn("changes its own code", recording.stderr)
                (row,) = recording.report("-m", "calls")["rows"]
                self.assertGreater(row["calls"], 0)
            self.assertEqual(self.remains(target), [], recording.stderr)
            target.finish()
            self.assertEqual(target.process.returncode, 0)


class Sleds(ChangesCase):
    """Bytes that are there to be patched are left to the program."""

    def check(self, kind):
        target = self.begin(kind)
        with self.count(target) as recorder:
            self.ask(target, "call 1500", "save", "patch", "call 700", "restore")
            self.nr_calls = self.ask(target, "call 300")["calls"]
            recording = recorder.interrupt()
        self.assertEqual(self.counted(recording), 2500)
        self.assertEqual(self.refusals(recording), [])
        self.assertEqual(self.remains(target), [])
        self.assertEqual(self.ask(target, "restore")["traced"], 700)
        self.assertGoesOn(target, 50)

    def test_of_compilers(self):
        self.check("sled")

    def test_with_too_little_behind_them(self):
        """What is counted there is not all, and it cannot be known whether the jump was saved."""
        target = self.begin("short")
        with self.count(target) as recorder:
            self.ask(target, "call 1500", "save", "patch", "call 700", "restore")
            self.nr_calls = self.ask(target, "call 300")["calls"]
            recording = recorder.interrupt()
        self.assertEqual(self.counted(recording), 1800)
        (reason,) = self.refusals(recording)
        self.assertIn("the program may patch it", reason)
        self.assertTrue(self.remains(target))
        self.assertEqual(self.ask(target, "patch", "restore")["traced"], 700)
        self.assertGoesOn(target, 50)

    def test_of_xray(self):
        self.check("xray")

    def test_with_a_patch_before_profc_comes(self):
        """What follows it in the file may never be reached: the patch may lead anywhere."""
        for kind in ("sled", "xray"):
            with self.subTest(kind=kind):
                target = self.begin(kind)
                self.ask(target, "save", "patch", "call 7")
                with self.count(target) as recorder:
                    self.nr_calls = self.ask(target, "call 300", "restore", "call 20")["calls"]
                    recording = recorder.interrupt()
                (reason,) = self.refusals(recording)
                self.assertIn("not that of its file", reason)
                self.assertEqual(self.ask(target, "call 1")["traced"], 307)
                self.nr_calls += 1
                self.assertGoesOn(target, 50)
