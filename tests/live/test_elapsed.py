# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the time of the wall clock went, against what programs measured of their own phases."""

import json

from live import LiveCase
from profc import profc, record
from targets import build

IN_COMPANY = True


class Elapsed(LiveCase):
    def record(self, *options):
        return record(self.directory, [build("works_in_phases"), "12"], "-F", "1000",
                      "--max-overhead", "0", *options)

    def assert_near(self, row, said_ns, report, what):
        """Within the interval, and what threads take to begin and to end."""
        share = 100 * said_ns / report["total_ns"]
        self.assertWithin(row["total_pct"], share, 1.5 * row["total_ci_pct"] + 2.5, what)

    def test_phases_have_the_time_that_the_program_says(self):
        recording = self.record()
        (said,) = recording.said
        report = recording.report("-m", "elapsed")
        self.assertEqual(report["total_ns"], report["duration_ns"])
        rows = {row["function"]: row for row in report["rows"]}
        self.assert_near(rows["in_parallel"], said["parallel_ns"], report, "in parallel")
        self.assert_near(rows["alone"], said["alone_ns"], report, "alone")
        self.assert_near(rows["waits"], said["wait_ns"], report, "waits")
        third = dict(rows["straggles"])
        third["total_pct"] += rows["is_early"]["total_pct"]
        third["total_ci_pct"] += rows["is_early"]["total_ci_pct"]
        self.assert_near(third, said["both_ns"] + said["straggling_ns"], report, "with a straggler")
        # It has half of the time that both have, and all of the time that it is alone.
        self.assert_near(rows["straggles"], said["both_ns"] / 2 + said["straggling_ns"], report,
                         "the straggler")

    def test_the_chain_goes_through_what_the_end_had_to_wait_for(self):
        recording = self.record()
        (said,) = recording.said
        chain = json.loads(profc("report", "-i", recording.path, "--chain", "-n", "0", "--json").stdout)
        self.assertEqual(sum(row["elapsed_ns"] for row in chain["rows"]), chain["total_ns"])
        self.assertEqual(sum(chain["by_state"].values()), chain["total_ns"])
        self.assertWithin(chain["total_ns"], recording.report()["duration_ns"], 20e6, "the length")
        (process,) = recording.rows("--by", "pid")
        first = process["pid"]  # its threads may have lower ids, which begin anew at some time
        parts = {"alone": 0, "waits": 0, "threads": 0}
        for row in chain["rows"]:
            if row["tid"] != first:
                parts["threads"] += row["elapsed_ns"]
            elif row["state"] in ("running", "runnable"):
                parts["alone"] += row["elapsed_ns"]
            elif row["wait"] == "clock_nanosleep":
                parts["waits"] += row["elapsed_ns"]
        with_others = said["parallel_ns"] + said["both_ns"] + said["straggling_ns"]
        for part, said_ns in (("alone", said["alone_ns"]), ("waits", said["wait_ns"]),
                              ("threads", with_others)):
            self.assertWithin(parts[part] / chain["total_ns"], said_ns / chain["total_ns"], 0.06, part)

    def test_every_view_adds_up_to_the_duration(self):
        recording = self.record()
        duration_ns = recording.report()["duration_ns"]
        for by in ("thread", "pid", "state", "syscall", "lock", "parallelism", "parallelism,state"):
            rows = recording.rows("-m", "elapsed", "--by", by)
            self.assertEqual(sum(row["self_ns"] for row in rows), duration_ns, by)
        part = recording.report("-m", "elapsed", "--time", "0.123456789s..0.4s")
        self.assertEqual(part["total_ns"], 400000000 - 123456789)
        parts = [recording.report("--parallelism", of) for of in ("0", "1", "2..")]
        self.assertEqual({part["metric"] for part in parts}, {"elapsed"})
        self.assertEqual(sum(part["total_ns"] for part in parts), duration_ns)
        folded = profc("export", "-i", recording.path, "-m", "elapsed", "--folded", "-o", "-").stdout
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), duration_ns)
        tree = json.loads(profc("report", "-i", recording.path, "-m", "elapsed", "--tree",
                                "--json").stdout)
        self.assertEqual(tree["total_ns"], duration_ns)

    def test_a_pipeline_is_as_long_as_it_lasts(self):
        script = "seq 400000 | sort -R --random-source=/dev/zero | cat | wc -l"
        recording = record(self.directory, ["/bin/sh", "-c", script], "-F", "1000",
                           "--max-overhead", "0")
        report = recording.report("-m", "elapsed", "--by", "process")
        self.assertEqual(report["total_ns"], report["duration_ns"])
        rows = {row["name"]: row for row in report["rows"]}
        # All others wait for it, as it reads all of its input before it writes.
        self.assertGreater(rows["sort"]["self_pct"], 50)

    def assert_sort_is_the_chain(self, recording, *options):
        chain = json.loads(profc("report", "-i", recording.path, "--chain", "-n", "0", "--json",
                                 *options).stdout)
        self.assertEqual(sum(row["elapsed_ns"] for row in chain["rows"]), chain["total_ns"])
        of_sort = sum(row["elapsed_ns"] for row in chain["rows"] if row["thread"] == "sort")
        self.assertGreater(of_sort, chain["total_ns"] / 2)
        return chain

    def test_the_chain_goes_through_pipes(self):
        """From the end of wc, and of the shell, to the writer that the pipeline waited for."""
        script = "seq 100000 | sort -R --random-source=/dev/zero | cat | wc -l"
        recording = record(self.directory, ["/bin/sh", "-c", script], "-F", "1000",
                           "--max-overhead", "0")
        links = self.assert_sort_is_the_chain(recording, "--thread", "wc")["links"]
        self.assertGreaterEqual(links["peer"], 1)
        links = self.assert_sort_is_the_chain(recording)["links"]
        self.assertGreaterEqual(links["child"], 1)
        # The shell waits at both ends of that time, for a child that ends later.
        middle_ns = recording.report()["duration_ns"] / 2
        part = "--time", f"{middle_ns - 1e8:.0f}ns..{middle_ns + 1e8:.0f}ns"
        self.assertEqual(self.assert_sort_is_the_chain(recording, *part)["links"]["child"], 1)

    def test_what_has_no_elapsed_time_says_so(self):
        recording = self.record()
        for command, words in (
            (["report", "--by", "parallelism", "-m", "cpu"], "--by parallelism needs --metric elapsed"),
            (["report", "--parallelism", "1", "-m", "wall"], "--parallelism needs --metric elapsed"),
            (["report", "--parallelism", "3..2"], "--parallelism needs a number of threads"),
            (["export", "--chrome", "-m", "elapsed"], "--chrome shows what took time"),
        ):
            run = profc(*command, "-i", recording.path, status=None)
            self.assertNotEqual(run.returncode, 0, command)
            self.assertIn(words, run.stderr)
