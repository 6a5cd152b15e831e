# SPDX-License-Identifier: GPL-2.0-or-later
"""A flight recorder: --keep, the triggers, and the files that it leaves."""

import concurrent.futures
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

from live import LiveCase
from paths import PROFC
from profc import Recorder, Recording, profc
from recorder_case import NAME, RecorderCase, files, words
from targets import build, need
from terminal import on_terminal

IN_COMPANY = True


class FlightRecorder(RecorderCase):
    def test_signal(self):
        with self.record() as recorder:
            self.tell(recorder, "spin 1500", "say 1")
            recorder.process.stdout.readline()
            recorder.process.send_signal(signal.SIGUSR2)
            recording = self.file_of(recorder, "signal")
            self.end(recorder)
        self.assertTriggered(recording, "signal")
        self.assertMostly(recording, "spin_on_request")

    def test_the_file_has_the_time_around_its_trigger_and_no_more(self):
        with self.record(keep="2s") as recorder:
            self.tell(recorder, "spin 500", "rest 5000", "say 1")
            recorder.process.stdout.readline()
            recorder.process.send_signal(signal.SIGUSR2)
            recording = self.file_of(recorder, "signal")
            self.end(recorder)
        info = self.assertTriggered(recording, "signal")
        self.assertGreater(info["duration_ns"], 3.9e9)
        at_ns = info["counters"]["trigger_ns"]
        self.assertWithin(at_ns, 2e9, 0.1e9, "the moment of the trigger")
        self.assertEqual(self.function_ns(recording, "spin_on_request", "wall"), 0)
        self.assertLess(self.function_ns(recording, "rest_on_request", "blocked"), 2.1e9)

    def test_the_time_before_the_trigger_is_compared_with_that_around_it(self):
        with self.record(keep="8s") as recorder:
            self.tell(recorder, "spin 1000", "rest 4000", "say 1", "crowd 4000")
            recorder.process.stdout.readline()
            time.sleep(1)
            recorder.process.send_signal(signal.SIGUSR2)
            recording = self.file_of(recorder, "signal")
            self.end(recorder)
        words = [recorder.path, "--time", "-8s..-3s", "--", "-1s.."]
        diff = json.loads(profc("diff", "--json", "--tree", *words).stdout)
        self.assertEqual(diff["compared"], "rates")
        self.assertWithin(diff["new"]["elapsed_ns"], 3e9, 0.1e9, "1 s before it, 2 s after")
        nodes = {node["function"]: node for node in diff["nodes"]}
        for function, status in (("spin_on_request", "gone"), ("crowd_on_request", "new")):
            self.assertTrue(nodes[function]["sure"])
            self.assertEqual(nodes[function]["status"], status)
        done = profc("diff", *words)
        self.assertIn(f"the newest profile of {recorder.path} is ", done.stderr)
        self.assertEqual(done.stderr.count("newest"), 1)
        done = profc("report", "--time", "-1s..", "--width", "200", recorder.path)
        self.assertNotIn("spin_on_request", done.stdout)
        done = profc("report", recorder.path, "--time", "..-100s", status=1)
        self.assertIn("before its trigger", done.stderr)

    def test_a_long_sleep_is_there_up_to_the_trigger(self):
        """Also where the next tick may come much later than the trigger."""
        with self.record(keep="4s") as usual, self.record("-F", "1", keep="4s") as rare:
            for recorder in (usual, rare):
                self.tell(recorder, "rest 30000")
            time.sleep(17)
            for recorder in (usual, rare):
                recorder.process.send_signal(signal.SIGUSR2)
            for recorder in (usual, rare):
                recording = self.file_of(recorder, "signal")
                recorder.process.kill()
                slept_ns = self.function_ns(recording, "rest_on_request", "blocked")
                self.assertGreater(slept_ns, 0.9 * self.info(recording)["duration_ns"])

    def function_ns(self, recording, name, metric):
        return sum(row["total_ns"] for row in recording.rows("-m", metric)
                   if row["function"] == name)

    def test_a_line_of_control(self):
        fifo = self.path("control")
        with self.record("--control", f"fifo:{fifo}") as recorder:
            self.tell(recorder, "spin 1500", "say 1")
            recorder.process.stdout.readline()
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("dump slow /../$(x)\ndump again\nsnapshot no.data\n")
            recording = self.file_of(recorder, "control-slow__..___x_")
            self.end(recorder)
            stderr = recorder.process.stderr.read()
        info = self.assertTriggered(recording, "control slow /../$(x)")
        self.assertEqual(info["counters"]["suppressed_triggers"], 1)
        self.assertIn("trigger control again is suppressed", stderr)
        self.assertIn("no snapshot of a flight recorder", stderr)
        self.assertMostly(recording, "spin_on_request")

    def test_a_flood_of_triggers_is_one_line(self):
        fifo = self.path("control")
        with self.record("--control", f"fifo:{fifo}", keep="4s") as recorder:
            self.tell(recorder, "spin 1500", "say 1")
            recorder.process.stdout.readline()
            with open(fifo, "w", encoding="utf-8") as control:
                control.writelines(f"dump again{i}\n" for i in range(500))
            self.file_of(recorder, "control-again0")
            self.end(recorder)
            stderr = recorder.process.stderr.read()
        self.assertEqual(stderr.count("is suppressed"), 1, stderr)
        self.assertIn("499 triggers suppressed", stderr)

    def test_dump_needs_a_recorder(self):
        fifo = self.path("control")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", build("does_on_request"),
            stdin=subprocess.PIPE,
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo), "the FIFO")
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("dump here\nstop\n")
            self.end(recorder)
            self.assertIn("'dump' needs --keep", recorder.process.stderr.read())

    def test_the_sums_of_other_programs_since_the_beginning_are_in_no_file(self):
        with self.record("--trigger", "exit", keep="2s") as recorder:
            self.tell(recorder, "rest 6000")
            self.end(recorder)
            recording = self.file_of(recorder, "exit")
        self.assertLess(self.info(recording)["duration_ns"], 5e9)
        self.assertNotIn("machine_busy_ns", self.info(recording)["counters"])
        self.assertNotRegex(recording.info(), r"(?m)^machine ")

    def test_exit(self):
        with self.record("--trigger", "exit") as recorder:
            self.tell(recorder, "rest 200", "spin 1000")
            self.end(recorder)
            recording = self.file_of(recorder, "exit")
        self.assertTriggered(recording, "exit")
        self.assertMostly(recording, "spin_on_request")
        self.assertIn("exited with status 0", recording.info())

    def test_cpu(self):
        with self.record("--trigger", "cpu>8%/1s") as recorder:
            self.tell(recorder, "rest 2500", "spin 6000")
            recording = self.file_of(recorder, "cpu")
            self.end(recorder)
        self.assertTriggered(recording, "cpu>8%/1s")
        self.assertMostly(recording, "spin_on_request")

    def test_memory(self):
        with self.record("--trigger", "rss>100M") as recorder:
            self.tell(recorder, "spin 300", "rest 1500", "fill 150")
            recording = self.file_of(recorder, "rss")
            self.end(recorder)
        self.assertTriggered(recording, "rss>100M")
        self.assertMostly(recording, "fill_on_request")

    def test_a_stall(self):
        with self.record("--trigger", "stall>1s") as recorder:
            self.tell(recorder, "spin 1500", "rest 4000")
            recording = self.file_of(recorder, "stall")
            self.end(recorder)
        self.assertTriggered(recording, "stall>1s")
        self.assertMostly(recording, "rest_on_request", "blocked")

    def test_waiting_for_a_cpu(self):
        with self.record("--trigger", "runq>120%/1s") as recorder:
            self.tell(recorder, "rest 1500", "crowd 5000")
            recording = self.file_of(recorder, "runq")
            self.end(recorder)
        self.assertTriggered(recording, "runq>120%/1s")
        self.assertMostly(recording, "crowd_on_request", "runq")

    def test_a_phase_that_takes_long(self):
        fifo = self.path("control")
        with self.record("--control", f"fifo:{fifo}", "--trigger", "mark:sort it>1500ms") as recorder:
            self.eventually(lambda: os.path.exists(fifo), "the FIFO")
            with open(fifo, "w", encoding="utf-8") as control:
                for text in ("load", "sort it", "sort it", "load"):
                    control.write(f"mark {text}\n")
                control.flush()
                self.tell(recorder, "rest 2000", "say 1")
                recorder.process.stdout.readline()
                self.assertEqual(files(recorder.path), [])
                control.write("mark sort it\n")
                control.flush()
                self.tell(recorder, "spin 2500")
                recording = self.file_of(recorder, "mark")
                self.end(recorder)
        self.assertTriggered(recording, "mark:sort it>1500ms")
        self.assertMostly(recording, "spin_on_request")
        rows = recording.rows("--time", "mark:sort it..", "-m", "wall")
        self.assertTrue(any(row["function"] == "spin_on_request" for row in rows))

    def crash_with_a_core(self, *lines):
        """The profile of a crash upon which the kernel writes a core, which takes it a while."""
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as pattern:
            if pattern.read()[0] in "|\n@":
                self.skipTest("cores are not written to files here")
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        with self.record(
            "-F", 199, "--trigger", "crash", "--trigger", "exit", cwd=self.directory,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited),
        ) as recorder:
            self.tell(recorder, "spin 300", "fill 200", *lines)
            self.assertLess(recorder.process.wait(timeout=60), 0)
            self.assertEqual(sorted(words(recorder.path)), ["crash", "exit"])
            recording, whole = (self.file_of(recorder, word) for word in ("crash", "exit"))
        (text,) = [mark["text"] for mark in self.info(recording)["marks"]]
        self.assertRegex(text, r"^trigger:crash of process \d+, while its core was written$")
        self.assertTriggered(recording, text.partition(":")[2])
        self.assertTriggered(whole, "exit")
        return recording

    def assertStack(self, recording, *functions):
        """There is a stack with these functions, one after the other, from its root on."""
        stacks = [frames for frames, _ in recording.folded("-m", "wall")]
        wanted = re.compile(";(.*;)?".join(functions) + "$")
        self.assertTrue([frames for frames in stacks if wanted.search(";".join(frames))],
                        f"no stack of {functions} in {stacks}")

    def test_a_crash_whose_core_is_written(self):
        recording = self.crash_with_a_core("abort 0")
        self.assertStack(recording, "main", "abort_on_request", "work_until")
        self.assertStack(recording, "main", "abort_on_request", "[^;]*(kill|raise|abort)[^;]*")

    def test_a_crash_in_a_function_that_calls_nothing(self):
        self.assertStack(self.crash_with_a_core("fault 0"), "main", "fault_on_request")

    def test_all_threads_are_seen_where_they_were_at_a_crash(self):
        recording = self.crash_with_a_core("gather 6", "spin 100", "fault 0")
        self.assertStack(recording, "main", "fault_on_request")
        rows = recording.rows("--by", "thread", "-m", "wall", "--time", "-0.1s..")
        begun = sorted(row["start_function"] for row in rows if row["start_function"])
        self.assertEqual(begun, ["main"] + 3 * ["rest_beside"] + 3 * ["spin_beside"], rows)

    def test_a_crash_without_a_core_has_the_last_samples(self):
        with self.record(
            "--trigger", "crash",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
        ) as recorder:
            self.tell(recorder, "spin 300", "rest 300", "abort 0")
            self.assertEqual(recorder.process.wait(timeout=60), -signal.SIGABRT)
            recording = self.file_of(recorder, "crash")
        self.assertTriggered(recording, "crash by signal 6, with the last samples before it")
        rows = recording.rows()
        self.assertIn("abort_on_request", [row["function"] for row in rows])

    def test_no_crash_is_seen_where_there_is_none(self):
        with self.record("--trigger", "crash") as recorder:
            self.tell(recorder, "spin 300", "say 1")
            recorder.process.stdout.readline()
            self.end(recorder)
            self.assertEqual(files(recorder.path), [])

    def test_attached(self):
        with subprocess.Popen(
            [build("does_on_request")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as target:
            with Recorder(
                self.directory, "attach", "-p", target.pid, "--keep", "4s", "--trigger", "exit"
            ) as recorder:
                self.eventually(lambda: os.path.isdir(recorder.path), "the directory")
                target.stdin.write("spin 1500\nsay 1\n")
                target.stdin.flush()
                target.stdout.readline()
                recorder.process.send_signal(signal.SIGUSR2)
                recording = self.file_of(recorder, "signal")
                self.assertUntouched(target.pid)
                target.stdin.close()
                target.wait(timeout=60)
                self.assertEqual(recorder.process.wait(timeout=60), 0)
                self.assertEqual(sorted(words(recorder.path)), ["exit", "signal"])
        self.assertMostly(recording, "spin_on_request")

    def test_report_shows_the_newest_of_a_directory(self):
        path = self.path("dumps")
        for argument in ("300", "400"):
            profc("record", "--keep", "2s", "--trigger", "exit", "-o", path + "/", "-q", "--",
                  build("spin_leaf"), argument)
            time.sleep(0.01)
        with open(os.path.join(path, "notes.txt"), "w", encoding="utf-8"):
            pass
        shown = profc("report", path, "--width", "200")
        self.assertIn("spin_leaf 400", shown.stdout)
        self.assertIn(f"the newest profile of {path} is spin_leaf.", shown.stderr)
        self.assertIn("spin_leaf 400", profc("info", "-i", path + "/").stdout)
        os.mkdir(self.path("empty"))
        self.assertIn("this one has none", profc("report", self.path("empty"), status=1).stderr)

    def test_the_oldest_files_of_the_program_go(self):
        path = self.path("dumps")
        os.mkdir(path)
        others = ["spin_leaf.data", "spin_leaf.2001-01-01T00-00-00Z.data",
                  "other.2001-01-01T00-00-00Z.exit.data", "spin_leaf.2001-01-01T00-00-00Z.exit.txt"]
        old = [f"spin_leaf.2001-01-0{i}T00-00-00Z.exit.data" for i in range(1, 6)]
        for name in others + old:
            with open(os.path.join(path, name), "w", encoding="utf-8"):
                pass
        profc("record", "--keep", "2s", "--trigger", "exit", "--limit", "3", "-o", path, "--",
              build("spin_leaf"), "100")
        left = set(files(path))
        self.assertEqual(left & set(others + old), set(others + old[3:]))
        self.assertEqual(len(left), len(others) + 3)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to give files away")
    def test_files_of_other_users_stay_and_displace_none_of_ours(self):
        path = self.path("dumps")
        os.mkdir(path)
        own = "spin_leaf.2001-01-01T00-00-00Z.exit.data"
        foreign = ["spin_leaf.2000-01-01T00-00-00Z.exit.data",
                   *(f"spin_leaf.2999-01-0{i}T00-00-00Z.exit.data" for i in range(1, 4))]
        for name in [own] + foreign:
            with open(os.path.join(path, name), "w", encoding="utf-8"):
                pass
        for name in foreign:
            os.chown(os.path.join(path, name), 65534, 65534)
        link = "spin_leaf.2998-01-01T00-00-00Z.exit.data"
        os.symlink(own, os.path.join(path, link))
        profc("record", "--keep", "2s", "--trigger", "exit", "--limit", "2", "-o", path, "--",
              build("spin_leaf"), "100")
        left = set(files(path))
        self.assertLess({own, link, *foreign}, left)
        self.assertEqual(len(left), len(foreign) + 3)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to give a directory away")
    def test_a_directory_that_another_user_prepared_is_refused(self):
        shared, own = self.path("shared"), self.path("own")
        os.mkdir(shared)
        os.mkdir(own)
        os.chmod(shared, 0o1777)
        os.mkdir(f"{shared}/foreign")
        os.chown(f"{shared}/foreign", 65534, 65534)
        os.symlink(own, f"{shared}/link")
        for name, words in (("foreign", "it belongs to another user"),
                            ("link", "it is a symbolic link")):
            done = profc("record", "--keep", "2s", "-o", f"{shared}/{name}", "--", "true",
                         status=125)
            self.assertIn(f"cannot write {shared}/{name}: {words}, in a directory", done.stderr)
        profc("record", "--keep", "2s", "-o", f"{shared}/made", "--", "true")
        profc("record", "--keep", "2s", "-o", f"{shared}/made", "--", "true")
        profc("record", "--keep", "2s", "-o", shared, "--", "true")

    def test_a_full_disk_is_said_and_survived(self):
        unshare, path = need("unshare"), self.path("small")
        os.mkdir(path)
        inside = (
            f'mount -t tmpfs -o size=40k none {path} && dd if=/dev/zero of={path}/full bs=4k 2>&-; '
            f'"$0" record --keep 4s --trigger exit -o {path} -- "$1" 300; '
            f'echo status $?; ls {path}; rm {path}/full; '
            f'"$0" record --keep 4s --trigger exit -o {path} -q -- "$1" 300; echo status $?; ls {path}'
        )
        done = subprocess.run(
            [unshare, "-m", "sh", "-c", inside, PROFC, build("spin_leaf")],
            check=False, capture_output=True, text=True, timeout=120,
        )
        self.assertIn("No space left on device", done.stderr)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("{")]
        self.assertEqual(lines[:3], ["status 125", "full", "status 0"], done.stdout + done.stderr)
        self.assertRegex(lines[3], r"^spin_leaf\..*\.exit\.data$")

    def test_a_recorder_goes_on_when_a_file_cannot_be_written(self):
        with self.record(keep="2s") as recorder:
            self.tell(recorder, "spin 300", "say 1")
            recorder.process.stdout.readline()
            os.rename(recorder.path, recorder.path + ".away")
            recorder.process.send_signal(signal.SIGUSR2)
            line = ""
            while "cannot write" not in line:
                line = recorder.process.stderr.readline()
                self.assertTrue(line, "profc has said nothing")
            os.rename(recorder.path + ".away", recorder.path)

            def is_there():
                recorder.process.send_signal(signal.SIGUSR2)
                time.sleep(0.2)
                return "signal" in words(recorder.path)

            self.eventually(is_there, "a file")
            self.end(recorder, 125)

    def record_a_jump(self, *options):
        """The file of a recording whose clock was set back, and what profc said."""
        shift = self.path("shift")
        library = build("shifted_clock", "-O2", "-shared", "-fPIC")
        environment = {**os.environ, "LD_PRELOAD": library, "SHIFT_CLOCK_FILE": shift}
        with subprocess.Popen(
            [build("does_on_request")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as target:
            with Recorder(
                self.directory, "attach", "-p", target.pid, "--keep", "4s", *options,
                env=environment,
            ) as recorder:
                self.eventually(lambda: os.path.isdir(recorder.path), "the directory")
                target.stdin.write("spin 1000\nsay 1\n")
                target.stdin.flush()
                target.stdout.readline()
                with open(shift, "w", encoding="utf-8"):
                    pass
                recorder.process.send_signal(signal.SIGUSR2)
                recording = self.file_of(recorder, "signal")
                target.stdin.close()
                target.wait(timeout=60)
                recorder.process.wait(timeout=60)
                return recording, recorder.process.stderr.read()

    def test_a_jump_of_the_clock_is_said_and_survived(self):
        recording, said = self.record_a_jump()
        self.assertIn("the clock was set by -3600.0 s", said)
        info = self.assertTriggered(recording, "signal")
        self.assertLess(info["duration_ns"], 60e9)
        self.assertMostly(recording, "spin_on_request")

    def test_a_jump_of_the_clock_is_no_news_for_the_quiet(self):
        self.assertEqual(self.record_a_jump("-q")[1], "")

    def killed(self, _):
        """How many files one leaves that is killed while it writes them; each of them is whole."""
        with self.record("--no-symbols", keep="2s") as recorder:
            self.tell(recorder, *["spin 100", "rest 300"] * 100)
            moment = time.monotonic() + random.uniform(2, 5)
            self.eventually(lambda: os.path.isdir(recorder.path), "the directory")
            while time.monotonic() < moment:
                recorder.process.send_signal(signal.SIGUSR2)
                time.sleep(0.01)
            recorder.process.kill()
            recorder.process.wait()
            for name in files(recorder.path):
                self.assertRegex(name, NAME)
                recording = Recording(os.path.join(recorder.path, name))
                self.assertTrue(self.info(recording)["complete"])
            return len(files(recorder.path))

    def test_killed_at_any_moment_it_leaves_whole_files(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertGreater(sum(pool.map(self.killed, range(12))), 3)


class Culprit(RecorderCase):
    def test_of_a_large_memory_it_is_who_has_allocated_it(self):
        with self.record("--trigger", "rss>100M", "--mem") as recorder:
            self.tell(recorder, "spin 300", "rest 1500", "fill 150")
            recording = self.file_of(recorder, "rss")
            self.end(recorder)
        rows = {row["function"]: row["total_bytes"] for row in recording.rows("-m", "live")}
        self.assertGreaterEqual(rows["fill_on_request"], 150 << 20)


class WithAgent(RecorderCase):
    def test_an_agent_makes_triggers_of_its_own(self):
        fifo = self.path("control")
        seen = self.path("seen")
        # It has a profile written once it is told of twenty samples on a CPU.
        with open(self.path("agent.py"), "w", encoding="utf-8") as script:
            script.write(
                "import json, sys\n"
                "told = 0\n"
                f"out = open({seen!r}, 'w')\n"
                "for line in sys.stdin:\n"
                "    row = json.loads(line)\n"
                "    told += row['type'] == 'sample' and row['cpu_ns'] > 0\n"
                "    if told == 20:\n"
                f"        open({fifo!r}, 'w').write('dump enough\\n')\n"
                "        told += 1\n"
                "    if row['type'] in ('mark', 'end'):\n"
                "        print(line, end='', file=out, flush=True)\n"
            )
        agent = f"{sys.executable} {self.path('agent.py')}"
        with self.record("--control", f"fifo:{fifo}", "--agent", agent) as recorder:
            self.tell(recorder, "spin 2000", "say 1")
            recorder.process.stdout.readline()
            recording = self.file_of(recorder, "control-enough")
            self.end(recorder)
        self.assertTriggered(recording, "control enough")
        self.assertMostly(recording, "spin_on_request")
        with open(seen, encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        self.assertEqual([row["type"] for row in rows], ["mark", "end"])
        self.assertEqual(rows[0]["text"], "trigger:control enough")


class OnTerminal(LiveCase):
    def test_it_says_how_to_ask_for_the_time_that_it_keeps(self):
        dumps = self.path("dumps")
        words = f"the last 60.0 s are kept: 'profc ctl {dumps} dump' writes them\n"
        with subprocess.Popen([build("spin_leaf"), "60000"], stdout=subprocess.DEVNULL) as target:
            command = [PROFC, "attach", "-p", str(target.pid), "--keep", "60s", "-d", "300ms", "-o",
                       dumps]
            said = on_terminal(command)[1], on_terminal([*command, "-q"])[1]
            unseen = subprocess.run(command, capture_output=True, check=True, text=True).stderr
            target.kill()
        self.assertIn(words, said[0])
        self.assertNotIn("are kept", said[1] + unseen)


class Options(LiveCase):
    def test_wrong_ones_are_refused_with_the_reason(self):
        for options, reason in (
            (["--trigger", "exit"], "--trigger needs --keep TIME"),
            (["--limit", "3"], "--limit needs --keep TIME"),
            (["--keep-size", "3M"], "--keep-size needs --keep TIME"),
            (["--keep", "1s"], "must be between 2 s and 3600 s"),
            (["--keep", "60s", "--trigger", "cpu>180"], "trigger 'cpu>180': its threshold"),
            (["--keep", "60s", "--trigger", "load>2"], "unknown trigger 'load>2'"),
            (["--keep", "60s", "--trigger", "control"], "--trigger control needs --control"),
            (["--keep", "60s", "--trigger", "mark:a>2s"], "--trigger mark needs --control"),
            (["--keep", "60s", "--mem=all"], "--keep cannot be combined with --mem=all"),
            (["--keep", "60s", "--mem", "--reachable"], "--keep cannot be combined with --reachable"),
            (["--keep", "60s", "--mem", "--no-cpu"], "--keep cannot be combined with --no-cpu"),
            (["--keep", "60s", "--html"], "--keep cannot be combined with --html"),
            (["--keep", "60s", "--mem", "--agent", "cat"], "be combined with --agent and --mem"),
            (["--keep", "60s", "--max-size", "1M"], "--keep cannot be combined with --max-size"),
            (["--keep", "60s", "-o", "-"], "--keep needs a directory"),
        ):
            done = profc("record", *options, "--", "true", status=2)
            self.assertIn(reason, done.stderr.splitlines()[0])

    def test_a_file_is_no_directory(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        done = profc("record", "--keep", "4s", "-o", self.path("file"), "--", "true", status=125)
        self.assertIn("is not a directory", done.stderr)
