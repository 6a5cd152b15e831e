# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that are pushed while they go: --every."""

import collections
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from live import LiveCase
from paths import PROFC
from profc import Recording, profc
from receiver import Pprof, Receiver, need_libcurl
from targets import build

IN_COMPANY = True

METRICS = ("cpu", "blocked", "runq")
# Busy, with children that live for less than a tick.
BUSY = 'i=0; "$0" 4500 & while [ $i -lt 40 ]; do env true; sleep 0.1; i=$((i + 1)); done; wait'


class Pushing(LiveCase):
    def setUp(self):
        super().setUp()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.lower().endswith("_proxy")}

    def push(self, where, *options, argv=(), status=0):
        return profc("record", "--every", "1s", "--push", where, *options, "--",
                     *(argv or ["sh", "-c", BUSY, build("spin_leaf")]),
                     status=status, env=self.environment)

    def files(self, path):
        for name in sorted(os.listdir(path)):
            with open(os.path.join(path, name), "rb") as file:
                yield Pprof(file.read())

    def sums(self, pprofs):
        sums = collections.Counter()
        for pprof in pprofs:
            sums.update(pprof.sums)
        return {metric: sums[metric] for metric in METRICS}

    def recorded(self, path):
        """The sums of the profile that a recorder has left."""
        return {metric: sum(row["self_ns"] for row in Recording(path).rows("-n", 0, "-m", metric))
                for metric in METRICS}

    def assertJoined(self, pprofs):
        times = sorted({(pprof.time_ns, pprof.time_ns + pprof.duration_ns) for pprof in pprofs})
        self.assertGreater(len(times), 3)
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertEqual(end, begin)


class Directories(Pushing):
    def test_have_each_sample_of_a_recording_once(self):
        out, dumps = self.path("out/"), self.path("dumps/")
        done = self.push(out, "--keep", "600s", "--trigger", "exit", "-o", dumps)
        pprofs = list(self.files(out))
        self.assertIn(f"profc: pushed {len(pprofs)} of {len(pprofs)} profiles to {out}\n",
                      done.stderr)
        self.assertEqual(self.sums(pprofs), self.recorded(dumps))
        self.assertJoined(pprofs)
        counters = Recording(dumps).info()
        self.assertRegex(counters, r"\d+ +profiles delivered by --push\n +0 +profiles that could")

    def services(self, path):
        return {name.split(".")[0] for name in os.listdir(path)}

    def test_have_the_name_of_the_command_whatever_its_file(self):
        link, other = self.path("server"), self.path("a_name_of_more_than_15_letters")
        os.symlink(build("spin_leaf"), link)
        shutil.copy(build("spin_leaf"), other)
        self.push(out := self.path("recorded/"), argv=[link, "300"])
        self.assertEqual(self.services(out), {"server"})
        for path in (link, other):
            name = os.path.basename(path)
            with subprocess.Popen([path, "60000"]) as target:
                profc("attach", "-p", target.pid, "--every", "1s", "--push",
                      out := self.path(f"attached_{name}/"), "-d", "1s", env=self.environment)
                target.kill()
            self.assertEqual(self.services(out), {name})

    def test_need_no_recorder(self):
        out = self.path("out/")
        with subprocess.Popen([build("spin_leaf"), "60000"]) as target:
            try:
                done = profc("attach", "-p", target.pid, "--every", "1s", "--push", out, "-d", "8s",
                             "-q", env=self.environment)
                self.assertUntouched(target.pid)
            finally:
                target.kill()
        self.assertEqual(done.stderr, "")
        pprofs = list(self.files(out))
        self.assertJoined(pprofs)
        self.assertGreater(sum(self.sums(pprofs).values()), 2e9)
        self.assertFalse(os.path.exists("profc.data"))

    def test_have_the_metrics_that_were_asked_for(self):
        for options, types in (
            (("--metrics", "switches,faults"), {"cpu", "blocked", "runq", "switches", "faults"}),
            (("--metrics", "switches", "--push-metrics", "wall,switches"), {"wall", "switches"}),
        ):
            out = self.path(f"out{len(types)}/")
            self.push(out, *options, argv=["sh", "-c", BUSY, build("spin_leaf")])
            found = set()
            for pprof in self.files(out):
                self.assertEqual(len(pprof.types), 1)
                found.update(pprof.sums)
            self.assertEqual(found, types)

    def test_have_each_block_once_and_what_is_alive(self):
        out, dumps = self.path("out/"), self.path("dumps/")
        words = ("for i in 1 2 3 4 5 6 7 8; do echo leaks:99:1000; echo temporaries:99:300; "
                 "sleep 0.4; done")
        with subprocess.Popen(["sh", "-c", words],
                              stdout=subprocess.PIPE) as feeder:
            # As good as each block: the sample of blocks of that size has no error.
            subprocess.run([PROFC, "record", "-q", "--mem=1", "--every", "1s", "--push", out,
                            "--keep", "600s", "--trigger", "exit", "-o", dumps, "--",
                            build("allocates"), "serve"], stdin=feeder.stdout, check=True,
                           stdout=subprocess.DEVNULL, env=self.environment)
        pprofs = list(self.files(out))
        sums = collections.Counter()
        for pprof in pprofs:
            sums.update(pprof.sums)
        rows = Recording(dumps).rows("-n", 0, "-m", "alloc")
        self.assertEqual(sums["alloc_space"], sum(row["self_bytes"] for row in rows))
        self.assertEqual(sums["alloc_objects"], sum(row["self_blocks"] for row in rows))
        self.assertGreater(len([1 for pprof in pprofs if "alloc_space" in pprof.sums]), 1)
        self.assertTrue([1 for pprof in pprofs if "inuse_space" in pprof.sums])

    def test_that_go_away_are_told_and_the_recording_goes_on(self):
        out = self.path("out/")
        done = self.push(out, argv=["sh", "-c", 'sleep 0.5; rmdir "$1"; "$0" 3000; exit 3',
                                    build("spin_leaf"), out], status=125)
        self.assertIn(f"warning: a profile was not delivered to {out}: ", done.stderr)
        self.assertRegex(done.stderr, "pushed 0 of [0-9]+ profiles to .*, [0-9]+ not delivered, ")


