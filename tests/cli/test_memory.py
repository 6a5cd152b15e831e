# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded memory on the command line: reports, exports, info, and files that are written anew."""

import collections
import json
import re
import unittest

from made import MadeCase
from profc import Recording, profc

METRICS = ("alloc", "allocs", "live", "peak", "leaked", "temporary", "freed")


class Memory(MadeCase):
    SIZE = (2000, 300, 3, 0, 3000)

    def json(self, *options):
        return json.loads(profc("report", "-i", self.data, "--json", *options).stdout)

    def export(self, *options):
        return profc("export", "-i", self.data, *options).stdout

    def test_units_are_in_the_names(self):
        report = self.json("-m", "alloc")
        self.assertEqual(report["unit"], "bytes")
        self.assertNotIn("total_ns", report)
        row = report["rows"][0]
        self.assertFalse([name for name in row if name.endswith("_ns")])
        self.assertGreater(row["self_bytes"], 0)
        self.assertGreater(row["self_blocks"], 0)
        report = self.json("-m", "allocs")
        self.assertEqual(report["unit"], "blocks")
        self.assertNotIn("self_bytes", report["rows"][0])

    def test_totals_are_exact(self):
        """What the moments of the recording say, whatever the sampling."""
        heap = json.loads(profc("info", "-i", self.data, "--json").stdout)["heap"]
        report = self.json("-m", "alloc")
        self.assertTrue(heap["allocated_exact"])
        self.assertAlmostEqual(report["total_bytes"], heap["allocated_bytes"], delta=2)
        self.assertAlmostEqual(report["total_blocks"], heap["allocated_blocks"], delta=2)
        self.assertAlmostEqual(self.json("-m", "peak")["total_bytes"], heap["peak_bytes"], delta=2)
        self.assertAlmostEqual(self.json("-m", "live")["total_bytes"], heap["live_bytes"], delta=2)
        self.assertEqual(heap["samples"], 3000)
        self.assertEqual(heap["mean_bytes"], 524288)
        self.assertIsNone(heap["before_attach_bytes"])

    def test_moments(self):
        peak = self.json("-m", "peak")
        self.assertEqual(self.json("--at", "peak")["rows"], peak["rows"])
        at = f"{peak['at_ns']}ns"
        self.assertEqual(self.json("--at", at)["total_bytes"], peak["total_bytes"])
        self.assertLess(self.json("--at", "100ms")["total_bytes"], peak["total_bytes"])

    def test_every_view_shows_every_metric(self):
        for metric in METRICS:
            for view in (("--tree",), ("--by", "line"), ("--by", "thread"), ("--by", "module"),
                         ("--callers", "function_0"), ("--csv",)):
                with self.subTest(metric=metric, view=view):
                    ended = profc("report", "-i", self.data, "-m", metric, *view)
                    self.assertTrue(ended.stdout.strip())
            self.assertTrue(profc("annotate", "-i", self.data, "-m", metric).stdout.strip())
            ended = profc("diff", self.data, self.data, "-m", metric)
            self.assertIn("no change", ended.stdout)

    def test_exports_add_up_to_the_report(self):
        total = self.json("-m", "alloc")["total_bytes"]
        folded = self.export("--folded", "-m", "alloc")
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), total)
        tables = json.loads(self.export("--json", "-m", "alloc"))
        self.assertEqual((tables["unit"], tables["weight"]), ("bytes", total))
        scope = json.loads(self.export("--speedscope", "-m", "alloc"))
        self.assertEqual({lane["unit"] for lane in scope["profiles"]}, {"bytes"})
        self.assertEqual(sum(sum(lane["weights"]) for lane in scope["profiles"]), total)

    def test_folded_leaves_are_the_self_bytes(self):
        leaves = collections.Counter()
        for line in self.export("--folded", "-m", "leaked").splitlines():
            stack, weight = line.rsplit(" ", 1)
            leaves[stack.rsplit(";", 1)[1]] += int(weight)
        rows = collections.Counter()
        for row in self.json("-m", "leaked")["rows"]:
            rows[row["function"]] += row["self_bytes"]
        self.assertEqual(+leaves, +rows)

    def test_leaks_are_what_was_not_freed(self):
        leaks = self.json("--leaks")
        leaked = self.json("-m", "leaked")
        self.assertEqual(leaks["total_bytes"], leaked["total_bytes"])
        self.assertEqual(sum(leak["bytes"] for leak in leaks["leaks"]), leaks["total_bytes"])
        sizes = [leak["bytes"] for leak in leaks["leaks"]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertFalse(leaks["exact"])
        old = self.json("--leaks", "--min-age", "500ms")
        self.assertLess(old["total_bytes"], leaks["total_bytes"])
        self.assertTrue(all(leak["oldest_ns"] >= 500_000_000 for leak in old["leaks"]))

    def test_leaks_of_threads(self):
        leaks = self.json("--leaks", "--by", "thread")
        self.assertEqual(leaks["total_bytes"], self.json("--leaks")["total_bytes"])
        self.assertEqual(sum(owner["bytes"] for owner in leaks["owners"]), leaks["total_bytes"])
        for owner in leaks["owners"]:
            own = [leak for leak in leaks["leaks"] if leak["thread"] == owner["thread"]]
            self.assertEqual(sum(leak["bytes"] for leak in own), owner["bytes"])
            self.assertEqual(len(own), owner["stacks"])
        text = profc("report", "-i", self.data, "--leaks", "--by", "thread").stdout
        self.assertIn(f" by thread {leaks['owners'][0]['thread']}", text)
        self.assertEqual(self.json("--leaks", "--by", "pid"), self.json("--leaks"))

    def test_lines_of_leaks_are_places(self):
        text = profc("report", "-i", self.data, "--leaks", "-n", "1").stdout.splitlines()
        self.assertRegex(text[3], r"^    /usr/src/\S+\.cc:\d+: madeup::")

    def test_what_is_freed_is_not_leaked(self):
        """Of each fourth block it is not recorded who freed it."""
        freed = profc("report", "-i", self.data, "-m", "freed").stdout
        unknown = re.search(r"note: [\d.]+ [KMG]iB in ([\d,]+) blocks more: the freeing stack", freed)
        nr_unknown = int(unknown[1].replace(",", ""))
        freed = self.json("-m", "freed")
        allocated = self.json("-m", "alloc")["total_blocks"]
        leaked = self.json("-m", "leaked")["total_blocks"]
        self.assertAlmostEqual(freed["total_blocks"] + nr_unknown, allocated - leaked, delta=2)
        self.assertGreater(nr_unknown, 0)
        self.assertEqual(len(self.json("-m", "freed", "--by", "thread")["rows"]), 1)
        early = self.json("-m", "freed", "--time", "..500ms")
        self.assertLess(early["total_bytes"], freed["total_bytes"])

    def test_lifetimes_add_up(self):
        """To the metric that they divide, which is of all that was allocated if none is named."""
        histogram = self.json("--by", "lifetime")
        self.assertEqual(histogram["metric"], "alloc")
        self.assertEqual(histogram["total_bytes"], self.json("-m", "alloc")["total_bytes"])
        self.assertEqual(sum(row["self_bytes"] for row in histogram["rows"]),
                         histogram["total_bytes"])
        rows = {row["name"]: row for row in histogram["rows"]}
        self.assertEqual(rows["alive at the end"]["self_blocks"],
                         self.json("-m", "leaked")["total_blocks"])
        bounds = [(row["from_ns"], row["to_ns"]) for row in histogram["rows"] if row["to_ns"]]
        self.assertEqual(bounds, sorted(bounds))
        self.assertTrue(all(low * 10 == high for low, high in bounds[1:]))
        self.assertEqual(self.json("--by", "lifetime", "--at", "peak")["metric"], "live")
        text = profc("report", "-i", self.data, "--by", "lifetime", "--csv").stdout.splitlines()
        self.assertEqual(text[0].split(",")[:3], ["name", "from_ns", "to_ns"])
        self.assertEqual(len(text), 1 + len(histogram["rows"]))
        profc("top", "--by", "lifetime", "-p", "1", status=2)

    def test_files_written_anew_keep_it(self):
        before = self.json("--at", "300ms")
        for name, command in (("merged", ("merge", "-o")), ("symbolized", ("symbolize", "-o"))):
            path = self.path(name)
            source = (self.data,) if name == "merged" else ("-i", self.data)
            profc(*command, path, *source)
            after = json.loads(
                profc("report", "-i", path, "--json", "--at", "300ms").stdout)
            self.assertEqual(after["total_bytes"], before["total_bytes"])
            self.assertEqual(after["total_blocks"], before["total_blocks"])

    def test_what_makes_no_sense_is_refused(self):
        for options, words in (
            (("-m", "alloc", "--by", "state"), "memory cannot be divided by state"),
            (("--at", "peak", "--by", "syscall"), "memory cannot be divided by syscall"),
            (("-m", "alloc", "--at", "1s"), "--at needs --metric live"),
            (("--temporary", "1s"), "--temporary needs --metric temporary"),
            (("--at", "mark:none"), "no mark 'none'"),
            (("--at", "later"), "--at: "),
            (("--leaks", "--tree"), "--leaks cannot be combined"),
            (("--leaks", "--by", "line"), "--leaks cannot be combined"),
            (("-m", "cpu", "--by", "lifetime"), "--by lifetime needs a metric of memory"),
            (("-m", "calls", "--by", "lifetime"), "--by lifetime needs a metric of memory"),
            (("--by", "lifetime", "--tree"), "cannot be combined with a tree"),
            (("-m", "live", "--tree", "--counts"), "--counts cannot be combined with memory"),
            (("--min-age", "1s"), "--min-age needs --leaks"),
        ):
            with self.subTest(options=options):
                status = 1 if "no mark" in words else 2
                ended = profc("report", "-i", self.data, *options, status=status)
                self.assertIn(words, ended.stderr)
        profc("export", "-i", self.data, "--chrome", "-m", "live", status=2)


class Little(MadeCase):
    """Of its one block."""

    SIZE = (2000, 300, 3, 0, 1)

    def test_of_a_metric_there_may_be_nothing(self):
        done = profc("export", "-i", self.data, "--folded", "-m", "leaked", status=1)
        self.assertIn("no memory of metric leaked was recorded", done.stderr)
        done = profc("export", "-i", self.data, "--folded", "-m", "alloc", "--time", "..1ns",
                     status=1)
        self.assertIn("no samples are left after the filters", done.stderr)
        self.assertTrue(profc("export", "-i", self.data, "--folded", "-m", "alloc").stdout)


class Without(MadeCase):
    SIZE = (2000, 300, 3)

    def test_it_is_said_how_to_record_it(self):
        for command in (("report", "-m", "alloc"), ("report", "--leaks"), ("annotate", "-m", "live"),
                        ("export", "--folded", "-m", "peak")):
            ended = profc(command[0], "-i", self.data, *command[1:], status=1)
            self.assertIn("no memory was recorded", ended.stderr)
            self.assertIn("hint: 'profc record --mem'", ended.stderr)
        info = json.loads(profc("info", "-i", self.data, "--json").stdout)
        self.assertIsNone(info["heap"])
        self.assertGreater(Recording(self.data).report()["total_ns"], 0)


if __name__ == "__main__":
    unittest.main()
