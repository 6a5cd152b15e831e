# SPDX-License-Identifier: GPL-2.0-or-later
"""record --within: only what threads do inside of a function."""

import json
import platform
import unittest

import procfs
from live import LiveCase
from profc import Recorder, profc, record
from targets import PROTECTED, Running, build

FAST = ("-F", "1000", "--max-overhead", "0")  # where no CPU is idle, samples are rare by default


class Counts(LiveCase):
    """Of calls of leaf(), which each thread counts for itself: inside and elsewhere."""

    WAYS = (
        ("itself", "serve"),
        ("pointers", "serve"),
        ("tail", "hands_over"),
        ("exceptions", "passes"),
        ("table", "chooses"),
        ("forks", "serve"),
    )

    def assert_exact(self, recording, said, what):
        row = recording.function("leaf")
        self.assertEqual(row["calls"], said["inside_calls"], what)
        self.assertGreater(said["outside_calls"], 0, what)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertEqual(counters["probe_dropped"], 0, what)

    def assert_counts_exactly(self, program):
        for way, function in self.WAYS:
            with self.subTest(way=way):
                recording = record(
                    self.directory, [program, way, "8", "20000"],
                    "--within", function, "--count", "^leaf$",
                )
                self.assert_exact(recording, recording.said[0], way)

    def test_calls_inside_are_counted_exactly(self):
        self.assert_counts_exactly(build("works_within.cpp"))

    def test_in_protected_code(self):
        """On aarch64 return addresses are signed, and indirect branches may lead to landing pads only."""
        flags, more = ["-O2", "-g", PROTECTED], []
        if platform.machine() == "aarch64":
            flags += ["-march=armv8.5-a", "-nostartfiles", "-Wl,-z,force-bti", "-Wl,--fatal-warnings"]
            more = ["guarded_start"]
        self.assert_counts_exactly(build("works_within.cpp", *flags, more=more))

    @staticmethod
    def is_counting(path, least=1):
        done = profc("info", "-i", path, "--json", status=None)
        return done.returncode == 0 and json.loads(done.stdout)["probes"]["counted"] >= least

    def test_attached_to(self):
        program = build("works_within.cpp")
        for way, function in self.WAYS:
            with self.subTest(way=way), Running([program, way, "8", "20000", "wait"]) as running:
                running.wait_ready()
                with Recorder(
                    self.directory, "attach", "-p", running.pid, "--within", function,
                    "--count", "^leaf$", "-q",
                ) as recorder:
                    self.eventually(lambda at=recorder: self.is_counting(at.path), "probes")
                    said = running.process.communicate("\n", timeout=60)[0]
                    recording = recorder.finish()
                self.assert_exact(recording, json.loads(said), way)

    def test_calls_of_the_function_itself(self):
        """What takes its place is not it; recursion is."""
        program = build("works_within.cpp")
        recording = record(
            self.directory, [program, "tail", "8", "20000"],
            "--within", "hands_over", "--count", "^(hands_over|taken_over|elsewhere)$",
        )
        self.assertEqual(recording.function("hands_over")["calls"], 8 * 20000)
        self.assertEqual(recording.function("taken_over")["calls"], 0)
        self.assertEqual(recording.function("elsewhere")["calls"], 0)
        recording = record(
            self.directory, [program, "itself", "8", "20000"],
            "--within", "serve", "--count", "^(serve|leaf)$",
        )
        # Each calls leaf() once, and of those that call themselves once more when they are back.
        self.assertGreater(recording.function("serve")["calls"], 8 * 20000)
        self.assert_exact(recording, recording.said[0], "leaf")

    def test_a_library_that_is_loaded_later(self):
        """It asks the same table, and all goes away under a thread that goes in and out."""
        plugin = build("plugin_within", "-shared", "-fPIC", "-O2", "-g", called="plugin.so")
        program = build("loads_within", libraries=("-ldl",))
        with Running([program, plugin]) as running:
            running.wait_ready()
            with Recorder(
                self.directory, "attach", "-p", running.pid, "--within", "serve",
                "--count", "^(plugin_)?leaf$",
            ) as recorder:
                self.eventually(lambda: self.is_counting(recorder.path), "probes")
                running.process.stdin.write("\n")
                running.process.stdin.flush()
                self.eventually(lambda: self.is_counting(recorder.path, 2), "probes of the plugin")
                used_ns = procfs.cpu_ns(running.pid)
                self.eventually(lambda: procfs.cpu_ns(running.pid) > used_ns + 1e8, "some work")
                recording = recorder.interrupt()
            self.assertEqual(recording.status, 0, recording.stderr)
            calls = {row["function"]: row["calls"] for row in recording.rows()}
            self.assertGreater(calls["plugin_leaf"], 0)
            self.assertGreater(calls["leaf"], calls["plugin_leaf"])
            self.assertNotIn("probes stay", recording.stderr)
            with open(f"/proc/{running.pid}/maps", encoding="utf-8") as maps:
                self.assertNotIn("profc-probes", maps.read())
            running.finish()
            self.assertEqual(running.process.returncode, 0)

    @unittest.skipUnless(platform.machine() == "x86_64", "other ways out are as long as a jump")
    def test_a_function_that_cannot_be_watched(self):
        """Without optimisation its ways out are two bytes: no counts, but samples."""
        program = build("works_within.cpp", "-O0", "-g")
        recording = record(
            self.directory, [program, "time", "2", "100"],
            "--within", "serves_slowly", "--count", "^leaf$",
        )
        reason = (
            "calls inside of serves_slowly cannot be counted: a way out of it is shorter than a jump"
        )
        self.assertIn(f"warning: {reason}", recording.stderr)
        info = json.loads(recording.info("--json"))
        self.assertEqual(info["probes"]["counted"], 0)
        self.assertIn(reason, [refusal["reason"] for refusal in info["probes"]["refused"]])
        for frames, _ in recording.folded():
            self.assertIn("serves_slowly", frames)