class Servers(Pushing):
    @classmethod
    def setUpClass(cls):
        need_libcurl()
        super().setUpClass()

    def test_that_fail_a_third_of_the_time_get_each_profile_at_least_once(self):
        failing = [random.choice((503, None, Receiver.LOST)) if random.random() < 1 / 3 else 200
                   for _ in range(2000)]
        failing[2] = Receiver.LOST
        runs = ("1", "2")
        with Receiver(failing) as receiver, ThreadPoolExecutor(len(runs)) as pool:
            done = list(pool.map(lambda run: self.push(
                f"pyroscope+http://{receiver.address}", "--push-spool", self.path("spool" + run),
                "--push-label", "run=" + run, "--metrics", "switches,faults",
                "--keep", "600s", "--trigger", "exit", "-o", self.path("dumps" + run)), runs))
            self.assertIn(Receiver.LOST, failing[:len(receiver.pushes)])
        # What is left goes with the next recording.
        with Receiver() as later:
            for run in runs:
                last = self.push(f"pyroscope+http://{later.address}", "--push-spool",
                                 self.path("spool" + run), "--push-label", "run=4", argv=["true"])
                self.assertNotIn("left in", last.stderr)
                self.assertEqual(os.listdir(self.path("spool" + run)), ["lock"])
        once = collections.defaultdict(dict)
        for push in receiver.pushes + later.pushes:
            query = push.query
            key = (query["name"], query["from"], query["until"], *push.pprof.types)
            first = once[push.labels["run"]].setdefault(key, push.pprof)
            self.assertEqual(first.sums, push.pprof.sums)
        for run, one in zip(runs, done):
            pprofs = once[run].values()
            self.assertIn(f" of {len(pprofs)} profiles to ", one.stderr)
            self.assertEqual(self.sums(pprofs), self.recorded(self.path("dumps" + run)))
            self.assertJoined(pprofs)

    def test_that_deny_are_told_once_and_make_it_fail(self):
        with Receiver([401] * 100, words=b"who are you?") as receiver:
            done = self.push(f"parca+http://{receiver.address}", argv=[build("spin_leaf"), "2500"],
                             status=125)
        self.assertEqual(done.stderr.count("it answered 401: who are you?"), 1, done.stderr)
        self.assertRegex(done.stderr, r"pushed 0 of (\d+) profiles to .*, \1 not delivered, ")

    def test_that_do_not_answer_hold_up_no_end_that_is_asked_for_twice(self):
        # Nothing is accepted.
        with subprocess.Popen(
            [PROFC, "record", "--every", "1s", "--push", "parca+http://127.0.0.1:1", "--",
             build("spin_leaf"), "60000"],
            stderr=subprocess.PIPE, text=True, env=self.environment,
        ) as recorder:
            line = ""
            while "was not delivered" not in line:
                line = recorder.stderr.readline()
                self.assertTrue(line, "profc has ended")
            while recorder.poll() is None:
                recorder.send_signal(signal.SIGTERM)
                time.sleep(0.2)
            self.assertIn("not delivered, ", recorder.stderr.read())
            self.assertEqual(recorder.returncode, 125)

    def test_a_spool_is_of_one_recording_at_a_time(self):
        spool = self.path("spool")
        with subprocess.Popen(
            [PROFC, "record", "-q", "--every", "1s", "--push", "parca+http://127.0.0.1:1",
             "--push-spool", spool, "--", build("spin_leaf"), "60000"], env=self.environment,
            start_new_session=True,
        ) as recorder:
            self.eventually(lambda: os.path.isdir(spool) and len(os.listdir(spool)) > 1, "files")
            done = self.push("parca+http://127.0.0.1:1", "--push-spool", spool, status=125)
            os.killpg(recorder.pid, signal.SIGKILL)
        self.assertIn("another profc", done.stderr)


