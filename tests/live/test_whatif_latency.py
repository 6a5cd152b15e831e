# SPDX-License-Identifier: GPL-2.0-or-later
"""`profc whatif --latency`: the time between the calls of two functions, of a server with a queue."""

import csv
import json
import os
import subprocess
import time

from live import LiveCase
from paths import PROFC
from profc import profc
from two_speeds import Requests, gains, idle_part


class WhatifLatency(LiveCase):
    def test_tells_the_time_and_each_function(self):
        """Requests are 0.8 ms each, and more if they wait."""
        server = Requests(2, 4000)
        told, rows = server.predicted(12)
        self.assertEqual(told["progress"], "time from begin_request to end_request")
        self.assertGreater(told["mean_ns"], 300e3)
        self.assertGreater(told["rate_per_s"], 10)
        self.assertGreater(told["trials"], 0)
        self.assertGreaterEqual(told["drifting_trials"], 0)
        self.assertIn("hot", rows)
        for at in rows["hot"]["speeds"]:
            self.assertEqual(at["trials"] < 2, at["gain_pct"] is None)
            self.assertEqual(at["trials"] == 0, at["more_requests_pct"] is None)

    def test_of_a_command_the_number_inside_is_known(self):
        """One more request that never ends is inside beside each other one, 4 ms in the mean."""
        server = Requests(2, 4000, more=["never-idle"])
        with subprocess.Popen(
            [PROFC, "whatif", "--json", "--latency", server.PAIR, "-d", "12s", "-n", "1", "--",
             *server.argv()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as running:
            self.assertEqual(running.stdout.readline(), "ready\n")
            told = json.loads(running.stderr.readline())
            running.communicate(timeout=60)
        self.assertGreater(told["mean_ns"], 1e9 / told["rate_per_s"])
        with server.running() as target:
            target.wait_ready()
            said = profc("whatif", "--csv", "--latency", server.PAIR, "-p", target.pid, "-d",
                         "9s").stderr
        rows = list(csv.DictReader(said.splitlines()))
        self.assertEqual([row["faster_pct"] for row in rows[:5]], ["10", "25", "50", "75", "100"])

    def test_a_heading_with_the_mean_time(self):
        server = Requests(2, 4000)
        with server.running() as target:
            target.wait_ready()
            said = profc("whatif", "--latency", server.PAIR, "-p", target.pid, "-d", "9s").stderr
        self.assertRegex(
            said, r"change of time from begin_request to end_request, [\d.]+ (µs|ms)")

    def test_times_fall_as_those_of_the_faster_program(self):
        """Of one server with 0.6 of 0.8 ms in the function."""
        if os.cpu_count() < 2 or (idle := idle_part()) < 1.8:
            self.skipTest("it needs two idle CPUs")
        server = Requests(1, 1700)
        truth = server.truth(5)
        _, rows = server.predicted(50)
        if (left := idle_part()) < idle - 0.5:
            self.skipTest(f"others came to use the CPUs: {left:.1f} are idle")
        for speed, true in truth.items():
            gain, half = gains(rows["hot"])[speed]
            self.assertWithin(gain, true, 10 + 1.5 * half, f"hot {speed}% faster")

    def test_nothing_is_said_where_the_number_inside_is_not_known(self):
        """More requests than it can serve: it is never idle, and they become ever more."""
        server = Requests(1, 300)
        with server.running() as target:
            target.wait_ready()
            time.sleep(1)
            said = profc("whatif", "--latency", server.PAIR, "-p", target.pid, "-d", "20s",
                         status=1).stderr
        self.assertRegex(said, "no mean time|never seen without requests")

    def test_names(self):
        server = Requests(1, 4000)
        with server.running() as target:
            target.wait_ready()
            for pair, wanted in (
                ("begin_reqest:end_request", "did you mean 'begin_request'"),
                ("begin_request:main", "no request has ended"),
            ):
                said = profc("whatif", "--latency", pair, "-p", target.pid, "-d", "3s",
                             status=1).stderr
                self.assertIn(wanted, said)

    def test_usage(self):
        for pair in ("begin_request", "a:", ":b"):
            said = profc("whatif", "--latency", pair, "-p", os.getpid(), status=2).stderr
            self.assertIn("names no two functions", said)
        said = profc("whatif", "--latency", "a:a", "-p", os.getpid(), status=2).stderr
        self.assertIn("are not two functions", said)
        for other in (["--progress", "a"], ["--written"]):
            said = profc("whatif", "--latency", "a:b", *other, "true", status=2).stderr
            self.assertIn(f"--latency cannot be combined with {other[0]}", said)