class Samples(LiveCase):
    def test_time_is_that_inside(self):
        program = build("works_within.cpp")
        recording = record(
            self.directory, [program, "time", "2", "400"], "--within", "serves_slowly", *FAST
        )
        said = recording.said[0]
        total = recording.report()["total_ns"]
        # Some 800 samples are about 4 % off.
        self.assertRatio(total, said["inside_cpu_ns"], 0.25, "time inside of serves_slowly()")
        for frames, _ in recording.folded():
            self.assertIn("serves_slowly", frames)
        self.assertEqual(
            recording.function("serves_slowly")["total_ns"], total, "all of it is its time"
        )

    def test_what_was_left_out_is_told(self):
        program = build("works_within.cpp")
        recording = record(
            self.directory, [program, "time", "2", "400"], "--within", "serves_slowly", *FAST
        )
        said = recording.said[0]
        info = json.loads(recording.info("--json"))
        self.assertEqual(info["within"], "serves_slowly")
        self.assertIn("within      serves_slowly: only while inside of it", recording.info())
        report = profc("report", "-i", recording.path, "--color", "never").stdout
        self.assertIn("inside serves_slowly", report)
        self.assertIn("recorded only while inside serves_slowly", report)
        counters = info["counters"]
        inside = recording.report()["total_ns"]
        all_ns = inside + counters["within_dropped_cpu_ns"] + counters["within_unknown_cpu_ns"]
        self.assertGreater(counters["within_dropped_samples"], 100)
        # Together they are all that the threads have used, and a little for their start and end.
        self.assertRatio(
            all_ns, said["inside_cpu_ns"] + said["outside_cpu_ns"], 0.05, "all CPU time"
        )
        # Most stops are outside, and cost nothing of what is inside.
        cost_ns = counters["stops"] * counters["stop_cost_ns"]
        self.assertRatio(
            counters["cost_ppm"], 1e6 * cost_ns / all_ns, 0.02, "cost of stops, of all CPU time"
        )

    def test_children_and_time_without_a_stack_are_no_part_of_it(self):
        """A thousand processes too short to sample: nobody knows where they were."""
        program = build("works_within.cpp")
        script = f"i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; {program} time 1 200"
        command = ["sh", "-c", script]
        recording = record(self.directory, command, "--within", "serves_slowly", *FAST)
        names = {row["function"] for row in recording.rows()}
        self.assertNotIn("[unattributed]", names)
        self.assertRatio(
            recording.report()["total_ns"], recording.said[0]["inside_cpu_ns"], 0.35, "time inside"
        )

    def test_a_name_that_there_is_not(self):
        program = build("works_within.cpp")
        done = profc(
            "record", "-o", self.path("none"), "--within", "serve_slowly", "--",
            program, "time", "1", "50", status=125,
        )
        self.assertIn("no function is named 'serve_slowly'", done.stderr)
        self.assertIn("hint: did you mean 'serves_slowly'?", done.stderr)
        with Running([program, "time", "1", "50", "wait"]) as running:
            running.wait_ready()
            done = profc(
                "attach", "-p", running.pid, "-o", self.path("none"), "--within", "serve_slowly",
                status=1,
            )
            self.assertIn("no function is named 'serve_slowly'", done.stderr)
            self.assertIn("hint: did you mean 'serves_slowly'?", done.stderr)

    def test_a_function_that_is_not_entered(self):
        program = build("works_within.cpp")
        done = profc(
            "record", "-o", self.path("none"), "--within", "throws", "--",
            program, "time", "1", "50", status=125,
        )
        self.assertIn("no sample was taken inside of throws", done.stderr)

    def test_a_function_that_is_inlined_everywhere(self):
        program = build("inlined_hot_line")
        inlined = "inlined_middle"
        done = profc(
            "record", "-o", self.path("none"), "--within", inlined, "--", program, status=125
        )
        self.assertIn(f"{inlined} is inlined everywhere", done.stderr)
