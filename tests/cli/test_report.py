# SPDX-License-Identifier: GPL-2.0-or-later
"""profc report: the tables against each other, the options, what it says when there is nothing."""

import collections
import csv
import io
import json
import os
import re
import subprocess
import unittest

from made import MadeCase, make_profile
from paths import PROFC
from profc import profc
from terminal import on_terminal

BY_CODE = ("function", "line", "file", "module")


class Made(MadeCase):
    def report(self, *options):
        return json.loads(profc("report", "-i", self.data, "--json", *options).stdout)

    def text(self, *options, **popen):
        return profc("report", "-i", self.data, *options, **popen).stdout


class Tables(Made):
    def test_self_adds_up_to_the_total(self):
        for metric in ("cpu", "wall", "blocked", "samples"):
            weight = "self_samples" if metric == "samples" else "self_ns"
            total = "samples" if metric == "samples" else "total_ns"
            for by in (*BY_CODE, "thread", "process", "syscall"):
                with self.subTest(metric=metric, by=by):
                    report = self.report("--metric", metric, "--by", by)
                    self.assertEqual(sum(row[weight] for row in report["rows"]), report[total])

    def test_rows_of_two_keys_are_those_of_a_selection(self):
        """Tables of each thread alone, however they are made; and these by the second key first."""
        for by, key in (("function", "function"), ("line", "function"), ("module", "module"),
                        ("state", "state")):
            def values(rows, name):
                return sorted((str(row[name]), row.get("line"), row.get("file"),
                               row.get("module"), row["self_ns"], row["total_ns"])
                              for row in rows)

            pairs = self.report("-m", "wall", "--by", f"thread,{by}")["rows"]
            other = self.report("-m", "wall", "--by", f"{by},thread")["rows"]
            self.assertEqual(values(pairs, key), values(other, key))
            for tid in {row["tid"] for row in pairs}:
                with self.subTest(by=by, tid=tid):
                    alone = self.report("-m", "wall", "--by", by, "--thread", str(tid))["rows"]
                    mine = [row for row in pairs if row["tid"] == tid]
                    name = "name" if by == "state" else key
                    self.assertEqual(values(mine, key), values(alone, name))

    def test_two_keys_are_groups(self):
        lines = self.text("--by", "thread,function", "-n", "2", "--width", "80").splitlines()
        self.assertIn("thread, function", lines[2])
        self.assertIn("function, line", self.text("--by", "function,line", "-n", "1").splitlines()[2])
        groups = [line for line in lines[3:] if "(tid " in line]
        self.assertEqual(len(groups), 3)
        self.assertEqual([i for i, line in enumerate(lines) if "(tid " in line], [3, 6, 9])
        self.assertRegex(lines[12], r"^and [0-9,]+ more \(-n 0 shows all\)$")
        rows = self.report("--by", "thread,function", "-n", "2")["rows"]
        self.assertEqual(len(rows), 6)
        done = profc("report", "-i", self.data, "--by", "thread,pid", status=2)
        self.assertIn("hint: --by pid,thread divides the other way round", done.stderr)

    def test_no_marks(self):
        done = profc("report", "-i", self.data, "--by", "mark", status=1)
        self.assertTrue(done.stderr.startswith("profc: no marks in the recording"), done.stderr)

    def test_states_add_up_to_wall_time(self):
        report = self.report("--by", "state")
        self.assertEqual(report["metric"], "wall")
        rows = {row["name"]: row["self_ns"] for row in report["rows"]}
        self.assertEqual(sum(rows.values()), report["total_ns"])
        self.assertEqual(rows["blocked"], self.report("-m", "blocked")["total_ns"])
        self.assertEqual(rows["waiting for a CPU"], self.report("-m", "runq")["total_ns"])

    def test_total_holds_self_and_no_more_than_all(self):
        for by in BY_CODE:
            report = self.report("--by", by)
            for row in report["rows"]:
                self.assertLessEqual(row["self_ns"], row["total_ns"])
                self.assertLessEqual(row["total_ns"], report["total_ns"])
                self.assertAlmostEqual(row["self_pct"],
                                       100 * row["self_ns"] / report["total_ns"], places=3)

    def test_rows_are_sorted_and_distinct(self):
        for by in BY_CODE:
            rows = self.report("--by", by)["rows"]
            self.assertEqual([row["self_ns"] for row in rows],
                             sorted((row["self_ns"] for row in rows), reverse=True))
            keys = [tuple(row.get(key) for key in ("function", "file", "line", "module", "name"))
                    for row in rows]
            self.assertEqual(len(keys), len(set(keys)))

    def test_folding_inlines_moves_time_but_keeps_it(self):
        opened, folded = self.report(), self.report("--no-inline")
        self.assertTrue(any(row["inlined"] for row in opened["rows"]))
        self.assertFalse(any(row["inlined"] for row in folded["rows"]))
        self.assertEqual(opened["total_ns"], folded["total_ns"])
        self.assertEqual(sum(row["self_ns"] for row in folded["rows"]), folded["total_ns"])

    def test_recordings_of_before_do_not_have_what_was_waited_for(self):
        for dimension in ("lock", "fd"):
            done = profc("report", "-i", self.data, "--by", dimension, status=1)
            self.assertRegex(done.stderr, r"does not have what threads waited for\nhint: ")
            self.assertEqual(done.stdout, "")
        done = profc("report", "-i", self.data, "--by", "lock", "-m", "live", status=2)
        self.assertIn("memory cannot be divided by lock", done.stderr)

    def test_csv_says_the_same_as_json(self):
        rows = self.report("--by", "line")["rows"]
        read = list(csv.DictReader(io.StringIO(self.text("--by", "line", "--csv"))))
        self.assertEqual(len(read), len(rows))
        for cells, row in zip(read, rows):
            self.assertEqual(cells["function"], row["function"])
            self.assertEqual(cells["line"], "" if row["line"] is None else str(row["line"]))
            self.assertEqual(int(cells["total_ns"]), row["total_ns"])

    def test_counts_have_no_nanoseconds(self):
        report = self.report("--metric", "samples", "-n", "1")
        self.assertEqual(report["unit"], "samples")
        self.assertFalse([key for key in (*report, *report["rows"][0]) if key.endswith("_ns")])

    def test_columns_to_keep_are_known_ones(self):
        done = profc("report", "-i", self.data, "--columns", "user,colour", status=2)
        self.assertIn("there is no column 'colour' to keep", done.stderr)
        done = profc("report", "-i", self.data, "--columns", "user", "--tree", status=2)
        self.assertIn("--columns cannot be combined with a tree", done.stderr)