class Options(LiveCase):
    def test_what_makes_no_sense_is_refused_with_the_reason(self):
        url = ("--push", "parca+http://localhost:1")
        for options, reason in (
            (["--every", "60s"], "--every needs --push URL or --push DIR/"),
            (["--every", "60s", "-o", "dir/"], "--every needs --push"),
            (["--push", "dir/"], "--push needs --every TIME"),
            (["--push-label", "a=b"], "--push-label needs --push"),
            (["--push-spool", "dir"], "--push-spool needs --every TIME"),
            (["--every", "60s", "--push", "dir/", "--push-spool", "dir"], "needs the URL of a"),
            (["--push-metrics", "cpu"], "--push-metrics needs --every TIME"),
            (["--every", "60s", *url, "--push-metrics", "x"], "--push-metrics has no 'x'"),
            (["--every", "60s", *url, "--push-metrics", "cpu,faults"], "faults: that is not recor"),
            (["--every", "60s", *url, "--push-metrics", "live"], "live: that is not recorded"),
            (["--every", "100ms", *url], "must be between 1 s and 3600 s"),
            (["--every", "60s", "--push", "http://host"], "needs to know what is at that URL"),
            (["--every", "60s", *url, "--push-label", "a-b=c"], "no name of a label"),
            (["--every", "60s", *url, "-o", "x"], "--every writes no profile"),
            (["--every", "60s", *url, "--trigger", "exit"], "--trigger needs --keep TIME"),
            (["--every", "60s", *url, "--mem=all"], "--every cannot be combined with --mem=all"),
            (["--every", "60s", *url, "--mem", "--reachable"], "be combined with --reachable"),
            (["--every", "60s", *url, "--count", "main"], "cannot be combined with --count"),
            (["--every", "60s", *url, "--html"], "--every cannot be combined with --html"),
            (["--every", "60s", *url, "--mem", "--agent", "cat"], "combined with --agent and --mem"),
        ):
            with self.subTest(options=options):
                done = profc("record", *options, "--", "true", status=2)
                self.assertIn(reason, done.stderr.splitlines()[0])

    def test_a_directory_that_is_not_there(self):
        done = profc("record", "--every", "1s", "--push", self.path("none"), "--", "true",
                     status=125)
        self.assertIn("there is no directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
