# SPDX-License-Identifier: GPL-2.0-or-later
"""`profc whatif -- CMD`: a command that ends is run again and again, and its time is the progress."""

import json
import os
import signal
import subprocess
import time

from live import LiveCase
from paths import PROFC
from profc import profc
from targets import build, need
from two_speeds import TwoSpeeds, gains

# The second run of this command and all later ones end otherwise.
ENDS_OTHERWISE = 'echo >>"$0"; [ "$(wc -l <"$0")" -eq 1 ] || exit 3; exec "$@"'


class WhatifRuns(LiveCase):
    def setUp(self):
        super().setUp()
        self.speeds = TwoSpeeds("single")

    def command(self, items, kind="single", percent=100):
        return [self.speeds.program, kind, str(percent), self.speeds.steps, str(items)]

    def test_each_run_is_a_trial_or_a_baseline(self):
        """Amdahl: 60 % of the time. What later runs write is left out."""
        for attempt in range(3):
            done = profc("whatif", "--json", "-d", "20s", "-n", "2", "--", *self.command(200))
            told = json.loads(done.stderr.splitlines()[-1])
            rows = {row["function"]: row for row in told["functions"]}
            gain, _ = gains(rows.get("hot", {"speeds": []})).get(50, (0, 0))
            if 15 < gain < 80:
                break
            print(f"# attempt {attempt}: {gain} % for 42.9, load {os.getloadavg()[0]:.1f}")
        self.assertTrue(15 < gain < 80, rows)
        self.assertEqual(done.stdout.count("ready\n"), 1)
        self.assertEqual(told["progress"], f"runs of {self.speeds.program}")
        self.assertLess(rows["hot"]["cpu_ci_pct"], 12)
        # 200 items of a millisecond each.
        self.assertGreater(told["run_ns"], 100e6)
        self.assertGreater(told["trials"], 2)
        self.assertFalse(told["cut_short"])

    def test_the_heading_has_the_time_of_a_run(self):
        said = profc("whatif", "--width", "250", "-d", "6s", "-n", "1", "--",
                     *self.command(100)).stderr
        self.assertRegex(said, r"gain of runs of \S*works_at_two_speeds, [\d.]+ m?s each")

    def test_status_of_all_runs(self):
        """At the end of its input, which it has at once, this program ends with status 7."""
        program = build("works_in_pipeline", "-pthread")
        done = profc("whatif", "--json", "-d", "6s", "--", program, "1", "1", status=7)
        told = json.loads(done.stderr.splitlines()[-1])
        self.assertIn("work_a", {row["function"] for row in told["functions"]})
        self.assertIn("the command ended with status 7", done.stderr)
        self.assertFalse(told["cut_short"])

    def test_a_run_goes_on_when_its_first_thread_has_ended(self):
        """It ends with the last one, after 300 ms of CPU time."""
        done = profc("whatif", "--json", "-d", "20s", "--", build("zombie_leader", "-pthread"), "300",
                     status=7)
        told = json.loads(done.stderr.splitlines()[-1])
        self.assertGreater(told["run_ns"], 290e6)

    def test_a_run_that_ends_otherwise_is_the_end(self):
        count = os.path.join(self.directory, "count")
        done = profc("whatif", "-d", "9s", "--", "sh", "-c", ENDS_OTHERWISE, count,
                     *self.command(100), status=3)
        self.assertRegex(done.stderr, "ended with status 3, the first one ended with status 0")

    def test_a_run_that_dies_is_the_end(self):
        done = profc("whatif", "-d", "6s", "--", "sh", "-c", "kill -KILL $$", status=-signal.SIGKILL)
        self.assertIn("the command died of signal 9: there is nothing", done.stderr)

    def test_no_part_of_a_file_stays_when_the_command_dies(self):
        """Also where files cannot be without a name until they are complete."""
        library = build("no_unnamed_files", "-O2", "-shared", "-fPIC", libraries=("-ldl",))
        profc("whatif", "-d", "6s", "-o", self.path("table"), "--", "sh", "-c", "kill -KILL $$",
              status=-signal.SIGKILL, env={**os.environ, "LD_PRELOAD": library})
        self.assertEqual(os.listdir(self.directory), [])

    def test_each_run_has_the_same_input(self):
        directory = self.directory
        seen, given = (os.path.join(directory, name) for name in ("seen", "given"))
        with open(given, "w", encoding="ascii") as file:
            file.write("first\nsecond\n")
        with open(given, encoding="ascii") as file:
            os.lseek(file.fileno(), len("first\n"), os.SEEK_SET)
            subprocess.run(
                [PROFC, "whatif", "-d", "6s", "--", "sh", "-c", f'cat >>{seen}; exec "$@"', "-",
                 *self.command(50)],
                stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        with open(seen, encoding="ascii") as file:
            lines = file.read().splitlines()
        self.assertGreater(len(lines), 3)
        self.assertEqual(set(lines), {"second"})

    def test_ends_of_pipes_are_those_of_the_run(self):
        """The threads of each run have a pipe of their own."""
        done = profc("whatif", "--json", "-d", "6s", "-n", "1", "--", *self.command(50, "pipe"))
        told = json.loads(done.stderr.splitlines()[-1])
        self.assertGreater(told["sleeps"], 100)
        self.assertLess(told["undecided_sleeps"], told["sleeps"] / 10)

    def test_timers_of_runs_are_as_exact_as_ever(self):
        seen = os.path.join(self.directory, "seen")
        profc("whatif", "-d", "5s", "--", "sh", "-c",
              f'cat /proc/self/timerslack_ns >>{seen}; exec "$@"', "-", *self.command(50))
        with open("/proc/self/timerslack_ns", encoding="ascii") as own, \
                open(seen, encoding="ascii") as file:
            lines = file.read().split()
            self.assertGreater(len(lines), 3)
            self.assertEqual(set(lines), set(own.read().split()))

    def test_the_first_thread_of_a_command_is_let_go_in_time(self):
        """It is a child of ours, and works as the others do. A hold that does not end takes 2 s."""
        given, made = (os.path.join(self.directory, name) for name in ("given", "made"))
        command = [need("zstd"), "-T2", "-2", "-q", "-f", given, "-o", made]
        with open(PROFC, "rb") as file, open(given, "wb") as out:
            out.write(file.read() * 2)
        for attempt in range(3):
            done = profc("whatif", "--json", "-d", "15s", "-n", "1", "--", *command)
            told = json.loads(done.stderr.splitlines()[-1])
            if told["run_ns"] < 1e9:
                break
            print(f"# attempt {attempt}: {told['run_ns']} ns, load {os.getloadavg()[0]:.1f}")
        self.assertGreater(told["holds"], 0)
        self.assertLess(told["run_ns"], 1e9)

    def test_transfers_of_files_are_stopped_and_not_cut(self):
        """A program that reads and writes files all the time is no exception from holds."""
        given, made = (os.path.join(self.directory, name) for name in ("given", "made"))
        kind = subprocess.run(["stat", "-f", "-c", "%T", self.directory], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()
        if kind not in ("ext2/ext3", "xfs", "btrfs", "tmpfs"):
            self.skipTest(f"nothing is known of transfers on {kind}")
        with open(given, "wb") as out:
            out.write(os.urandom(30 << 20))
        for words in ([], ["at"]):
            with self.subTest(words=words):
                done = profc("whatif", "--json", "-d", "9s", "-n", "1", "--",
                             build("copies_file", "-O1", "-g"), given, made, *words)
                told = json.loads(done.stderr.splitlines()[-1])
                self.assertEqual(told["functions"][0]["function"], "add_up")
                self.assertFalse(told["cut_short"])  # as a run with another status would have it
                self.assertGreater(told["trials"], 3)
                self.assertLess(told["not_held_pct"], 5)

    def test_a_pipe_is_not_read(self):
        done = subprocess.run(
            [PROFC, "whatif", "-d", "5s", "--", "sh", "-c", 'wc -c; exec "$@"', "-",
             *self.command(50)],
            input="word\n", capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.stdout.splitlines()[0], "0")
        self.assertRegex(done.stderr, "can be read only once: runs have none")
        self.assertIn("< FILE", done.stderr)

    def test_a_long_command_is_refused(self):
        """It is let run to its end."""
        done = profc("whatif", "-d", "5s", "--", *self.command(3000), status=125)
        self.assertIn("takes longer than 0.5 s", done.stderr)
        self.assertIn("--progress", done.stderr)
        self.assertIn("items_per_s", done.stdout)

    def test_a_signal_ends_it_and_the_run(self):
        with subprocess.Popen(
            [PROFC, "whatif", "--json", "-d", "60s", "--", *self.command(200)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as running:
            self.assertEqual(running.stdout.readline(), "ready\n")
            time.sleep(8)
            running.send_signal(signal.SIGTERM)
            _, said = running.communicate(timeout=30)
        self.assertEqual(running.returncode, -signal.SIGTERM, said)
        last = said.splitlines()[-1]
        if last.startswith("{"):
            self.assertTrue(json.loads(last)["cut_short"])
        else:  # on a busy machine it was in the first runs
            self.assertRegex(said, "first")

    def test_a_signal_goes_on_to_the_first_run(self):
        with subprocess.Popen(
            [PROFC, "whatif", "-d", "3000s", "--", "sh", "-c", "echo ready; exec sleep 200"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as running:
            self.assertEqual(running.stdout.readline(), "ready\n")
            running.send_signal(signal.SIGTERM)
            _, said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, -signal.SIGTERM)
        self.assertIn("in the middle of the first run", said)

    def test_bytes_of_a_single_run(self):
        """--written is what was the default of commands, too."""
        program = build("works_in_pipeline", "-pthread")
        done = profc("whatif", "--written", "-d", "4s", "--", program, "500", "300", status=125)
        self.assertRegex(done.stderr, "writes nothing|has ended|has exited")
        done = profc("whatif", "--written", "--progress", "x", "true", status=2)
        self.assertIn("combined", done.stderr)
