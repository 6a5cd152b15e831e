# SPDX-License-Identifier: GPL-2.0-or-later
"""profc.data: what man/profc-data.5 promises, and what happens to files less than whole."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from paths import BUILD
from profc import profc

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read_profc_data import Recording  # noqa: E402  (beside this file)

MAKE_PROFILE = os.path.join(BUILD, "tests", "bench", "make_profile")


def report(path, *options):
    return json.loads(profc("report", "-i", path, "--json", *options).stdout)


class Files(unittest.TestCase):
    """Each test has a directory, and in it a recording made up of 20000 samples, 500 counts and 3000
    blocks."""

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="profc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.made)
        cls.path = os.path.join(cls.made, "made.data")
        subprocess.run([MAKE_PROFILE, cls.path, "20000", "2000", "3", "500", "3000"], check=True,
                       stdout=subprocess.DEVNULL)

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def file(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def content(self):
        with open(self.path, "rb") as file:
            return file.read()


@unittest.skipUnless(shutil.which("zstd"), "there is no zstd command")
class SecondReader(Files):
    def setUp(self):
        super().setUp()
        self.second = Recording(self.path)

    def test_zstd_accepts_the_file(self):
        subprocess.run(["zstd", "-tq", self.path], check=True)

    def test_the_end_mark_counts_right(self):
        self.assertTrue(self.second.complete)
        self.assertEqual(len(self.second.samples), 20000)

    def test_counts_are_those_made_up(self):
        """Written at first as 0, and again in each second; functions 6, 13, … are refused."""
        milliseconds = self.second.facts["duration"] // 1_000_000
        self.assertGreater(milliseconds, 5000)
        self.assertEqual([count["calls"] for count in self.second.counts],
                         [row % 5 * row * milliseconds for row in range(2 * (500 - 500 // 7))])
        self.assertEqual([count["kind"] for count in self.second.counts[:4]], [0, 1, 0, 1])
        self.assertEqual({count["to"] for count in self.second.counts},
                         {self.second.facts["duration"]})
        self.assertEqual([refusal["function"] for refusal in self.second.refusals],
                         [f"function_{i}" for i in range(6, 500, 7)])

    def test_counts_survive_new_symbols(self):
        path = self.file("symbolized.data", self.content())
        profc("symbolize", "-i", path)
        symbolized = Recording(path)
        self.assertTrue(symbolized.complete)
        self.assertEqual(symbolized.counts, self.second.counts)
        self.assertEqual(symbolized.refusals, self.second.refusals)
        self.assertEqual(symbolized.frames, self.second.frames)

    def test_allocations_are_those_made_up(self):
        rows = self.second.allocations
        self.assertEqual(len(rows), 3000)
        freed = [row for row in rows if row["life"]]
        self.assertTrue(1500 < len(freed) < 3000, len(freed))
        self.assertTrue(all(row["freed_by"] == 1 for row in freed))
        self.assertEqual({row["mean"] for row in rows}, {524288})
        self.assertEqual({row["kind"] for row in rows}, {0, 1, 2})
        times = [row["time"] for row in rows]
        self.assertEqual(times, sorted(times))
        estimate = sum(int(row["size"] / -math.expm1(-row["size"] / row["mean"])) for row in rows)
        last = self.second.moments[-1]
        self.assertEqual(last["allocated"], 2 * estimate)
        self.assertEqual(last["anonymous"], estimate // 8 // 4096 * 4096)
        self.assertEqual(len(self.second.moments),
                         math.ceil(self.second.facts["duration"] / 1e9))

    def test_searches_are_those_made_up(self):
        rows = self.second.allocations
        states = [row.get("state") for row in rows]
        self.assertEqual(states, [None if row["life"] else (None, 1, 2)[number % 3]
                                  for number, row in enumerate(rows)])
        search, before = self.second.searches
        self.assertEqual((search["mark"], before["mark"]), ("", "half"))
        self.assertEqual((search["process"], search["stop"], search["bytes"], search["reason"]),
                         (0, 1500000, 5 << 20, ""))
        leaks = report(self.path, "--leaks", "--reachable")
        self.assertEqual(leaks["reachable"], {
            "processes": 1, "searched_bytes": 5 << 20, "stop_ns": 1500000,
            "stop_ns_max": 1500000, "not_searched": []})
        # Of 3000 blocks some 900 are left.
        for part, state in (("lost", 2), ("pointed_to", 1)):
            share = states.count(state) / len([row for row in rows if not row["life"]])
            self.assertAlmostEqual(leaks[f"{part}_blocks"] / leaks["total_blocks"], share,
                                   delta=0.2)
            self.assertEqual(leaks[f"{part}_bytes"],
                             sum(leak[f"{part}_bytes"] for leak in leaks["leaks"]))

    def test_a_search_at_a_mark_is_that_made_up(self):
        before = self.second.searches[1]
        lost = [row for row in self.second.verdicts if row["state"] == 2]
        self.assertEqual({row["search"] for row in self.second.verdicts}, {1})
        leaks = report(self.path, "--leaks", "--reachable", "--at", f"{before['time']}ns")
        self.assertEqual(leaks["reachable"]["stop_ns"], before["stop"])
        self.assertEqual(leaks["at_ns"], before["time"])
        self.assertEqual(sum(leak["samples"] for leak in leaks["leaks"]), len(self.second.verdicts))
        self.assertEqual(leaks["lost_blocks"] + leaks["pointed_to_blocks"], leaks["total_blocks"])
        self.assertAlmostEqual(leaks["lost_blocks"] / leaks["total_blocks"],
                               len(lost) / len(self.second.verdicts), delta=0.2)

    def test_searches_survive_new_symbols(self):
        path = self.file("symbolized.data", self.content())
        profc("symbolize", "-i", path)
        symbolized = Recording(path)
        self.assertEqual(symbolized.searches, self.second.searches)
        self.assertEqual(symbolized.verdicts, self.second.verdicts)
        self.assertEqual([row.get("state") for row in symbolized.allocations],
                         [row.get("state") for row in self.second.allocations])

    def test_totals_are_those_of_report(self):
        for metric, total in (
            ("cpu", self.second.total("cpu")),
            ("runq", self.second.total("runq")),
            ("blocked", self.second.total("blocked")),
            ("wall", sum(map(self.second.total, ("cpu", "runq", "blocked")))),
        ):
            self.assertEqual(report(self.path, "-m", metric)["total_ns"], total, metric)

    def test_functions_are_those_of_report(self):
        mine = {name: ns for name, ns in self.second.self_ns().items() if ns}
        theirs = {}
        for row in report(self.path)["rows"]:
            if row["self_ns"]:
                theirs[row["function"]] = theirs.get(row["function"], 0) + row["self_ns"]
        self.assertGreater(len(mine), 50)
        self.assertEqual(mine, theirs)

    def test_facts_are_those_of_report(self):
        facts = report(self.path)
        self.assertEqual(facts["command"], self.second.command)
        self.assertEqual(facts["duration_ns"], self.second.facts["duration"])


class LessThanWhole(Files):
    def check_refused(self, path, message):
        done = profc("report", "-i", path, status=1)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.splitlines()[0], f"profc: {path}: {message}")

    def test_a_cut_file_shows_what_it_holds(self):
        path = self.file("cut.data", self.content()[:-1000])
        done = profc("report", "-i", path, "--json")
        self.assertIn("cut.data is incomplete (the file ends inside a frame)", done.stderr)
        whole = report(self.path)
        self.assertEqual(json.loads(done.stdout)["total_ns"], whole["total_ns"])

    def test_a_file_that_ends_between_frames(self):
        """As a recording leaves it that was killed: nothing is damaged, the end is missing."""
        content = self.content()
        last = content.rfind(b"\x28\xb5\x2f\xfd")
        done = profc("report", "-i", self.file("killed.data", content[:last]))
        self.assertIn("killed.data is incomplete: the recording did not finish; showing what",
                      done.stderr)
        self.assertIn("code without symbols: the recording did not finish; 'profc symbolize' adds",
                      " ".join(done.stdout.split()))

    def test_a_pipe_will_do(self):
        done = profc("report", "-i", "-", "--json", stdin=open(self.path, "rb"))
        self.assertEqual(json.loads(done.stdout)["total_ns"], report(self.path)["total_ns"])

    def test_refusals(self):
        newer = bytearray(self.content())
        newer[16] = 9
        self.check_refused(self.file("empty", b""), "the file is empty")
        self.check_refused(self.file("text", b"Dear reader,\n" * 9), "not a profc profile")
        self.check_refused(self.file("newer", newer),
                           "format version 9 is newer than 3, the newest known")
        self.check_refused(self.file("head", self.content()[:24]), "the recording did not finish")
        self.check_refused(self.directory, "is a directory, not a profile")
        self.check_refused("/dev/zero", "is neither a file nor a pipe")

    def test_a_fifo_that_nobody_writes_to(self):
        path = os.path.join(self.directory, "fifo")
        os.mkfifo(path)
        self.check_refused(path, "the file is empty")


if __name__ == "__main__":
    unittest.main()