class Trees(Made):
    def test_roots_add_up_and_parents_come_first(self):
        report = self.report("--tree")
        nodes = report["nodes"]
        roots = [node for node in nodes if node["parent"] is None]
        self.assertEqual(sum(node["total_ns"] for node in roots), report["total_ns"])
        self.assertEqual(sum(node["self_ns"] for node in nodes), report["total_ns"])
        for index, node in enumerate(nodes):
            if node["parent"] is not None:
                self.assertLess(node["parent"], index)
                self.assertLessEqual(node["total_ns"], nodes[node["parent"]]["total_ns"])

    def test_callers_and_callees_hold_the_total_of_the_function(self):
        row = max(self.report()["rows"], key=lambda row: row["total_ns"])
        for option in ("--callers", "--callees"):
            nodes = self.report(option, row["function"])["nodes"]
            roots = [node for node in nodes if node["parent"] is None]
            self.assertEqual([(root["function"], root["total_ns"]) for root in roots],
                             [(row["function"], row["total_ns"])])

    def test_depth_is_limited(self):
        nodes = self.report("--tree", "--max-depth", "2")["nodes"]
        parents = {node["parent"] for node in nodes if node["parent"] is not None}
        self.assertTrue(parents)
        self.assertTrue(all(nodes[parent]["parent"] is None for parent in parents))

    def test_unknown_function(self):
        done = profc("report", "-i", self.data, "--callers", "nowhere_at_all", status=1)
        self.assertIn("'nowhere_at_all'", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_characters_of_a_name_may_be_meant_themselves(self):
        """A name of PHP, shortened by the user, is no regular expression."""
        done = profc("report", "-i", self.data, "--callees", "{closure}", status=1)
        self.assertIn("not a valid regular expression", done.stderr)
        self.assertIn(r"hint: a backslash makes a character stand for itself: '\{closure}'",
                      done.stderr)


class Counts(Made):
    SIZE = (10000, 1000, 3, 200)

    def counted(self, *options):
        rows = self.report(*options)["rows"]
        return [row for row in rows if row["calls"] is not None]

    def test_time_per_call_is_time_by_calls(self):
        rows = self.counted()
        self.assertGreater(len(rows), 100)
        for row in rows:
            if row["calls"] == 0:
                self.assertIsNone(row["per_call_ns"])
                self.assertIsNone(row["per_call_ci_ns"])
                continue
            self.assertGreater(row["per_call_ci_ns"], 0)
            if not row["inlined"]:
                self.assertLessEqual(row["per_call_ns"] * row["calls"], 1.001 * row["total_ns"])

    def test_counted_functions_without_samples_have_rows(self):
        unsampled = [row for row in self.counted() if row["total_samples"] == 0]
        self.assertTrue(any(row["calls"] > 0 for row in unsampled))
        self.assertTrue(any(row["calls"] == 0 for row in unsampled))
        for row in unsampled:
            self.assertIn(row["per_call_ns"], (None, 0))

    def test_metric_calls_sorts_by_them(self):
        calls = [row["calls"] for row in self.report("-m", "calls")["rows"]]
        known = [number for number in calls if number is not None]
        self.assertEqual(calls, sorted(known, reverse=True) + [None] * (len(calls) - len(known)))
        self.assertEqual(self.report("-m", "calls"), self.report("--sort", "calls"))

    def test_filters_leave_counts_unknown(self):
        self.assertEqual(self.counted("--time", "1..2"), [])
        done = profc("report", "-i", self.data, "--time", "1..2", "--sort", "calls", status=1)
        self.assertIn("calls are counted for whole processes", done.stderr)
        self.assertIn("note: calls are counted for whole processes",
                      self.text("--time", "1..2", "--width", "200"))

    def test_unit_of_all_times(self):
        lines = self.text("--sort", "calls", "-n", "3", "--unit", "us").splitlines()
        self.assertRegex(lines[2], r"^ *self \u00b5s .* total \u00b5s .* calls +calls/s per call \u00b5s ")
        profc("report", "-i", self.data, "--unit", "hours", status=2)

    def test_tree_of_counts(self):
        lines = self.text("--tree", "--counts", "--width", "80", "--unit", "ms").splitlines()
        self.assertRegex(lines[2], r"^function +calls +total +%$")
        self.assertRegex(lines[3], r"^madeup::layer0::function_0 +\(?[0-9,]+\)? +[0-9.]+ ms ")
        self.assertRegex(lines[4], "^  madeup::")
        self.assertTrue(all(len(line) <= 80 for line in lines))
        done = profc("report", "-i", self.data, "--counts", status=2)
        self.assertIn("--counts needs --tree", done.stderr)

    def test_callees_have_the_counts_of_edges(self):
        nodes = self.report("--callees", "::function_12$")["nodes"]
        roots = [node for node in nodes if node["parent"] is None]
        self.assertEqual([node["calls_shared"] for node in roots], [False])
        below = [node for node in nodes if node["parent"] == 0 and not node["calls_shared"]]
        self.assertTrue(any(node["calls"] is not None for node in below))

    def test_counts_are_shown_without_samples(self):
        row = next(row for row in self.counted() if row["calls"] and not row["total_samples"])
        name = row["function"].split("(")[0]
        report = self.report("--function", name + "$")
        self.assertEqual(report["samples"], 0)
        self.assertEqual([(row["function"], row["calls"]) for row in report["rows"]],
                         [(row["function"], row["calls"])])
        lines = self.text("--function", name + "$", "--tree", "--counts").splitlines()
        self.assertTrue(any(line.split()[-1:] == [f"{row['calls']:,}"] for line in lines), lines)
        done = profc("report", "-i", self.data, "--function", name + "$", "--tree", status=1)
        self.assertIn("no samples, but exact counts", done.stderr)
        done = profc("report", "-i", self.data, "--function", "^nothing is called so$", status=1)
        self.assertIn("no samples", done.stderr)

    def test_lines_have_no_counts_to_sort_by(self):
        for by in ("line", "module"):
            done = profc("report", "-i", self.data, "--by", by, "--sort", "calls", status=2)
            self.assertIn("calls are counted by function only", done.stderr)

    def test_nothing_was_counted(self):
        plain = make_profile(self.path("plain.data"), 1000, 100, 2)
        for options in (["--sort", "per-call"], ["-m", "calls"], ["--tree", "--counts"]):
            done = profc("report", "-i", plain, *options, status=1)
            self.assertIn("no calls were counted", done.stderr)
            self.assertIn("hint: 'profc record --count", done.stderr)
        rows = json.loads(profc("report", "-i", plain, "--json").stdout)["rows"]
        self.assertEqual({row["calls"] for row in rows}, {None})


class Filters(Made):
    def test_a_thread_by_name_and_by_id(self):
        rows = self.report("--by", "thread")["rows"]
        for row in rows:
            for pattern in (f"^{row['name']}$", str(row["tid"])):
                report = self.report("--thread", pattern)
                self.assertEqual(report["total_ns"], row["self_ns"])

    def test_names_that_match_none_are_answered_with_those_there_are(self):
        for option, by in (("--thread", "thread"), ("--process", "pid")):
            names = {row["name"] for row in self.report("--by", by)["rows"]}
            for command in (("report",), ("annotate",), ("export", "--folded")):
                done = profc(*command, "-i", self.data, option, "^no one$", status=1)
                hint = done.stderr.splitlines()[-1]
                self.assertTrue(hint.startswith("hint: there were "), done.stderr)
                self.assertTrue(names.issuperset(hint.partition(" called ")[2].split(", ")), hint)
        hint = profc("report", "-i", self.data, "--module", "^none$", status=1).stderr
        self.assertNotIn(" called ", hint)

    def test_times_cut_the_recording_in_parts_that_add_up(self):
        whole = self.report()
        parts = [self.report("--time", time)["total_ns"] for time in ("..1s", "1s..2500ms", "2.5..")]
        # A cut sample is rounded down on either side: three threads, two cuts.
        self.assertAlmostEqual(sum(parts), whole["total_ns"], delta=12)
        self.assertTrue(all(parts))

    def test_functions_are_kept_with_their_callers(self):
        rows = self.report()["rows"]
        names = [row["function"] for row in rows]
        # One that no other module has a copy of.
        row = next(row for row in rows if names.count(row["function"]) == 1)
        pattern = "".join(c if c.isalnum() or c in ":_ ," else "." for c in row["function"])
        report = self.report("--function", f"^{pattern}$")
        self.assertEqual(report["total_ns"], row["total_ns"])

    def folded(self, *options):
        lines = profc("export", "-i", self.data, "--folded", *options).stdout.splitlines()
        sums = collections.Counter()
        for stack, weight in (line.rsplit(" ", 1) for line in lines):
            sums[tuple(stack.split(";"))] += int(weight)
        return sums

    def test_hidden_functions_leave_their_time_to_callers(self):
        expected = collections.Counter()
        for (process, *frames), weight in self.folded().items():
            is_stack = not frames[0].startswith("[unattributed]")
            kept = [frame for frame in frames if not is_stack or "7" not in frame]
            expected[(process, *(kept or ["[hidden]"]))] += weight
        self.assertEqual(self.folded("--hide", "7"), expected)

    def test_focus_is_the_root(self):
        name = self.report("--sort", "total")["rows"][0]["function"].split("(")[0]
        expected = collections.Counter()
        for (process, *frames), weight in self.folded().items():
            roots = [i for i, frame in enumerate(frames) if frame.startswith(name)]
            if roots:
                expected[(process, *frames[roots[0]:])] += weight
        focus = ["--focus", "^" + "".join(c if c.isalnum() else "." for c in name)]
        self.assertEqual(self.folded(*focus), expected)
        self.assertEqual(self.report(*focus)["total_ns"], sum(expected.values()))

    def test_modules_are_those_of_the_innermost_code(self):
        row = self.report("--by", "module")["rows"][0]
        report = self.report("--module", row["module"].replace(".", r"\.") + "$")
        self.assertEqual(report["total_ns"], row["self_ns"])

    def test_nothing_left_is_no_success(self):
        for options in (["--thread", "nobody"], ["--function", "nowhere_at_all"],
                        ["--focus", "nowhere_at_all"], ["--time", "1000000s.."]):
            done = profc("report", "-i", self.data, "--json", *options, status=1)
            self.assertTrue(done.stderr.startswith("profc: no samples"), done.stderr)
            self.assertEqual(done.stdout, "")


class Text(Made):
    def test_first_screen(self):
        verdict, hint, rest = re.fullmatch(r"(.*?)\n(hint: .*?)\n\n(.*)", self.text("--width", "80"), re.DOTALL).groups()
        self.assertRegex(verdict, r"^[0-9.]+ m?s: [0-9.]+% on a CPU")
        self.assertRegex(hint, "profc report")
        lines = rest.splitlines()
        self.assertRegex(lines[0], r"^[0-9.]+ m?s of CPU time, [0-9,]+ of 10,000 samples on a CPU in .*: madeup")
        self.assertRegex(lines[2], r"^self (ms|s) +% +± total (ms|s) +%  function +(location +)?module$")
        self.assertEqual(len(lines[3:23]), 20)
        self.assertRegex(lines[23], r"^and [0-9,]+ more with [0-9.]+% of self \(-n 0 shows all\)$")

    def test_the_verdict_is_that_of_explain(self):
        line, after, _ = self.text("--width", "10000").split("\n", 2)
        explained = json.loads(profc("explain", "-i", self.data, "--json").stdout)
        self.assertEqual(line, explained["line"])
        self.assertEqual(after, "hint: " + explained["next"])
        # Whoever chooses a table or a part of the profile knows what to look for.
        for options in (["--by", "line"], ["-m", "wall"], ["--time", "..1s"], ["--hide", "^std::"], ["--tree"]):
            self.assertNotIn(line, self.text("--width", "10000", *options))

    def test_heading_tells_how_many_of_all_samples_count(self):
        all_samples = f"{self.report('--metric', 'samples')['samples']:,}"
        part = self.report("--time", "..1s")["samples"]
        heading = self.text("--time", "..1s").splitlines()[0]
        self.assertIn(f" of CPU time, {part:,} of {all_samples} samples on a CPU in ", heading)
        self.assertIn(f", {all_samples} samples in ", self.text("-m", "wall").splitlines()[0])

    def test_no_line_is_wider_than_asked(self):
        for options in ([], ["--by", "line"], ["--by", "thread"], ["--by", "process"], ["--tree"],
                        ["--names", "full"]):
            for width in (40, 60, 80, 132):
                for line in self.text("--width", width, *options).splitlines():
                    self.assertLessEqual(len(line), width, line)

    def test_a_time_after_the_end_is_said_to_be_one(self):
        done = profc("report", "-i", self.data, "--time", "100h..", status=1)
        self.assertRegex(done.stderr, r"hint: the recording is over after [0-9.]+ \w+\n")
        done = profc("report", "-i", self.data, "--thread", "^nobody$", status=1)
        self.assertNotIn("is over", done.stderr)

    def test_names_have_the_room_in_40_columns(self):
        lines = self.text("--width", "40", "--by", "function").splitlines()
        self.assertRegex(lines[2], r"^self% +(± +)?total%  function$")
        for by, last in (("line", "location"), ("module", "module")):
            lines = self.text("--width", "40", "--by", by).splitlines()
            self.assertRegex(lines[2], rf"^self% .*  {last}$")

    def test_colours(self):
        environment = {**os.environ, "NO_COLOR": "1"}
        self.assertNotIn("\033", self.text())
        self.assertIn("\033[", self.text("--color", "always", env=environment))
        self.assertNotIn("\033", self.text("--color", "never"))

    def test_wrong_usage(self):
        for options in (["--by", "colour"], ["--sort", "colour"], ["--function", "a("],
                        ["--tree", "--by", "line"], ["--tree", "--callers", "x"],
                        ["--json", "--csv"], ["--time", "3..2"], ["--chain", "--wakers"],
                        ["--chain", "--tree"], ["--chain", "-m", "cpu"], ["--chain", "--hide", "x"], ["one.data", "two.data"]):
            with self.subTest(options=options):
                done = profc("report", *(["-i", self.data] if "one.data" not in options else []),
                             *options, status=2)
                self.assertTrue(done.stderr.startswith("profc: "), done.stderr)
                self.assertEqual(done.stdout, "")


class Terminal(Made):
    def on_terminal(self, **environment):
        """What a terminal gets from `profc report`."""
        unset = {key: value for key, value in os.environ.items()
                 if key not in ("NO_COLOR", "PAGER", "PROFC_PAGER", "LESS")}
        status, seen = on_terminal(
            [PROFC, "report", "-i", self.data, "-n", "3"], stdin=subprocess.DEVNULL,
            env={**unset, "TERM": "xterm", **environment},
        )
        self.assertEqual(status, 0)
        return seen

    def test_colours_on_a_terminal(self):
        self.assertIn("\033[1m", self.on_terminal(PAGER="cat"))
        self.assertNotIn("\033", self.on_terminal(PAGER="cat", NO_COLOR="1"))
        self.assertNotIn("\033", self.on_terminal(PAGER="cat", TERM="dumb"))

    def test_pager(self):
        shown = self.on_terminal(PAGER="false", PROFC_PAGER="sed 's/^/paged: /'", NO_COLOR="1")
        self.assertTrue(shown)
        self.assertTrue(all(line.startswith("paged: ") for line in shown.splitlines()), shown)

    def test_a_pager_that_has_seen_enough(self):
        self.assertEqual(len(self.on_terminal(PROFC_PAGER="head -n 1").splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
