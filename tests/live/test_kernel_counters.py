# SPDX-License-Identifier: GPL-2.0-or-later
"""--metrics: counters of the kernel beside time, against what the kernel says to the program."""

import json
import os
import subprocess
import sys
import tempfile

from live import LiveCase
from paths import PROFC
from profc import Recording, attach, profc, record
from targets import Running, build

PSEUDO = ("[between samples]", "[unattributed]")
EVENTS = ("instructions", "cycles", "cache-misses", "branch-misses", "migrations")
# Faults, switches and writes of its own end that the program cannot print any more.
LAST_FAULTS = 40
LAST_SWITCHES = 4


class KernelCounters(LiveCase):
    def setUp(self):
        super().setUp()
        self.target = build("kernel_counters")

    def total(self, recording, metric):
        report = recording.report("-m", metric)
        return report.get("total_count", report.get("total_bytes"))

    def test_totals_are_those_of_the_kernel(self):
        recording = record(self.directory, [self.target, "phases", "300"],
                           "--metrics", "faults,switches")
        said = recording.said[0]
        faults, switches = (self.total(recording, name) for name in ("faults", "switches"))
        self.assertGreaterEqual(faults, said["faults"])
        self.assertLessEqual(faults, said["faults"] * 1.005 + LAST_FAULTS)
        self.assertGreaterEqual(switches, said["switches"] * 0.98 - LAST_SWITCHES)
        self.assertLessEqual(switches, said["switches"] * 1.02 + LAST_SWITCHES)

    def test_totals_are_there_without_being_asked_for(self):
        """As info has them, for the thread and its process; they are what verdicts go by."""
        recording = record(self.directory, [self.target, "phases", "300"])
        said = recording.said[0]
        info = json.loads(profc("info", "-i", recording.path, "--json").stdout)
        (thread,) = (row for row in info["threads"] if row["name"] == "kernel_counters")
        (process,) = (row for row in info["processes"] if row["name"] == "kernel_counters")
        for row in (thread, process):
            self.assertGreaterEqual(row["faults"], said["faults"])
            self.assertLessEqual(row["faults"], said["faults"] * 1.005 + LAST_FAULTS)
        self.assertGreaterEqual(thread["switches"], said["switches"] * 0.98 - LAST_SWITCHES)
        self.assertLessEqual(thread["switches"], said["switches"] * 1.02 + LAST_SWITCHES)

    def test_phases_have_their_shares(self):
        """Below each of them, if not its own: what it calls is never blamed for the other's."""
        recording = record(self.directory, [self.target, "phases", "700"], "--metrics", "faults",
                           "-F", "1000", "--max-overhead", "0")
        said = recording.said[0]
        rows = {row["function"]: row for row in recording.rows("-m", "faults")}
        claimed = 0
        for name, faults in said["phases"].items():
            row = rows[name]
            # Where it is not seen to advance, its caller has it: less is claimed, never more.
            self.assertLessEqual(row["total_count"], faults * 1.1 + 3000, name)
            claimed += row["total_count"]
        between = rows["[between samples]"]["self_count"]
        # Of a gap between two looks where busy CPUs let none come in time no stack is known.
        unknown = rows.get("[unattributed]", {"self_count": 0, "self_pct": 0})
        self.assertLess(unknown["self_pct"], 5 + 100 * recording.missed_share())
        self.assertGreaterEqual(
            claimed + between + unknown["self_count"], 0.98 * sum(said["phases"].values())
        )
        self.assertGreater(rows["main"]["total_pct"] + unknown["self_pct"], 95)

    def test_no_function_claims_what_comes_in_bursts(self):
        recording = record(self.directory, [self.target, "bursts", "700"], "--metrics", "faults")
        rows = recording.rows("-m", "faults")
        claimed = sum(row["self_pct"] for row in rows if row["function"] not in PSEUDO)
        self.assertLess(claimed, 20, rows)
        spin = [row for row in rows if row["function"] == "spin"]
        self.assertLess(sum(row["total_pct"] for row in spin), 30, rows)

    def test_threads_have_what_they_wrote(self):
        recording = record(self.directory, [self.target, "threads"], "--metrics", "written-bytes")
        rows = {row["name"]: row for row in recording.rows("-m", "written-bytes", "--by", "thread")}
        written = sum(row["self_bytes"] for row in rows.values())
        # What threads wrote after they were last looked at has their process, in its first thread.
        self.assertGreaterEqual(written, 7 << 20)
        self.assertLess(written, (7 << 20) + 4096)
        for megabytes in (1, 2, 4):
            own = rows[f"writes-{megabytes}"]["self_bytes"]
            self.assertLessEqual(own, megabytes << 20)
            self.assertGreater(own, megabytes << 19)
        stacks = recording.rows("-m", "written-bytes")
        self.assertIn("write_chunks", [row["function"] for row in stacks])

    def test_threads_that_are_not_recorded_have_none(self):
        recording = record(self.directory, [self.target, "threads"], "--metrics", "written-bytes",
                           "--threads", "^writes-2$")
        rows = recording.rows("-m", "written-bytes", "--by", "thread")
        self.assertEqual({row["name"] for row in rows}, {"writes-2"})
        # From where its name was found to fit: the first chunks may be missing.
        self.assertLessEqual(rows[0]["self_bytes"], 2 << 20)
        self.assertGreater(rows[0]["self_bytes"], 1 << 20)

    def test_what_top_has_written_can_be_read(self):
        path = f"{self.directory}/top.data"
        profc("top", "-m", "faults", "-o", path, "--times", "3", "--interval", "0.2", "--",
              self.target, "phases", "400")
        self.assertGreater(Recording(path).report("-m", "faults")["total_count"], 1000)

    def test_a_program_that_executes_another_keeps_its_count(self):
        recording = record(self.directory, ["sh", "-c", f"exec {self.target} bursts 200"],
                           "--metrics", "faults")
        said = recording.said[0]
        faults = self.total(recording, "faults")
        self.assertGreaterEqual(faults, said["faults"])
        self.assertLessEqual(faults, said["faults"] * 1.005 + LAST_FAULTS)

    def test_attached_counts_begin_with_the_recording(self):
        with Running([self.target, "bursts", "3000"]) as running:
            recording = attach(self.directory, running.pid, "-d", "0.5", "--metrics", "faults")
        faults = self.total(recording, "faults")
        # 40 in 2 ms and more; the 200 or so of its start are not among them.
        self.assertGreater(faults, 40)
        self.assertLess(faults, 40 * 260)

    def test_exports_and_views_have_them(self):
        recording = record(self.directory, [self.target, "phases", "200"],
                           "--metrics", "faults,switches,read-bytes,written-bytes")
        total = self.total(recording, "faults")
        folded = recording.folded("-m", "faults")
        self.assertEqual(sum(weight for _, weight in folded), total)
        self.assertIn("[between samples]", {stack[-1] for stack, _ in folded})
        done = profc("export", "-i", recording.path, "--chrome", "-m", "faults", status=2)
        self.assertIn("--chrome shows what took time, not the metric faults", done.stderr)
        csv = profc("report", "-i", recording.path, "-m", "faults", "--csv").stdout
        self.assertIn("self_count", csv.splitlines()[0])
        merged = f"{self.directory}/merged.data"
        profc("merge", "-o", merged, recording.path, recording.path)
        both = profc("report", "-i", merged, "-m", "faults", "--json")
        self.assertIn(f'"total_count":{2 * total}', both.stdout)

    def test_note_says_what_is_unattributed(self):
        recording = record(self.directory, ["true"], "--metrics", "faults")
        said = " ".join(profc("report", "-i", recording.path, "-m", "faults").stdout.split())
        self.assertRegex(said, "note: [0-9.]+% of the page faults have no sample on both sides")
        self.assertIn("note: an advance between two samples is [between samples]", said)
        self.assertNotIn("of the time", said)

    def test_what_cannot_be_is_refused(self):
        done = profc("record", "--metrics", "cycles-of-life", "--", "true", status=2,
                     cwd=self.directory)
        self.assertIn("--metrics has no 'cycles-of-life'", done.stderr)
        done = profc("record", "--metrics", "faults", "--no-cpu", "--", "true", status=2,
                     cwd=self.directory)
        self.assertIn("--metrics cannot be combined with --no-cpu", done.stderr)
        for command in (("record",), ("attach",), ("top",)):
            listed = profc(*command, "--metrics", "help").stdout
            for name in ("faults", "switches", "read-bytes", "written-bytes", *EVENTS):
                self.assertIn(name, listed)
        recording = record(self.directory, ["true"])
        done = profc("report", "-i", recording.path, "-m", "faults", status=1)
        self.assertIn("no page faults in", done.stderr)
        self.assertIn("hint: 'profc record --metrics faults' records them", done.stderr)


