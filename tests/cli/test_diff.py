# SPDX-License-Identifier: GPL-2.0-or-later
"""profc diff: against the reports of both sides, the limit, what it says when it cannot."""

import json
import os
import shutil
import tempfile
import unittest

from made import make_profile
from profc import profc


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
        self.assertAlmostEqual(sum(row["change_pct"] for row in diff["rows"]),
                               diff["total_change_pct"], places=1)
        self.assertAlmostEqual(diff["total_change_pct"], 50, delta=5)
        for row in diff["rows"]:
            self.assertEqual(row["sure"], abs(row["change_pct"]) > row["ci_pct"])

    def test_shares_that_some_win_others_lose(self):
        diff = json.loads(self.diff("--json", "--compare", "shares").stdout)
        self.assertEqual(diff["compared"], "shares")
        self.assertAlmostEqual(sum(row["change_pct"] for row in diff["rows"]), 0, places=1)

    def test_a_profile_does_not_differ_from_itself(self):
        done = profc("diff", "--fail-above", "0", self.paths["old"], self.paths["old"])
        self.assertNotIn("function ", done.stdout)

    def test_fail_above(self):
        self.diff("--fail-above", "30", status=3)
        self.diff("--fail-above", "80")
        self.diff("--fail-above", "10", "--compare", "shares")

    def test_text_fits_the_width(self):
        for options in ([], ["--all", "-n", "50"], ["--compare", "shares"]):
            for line in self.diff("--width", "80", *options).stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_wrong_usage(self):
        for words in ([], [self.paths["old"]], [self.paths["old"]] * 3):
            self.assertIn("two profiles", profc("diff", *words, status=2).stderr)
        missing = os.path.join(self.directory, "missing.data")
        done = profc("diff", self.paths["old"], missing, status=1)
        self.assertIn("missing.data", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
