# SPDX-License-Identifier: GPL-2.0-or-later
"""--unit and --comm: processes that are recorded for what they are, whenever they appear."""

import glob
import json
import os
import shutil
import signal
import subprocess
import time

import procfs
from live import LiveCase
from paths import PROFC
from profc import Recorder, Recording, profc
from targets import Running, build

IN_COMPANY = True


class Joining(LiveCase):
    nr = 0

    def program(self, source="spin_leaf", suffix=""):
        """A copy of a program under a name that no other process has."""
        Joining.nr += 1
        path = self.path(f"j{os.getpid()}_{Joining.nr}{suffix}")
        shutil.copy(build(source), path)
        return path

    def name(self, path):
        return os.path.basename(path)

    def recorder(self, *options):
        return Recorder(self.directory, "attach", *options)

    def wait_waiting(self, recorder):
        line = recorder.process.stderr.readline()
        self.assertIn("waiting for a process of ", line)
        return line

    def pids(self, recording):
        return {row["pid"]: row["self_ns"] for row in recording.rows("--by", "pid")}

    def spin(self, path, ms=300):
        """Run the program; its id."""
        with subprocess.Popen([path, str(ms)], stdout=subprocess.DEVNULL) as process:
            self.assertEqual(process.wait(timeout=60), 0)
            return process.pid

    def test_a_program_that_is_started_again_and_again(self):
        path = self.program()
        with subprocess.Popen([path, "400"], stdout=subprocess.DEVNULL) as first, self.recorder(
            "--comm", f"^{self.name(path)}$"
        ) as recorder:
            self.assertEqual(first.wait(timeout=60), 0)
            self.wait_waiting(recorder)
            second = self.spin(path, 400)
            time.sleep(0.3)
            third = self.spin(path, 500)
            self.assertIsNone(recorder.process.poll(), "it goes on without a process")
            recording = recorder.interrupt()
        self.assertEqual(recording.status, 0)
        times = self.pids(recording)
        self.assertLessEqual({second, third}, set(times))
        self.assertLessEqual(set(times), {first.pid, second, third})
        # It is found at its birth, and its CPU time is counted from there.
        self.assertWithin(times[second], 400e6, 40e6, "the second run")
        self.assertWithin(times[third], 500e6, 50e6, "the third run")
        rows = recording.rows("--by", "process")
        self.assertEqual([row["name"] for row in rows], [self.name(path)])
        self.assertNotIn("waiting for a process", recording.stderr)

    def test_one_that_runs_to_the_end_is_not_waited_for(self):
        path = self.program()
        with subprocess.Popen([path, "60000"], stdout=subprocess.DEVNULL) as target, self.recorder(
            "--comm", f"^{self.name(path)}$"
        ) as recorder:
            self.eventually(lambda: procfs.observer(target.pid), "joining")
            time.sleep(0.5)
            recording = recorder.interrupt()
            target.kill()
        self.assertEqual(set(self.pids(recording)), {target.pid})
        self.assertNotIn("waiting for a process", recording.stderr)

    def test_one_that_sleeps_is_not_waited_for(self):
        path = self.program()
        shutil.copy(shutil.which("sleep"), path)
        with subprocess.Popen([path, "60"]) as target:
            time.sleep(0.4)
            done = profc("attach", "--comm", f"^{self.name(path)}$", "-d", "500ms",
                         "-o", self.path("asleep.data"))
            target.kill()
        self.assertNotIn("waiting for a process", done.stderr)

    def test_several_names(self):
        one, two, other = self.program(), self.program(), self.program()
        with self.recorder(
            "--comm", f"^{self.name(one)}$", "--comm", self.name(two)[1:],
        ) as recorder:
            self.wait_waiting(recorder)
            for path in (other, one, two):
                self.spin(path)
            recording = recorder.interrupt()
        rows = recording.rows("--by", "process")
        self.assertEqual({row["name"] for row in rows}, {self.name(one), self.name(two)})

    def test_one_that_gets_its_name_by_an_exec(self):
        path = self.program()
        with self.recorder("--comm", f"^{self.name(path)}$") as recorder:
            self.wait_waiting(recorder)
            subprocess.run(["sh", "-c", f"sleep 0.4; exec {path} 600"], check=True,
                           stdout=subprocess.DEVNULL)
            recording = recorder.interrupt()
        (ns,) = self.pids(recording).values()
        self.assertLess(ns, 650e6)
        self.assertGreater(ns, 100e6)
        self.assertMostlyIn(recording, "spin_leaf", 0.9)

    def test_an_old_one_that_gets_its_name_late(self):
        path = self.program("progressing")
        with subprocess.Popen(
            ["sh", "-c", f"sleep 4; exec {path} {self.path('counters')}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as process:
            with self.recorder("--comm", f"^{self.name(path)}$") as recorder:
                self.wait_waiting(recorder)
                process.stdout.readline()
                self.wait_until_recorded(recorder.path, cpu_ns=100e6)
                recording = recorder.interrupt()
            self.assertUntouched(process.pid)
            process.communicate(timeout=60)
        self.assertEqual(set(self.pids(recording)), {process.pid})

    def test_with_children_each_process_is_there_once(self):
        path = self.program()
        script = f"{path} 300 & {path} 300 & wait; {path} 300"
        for options in ((), ("--no-children",)):
            with self.recorder(
                "--comm", f"^{self.name(path)}$", "--comm", "^joining-sh$", *options
            ) as recorder:
                self.wait_waiting(recorder)
                shell = self.path("joining-sh")
                if not os.path.exists(shell):
                    shutil.copy(os.path.realpath("/bin/sh"), shell)
                subprocess.run([shell, "-c", script], check=True, stdout=subprocess.DEVNULL)
                recording = recorder.interrupt()
            rows = recording.rows("--by", "pid")
            times = [row["self_ns"] for row in rows if row["self_ns"] > 200e6]
            self.assertEqual(len(times), 3, times)
            self.assertLess(sum(times), 3 * 330e6)

    def test_children_of_those_that_join_are_followed(self):
        path = self.program("spin_leaf")
        shell = self.program("spin_leaf", "s")
        shutil.copy(os.path.realpath("/bin/sh"), shell)
        with subprocess.Popen(
            [shell, "-c", f"{path} 1000; {path} 300; true"], stdout=subprocess.DEVNULL
        ) as process, self.recorder("--comm", f"^{self.name(shell)}$") as recorder:
            process.wait(timeout=60)
            recording = recorder.interrupt()
        names = {row["name"] for row in recording.rows("--by", "process")}
        self.assertIn(self.name(path), names)

    def test_nothing_of_profc_itself(self):
        path = self.program()
        cat = self.program(suffix="c")
        shutil.copy(shutil.which("cat"), cat)
        profc_copy = self.program(suffix="p")
        shutil.copy(PROFC, profc_copy)
        names = "|".join(self.name(each) for each in (path, cat, profc_copy))
        output = self.path("own.data")
        with subprocess.Popen(
            [profc_copy, "attach", "--comm", f"^({names})$", "--agent", f"exec {cat} >/dev/null",
             "-o", output], stderr=subprocess.PIPE, text=True,
        ) as recorder:
            self.assertIn("waiting", recorder.stderr.readline())
            self.spin(path, 500)
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=60)
        rows = Recording(output).rows("--by", "process")
        self.assertEqual([row["name"] for row in rows], [self.name(path)])

    def test_those_of_others_are_left_out(self):
        user = self.ordinary_user()
        path = self.public(self.program("progressing"))
        copy = self.public(build("progressing"))
        shutil.copy(copy, path)
        os.chmod(self.directory, 0o777)
        with Running([path, self.path("a")]) as ours, Running(
            [path, self.path("b")], **user
        ) as theirs:
            ours.wait_ready()
            theirs.wait_ready()
            options = ("attach", "--comm", f"^{self.name(path)}$", "-d", "1s",
                       "-o", self.path("out.data"))
            done = profc(*options, **user)
            self.assertIn("1 process cannot be recorded: "
                          f"process {ours.pid} belongs to another user", done.stderr)
            recording = Recording(self.path("out.data"))
            self.assertEqual(set(self.pids(recording)), {theirs.pid})
            self.assertUntouched(ours.pid)
            os.remove(self.path("out.data"))
            self.assertNotIn("cannot be recorded", profc(*options).stderr)
            recording = Recording(self.path("out.data"))
            self.assertEqual(set(self.pids(recording)), {ours.pid, theirs.pid})

    def test_nothing_came(self):
        done = profc("attach", "--comm", "^no_such_process$", "-d", "300ms",
                     "-o", self.path("none.data"), status=1)
        self.assertIn("waiting for a process of '^no_such_process$'", done.stderr)
        self.assertIn("there was no process of '^no_such_process$'", done.stderr)

    def test_a_process_by_its_id_beside_them(self):
        path = self.program()
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            with self.recorder("-p", target.pid, "--comm", f"^{self.name(path)}$") as recorder:
                self.wait_until_recorded(recorder.path, cpu_ns=50e6)
                pid = self.spin(path)
                target.finish()
                time.sleep(0.3)
                self.assertIsNone(recorder.process.poll())
                recording = recorder.interrupt()
        self.assertEqual(set(self.pids(recording)), {target.pid, pid})

    def test_calls_are_counted_in_those_that_join(self):
        path = self.program()
        with self.recorder("--comm", f"^{self.name(path)}$", "--count", "^spin_middle$") as recorder:
            self.wait_waiting(recorder)
            self.spin(path, 1000)
            recording = recorder.interrupt()
        (row,) = [row for row in recording.rows("-m", "calls") if row["function"] == "spin_middle"]
        self.assertGreater(row["calls"], 10)

    def test_a_flight_recorder_of_a_service_that_restarts(self):
        path = self.program()
        with self.recorder(
            "--comm", f"^{self.name(path)}$", "--keep", "10s", "--trigger", "exit"
        ) as recorder:
            self.wait_waiting(recorder)
            pids = {self.spin(path), self.spin(path)}
            recorder.process.send_signal(signal.SIGTERM)
            self.assertEqual(recorder.process.wait(timeout=60), 0)
            (file,) = glob.glob(os.path.join(recorder.path, "*.exit.data"))
        self.assertTrue(os.path.basename(file).startswith(self.name(path)), file)
        self.assertEqual(set(self.pids(Recording(file))), pids)

    def test_the_end_of_the_last_process_is_a_trigger(self):
        path = self.program()
        with self.recorder(
            "--comm", f"^{self.name(path)}$", "--keep", "4s", "--trigger", "gone"
        ) as recorder:
            self.wait_waiting(recorder)
            with subprocess.Popen([path, "600"], stdout=subprocess.DEVNULL) as other:
                pid = self.spin(path, 300)
                other.wait(timeout=60)
            self.eventually(lambda: glob.glob(os.path.join(recorder.path, "*.gone.data")), "a file")
            self.assertIsNone(recorder.process.poll(), "it goes on")
            recorder.process.send_signal(signal.SIGTERM)
            self.assertEqual(recorder.process.wait(timeout=60), 0)
        # Not at the end of the first process, nor at that of the recording.
        (file,) = glob.glob(os.path.join(recorder.path, "*.data"))
        self.assertEqual(set(self.pids(Recording(file))), {pid, other.pid})

    def test_top_shows_those_that_are_there(self):
        path = self.program()
        options = ["--comm", f"^{self.name(path)}$", "--interval", "400ms", "--width", "200"]
        with subprocess.Popen(
            [PROFC, "top", *options, "--times", "5"], stdout=subprocess.PIPE, text=True
        ) as top:
            self.assertIn(f"waiting for a process of '^{self.name(path)}$'; 0 ns of CPU time",
                          top.stdout.readline())
            self.spin(path, 600)
            tables = top.stdout.read()
            self.assertEqual(top.wait(timeout=60), 0)
        self.assertRegex(tables, r"(?m)^CPU \d+%, 1/1 threads; ")
        self.assertIn("spin_leaf", tables)
        done = profc("top", *options, "--times", "1", status=1)
        self.assertIn(f"no process of '^{self.name(path)}$' was seen running", done.stderr)

    def test_dump_shows_those_that_are_there(self):
        path = self.program()
        shutil.copy(shutil.which("sleep"), path)
        options = ["--comm", f"^{self.name(path)}$", "--json"]
        with subprocess.Popen([path, "60"]) as one, subprocess.Popen([path, "60"]) as two:
            time.sleep(0.4)
            dump = json.loads(profc("dump", *options).stdout)
            one.kill()
            two.kill()
        self.assertEqual({process["pid"] for process in dump["processes"]}, {one.pid, two.pid})
        for process in dump["processes"]:
            self.assertEqual(len(process["threads"]), 1)
        done = profc("dump", *options, status=1)
        self.assertIn(f"no process of '^{self.name(path)}$' is running", done.stderr)

    def test_wrong_ones_are_refused(self):
        for options, reason in (
            (["-p", os.getpid(), "--keep", "4s", "--trigger", "gone"], "needs --unit or --comm"),
            (["--comm", "["], "--comm: invalid regular expression '['"),
            (["--unit", "/"], "no name of a unit"),
            (["--unit", "a", "--within", "main"], "--within cannot be combined"),
        ):
            self.assertIn(reason, profc("attach", *options, status=2).stderr)
        done = profc("record", "--comm", "a", "--", "true", status=2)
        self.assertIn("--comm cannot be combined with a command", done.stderr)
        for command in ("top", "dump"):
            done = profc(command, "--unit", "/", status=2)
            self.assertIn("no name of a unit", done.stderr)
        done = profc("top", "--unit", "a", "--", "true", status=2)
        self.assertIn("--unit cannot be combined with a command", done.stderr)


class Units(LiveCase):
    TOPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd",
            "/sys/fs/cgroup/pids", "/sys/fs/cgroup/freezer")

    def group(self, top):
        """A unit's group in a slice's, in a hierarchy; None where that cannot be."""
        name = f"profctest{os.getpid()}"
        outer = os.path.join(top, f"{name}.slice")
        path = os.path.join(outer, f"{name}.service")
        try:
            os.mkdir(outer)
        except OSError:
            return None
        self.addCleanup(os.rmdir, outer)
        os.mkdir(path)
        self.addCleanup(os.rmdir, path)
        return path if os.path.exists(os.path.join(path, "cgroup.procs")) else None

    def run_in(self, group, ms):
        script = f"echo $$ >{group}/cgroup.procs; exec {build('spin_leaf')} {ms}"
        with subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL) as process:
            self.assertEqual(process.wait(timeout=60), 0)
            return process.pid

    def test_of_each_hierarchy(self):
        groups = [group for group in map(self.group, self.TOPS) if group]
        if not groups:
            self.skipTest("no control group can be made here")
        for group in groups:
            with self.subTest(group):
                self.record_group(group)

    def test_what_is_pushed_has_the_name_of_the_unit(self):
        group = next((group for group in map(self.group, self.TOPS) if group), None)
        if not group:
            self.skipTest("no control group can be made here")
        name = os.path.basename(group).removesuffix(".service")
        out = self.path("out/")
        with subprocess.Popen(
            [PROFC, "attach", "--unit", f"{name}.slice/{name}.service", "--every", "1s",
             "--push", out], stderr=subprocess.PIPE, text=True
        ) as recorder:
            self.assertIn("waiting for a process of ", recorder.stderr.readline())
            self.run_in(group, 1500)
            recorder.send_signal(signal.SIGTERM)
            self.assertEqual(recorder.wait(timeout=60), 0)
        self.assertEqual({file.split(".")[0] for file in os.listdir(out)}, {name})

    def record_group(self, group):
        name = os.path.basename(group).removesuffix(".service")
        units = (name, f"{name}.slice", f"{name}.slice/{name}.service")
        for unit in units:
            with Recorder(self.directory, "attach", "--unit", unit) as recorder:
                line = recorder.process.stderr.readline()
                self.assertIn(f"waiting for a process of {unit}", line)
                with subprocess.Popen([build("spin_leaf"), "200"], stdout=subprocess.DEVNULL) as other:
                    pids = {self.run_in(group, 300), self.run_in(group, 300)}
                    other.wait(timeout=60)
                recording = recorder.interrupt()
            rows = recording.rows("--by", "pid")
            self.assertEqual({row["pid"] for row in rows}, pids)
