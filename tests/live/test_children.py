# SPDX-License-Identifier: GPL-2.0-or-later
"""Children of fork, vfork, posix_spawn and exec: each profiled under its own name."""

import json
import os

import procfs
from live import LiveCase
from profc import record
from targets import build, run

FAST = ("-F", "1000", "--max-overhead", "0")


class ChildCase(LiveCase):
    def times(self, recording):
        """CPU time by process name."""
        return {row["name"]: row["self_ns"] for row in recording.rows("--by", "process")}

    def assertWorksIn(self, recording, process, function):
        """Nearly all of a process's time is below one function. (Commands name others, too.)"""
        self.assertMostlyIn(recording, function, 0.9, options=("--process", f"^{process}$"))


class Children(ChildCase):
    def record_children(self, *options):
        vforked = build("spin_leaf", called="by_vfork")
        spawned = build("spin_leaf", called="by_spawn")
        return record(
            self.directory, [build("children"), vforked, spawned, "300"], *options
        )

    def test_each_child_has_its_own_row_and_time(self):
        recording = self.record_children()
        rows = self.times(recording)
        for said in recording.said:
            name = os.path.basename(said["program"])
            self.assertIn(name, rows)
            self.assertRatio(rows[name], said["cpu_ns"], 0.05, name)

    def test_work_is_found_in_the_functions_of_each(self):
        recording = self.record_children()
        for process, function in (
            ("children", "parent_work"),
            ("forked", "forked_work"),
            ("by_vfork", "spin_leaf"),
            ("by_spawn", "spin_leaf"),
        ):
            with self.subTest(process=process):
                self.assertWorksIn(recording, process, function)

    def test_no_children_leaves_them_alone(self):
        recording = self.record_children("--no-children")
        names = {row["name"] for row in recording.rows("--by", "process")}
        self.assertEqual(names, {"children"})

    def test_clones_that_are_neither_forks_nor_threads(self):
        program = build("clones_of_all_kinds")
        plain = run([program])
        recording = record(self.directory, [program], "-F", "1000")
        self.assertEqual([said["status"] for said in plain], [5, 5, 5, 3, 5])
        self.assertEqual(recording.said, plain)
        # Also the one that a tracer that stays may not see.
        total_ns = recording.report()["total_ns"]
        self.assertRatio(total_ns, 400e6, 0.1, "CPU of all four")
        self.assertMostlyIn(recording, "spin_and_exit", 0.9)

    def test_shell_pipeline_keeps_its_output_and_status(self):
        script = f"{build('spin_leaf')} 100 | tr a-z A-Z; exit 5"
        recording = record(self.directory, ["sh", "-c", script], status=5)
        self.assertIn('"PROGRAM"', recording.stdout)
        names = {row["name"] for row in recording.rows("--by", "process")}
        self.assertIn("spin_leaf", names)


class Exec(ChildCase):
    def test_exec_starts_a_new_process_row(self):
        after = build("spin_leaf", called="after_exec")
        recording = record(self.directory, [build("exec_midway"), "300", after, "600"])
        rows = self.times(recording)
        self.assertRatio(rows["exec_midway"], 300e6, 0.05, "before exec")
        # The CPU clock goes on over an exec: 600 ms in all, 300 of them after it.
        self.assertRatio(rows["after_exec"], 300e6, 0.05, "after exec")
        self.assertWorksIn(recording, "after_exec", "spin_leaf")

    def test_exec_from_another_thread(self):
        after = build("spin_leaf", called="after_exec")
        recording = record(self.directory, [build("exec_from_thread"), "200", after, "900"])
        (said,) = recording.said
        report = recording.report()
        self.assertRatio(report["total_ns"], said["cpu_ns"], 0.05, "CPU of the whole")
        self.assertWorksIn(recording, "after_exec", "spin_leaf")
        # Some of it may stand for no stack where the CPUs are busy.
        unknown = report["total_ns"] - self.known_ns(recording)
        self.assertGreater(recording.function("thread_before_exec")["total_ns"] + unknown, 150e6)

    def record_short_programs(self, *options):
        """Programs of a millisecond, each in a process that was two shells before."""
        script = """for i in $(seq 100); do bash -c 'exec bash -c "exec perl -e 1"'; done"""
        return record(self.directory, ["sh", "-c", script], *options)

    def test_short_programs_are_seen(self):
        recording = self.record_short_programs()
        missed = sum(
            row["self_ns"] for row in recording.rows() if row["function"] == "[unattributed]"
        )
        whole = recording.report()["total_ns"]
        # A tenth at the 500 Hz that were asked for; fewer are had where the CPUs are busy.
        rate = json.loads(recording.info("--json"))["counters"]["frequency_hz_effective"] / 1000
        share = 0.1 * min(1, rate / 500)
        self.assertShareAtLeast(whole - missed, whole, share, "CPU time that was seen")

    def test_processes_that_ended_before_a_sample_are_counted(self):
        before = procfs.nr_born()
        recording = record(self.directory, [build("forks_and_exits"), "1500"])
        nr_born = procfs.nr_born() - before
        processes = json.loads(recording.info("--json"))["processes"]
        unseen = sum(row["unseen"] or 0 for row in processes)
        found = sum(row["pid"] != 0 for row in processes)
        self.assertGreater(found + unseen, 1501 - 450)
        # Those of other programs that ended as soon may be among them.
        self.assertLess(found + unseen, nr_born + 450)
        self.assertGreater(unseen, 50)
        verdict = recording.explain()["verdict"]
        self.assertEqual(verdict["rule"], "processes")
        self.assertRegex(
            verdict["text"],
            f"; ~{unseen:,} ended before a sample; most by forks_and_exits: make_child$",
        )

    def test_short_programs_have_whole_stacks(self):
        """Their libraries were mapped after exec, and they are gone before we can ask."""
        self.assertComplete(self.record_short_programs(*FAST), 0.97)

    def test_what_is_met_in_an_exec_is_in_the_kernel(self):
        """It stops before the first instruction of a program whose map profc does not know yet."""
        recording = self.record_short_programs(*FAST)
        rows = {row["function"]: row["self_ns"] for row in recording.rows()}
        whole = recording.report()["total_ns"]
        self.assertShareAtLeast(rows.get("[k] do_execveat_common", 0), whole, 0.01, "exec")
        self.assertLess(rows.get("[unknown]", 0), 0.02 * whole)

    def test_script_is_named_as_the_kernel_names_it(self):
        script = self.path("worker-script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{build('spin_leaf')} 100 >/dev/null\nexit 4\n")
        os.chmod(script, 0o755)
        recording = record(self.directory, [script], status=4)
        names = {row["name"] for row in recording.rows("--by", "process")}
        self.assertLessEqual(names - {"[short-lived]"}, {"worker-script", "spin_leaf"})
        self.assertIn("spin_leaf", names)
