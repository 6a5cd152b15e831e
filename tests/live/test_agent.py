# SPDX-License-Identifier: GPL-2.0-or-later
"""--agent: what it is told is what is recorded, and nothing it does harms the recording."""

import collections
import json
import os
import shlex
import subprocess
import unittest

from live import LiveCase
from paths import PROFC, TESTS
from profc import Recorder, Recording, profc, record
from targets import Running, build

IN_COMPANY = True
TOP_FUNCTIONS = os.path.join(TESTS, "agents", "top_functions.py")
ROWS = ("sample", "allocation", "free", "memory", "mark")


def counters(recording):
    return json.loads(recording.info("--json"))["counters"]


class Agents(LiveCase):
    def top_functions(self, *options, command):
        """(recording, what the agent says of it)"""
        out = self.path("top.json")
        agent = f"PROFC={shlex.quote(PROFC)} {TOP_FUNCTIONS} >{out}"
        recording = record(self.directory, command, *options, "--agent", agent)
        with open(out, encoding="utf-8") as text:
            return recording, json.load(text)

    def stream(self, path):
        with open(path, encoding="utf-8") as text:
            return [json.loads(line) for line in text]

    def recorded_blocks(self, path):
        done = profc("info", "-i", path, "--json", status=None)
        heap = json.loads(done.stdout)["heap"] if done.returncode == 0 else None
        return heap["samples"] if heap else 0

    def assertDefined(self, rows):
        """Whatever a line refers to was told before, and there is one beginning and one end."""
        known = collections.defaultdict(set)
        self.assertEqual((rows[0]["type"], rows[0]["version"]), ("hello", 1))
        self.assertEqual(rows[-1]["type"], "end")
        for row in rows[1:-1]:
            self.assertNotIn(row["type"], ("hello", "end"))
            for name in ("process", "thread", "module", "stack", "allocation"):
                if name in row and row[name] is not None:
                    self.assertIn(row[name], known[name], row)
            if row["type"] == "stack":
                self.assertLessEqual(set(row["frames"]), known["frame"])
            if "id" in row:
                known[row["type"]].add(row["id"])

    def test_samples_are_those_of_the_report(self):
        recording, top = self.top_functions(command=[build("four_functions"), "700"])
        report = recording.report("-m", "samples")
        compared = 0
        self.assertEqual(top["lost"], 0)
        self.assertEqual(top["samples"], report["samples"])
        names = [row["function"] for row in report["rows"]]
        for row in report["rows"]:
            # The agent adds up by name: the loader has a _start, too.
            if not (row["module"] or "").endswith("/four_functions") or (
                names.count(row["function"]) > 1
            ):
                continue
            told = top["functions"][row["function"]]
            self.assertEqual(told["self_samples"], row["self_samples"], row["function"])
            self.assertEqual(told["total_samples"], row["total_samples"], row["function"])
            compared += row["self_samples"]
        self.assertGreater(compared, 0.8 * report["samples"])

    def test_times_are_those_of_the_report(self):
        recording, top = self.top_functions(command=[build("sleeping"), "300"])
        for metric, unit in (("cpu", "cpu_ns"), ("runq", "runq_ns"), ("blocked", "blocked_ns")):
            self.assertEqual(top[unit], recording.report("-m", metric)["total_ns"], metric)
        rows = [row for row in recording.rows("-m", "blocked") if row["function"] == "main"]
        self.assertGreater(rows[0]["total_ns"], 0)
        self.assertEqual(top["functions"]["main"]["total_blocked_ns"], rows[0]["total_ns"])

    def test_memory_is_that_of_the_report(self):
        recording, top = self.top_functions(
            "--mem=8K", command=[build("allocates_in_two_places"), "100000"])
        for metric, unit in (("alloc", "bytes"), ("leaked", "alive_bytes")):
            for name in ("keeps_blocks", "uses_blocks", "main"):
                told = top["functions"][name]
                found = [r for r in recording.rows("-m", metric) if r["function"] == name]
                total = found[0]["total_bytes"] if found else 0
                # The report has rounded each block.
                self.assertWithin(told["total_" + unit], total, total / 1e5, f"{metric} {name}")
        kept = top["functions"]["keeps_blocks"]["total_bytes"]
        self.assertRatio(kept, recording.said[0]["kept_bytes"], 0.1, "what is kept")
        self.assertEqual(top["functions"]["uses_blocks"]["total_alive_bytes"], 0)

    def test_stream_defines_what_it_names(self):
        out = self.path("lines")
        recording = record(self.directory, ["sh", "-c", f"{build('spin_leaf')} 200; exit 3"],
                           "--agent", f"cat >{out}", status=3)
        rows = self.stream(out)
        self.assertDefined(rows)
        self.assertEqual(counters(recording)["agent_lost"], 0)
        self.assertEqual(rows[-1]["lost"], 0)
        ended = [row for row in rows if row["type"] == "process" and row["end_ns"]]
        names = {row["name"] for row in ended}
        self.assertIn("spin_leaf", names)
        self.assertNotIn("cat", names, "the agent is in the recording")

    def test_its_cpu_time_is_not_recorded(self):
        """Nor is that of one that is over before the command is, or of its children."""
        busy = build("spin_leaf")
        for agent in (f"{busy} 400 >&2", f"{busy} 400 >&2 & cat >{self.path('lines')}; wait"):
            with self.subTest(agent=agent):
                recording = record(self.directory, [build("four_functions"), "800"],
                                   "--agent", agent)
                whole = recording.report()["total_ns"]
                self.assertRatio(whole, recording.said[0]["cpu_ns"], 0.1, "CPU time")
                self.assertFalse([r for r in recording.rows() if r["function"] == "spin_leaf"])

    def test_one_that_ends_early_is_named_once(self):
        for agent, said in (("head -n 2", "the agent has ended with status 0"),
                            ("exit 7", "the agent has ended with status 7"),
                            ("no-such-program", "the agent has ended with status 127"),
                            ("kill -9 $$", "the agent was ended by signal 9")):
            with self.subTest(agent=agent):
                recording = record(self.directory, [build("spin_leaf"), "400"], "--agent", agent)
                self.assertEqual(recording.stderr.count("the agent"), 1, recording.stderr)
                self.assertIn(said, recording.stderr)
                self.assertMostlyIn(recording, "spin_leaf", 0.9)
                self.assertGreater(counters(recording)["agent_lost"], 0)

    def test_one_that_fails_after_all_is_read(self):
        """A shell's word for a signal, as there is nothing of the stream that it has missed."""
        for agent, status in (("cat >/dev/null; exit 5", 5), ("cat >/dev/null; kill -9 $$", 137)):
            with self.subTest(agent=agent):
                recording = record(self.directory, [build("spin_leaf"), "100"], "--agent", agent)
                self.assertIn(f"the agent has failed with status {status}\n", recording.stderr)
                self.assertEqual(recording.stderr.count("agent"), 1, recording.stderr)
                self.assertEqual(counters(recording)["agent_lost"], 0)

    def test_one_that_never_reads_loses_and_harms_nothing(self):
        recording = record(self.directory, [build("allocates_in_two_places")], "--mem=1K",
                           "--agent", "exec sleep 20 >/dev/null 2>&1")
        self.assertIn("the agent does not end", recording.stderr)
        self.assertIn("were not read by the agent", recording.stderr)
        lost = counters(recording)["agent_lost"]
        self.assertGreater(lost, json.loads(recording.info("--json"))["heap"]["samples"] / 2)
        self.assertRatio(recording.function("keeps_blocks", "-m", "alloc")["total_bytes"],
                         recording.said[0]["kept_bytes"], 0.1, "what is kept")

    def test_losses_are_in_the_stream(self):
        """One that begins to read late has a part, and is told how much it has not."""
        out, gate, stop = self.path("lines"), self.path("gate"), self.path("stop")
        os.mkfifo(gate)
        program = build("allocates_in_two_places")
        script = f"until [ -e {stop} ]; do {program} 100000; done; {program} 1000"
        with Recorder(self.directory, "record", "--mem=500", "--agent",
                      f"read x <{gate}; exec cat >{out}", "--", "sh", "-c", script) as recorder:
            # It was told of all that is in the file: more than 8 MiB.
            self.eventually(lambda: self.recorded_blocks(recorder.path) > 100000, "blocks")
            for path in (gate, stop):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("\n")
            recording = recorder.finish()
        rows = self.stream(out)
        self.assertDefined(rows)
        lost = sum(row["n"] for row in rows if row["type"] == "lost")
        self.assertGreater(lost, 0)
        self.assertEqual(rows[-1]["lost"], lost)
        self.assertEqual(counters(recording)["agent_lost"], lost)
        self.assertGreater(sum(row["type"] in ROWS for row in rows), 10000)

    def test_attached_it_has_the_rest_after_an_interrupt(self):
        out = self.path("lines")
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", target.pid,
                          "--agent", f"cat >{out}") as recorder:
                self.wait_until_recorded(recorder.path)
                recording = recorder.interrupt()
            self.assertUntouched(target.pid)
        rows = self.stream(out)
        self.assertDefined(rows)
        self.assertTrue(rows[0]["attached"])
        samples = sum(row["samples"] for row in rows if row["type"] == "sample")
        self.assertEqual(samples, recording.report("-m", "samples")["samples"])

    def test_its_output_does_not_spoil_a_profile_on_standard_output(self):
        done = self.path("out.data")
        with open(done, "wb") as out:
            ended = subprocess.run(
                [PROFC, "record", "-o", "-", "--agent", "cat", "--", "sh", "-c",
                 f"exec {build('spin_leaf')} 200 >&2"],
                stdout=out, stderr=subprocess.PIPE, check=True, text=True)
        self.assertIn('{"type":"hello"', ended.stderr)
        self.assertGreater(Recording(done).report()["samples"], 0)


if __name__ == "__main__":
    unittest.main()
