# SPDX-License-Identifier: GPL-2.0-or-later
"""profc info: the facts of a recording, for people and for programs."""

import json
import os
import shutil
import sys
import unittest

from made import MadeCase
from profc import profc

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read_profc_data import Recording  # noqa: E402  (beside this file)


class Info(MadeCase):
    SIZE = (10000, 1000, 2, 400)

    def info(self):
        return json.loads(profc("info", "-i", self.data, "--json").stdout)

    @unittest.skipUnless(shutil.which("zstd"), "there is no zstd command")
    def test_json_agrees_with_the_second_reader(self):
        info, second = self.info(), Recording(self.data)
        for weight in ("cpu", "runq", "blocked"):
            self.assertEqual(info["totals"][f"{weight}_ns"], second.total(weight))
        self.assertEqual(info["totals"]["samples"], second.total("count"))
        self.assertEqual(info["counters"], second.counters)
        self.assertEqual([module["path"].encode() for module in info["modules"]],
                         [module["path"] for module in second.modules])
        self.assertEqual([module["build_id"] or "" for module in info["modules"]],
                         [module["build_id"].hex() for module in second.modules])
        self.assertEqual(len(info["threads"]), len(second.threads))
        self.assertEqual(info["stacks"]["distinct"], len(second.stacks) - 1)
        self.assertTrue(info["complete"])

    def test_json_sums_agree_with_each_other(self):
        info = self.info()
        self.assertEqual(sum(module["cpu_ns"] for module in info["modules"]),
                         info["totals"]["cpu_ns"] - info["totals"]["unattributed_cpu_ns"])
        early = sum(end["cpu_ns"] for end in info["stacks"]["early_ends"])
        early += info["totals"]["unattributed_cpu_ns"]
        self.assertAlmostEqual(info["stacks"]["complete_cpu_pct"],
                               100 - 100 * early / info["totals"]["cpu_ns"], places=3)

    @unittest.skipUnless(shutil.which("zstd"), "there is no zstd command")
    def test_counts_agree_with_the_second_reader(self):
        probes, second = self.info()["probes"], Recording(self.data)
        for member, kind in (("functions", 0), ("call_sites", 1)):
            places = {count["place"] for count in second.counts if count["kind"] == kind}
            self.assertGreater(len(places), 100)
            self.assertEqual(probes[member], len(places))
        self.assertEqual([(row["function"], row["module"], row["reason"])
                          for row in probes["refused"]],
                         [(row["function"], row["module"], row["reason"])
                          for row in second.refusals])

    def test_text_fits_80_columns(self):
        lines = profc("info", "-i", self.data, "--width", "80").stdout.splitlines()
        self.assertEqual(lines[0], "command     madeup --serve")
        for line in lines:
            self.assertLessEqual(len(line), 80, line)

    def test_the_file_may_stand_as_a_word(self):
        self.assertEqual(profc("info", self.data).stdout, profc("info", "-i", self.data).stdout)
        done = profc("info", self.data, "another", status=2)
        self.assertIn("'another'", done.stderr)

    def test_a_cut_recording_says_so(self):
        path = os.path.join(self.directory, "cut.data")
        with open(self.data, "rb") as whole, open(path, "wb") as cut:
            cut.write(whole.read()[:-10])
        done = profc("info", "-i", path)
        self.assertIn("ended       incomplete", done.stdout)
        self.assertIn("is incomplete", done.stderr)

    def test_no_profile(self):
        done = profc("info", cwd=self.directory, status=1)
        self.assertEqual(done.stderr.splitlines()[0],
                         "profc: profc.data: cannot open the profile: No such file or directory")
        self.assertTrue(done.stderr.splitlines()[1].startswith("hint: record one with"))


if __name__ == "__main__":
    unittest.main()
