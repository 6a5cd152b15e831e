# SPDX-License-Identifier: GPL-2.0-or-later
"""profc merge: several recordings as one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from made import make_profile
from paths import PROFC
from profc import profc

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read_profc_data import Recording  # noqa: E402  (beside this file)


class Merge(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.one = self.made("one.data", 3000, 300, 2)
        self.two = self.made("two.data", 2000, 400, 3)
        self.out = os.path.join(self.directory, "out.data")

    def made(self, name, *size):
        return make_profile(os.path.join(self.directory, name), *size)

    def info(self, path):
        return json.loads(profc("info", "-i", path, "--json").stdout)

    def functions(self, path):
        rows = json.loads(profc("report", "-i", path, "--json").stdout)["rows"]
        return {(row["function"], row["file"], row["line"], row["module"]):
                (row["self_ns"], row["total_ns"]) for row in rows}

    def test_totals_add_up(self):
        self.assertEqual(profc("merge", "-o", self.out, self.one, self.two).stdout, "")
        one, two, both = map(self.info, (self.one, self.two, self.out))
        for member in ("cpu_ns", "runq_ns", "blocked_ns", "samples"):
            self.assertEqual(both["totals"][member], one["totals"][member] + two["totals"][member])
        self.assertEqual(len(both["threads"]), 5)
        self.assertTrue(both["complete"])

    def test_all_runs_are_named(self):
        profc("merge", "-o", self.out, self.one, self.two)
        again = os.path.join(self.directory, "again.data")
        profc("merge", "-o", again, self.out, self.one)
        runs = self.info(again)["runs"]
        parts = [self.info(path) for path in (self.one, self.two, self.one)]
        self.assertEqual([run["duration_ns"] for run in runs],
                         [part["duration_ns"] for part in parts])
        self.assertEqual([run["command"] for run in runs],
                         [" ".join(part["command"]) for part in parts])
        lines = profc("report", "-i", again, "--width", "80", "-n", "1").stdout.splitlines()
        at = next(i for i, line in enumerate(lines) if ": 3 runs of madeup" in line)
        second, blank = lines[at + 1:at + 3]
        self.assertRegex(second, r"^  3 runs of madeup.*, 2023-11-14 22:13 UTC$")
        self.assertLessEqual(len(second), 80)
        self.assertEqual(blank, "")
        text = profc("info", "-i", again, "--width", "80").stdout
        self.assertEqual(text.count("\n2023-11-14 22:13:20 UTC "), 3)
        self.assertEqual(self.info(self.one)["runs"], [])
        self.assertNotIn(" runs", profc("report", "-i", self.one).stdout.splitlines()[0])

    def test_functions_add_up(self):
        profc("merge", "-o", self.out, self.one, self.two)
        expected = self.functions(self.one)
        for name, (self_ns, total_ns) in self.functions(self.two).items():
            before = expected.get(name, (0, 0))
            expected[name] = (before[0] + self_ns, before[1] + total_ns)
        self.assertEqual(self.functions(self.out), expected)

    @unittest.skipUnless(shutil.which("zstd"), "there is no zstd command")
    def test_runs_are_in_the_file(self):
        profc("merge", "-o", self.out, self.one, self.two)
        parts = [self.info(path) for path in (self.one, self.two)]
        self.assertEqual(Recording(self.out).runs, [
            {"command": " ".join(part["command"]), "host": part["hostname"] or "",
             "start": part["start_realtime_ns"], "duration": part["duration_ns"],
             "processes": len(part["processes"]), "marks": len(part["marks"])}
            for part in parts])

    @unittest.skipUnless(shutil.which("zstd"), "there is no zstd command")
    def test_counts_are_kept(self):
        one, two = self.made("1.data", 900, 99, 1, 40), self.made("2.data", 3000, 99, 2, 20)
        profc("merge", "-o", self.out, one, two)
        parts = [Recording(path) for path in (one, two)]
        both = Recording(self.out)
        self.assertTrue(both.complete)
        self.assertEqual([count["calls"] for count in both.counts],
                         [count["calls"] for part in parts for count in part.counts])
        self.assertEqual([count["process"] for count in both.counts],
                         [at for at, part in enumerate(parts) for _ in part.counts])
        self.assertEqual([refusal["function"] for refusal in both.refusals],
                         [refusal["function"] for part in parts for refusal in part.refusals])
        # Functions of the same code have the same names as before.
        names = [[part.text(part.functions[part.chains[count["place"]][-1]["function"]]["name"])
                  for part in which for count in part.counts] for which in ([both], parts)]
        self.assertEqual(*names)

    def test_one_profile_stays_what_it_is(self):
        profc("merge", "-o", self.out, self.one)
        self.assertEqual(self.functions(self.out), self.functions(self.one))

    def test_standard_output_and_input(self):
        with open(self.out, "wb") as out:
            subprocess.run([PROFC, "merge", "-o", "-", self.one], stdout=out,
                           check=True)
        self.assertEqual(self.functions(self.out), self.functions(self.one))

    def test_a_full_disk_is_told_with_its_file(self):
        done = profc("merge", "-o", "/dev/full", self.one, status=1)
        self.assertEqual(done.stderr, "profc: /dev/full: cannot write the profile: "
                                      "No space left on device\n")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROFC, "merge", "-o", "-", self.one], stdout=full, text=True,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("profc: standard output: cannot write the profile: No space", done.stderr)

    def test_nothing_but_empty_ones_is_no_success(self):
        empty = os.path.join(self.directory, "empty.data")
        # It never counts, as its delay is longer than the command runs.
        subprocess.run([PROFC, "record", "-q", "--delay", "60", "-o", empty, "--", "true"],
                       check=False, stderr=subprocess.DEVNULL)
        self.assertTrue(os.path.exists(empty))
        done = profc("merge", "-o", self.out, empty, empty, status=1)
        self.assertIn("no samples in any of these profiles", done.stderr)
        self.assertFalse(os.path.exists(self.out))
        profc("merge", "-o", self.out, empty, self.one)
        self.assertEqual(self.functions(self.out), self.functions(self.one))

    def test_slips(self):
        self.assertIn("no profiles given", profc("merge", "-o", self.out, status=2).stderr)
        self.assertIn("-o", profc("merge", self.one, status=2).stderr)
        done = profc("merge", "-o", self.out, self.one, "/nowhere/x.data", status=1)
        self.assertIn("/nowhere/x.data", done.stderr)
        self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    unittest.main()
