# SPDX-License-Identifier: GPL-2.0-or-later
"""`profc whatif`: experiments with a pipeline whose answers are known, and what they leave behind."""

import csv
import json
import os
import random
import resource
import signal
import subprocess
import tempfile
import threading
import time

import browser
import procfs
from live import LiveCase
from paths import PROFC
from profc import profc
from rounds import rounds
from targets import Running, build
from two_speeds import TwoSpeeds, gains, idle_part

BLOCKING = ("blocking_waits", "blocking_transfers", "blocking_locks")
PROGRESS = ("--progress", "finish_item")


class Whatif(LiveCase):
    def pipeline(self, *arguments):
        return Running([build("works_in_pipeline", "-pthread"), *map(str, arguments)])

    def whatif(self, pid, *options):
        done = profc("whatif", "--json", *PROGRESS, "-p", pid, *options)
        told = json.loads(done.stderr.splitlines()[-1])
        return told, {row["function"]: row for row in told["functions"]}

    def assertReleased(self, pid):
        for tid in procfs.threads(pid):
            self.assertEqual(procfs.status(pid, tid).get("TracerPid", "0"), "0", tid)
            self.assertNotIn(procfs.state(pid, tid), ("t", "T"))

    def test_tells_each_function_with_its_speeds(self):
        with self.pipeline(200, 100) as target:
            target.wait_ready()
            told, functions = self.whatif(target.pid, "-d", "15s", "-n", "2")
            self.assertReleased(target.pid)
            (said,) = target.finish()
        self.assertEqual(said["interrupted"], 0)
        self.assertGreater(said["waits"], 100)
        self.assertEqual(set(functions), {"work_a", "work_b"})
        self.assertEqual(told["progress"], "calls of finish_item")
        self.assertGreater(told["rate_per_s"], 0)
        self.assertGreater(told["trials"], 0)
        self.assertLessEqual(told["late_trials"], told["trials"])
        for row in functions.values():
            self.assertEqual([at["faster_pct"] for at in row["speeds"]], [10, 25, 50, 75, 100])
            self.assertIsInstance(row["verdict"], str)
        self.assertGreater(functions["work_a"]["cpu_pct"], functions["work_b"]["cpu_pct"])

    def test_many_threads_and_few_descriptors(self):
        """Files of all threads are kept open only as far as the limit of descriptors allows."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with self.pipeline(200, 100, 400) as target:
            target.wait_ready()
            for limit in (1024, 256):
                with self.subTest(limit=limit):
                    done = profc("whatif", "--json", *PROGRESS, "-p", target.pid, "-d", "8s", "-n", "1",
                                 preexec_fn=lambda soft=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
                    told = json.loads(done.stderr.splitlines()[-1])
                    self.assertTrue(told["functions"])
                    self.assertGreater(told["trials"], 0)
                    self.assertFalse(told["cut_short"])
                    self.assertReleased(target.pid)

    def test_csv(self):
        with self.pipeline(200, 100) as target:
            target.wait_ready()
            said = profc("whatif", "--csv", *PROGRESS, "-p", target.pid, "-d", "5s").stderr
        rows = list(csv.DictReader(said.splitlines()))
        self.assertEqual([row["faster_pct"] for row in rows[:5]], ["10", "25", "50", "75", "100"])
        self.assertIn(rows[0]["function"], ("work_a", "work_b"))
        for row in rows:
            self.assertEqual(row["gain_pct"] == "", row["ci_pct"] == "")
            self.assertGreaterEqual(int(row["trials"]), 0)
        self.assertIn("--csv", profc("whatif", "--csv", "--json", "true", status=2).stderr)

    def test_page(self):
        """Its table, curves and notes are those of the run; the browser has nothing to object to."""
        with self.pipeline(200, 100) as target, tempfile.TemporaryDirectory() as directory:
            target.wait_ready()
            path = os.path.join(directory, "whatif.html")
            said = profc("whatif", "--html", "-o", path, *PROGRESS, "-p", target.pid, "-d", "5s", "-n", "2")
            self.assertEqual((said.stdout, said.stderr), ("", ""))
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(text.count('<svg class="chart"'), 2)
            with browser.Browser(400, 800) as page:
                page.open(path, is_ready="document.readyState === 'complete'")
                self.assertIn("gain of calls of finish_item", page.text("h1"))
                self.assertRegex(page.text(".notes"), r"^\d+ trials in \d+ s")
                self.assertEqual(page.run("[...document.querySelectorAll('.wide a')].map((at) => at.innerText).sort()"),
                                 ["work_a", "work_b"])
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 400)
                self.assertEqual(page.problems(), [])

    def check_gains(self, kind, truths, points):
        """The predicted gains of the hot function are within so many points and 1.5 times their ±."""
        if os.cpu_count() < 2 or (idle := idle_part()) < 1.8:
            self.skipTest("it needs two idle CPUs")
        _, rows = TwoSpeeds(kind).predicted(30)
        if (left := idle_part()) < idle - 0.5:
            self.skipTest(f"others came to use the CPUs: {left:.1f} are idle")
        for speed, truth in truths.items():
            gain, half = gains(rows["hot"])[speed]
            self.assertWithin(gain, truth, points + 1.5 * half, f"hot {speed}% faster")
        return rows

    def test_a_single_thread_gains_by_the_share_of_its_time(self):
        """Amdahl: 60 % of the time."""
        rows = self.check_gains("single", {25: 17.6, 50: 42.9}, 5)
        for speed, truth in ((25, 11.1), (50, 25)):
            gain, half = gains(rows["cold"])[speed]
            self.assertWithin(gain, truth, 5 + 1.5 * half, f"cold {speed}% faster")

    def test_a_pipeline_gains_up_to_its_limit(self):
        """A third at 25 %. At 50 % both stages are equal: twice as much."""
        rows = self.check_gains("pipeline", {25: 33.3, 50: 100}, 10)
        for speed, (gain, half) in gains(rows["cold"]).items():
            self.assertWithin(gain, 0, 5 + 1.5 * half, f"cold {speed}% faster")

    def test_all_wait_for_the_straggler(self):
        self.check_gains("join", {25: 33.3, 50: 100}, 15)

    def test_a_filter_that_kills_for_what_holds_may_cause(self):
        """It is refused, and goes on."""
        if not procfs.reads_filters():
            self.skipTest("who may not read filters cannot know what they allow")
        with Running([build("seccomp_crowd"), "12000", "working"]) as target:
            target.wait_ready()
            for progress, message in ((), "restart_syscall"), (("--progress", "in_poll"), "filter"):
                said = profc("whatif", *progress, "-p", target.pid, "-d", "3s", status=1).stderr
                self.assertIn(message, said)
            (told,) = target.finish()
        self.assertEqual(told["failed"], 0, told)

    def test_command(self):
        """The table is on standard error; the command's output and status are its own."""
        program = build("works_in_pipeline", "-pthread")
        with subprocess.Popen(
            [PROFC, "whatif", *PROGRESS, "-d", "5s", "--width", "100", "--", program, "500", "300"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as running:
            self.assertEqual(running.stdout.readline(), "ready\n")
            patience = threading.Timer(120, running.kill)
            patience.start()
            table = [running.stderr.readline()]
            if table[0].startswith("what if"):  # else it waits for the command, which waits for us
                table += [running.stderr.readline() for _ in range(3)]
            patience.cancel()
            output, rest = running.communicate(timeout=60)
        self.assertRegex(table[0], r"^what if it were faster: gain of calls of finish_item, \d", rest)
        self.assertRegex(table[2], r"function +CPU time +25% faster +50% faster +at most +verdict")
        self.assertRegex(table[3], r"^work_[ab] +[\d.]+%")
        self.assertEqual(json.loads(output)["interrupted"], 0)
        self.assertEqual(running.returncode, 7)

    def test_a_job_that_cannot_be_suspended_goes_on(self):
        """Until the experiments end: then it is a job as any other, and can be."""
        program = build("works_in_pipeline", "-pthread")
        with subprocess.Popen(
            [PROFC, "whatif", "--written", "-d", "4s", "--", "sh", "-c", 'echo $$; exec "$@"', "-",
             program, "500", "300"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=os.setpgrp,
        ) as running:
            def has_stopped():
                got, status = os.waitpid(running.pid, os.WUNTRACED | os.WNOHANG)
                return got == running.pid and os.WIFSTOPPED(status)

            self.addCleanup(running.kill)
            command = int(running.stdout.readline())
            self.assertEqual(running.stdout.readline(), "ready\n")
            os.killpg(running.pid, signal.SIGTSTP)
            self.assertIn("writes nothing", running.stderr.readline())
            stands = procfs.state(command) in ("t", "T")
            os.killpg(running.pid, signal.SIGTSTP)
            try:
                self.eventually(has_stopped, "a stop of profc")
            finally:
                os.killpg(running.pid, signal.SIGCONT)
                output, _ = running.communicate(timeout=60)
        self.assertFalse(stands)
        self.assertGreater(json.loads(output)["items_per_s"], 0)

    def test_calls_that_wait_come_out_as_ever(self):
        """But for long transfers, and what waits for a CPU: as with recordings (test_transfers)."""
        program = build("blocking_calls", more=BLOCKING)
        with Running([program, "9000", "1"]) as target:
            target.wait_ready()
            told, functions = self.whatif(target.pid, "-d", "7s", "-n", "1")
            self.assertReleased(target.pid)
            said = target.finish()
        self.assertIn("compute", functions)
        self.assertGreater(told["holds"], 100)
        self.assertGreater(len(said), 50)
        for case in said:
            with self.subTest(call=case["name"]):
                self.assertEqual(case["eintr"], 0, case)
                # A connect() that is begun again and runs into its time-out says EALREADY.
                most = case["calls"] / 10 if case["name"] == "connect_tcp_timeout" else 0
                self.assertLessEqual(case["wrong"], most, case)

    def test_killed_at_any_moment_leaves_nothing_held(self):
        with self.pipeline(500, 300) as target:
            target.wait_ready()
            for _ in range(rounds(8)):
                with subprocess.Popen(
                    [PROFC, "whatif", *PROGRESS, "-p", str(target.pid), "-d", "6s"],
                    stderr=subprocess.DEVNULL,
                ) as running:
                    time.sleep(1.5 + random.random())
                    running.kill()
                self.assertReleased(target.pid)
            (said,) = target.finish()
        self.assertGreater(said["items_per_s"], 0)
        self.assertEqual(said["interrupted"], 0)

    def test_a_file_that_cannot_be_written_is_refused_at_first(self):
        with self.pipeline(500, 300) as target:
            target.wait_ready()
            said = profc("whatif", *PROGRESS, "-p", target.pid, "-d", "3000s",
                         "-o", "/no_such_directory/file", status=1).stderr
            self.assertIn("/no_such_directory", said)
            self.assertReleased(target.pid)

    def test_why_nothing_is_counted_in_a_command(self):
        program = build("works_in_pipeline", "-pthread")
        said = profc("whatif", "--progress", "finish_itme", "-d", "3s", "--", program, "1", "1",
                     status=125).stderr
        self.assertIn("finish_item", said)

    def test_end_of_the_program_ends_it(self):
        with self.pipeline(500, 300) as target:
            target.wait_ready()
            with subprocess.Popen(
                [PROFC, "whatif", "--json", *PROGRESS, "-p", str(target.pid), "-d", "60s"],
                stderr=subprocess.PIPE, text=True,
            ) as running:
                time.sleep(12.5)
                target.finish()
                _, said = running.communicate(timeout=30)
        # On a busy machine it may end before the first experiment.
        if running.returncode:
            self.assertRegex(said, r"process \d+ has exited|the program has ended")
        else:
            self.assertTrue(json.loads(said.splitlines()[-1])["cut_short"])

    def test_without_progress_nothing_is_said(self):
        with self.pipeline(500, 300) as target:
            target.wait_ready()
            said = profc("whatif", "-p", target.pid, "-d", "5s", status=1).stderr
            self.assertIn("the program writes nothing", said)
            self.assertIn("--progress", said)
            said = profc("whatif", "-p", target.pid, "--progress", "no_such", status=1).stderr
            self.assertIn("no_such", said)

    def test_usage(self):
        self.assertIn("one process", profc("whatif", status=2).stderr)
        self.assertIn("-o FILE", profc("whatif", "--html", "true", status=2).stderr)
        for other in ("--json", "--csv"):
            said = profc("whatif", "--html", other, "-o", "/dev/null", "true", status=2).stderr
            self.assertIn(f"{other} cannot be combined with --html", said)
        self.assertIn("combined", profc("whatif", "-p", os.getpid(), "true", status=2).stderr)
