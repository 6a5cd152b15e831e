# SPDX-License-Identifier: GPL-2.0-or-later
"""profc diff: against the reports of both sides, the limit, what it says when it cannot."""

import json
import os
import shutil
import tempfile
import unittest

from made import make_profile
from page import Page
from profc import profc
from targets import build


class Diff(unittest.TestCase):
    """Two made-up recordings of one program, the second half as long again."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="profc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.paths = {}
        for name, samples in (("old", 10000), ("new", 15000)):
            path = os.path.join(cls.directory, f"{name}.data")
            cls.paths[name] = make_profile(path, samples, 500, 2)

    def diff(self, *options, status=0):
        return profc("diff", *options, self.paths["old"], self.paths["new"], status=status)

    def self_by_function(self, name):
        """{(function, base name of the module): self}, as the report has it."""
        report = json.loads(profc("report", "--json", "-i", self.paths[name]).stdout)
        sums = {}
        for row in report["rows"]:
            key = (row["function"], os.path.basename(row["module"] or ""))
            sums[key] = sums.get(key, 0) + row["self_ns"]
        return sums

    def test_both_sides_are_those_of_the_report(self):
        rows = json.loads(self.diff("--json").stdout)["rows"]
        for name in ("old", "new"):
            found = {(row["function"], os.path.basename(row["module"] or "")):
                     row[f"{name}_self_ns"] for row in rows}
            for key, self_ns in self.self_by_function(name).items():
                self.assertEqual(found[key], self_ns)

    def test_changes_add_up_to_that_of_the_total(self):
        diff = json.loads(self.diff("--json", "--compare", "amounts").stdout)
        # Of two runs one may have been slower throughout: its rows are compared without that.
        grown = (100 + diff["total_change_pct"]) / (diff["factor"] or 1) - 100
        self.assertAlmostEqual(sum(row["change_pct"] for row in diff["rows"]), grown, places=1)
        self.assertAlmostEqual(diff["total_change_pct"], 50, delta=5)
        for row in diff["rows"]:
            self.assertEqual(row["sure"], abs(row["change_pct"]) > row["ci_pct"])

    def test_markdown_has_the_rows_of_the_table(self):
        for by, cells in (("function", 8), ("line", 8), ("module", 7), ("thread", 7)):
            with self.subTest(by=by):
                text = self.diff("--markdown", "--by", by, "-n", "7").stdout
                rows = [line for line in text.splitlines() if line.startswith("| ")]
                self.assertEqual({row.count("|") for row in rows}, {cells})
                self.assertLessEqual(len(rows), 2 * (1 + 7))
                self.assertEqual(text.count("<details>"), text.count("</details>"))
        old, new = self.paths["old"], self.paths["new"]
        limited = profc("diff", "--markdown", "--fail-above", "1%", old, old, "--", new, new,
                        status=3)
        self.assertRegex(limited.stdout, r"\n\*\*Limit exceeded\*\*: cpu: the total grew by ")
        self.assertIn("cpu: the total grew by ", limited.stderr)
        self.assertLess(len(self.diff("--markdown", "--all", "-n", "0").stdout), 65536)

    def test_markdown_is_alone(self):
        for option in ("--html", "--json", "--tree"):
            self.assertIn(f"{option}", self.diff("--markdown", option, status=2).stderr)
        out = os.path.join(self.directory, "comment.md")
        self.assertEqual(self.diff("--markdown", "-o", out).stdout, "")
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), self.diff("--markdown").stdout)

    def test_page_has_both_sides_and_what_is_the_same(self):
        html = self.diff("--html").stdout
        new, old = Page(html), Page(html, "old-data")
        self.assertEqual(old.tables["diffMode"], "amounts")
        # Of one program the names say which functions are the same.
        expected = {(old.full_name(i), old.tables["modules"][row[3]][0])
                    for i, row in enumerate(old.tables["functions"]) if row[3] >= 0}
        numbers = {(new.full_name(i), new.tables["modules"][row[3]][0]): i
                   for i, row in enumerate(new.tables["functions"]) if row[3] >= 0}
        found = set()
        for i, same in enumerate(old.tables["sameAs"]):
            if same >= 0 and old.tables["functions"][i][3] >= 0:
                key = (old.full_name(i), old.tables["modules"][old.tables["functions"][i][3]][0])
                self.assertEqual(new.full_name(same), key[0])
                found.add(key)
        self.assertEqual(found, expected & set(numbers))
        self.assertGreater(len(found), 100)

    def test_page_is_written_to_a_file_and_alone(self):
        out = os.path.join(self.directory, "diff.html")
        self.assertEqual(self.diff("--html", "-o", out).stdout, "")
        with open(out, encoding="utf-8") as file:
            self.assertIn("<title>diff: madeup", file.read())
        self.assertIn("--json", self.diff("--html", "--json", status=2).stderr)
        self.assertIn("--html", self.diff("-o", out, status=2).stderr)

    def test_shares_that_some_win_others_lose(self):
        diff = json.loads(self.diff("--json", "--compare", "shares").stdout)
        self.assertEqual(diff["compared"], "shares")
        self.assertAlmostEqual(sum(row["change_pct"] for row in diff["rows"]), 0, places=1)

    def test_a_profile_does_not_differ_from_itself(self):
        for mode in ("amounts", "shares"):
            done = profc("diff", "--fail-above", "0", "--compare", mode, self.paths["old"],
                         self.paths["old"])
            self.assertEqual(done.stdout.splitlines()[2:], ["no change"])
        self.assertNotIn("no change", self.diff().stdout)

    def runs(self, samples, blocks=0):
        """Three recordings that differ little."""
        paths = []
        for nr in range(3):
            path = os.path.join(self.directory, f"{samples}-{blocks}-{nr}.data")
            paths.append(make_profile(path, samples + 10 * nr, 500, 2, 100, blocks))
        return paths

    def test_fail_above(self):
        runs = [*self.runs(10000, 1000), "--", *self.runs(15000, 2000)]
        for limits, said in (("30", "cpu: the total grew by "), ("cpu=30%", "cpu: the total grew by "),
                             ("calls=90%,alloc=1%", "alloc: the total grew by "),
                             ("80,wall=500%,alloc=5", "alloc: the total grew by ")):
            done = profc("diff", "--fail-above", limits, *runs, status=3)
            self.assertIn(said, done.stderr)
        profc("diff", "--fail-above", "80", *runs)
        self.diff("--fail-above", "10", "--compare", "shares")
        for wrong in ("", "5,", "x", "cpu", "cpu=", "calls=-1", "nothing=5", "5%%"):
            self.assertIn("is no limit", self.diff("--fail-above", wrong, status=2).stderr)
        self.assertIn("no function was counted",
                      self.diff("--fail-above", "calls=1", status=1).stderr)
        self.assertIn("alloc is limited, but was not recorded",
                      self.diff("--fail-above", "alloc=1", status=1).stderr)

    def test_one_run_each_tells_little_of_the_total(self):
        done = self.diff("--fail-above", "30")
        self.assertRegex(done.stdout, r"(?m)^total: .*\+50.* ± ")
        self.assertRegex(done.stdout, r"(?m)^note: one run each: that runs differ by [0-9.]+% is told")

    def test_merged_recordings_are_one_run(self):
        both = os.path.join(self.directory, "both.data")
        profc("merge", "-o", both, self.paths["old"], self.paths["old"])
        said = profc("diff", both, self.paths["new"]).stdout
        self.assertRegex(said, r"(?m)^note: a merged recording counts as one run; one run each: ")

    def test_maps(self):
        done = self.diff("--map", "nothing_is_called_so=x")
        self.assertIn("nothing is named 'nothing_is_called_so' in the old profile", done.stderr)
        for wrong in ("a", "=b", "a="):
            done = profc("diff", "--map", wrong, self.paths["old"], self.paths["new"], status=2)
            self.assertIn(f"--map '{wrong}' is not OLD=NEW", done.stderr)

    def test_text_fits_the_width(self):
        for options in ([], ["--all", "-n", "50"], ["--compare", "shares"]):
            for line in self.diff("--width", "80", *options).stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_names_are_left_where_there_is_little_room(self):
        lines = self.diff("--width", "40", "--all", "-n", "50").stdout.splitlines()
        table = lines[lines.index("") + 1:]
        self.assertRegex(table[0], r"^change % +± .*  function$")
        for line in lines:
            self.assertLessEqual(len(line), 40, line)
        names = [line.rsplit("  ", 1)[-1] for line in table[1:51]]
        self.assertEqual(len(names), 50)
        for name in names:
            self.assertTrue("…" not in name or len(name) >= 14, name)
        lines = self.diff("--width", "40", "--by", "line", "--all", "-n", "5").stdout.splitlines()
        self.assertRegex(lines[lines.index("") + 1], r"^change % +± .*function +location$")

    def test_runs_that_differ_among_themselves_are_told(self):
        done = profc("diff", self.paths["old"], self.paths["new"], "--", self.paths["old"],
                     self.paths["new"])
        self.assertNotIn("within sampling noise", done.stdout)
        done = profc("diff", self.paths["old"], self.paths["new"], "--", self.paths["new"],
                     self.paths["new"])
        self.assertIn("changed no more than runs of one side differ (--all shows them)",
                      done.stdout)

    def test_other_rows_have_the_time_of_the_report(self):
        for by in ("line", "file", "module", "thread", "process", "state", "syscall"):
            diff = json.loads(self.diff("--json", "-m", "wall", "--by", by).stdout)
            for name in ("old", "new"):
                with self.subTest(by=by, name=name):
                    done = profc("report", "--json", "-m", "wall", "--by", by, "-i",
                                 self.paths[name])
                    report = json.loads(done.stdout)["rows"]
                    mine = [row[f"{name}_self_ns"] for row in diff["rows"]]
                    self.assertEqual(sorted(filter(None, mine)),
                                     sorted(filter(None, (row["self_ns"] for row in report))))
        self.assertLessEqual({"file", "line"}, set(json.loads(
            self.diff("--json", "--by", "line").stdout)["rows"][0]))

    def test_memory_has_the_same_keys(self):
        paths = [make_profile(os.path.join(self.directory, f"{n}.mem"), 1000, 100, 2, 0, n)
                 for n in (1000, 2000)]
        for options in (["--by", "thread"], ["--by", "lifetime"], ["--by", "module"], ["--tree"]):
            diff = json.loads(profc("diff", "--json", "-m", "alloc", *options, *paths).stdout)
            self.assertEqual(diff["unit"], "bytes")
            self.assertTrue(diff.get("rows") or diff.get("nodes"))
        done = profc("diff", "-m", "alloc", "--by", "state", *paths, status=2)
        self.assertIn("memory cannot be divided by state", done.stderr)

    def test_tree_has_the_time_of_those_of_the_report(self):
        diff = json.loads(self.diff("--json", "--tree").stdout)
        nodes = diff["nodes"]
        for i, node in enumerate(nodes):
            self.assertTrue(node["parent"] is None or node["parent"] < i)
        for name in ("old", "new"):
            done = profc("report", "--json", "--tree", "-i", self.paths[name])
            theirs = json.loads(done.stdout)["nodes"]
            self.assertEqual(self.paths_of(nodes, f"{name}_total_ns"),
                             self.paths_of(theirs, "total_ns"))
        text = self.diff("--tree", "--all", "--width", "80").stdout.splitlines()
        self.assertRegex(text[4], r"^change % +± +old m?s +new m?s +function$")
        self.assertTrue(all(len(line) <= 80 for line in text), text)

    @staticmethod
    def paths_of(nodes, member):
        """{path of functions and modules: total}"""
        paths, sums = [], {}
        for node in nodes:
            before = () if node["parent"] is None else paths[node["parent"]]
            paths.append((*before, (node["function"], node["module"])))
            if node[member]:
                sums[paths[-1]] = sums.get(paths[-1], 0) + node[member]
        return sums

    def test_several_runs(self):
        old, new = self.paths["old"], self.paths["new"]
        one = json.loads(self.diff("--json").stdout)
        done = profc("diff", "--json", old, old, "--", new, new, new)
        runs = json.loads(done.stdout)
        self.assertEqual((runs["old"]["runs"], runs["new"]["runs"]), (2, 3))
        self.assertEqual(runs["old"]["total_ns"], one["old"]["total_ns"])
        self.assertEqual(runs["new"]["samples"], 3 * one["new"]["samples"])
        self.assertEqual(runs["total_ci_pct"], 0)
        mine = {(row["function"], row["module"]): row for row in runs["rows"]}
        for row in one["rows"]:
            other = mine[row["function"], row["module"]]
            self.assertEqual(other["new_self_ns"], row["new_self_ns"])
            self.assertAlmostEqual(other["change_pct"], row["change_pct"], delta=0.01)
            # The same run again has no spread: there are more samples, and that is all.
            self.assertLessEqual(other["ci_pct"], row["ci_pct"])
        text = profc("diff", "--width", "80", old, new, "--", new, new).stdout.splitlines()
        self.assertTrue(text[0].startswith("old: 2 runs of "), text)
        self.assertRegex(text[2], r"^total: .*%\ ± [0-9.]+\)$")

    def test_two_times_of_one_profile_are_compared_by_rates(self):
        report = ["report", "--json", "-i", self.paths["new"]]
        spans = "..3s", "3s..13s"
        sides = [json.loads(profc(*report, "--time", span).stdout) for span in spans]
        words = ["--time", spans[0], self.paths["new"], "--", spans[1]]
        diff = json.loads(profc("diff", "--json", *words).stdout)
        self.assertEqual(diff["compared"], "rates")
        rates = []
        for name, side, seconds in zip(("old", "new"), sides, (3, 10)):
            self.assertEqual(diff[name]["elapsed_ns"], seconds * 10**9)
            self.assertEqual(diff[name]["total_ns"], side["total_ns"])
            rates.append(side["total_ns"] / seconds / 10**9)
        self.assertAlmostEqual(diff["total_change_pct"], 100 * (rates[1] - rates[0]) / rates[0],
                               places=2)
        self.assertAlmostEqual(sum(row["change_pct"] for row in diff["rows"]),
                               100 * (rates[1] - rates[0]), places=1)
        text = profc("diff", *words).stdout.splitlines()
        self.assertRegex(text[0], "^old: .* of CPU time in 3.00 s, ")
        self.assertEqual(text[2], "comparing rates, in percentage points of one CPU: from "
                                  f"{100 * rates[0]:.1f}% to {100 * rates[1]:.1f}% in all")
        self.assertNotIn("three of each", "".join(text))

    def test_two_times_of_the_default_profile(self):
        shutil.copy(self.paths["new"], os.path.join(self.directory, "profc.data"))
        done = profc("diff", "--time", "..3s", "--", "3s..", cwd=self.directory)
        self.assertIn("comparing rates", done.stdout)

    def test_options_may_follow_the_new_side(self):
        old, new = self.paths["old"], self.paths["new"]
        for before, behind in (([new, "--time", "..3s"], ["3s.."]), ([old, old], [new, new])):
            for options in (["--width", "80"], ["-n2", "--all"], ["--json", "-m", "wall"]):
                self.assertEqual(profc("diff", *before, "--", *behind, *options).stdout,
                                 profc("diff", *options, *before, "--", *behind).stdout)
        for words, reason in ((["--nope"], "unknown option '--nope'"),
                              (["-n", "2", new], f"unexpected argument '{new}'")):
            done = profc("diff", old, "--", new, *words, status=2)
            self.assertIn(reason, done.stderr)

    def test_wrong_times(self):
        path = self.paths["new"]
        for words, reason in (
            ([path, "--", "-5s.."], "needs --time A..B"),
            ([path, "--time", "..3s", "--", "-3x.."], "invalid time '3x'"),
            (["-", "--time", "..3s", "--", "3s.."], "standard input"),
            ([path, "--html", "--time", "..3s", "--", "3s.."], "--html is of two profiles"),
            ([path, "--fail-above", "5", "--time", "..3s", "--", "3s.."], "--fail-above"),
            (["--compare", "rates", "-m", "alloc", path, path], "rates is of times"),
            (["--time", "..3s", "--", "3s..", path], "two times are of one profile"),
            ([path, "--time", "..3s", "--", "3s..4s", "4s.."], "two times are of one profile"),
        ):
            self.assertIn(reason, profc("diff", *words, status=2).stderr.splitlines()[0])
        done = profc("diff", path, "--time", "-3s..-1s", "--", "-1s..", status=1)
        self.assertIn("the recording has none", done.stderr)
        self.assertIn("hint: files that a flight recorder writes", done.stderr)
        done = profc("diff", path, "--time", "..3s", "--", "900s..", status=1)
        self.assertIn("hint: the recording is over after ", done.stderr)

    def test_wrong_usage(self):
        for words in (["--by", "pid", old := self.paths["old"], old],
                      ["--by", "thread,function", old, old], ["--by", "nothing", old, old],
                      ["--by", "thread", "--tree", old, old], [old, old, "--"], ["--", old]):
            profc("diff", *words, status=2)
        done = profc("diff", *[self.paths["old"]] * 3, status=2)
        self.assertIn("profc diff OLD... -- NEW...", done.stderr)
        profc("diff", "--by", "mark", self.paths["old"], self.paths["old"], status=1)
        for words in (["--html", "--tree", old, old], ["--html", old, "--", old, old]):
            self.assertIn("--html", profc("diff", *words, status=2).stderr)
        for words in ([], [self.paths["old"]], [self.paths["old"]] * 3):
            self.assertIn("two profiles", profc("diff", *words, status=2).stderr)
        missing = os.path.join(self.directory, "missing.data")
        done = profc("diff", self.paths["old"], missing, status=1)
        self.assertIn("missing.data", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()


class Counts(unittest.TestCase):
    """Two recordings with counts, which are of the same functions but for the last twenty."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="profc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.paths = {}
        for name, samples, counts in (("old", 10000, 100), ("new", 15000, 80)):
            path = os.path.join(cls.directory, f"{name}.data")
            cls.paths[name] = make_profile(path, samples, 500, 2, counts)

    def reported(self, name):
        report = json.loads(profc("report", "--json", "-i", self.paths[name]).stdout)
        return {row["function"]: row for row in report["rows"] if row["calls"] is not None}

    def test_counts_are_those_of_the_report(self):
        done = profc("diff", "--json", self.paths["old"], self.paths["new"])
        rows = {row["function"]: row for row in json.loads(done.stdout)["rows"]}
        old, new = self.reported("old"), self.reported("new")
        self.assertGreater(len(old), len(new))
        for function, row in rows.items():
            for name, reported in (("old", old), ("new", new)):
                there = reported.get(function, {})
                for member in ("calls", "per_call_ns", "per_call_ci_ns"):
                    self.assertEqual(row[f"{name}_{member}"], there.get(member), function)
            if row["old_per_call_ns"] and row["new_per_call_ns"]:
                change = 100 * (row["new_per_call_ns"] / row["old_per_call_ns"] - 1)
                self.assertAlmostEqual(row["per_call_change_pct"], change, delta=0.1)
            else:
                self.assertIsNone(row["per_call_change_pct"])

    def test_table_of_counts(self):
        text = profc("diff", "--width", "80", self.paths["old"], self.paths["new"]).stdout
        table = text[text.index("exact counts and time per call\n"):].splitlines()
        self.assertRegex(table[1], "^old calls +new calls .* change % .* function$")
        self.assertRegex(table[2], r"^ *[0-9,]+ +[0-9,]+ .*nction_[0-9]+$")
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        profc("diff", "--unit", "ms", self.paths["old"], self.paths["new"])


