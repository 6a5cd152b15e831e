# SPDX-License-Identifier: GPL-2.0-or-later
"""Where CPU time goes, in the program or in the kernel, and for which system call."""

import collections
import json
import os

from live import LiveCase
from profc import profc, record
from targets import build

IN_COMPANY = True
TICK_NS = 10e6


def minutes_ns(text):
    """Of "0m1.25s"."""
    minutes, seconds = text.rstrip("s").split("m")
    return (60 * float(minutes) + float(seconds)) * 1e9


class KernelTime(LiveCase):
    """Against what getrusage(2) tells the program of itself."""

    def record(self, *options):
        return record(self.directory, [build("two_kinds_of_work"), "500"], *options)

    def assert_split(self, row, said, what):
        """The kernel tells both in whole ticks, and scales them anew at each reading."""
        for member in ("user_ns", "system_ns"):
            self.assertWithin(row[member], said[member], 4 * TICK_NS, f"{member} of {what}")

    def test_threads_processes_and_the_whole(self):
        recording = self.record()
        said = {one["name"]: one for one in recording.said}
        whole = said.pop("two_kinds_of_wo")
        threads = {row["name"]: row for row in recording.rows("--by", "thread")}
        for name, one in said.items():
            self.assert_split(threads[name], one, name)
        (process,) = recording.rows("--by", "process")
        self.assert_split(process, whole, "the process")
        self.assert_split(recording.report(), whole, "the report")
        self.assert_split(json.loads(recording.info("--json")), whole, "info")
        wide = {**os.environ, "COLUMNS": "200"}  # where it is narrow the command is said first
        text = profc("report", "-i", recording.path, "--by", "thread", env=wide).stdout
        self.assertRegex(text.splitlines()[0], r" of CPU time \([0-9.]+ m?s user, [0-9.]+ m?s system")
        self.assertRegex(text, r"(?m)^self ms .* user ms +system ms +tid ")
        self.assertRegex(recording.info(), r"(?m)^time +.* CPU \([0-9.]+ m?s user, [0-9.]+ m?s system\), ")

    def test_what_is_cut_out_has_no_split(self):
        recording = self.record()
        for options in (["--time", "..100ms"], ["--function", "compute"]):
            report = recording.report("--by", "thread", *options)
            self.assertNotIn("user_ns", report)
            self.assertEqual({row["user_ns"] for row in report["rows"]}, {None})

    def test_system_call_has_its_cpu_time(self):
        # Busy CPUs leave few of the looks that are asked for: none may be in one of the two calls.
        recording = self.record("-F", "1000", "--max-overhead", "0")
        said = {one["name"]: one for one in recording.said}
        for options in ([], ["-m", "cpu"], ["-m", "wall"]):
            rows = {row["name"]: row for row in recording.rows("--by", "syscall", *options)}
            system_ns = said["makes pages"]["system_ns"]
            calls = [rows[name] for name in ("mmap", "munmap") if name in rows]
            found_ns = sum(row["cpu_ns"] for row in calls)
            self.assertGreater(found_ns, 0.6 * system_ns, options)
            self.assertLess(found_ns, 1.3 * system_ns, options)
            self.assertGreater(rows["[no system call]"]["cpu_ns"],
                               0.6 * said["computes"]["user_ns"], options)
        merged = self.path("merged.data")
        profc("merge", "-o", merged, recording.path, recording.path)
        text = profc("report", "-i", merged, "--by", "syscall", "-m", "cpu").stdout
        self.assertIn("[no system call]", text)
        self.assertNotIn("system call unknown", text)
        text = profc("report", "-i", recording.path, "--by", "syscall").stdout
        self.assertRegex(text, r"(?m)^self .* cpu ms +system call +wait function$")

    def test_functions_have_user_and_system_time(self):
        """Samples say where it was; the sum of all rows is what the kernel tells."""
        command = [build("faults_in_functions"), "1500"]
        recording = record(self.directory, command, "-F", "1000", "--max-overhead", "0")
        (whole,) = [one for one in recording.said if one["name"] == "all"]
        report = recording.report("--no-inline")
        rows = {row["function"]: row for row in report["rows"]}
        for name, row in rows.items():
            self.assertEqual(row["user_ns"] + row["system_ns"], row["self_ns"], name)
        # Not against their user time, in which the host of a virtual machine maps their pages.
        for name in ("store_first", "fill_first"):
            self.assertGreater(rows[name]["system_ns"], 0.25 * whole["system_ns"], name)
        for name in ("store_again", "fill_again", "compute"):
            self.assertLess(rows[name]["system_ns"], rows[name]["user_ns"], name)
        system_ns = sum(row["system_ns"] for row in report["rows"])  # also of several with one name
        self.assertWithin(system_ns, report["system_ns"], 4 * TICK_NS, "system time of all rows")
        self.assertWithin(system_ns, whole["system_ns"], 6 * TICK_NS, "the program's own")

    def test_faults_are_those_of_their_functions(self):
        """Writing to pages for the first time, less writing to them again, is the kernel's work for the faults."""
        command = [build("faults_in_functions"), "1500"]
        recording = record(self.directory, command, "-F", "1000", "--max-overhead", "0")
        said = {one["name"]: one for one in recording.said}
        all_ns, faults_ns = collections.Counter(), collections.Counter()
        for row in recording.rows("--no-inline", "--by", "syscall,function", "-m", "cpu"):
            all_ns[row["function"]] += row["self_ns"]
            if row["syscall"] == "[page fault]":
                faults_ns[row["function"]] += row["self_ns"]
        for name, again, times in (("store_first", "store_again", 1), ("fill_first", "fill_again", 8)):
            truth = 1 - said[again]["cpu_ns"] / times / said[name]["cpu_ns"]
            self.assertWithin(faults_ns[name] / all_ns[name], truth, 0.2, name)
        for name in ("store_again", "fill_again", "compute"):
            self.assertLess(faults_ns[name] / all_ns[name], 0.15, name)

    def test_page_faults_are_told_apart(self):
        recording = record(self.directory, [build("faults_in_functions"), "700"])
        rows = {row["name"]: row for row in recording.rows("--by", "syscall", "-m", "cpu")}
        self.assertGreater(rows["[page fault]"]["self_ns"], 0.1 * recording.report()["total_ns"])
        text = profc("report", "-i", recording.path, "--tree").stdout
        self.assertRegex(text, r"store_first\n.*\[page fault\]\n")
        text = profc("report", "-i", recording.path, "--width", "140").stdout
        self.assertRegex(text, r"(?m)^self ms .* total ms +% user ms system ms +± ")
        narrow = profc("report", "-i", recording.path, "--width", "80").stdout
        self.assertNotIn("system ms", narrow)
        asked = profc("report", "-i", recording.path, "--width", "80", "--columns", "user,system").stdout
        self.assertRegex(asked, r"(?m)^self ms .* user ms system ms +± ")

    def test_processes_that_are_reaped_at_once(self):
        """Each has two threads, and is gone when its end is met: most of its time is known all the same."""
        loop = f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do {build('work_rate')} 2 80 >&2; done"
        recording = record(self.directory, ["sh", "-c", loop])
        info = json.loads(recording.info("--json"))
        cpu_ns = info["totals"]["cpu_ns"]
        self.assertGreater((info["user_ns"] + info["system_ns"]) / cpu_ns, 0.9)
        self.assertLess((info["user_ns"] + info["system_ns"]) / cpu_ns, 1.02)

    def test_processes_too_short_for_ticks_of_the_kernel(self):
        """Each shows no user and no system time of its own; their sum comes with the end of the command."""
        loop = f"for i in $(seq 120); do {build('work_rate')} 1 3 >/dev/null 2>&1; done; times"
        recording = record(self.directory, ["sh", "-c", loop])
        own, children = [[minutes_ns(word) for word in line.split()]
                         for line in recording.stdout.splitlines()[-2:]]
        report = recording.report()
        self.assertGreater((report["user_ns"] + report["system_ns"]) / report["total_ns"], 0.95)
        for name, said in (("user_ns", own[0] + children[0]), ("system_ns", own[1] + children[1])):
            self.assertWithin(report[name], said, 4 * TICK_NS, name)