def refusals():
    """By name of an event that cannot be counted here: the reason that --metrics help gives."""
    lines = profc("record", "--metrics", "help").stdout.splitlines()
    return {line.split()[0]: line.split("; not here: ")[1] for line in lines if "; not here: " in line}


class Events(LiveCase):
    """Counters by perf_event_open(2). Machines without any of the hardware have migrations."""

    def setUp(self):
        super().setUp()
        self.target = build("kernel_counters")

    def need(self, name):
        reason = refusals().get(name)
        if reason:
            self.skipTest(f"{name}: {reason}")
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU")

    def count(self, recording):
        return recording.report("-m", "migrations")["total_count"]

    def assertCounted(self, recording):
        """All but what was before the first tick, or the hop that the recording waited for."""
        hops, counted = recording.said[0]["hops"], self.count(recording)
        self.assertGreater(hops, 100)
        self.assertGreaterEqual(counted, 0.97 * hops - 100)
        self.assertLessEqual(counted, hops + 20)

    def test_what_cannot_be_counted_is_refused_with_the_reason(self):
        for name, reason in refusals().items():
            done = profc("record", "--metrics", name, "--", "true", status=1, cwd=self.directory)
            self.assertIn(f"--metrics {name}: {reason}", done.stderr)
            done = profc("top", "-m", name, "--", "true", status=1, cwd=self.directory)
            self.assertIn(f"--metrics {name}: {reason}", done.stderr)

    def test_what_is_counted_here_has_an_amount(self):
        names = [name for name in EVENTS[:-1] if name not in refusals()]
        if not names:
            self.skipTest(refusals()[EVENTS[0]])
        recording = record(self.directory, [self.target, "bursts", "500"],
                           "--metrics", ",".join(names))
        for name in names:
            self.assertGreater(recording.report("-m", name)["total_count"], 0, name)

    def test_total_is_what_the_thread_did(self):
        self.need("migrations")
        recording = record(self.directory, [self.target, "hops", "700"], "--metrics", "migrations")
        self.assertCounted(recording)
        # It is where it happened, or a callee of that was.
        self.assertGreater(recording.function("hop", "-m", "migrations")["total_pct"], 80)

    def test_a_command_is_counted_from_its_first_instruction(self):
        self.need("migrations")
        nr_recorded = 0
        for argv in ([self.target, "early", "{}"], ["sh", "-c", f"exec {self.target} early {{}}"]):
            for times in (2, 30, 100):
                # In a place of its own: without a sample there is no file.
                recording = record(tempfile.mkdtemp(dir=self.directory),
                                   [word.format(times) for word in argv], "-F", "10000",
                                   "--max-overhead", "0", "--metrics", "migrations")
                if not os.path.exists(recording.path):
                    continue
                nr_recorded += 1
                hops, counted = recording.said[0]["hops"], self.count(recording)
                self.assertGreaterEqual(hops, times - 1)
                # One more, or a few, before main() begins: while it has a CPU it is not moved.
                self.assertGreaterEqual(counted, hops)
                self.assertLessEqual(counted, hops + 4 + recording.said[0]["early_switches"])
        self.assertGreater(nr_recorded, 0)

    def test_a_program_that_executes_another_is_counted_on(self):
        self.need("migrations")
        recording = record(self.directory, ["sh", "-c", f"exec {self.target} hops 700"],
                           "--metrics", "migrations,faults")
        self.assertCounted(recording)

    def test_counts_begin_with_the_recording(self):
        self.need("migrations")
        with Running([self.target, "hops", "3000"]) as running:
            recording = attach(self.directory, running.pid, "-d", "0.5", "--metrics", "migrations")
        counted = self.count(recording)
        self.assertGreater(counted, 50)
        self.assertLess(counted, 10 * 700)

    def test_threads_without_a_descriptor_are_said(self):
        self.need("migrations")
        crowd = "import threading, time\n" \
                "for i in range(150):\n" \
                "    threading.Thread(target=time.sleep, args=(1,)).start()\n"
        path = f"{self.directory}/few.data"
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", PROFC, "record", "-o", path, "-q",
             "--metrics", "migrations", "--", sys.executable, "-c", crowd],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        recording = Recording(path)
        counters = json.loads(recording.info("--json"))["counters"]
        self.assertGreater(counters["events_without_descriptor"], 20)
        self.assertEqual(counters["dropped_stacks"], 0)
        said = " ".join(recording.info().split())
        self.assertIn("threads whose events were not counted, as there were too few descriptors",
                      said)

    def test_user_without_privileges_is_told_the_level(self):
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as level:
            if int(level.read()) < 2:
                self.skipTest("others may count all")
        done = subprocess.run(
            [self.public(PROFC), "record", "-o", "/dev/null", "--metrics", "migrations", "--",
             "true"], stderr=subprocess.PIPE, text=True, check=False, **self.ordinary_user())
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("kernel.perf_event_paranoid is ", done.stderr)
        self.assertIn("kernel.perf_event_paranoid=1", done.stderr)