class RenamedProgram(unittest.TestCase):
    """One program under several names, as builds of two branches have, and cargo's bench-HASH."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="profc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)

    def record(self, called):
        program = os.path.join(self.directory, called)
        data = program + ".data"
        if not os.path.exists(data):
            shutil.copy(build("spin_leaf"), program)
            profc("record", "-q", "-o", data, program, "500")
        return data

    def diff(self, old, new, *options, **rest):
        return profc("diff", *options, self.record(old), self.record(new), **rest)

    def test_its_function_is_one_row(self):
        for old, new in (("bench-0a1b2c3d", "bench-4e5f6a7b"), ("prog-main", "prog-branch"),
                         ("v1", "something_else")):
            rows = json.loads(self.diff(old, new, "--json").stdout)["rows"]
            (row,) = [row for row in rows if row["function"] == "spin_leaf"]
            self.assertEqual(row["status"], "both")
            self.assertEqual(os.path.basename(row["module"]), new)
            self.assertEqual(os.path.basename(row["old_module"]), old)
            self.assertLess(abs(row["change_pct"]), 50)
            self.diff(old, new, "--compare", "shares", "--fail-above", "50")

    def test_what_has_no_partner_is_new_or_gone(self):
        text = self.diff("prog-main", "prog-branch", "--map", "spin_leaf=renamed").stdout
        self.assertRegex(text, r"(?m)^ .* new +spin_leaf +prog-branch$")
        self.assertRegex(text, r"(?m)^ .* gone +spin_leaf +prog-main$")
        rows = json.loads(self.diff("prog-main", "prog-branch", "--json", "--map",
                                    "spin_leaf=renamed").stdout)["rows"]
        self.assertEqual({row["status"] for row in rows if row["function"] == "spin_leaf"},
                         {"new", "gone"})
        self.diff("prog-main", "prog-branch", "--map", "spin_leaf=renamed", "--fail-above", "50",
                  status=3)
