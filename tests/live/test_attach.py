# SPDX-License-Identifier: GPL-2.0-or-later
"""`profc attach`: running processes, under load, that go on afterwards."""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import time

import procfs
from live import LiveCase
from paths import BUILD, PROFC
from profc import Recorder, Recording, attach, profc
from targets import Running, build, need


FAST = ("-F", "1000", "--max-overhead", "0")


class Attach(LiveCase):
    def test_profile_of_a_running_program(self):
        with Running([build("progressing"), self.path("counters"), "2"]) as target:
            target.wait_ready()
            at_start = procfs.cpu_ns(target.pid)
            with Recorder(self.directory, "attach", "-p", target.pid) as recorder:
                self.wait_until_recorded(recorder.path)
                before = procfs.cpu_ns(target.pid)
                time.sleep(0.5)
                within = procfs.cpu_ns(target.pid) - before
                recording = recorder.interrupt()
            spent = procfs.cpu_ns(target.pid) - at_start
            self.assertUntouched(target.pid)
            total = recording.report()["total_ns"]
            self.assertLessEqual(total, spent)
            self.assertGreaterEqual(total, within)
            self.assertMostlyIn(recording, "progress_main", 0.8)

    def test_record_p_is_attach(self):
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            path = self.path("by-record.data")
            profc("record", "-p", target.pid, "-d", "300ms", "-o", path)
            self.assertUntouched(target.pid)
            self.assertGreater(os.path.getsize(path), 0)

    def test_several_processes(self):
        program = build("progressing")
        with Running([program, self.path("a")]) as one, Running([program, self.path("b")]) as two:
            one.wait_ready()
            two.wait_ready()
            for options in ((f"{one.pid},{two.pid}",), (one.pid, "-p", two.pid),
                            (f"{one.pid} {two.pid}\n",)):
                recording = attach(self.directory, *options, "-d", "500ms")
                pids = {row["pid"] for row in recording.rows("--by", "pid")}
                self.assertEqual(pids, {one.pid, two.pid})
            self.assertUntouched(one.pid)
            self.assertUntouched(two.pid)

    def family(self):
        """A shell that waits for two programs, one of them the child of another shell."""
        program = build("progressing")
        return Running(["sh", "-c", f"exec 3<&0; {program} {self.path('a')} 1 <&3 & "
                                    f"sh -c '{program} {self.path('b')} 1; true' <&3 & wait"])

    def test_descendants_that_run_already_are_recorded(self):
        with self.family() as shell:
            shell.wait_ready(nr=2)
            recording = attach(self.directory, shell.pid, "-d", "500ms")
            self.assertIn("3 descendants are recorded, too: --no-children", recording.stderr)
            names = [row["name"] for row in recording.rows("--by", "pid", "-m", "wall")]
            self.assertEqual(sorted(names), ["progressing", "progressing", "sh", "sh"])
            self.assertGreater(recording.function("progress_main")["total_ns"], 0)
            alone = attach(self.directory, shell.pid, "-d", "300ms", "--no-children")
            self.assertNotIn("descendant", alone.stderr)
            self.assertEqual({row["pid"] for row in alone.rows("--by", "pid", "-m", "wall")},
                             {shell.pid})

    def test_a_shell_that_started_profc_is_recorded_without_it(self):
        path = self.path("shell")
        script = f"{PROFC} attach -p $$ -d 300ms -o {path}; true"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        self.assertNotIn("may not be traced", done.stderr)
        rows = Recording(path).rows("--by", "pid", "-m", "wall")
        self.assertEqual([row["name"] for row in rows], ["sh"])

    def test_what_only_descendants_have_is_counted_and_found(self):
        with self.family() as shell:
            shell.wait_ready(nr=2)
            recording = attach(self.directory, shell.pid, "-d", "500ms", "--count",
                               "^progress_main$", "--within", "progress_main")
            self.assertGreater(recording.report()["total_ns"], 0)

    def test_a_process_named_twice(self):
        with Running([build("threads_idle"), "3", "10000"]) as target:
            target.wait_ready()
            names = [target.pid, target.pid, *procfs.threads(target.pid)]
            recording = attach(self.directory, ",".join(map(str, names)), "-d", "300ms")
            tids = [row["tid"] for row in recording.rows("--by", "thread", "-m", "wall")]
            self.assertEqual(sorted(tids), sorted(procfs.threads(target.pid)))

    def test_the_duration_begins_when_all_are_attached_to(self):
        with Running([build("threads_idle"), "3000", "10000"]) as target:
            target.wait_ready()
            recording = attach(self.directory, target.pid, "-d", "25ms")
            times = [row["total_ns"] for row in recording.rows("--by", "thread", "-m", "wall")]
            self.assertEqual(len(times), 3001)
            self.assertGreaterEqual(min(times), 25e6, "who was attached to last was left early")
            self.assertUntouched(target.pid)

    def test_interrupt_finishes_the_file_and_the_target_runs_on(self):
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                self.wait_until_recorded(recorder.path)
                recording = recorder.interrupt(signal.SIGINT)
            self.assertEqual(recording.status, 0, recording.stderr)
            self.assertUntouched(target.pid)
            self.assertMostlyIn(recording, "progress_main", 0.8)
            (said,) = target.finish()
            self.assertGreater(said["rounds"], 0)

    def test_only_the_sampling_thread_wakes_at_each_stop(self):
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            options = ("-q", "-F", "1000", "-p", str(target.pid))
            with Recorder(self.directory, "attach", *options) as recorder:
                wake_ups = lambda: int(procfs.status(recorder.pid)["voluntary_ctxt_switches"])
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                time.sleep(0.5)
                before = wake_ups()
                time.sleep(1)
                self.assertLess(wake_ups() - before, 50, "its main thread is woken by each stop")
                recorder.interrupt(signal.SIGINT)

    def test_target_that_ends_meanwhile(self):
        with Running([build("sleeping"), "600"]) as target:
            target.wait_ready()
            recording = attach(self.directory, target.pid)
            self.assertEqual(len(target.finish()), 5)
        self.assertGreater(recording.report("-m", "blocked")["total_ns"], 0)

    def test_children_started_later_are_followed(self):
        script = f"echo ready; read x; {build('spin_leaf')} 300"
        with Running(["sh", "-c", script]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                target.process.stdin.write("go\n")
                target.process.stdin.flush()
                recording = recorder.finish()
        self.assertGreater(recording.function("spin_leaf", "--process", "spin_leaf")["total_ns"],
                           200e6)

    def test_a_target_that_only_sleeps_is_no_failure(self):
        with Running(["sleep", "1000"]) as target:
            recording = attach(self.directory, target.pid, "-d", "500ms", status=None)
            self.assertUntouched(target.pid)
            self.assertEqual(procfs.state(target.pid), "S")
            self.assertIn(recording.status, (0, 1))
            if recording.status == 0:
                report = recording.report("-m", "blocked")
                self.assertGreaterEqual(report["duration_ns"], 500e6)
                self.assertRatio(
                    report["total_ns"], report["duration_ns"], 0.2, "blocked time of a sleeper"
                )

    def test_duration_ends_before_the_next_look(self):
        """It was waited for, half a second at most; and when paused, for that half second."""
        for options in (("-F", "1"), ("--paused",)):
            with Running(["sleep", "1000"]) as target:
                lengths = []
                for _ in range(5):
                    recording = attach(self.directory, target.pid, "-d", "100ms", *options, status=None)
                    lengths.append(json.loads(recording.info("--json"))["duration_ns"])
                self.assertLess(min(lengths), 300e6, options)


class Terminal(LiveCase):
    def seen(self, script, columns=0):
        """What a person sees of a shell's jobs on a terminal of its own; 0: its width is not known."""
        pid, ours = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execvp("sh", ["sh", "-c", f"set -m; {script}"])
        seen = b""
        while True:
            try:
                seen += os.read(ours, 65536)
            except OSError:  # EIO: the last writer is gone
                break
        os.close(ours)
        self.assertEqual(os.waitpid(pid, 0)[1], 0, seen)
        return seen.decode()

    def test_progress_is_shown_in_the_foreground_only(self):
        """From behind it would be written over what somebody types."""
        with Running(["sleep", "1000"]) as target:
            attach_it = f"{PROFC} attach -p {target.pid} -d 1 -o {self.path('x.data')}"
            self.assertIn("profc: recording: ", self.seen(attach_it))
            behind = self.seen(f"{attach_it} & wait")
            self.assertIn("wrote ", behind)
            self.assertNotIn("\r\033", behind)
            self.assertNotIn("recording: ", behind)
            self.assertNotIn("names", behind)

    def test_progress_tells_of_sleepers(self):
        """There were 0 samples for a second, 1 for the next one, and so on."""
        with Running(["sleep", "1000"]) as target:
            attach_it = f"{PROFC} attach -p {target.pid} -d 1500ms -o {self.path('x.data')}"
            seen = re.findall(r"recording: \S+ s, ([0-9,]+) samples?, 1 thread, asleep\r", self.seen(attach_it))
            self.assertGreater(len(set(seen)), 2, seen)
        fifo = self.path("control")
        with Running(["sleep", "1000"]) as target:
            paused = self.seen(
                f"{PROFC} attach -p {target.pid} -d 1s --paused --control fifo:{fifo}"
                f" -o {self.path('x.data')} || true"
            )
            self.assertIn(" s, 0 samples, paused", paused)

    def test_messages_have_lines_of_their_own_amid_progress(self):
        """They were written behind it."""
        fifo = self.path("control")
        with Running(["sleep", "1000"]) as target:
            seen = self.seen(
                f"(sleep 0.7; echo nonsense >{fifo}; sleep 0.3; echo snapshot /no/such/file >{fifo})&"
                f" {PROFC} attach -p {target.pid} -d 2 --control fifo:{fifo} -o {self.path('x.data')}; wait"
            )
        self.assertIn("profc: recording: ", seen)
        for message in ("profc: control: unknown word", "profc: cannot write /no/such/file"):
            self.assertRegex(seen, rf"(\r\x1b\[K|\n){message}")

    def test_progress_stays_in_its_line(self):
        """It would go on in the next one, each time."""
        with Running(["sleep", "1000"]) as target:
            attach_it = f"{PROFC} attach -q -p {target.pid} -d 1 -o {self.path('x.data')}"
            for columns in (20, 40):
                seen = self.seen(attach_it.replace("-q ", ""), columns).split("wrote ")[0]
                shown = [line for line in re.split(r"\r\x1b\[K|\r\n", seen) if line]
                self.assertTrue(any(line.startswith("profc: recording") for line in shown), seen)
                self.assertLess(max(map(len, shown[:-1])), columns, shown)
            self.assertEqual(self.seen(attach_it, 40), "")


class Permitted(LiveCase):
    """What looks forbidden, and is not."""

    def test_own_ancestor(self):
        """The shell that waits for profc."""
        script = f"{PROFC} attach -p $$ -d 300ms -o {self.path('x.data')}; echo status $?"
        done = subprocess.run(
            ["sh", "-c", script], stdout=subprocess.PIPE, text=True, check=True, timeout=30
        )
        self.assertEqual(done.stdout, "status 0\n")

    def test_own_ancestor_without_a_bound(self):
        """It may wait for profc, which waits for it: that nothing happens is explained."""
        script = f"timeout 1 {PROFC} attach -p $$ -o {self.path('x.data')}; echo status $?"
        done = subprocess.run(
            ["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            check=True, timeout=30,
        )
        self.assertEqual(done.stdout, "status 124\n")
        self.assertIn("started profc", done.stderr)
        self.assertIn("--duration", done.stderr)

    def test_what_was_tried_is_free_again(self):
        """Or a command whose calls are counted cannot be stopped at its beginning."""
        program = os.path.join(BUILD, "tests", "oracle", "trial_ends")
        done = subprocess.run(
            [program, "5000"], stdout=subprocess.PIPE, text=True, check=True, timeout=60
        )
        self.assertEqual(done.stdout, "0\n")

    def test_undumpable_process_for_root(self):
        self.ordinary_user()  # or a skip: we are not root
        with Running([build("undumpable")]) as target:
            target.wait_ready()
            attach(self.directory, target.pid, "-d", "300ms", status=None)
            self.assertUntouched(target.pid)

    def test_process_of_another_user_for_root(self):
        with Running(["sleep", "1000"], **self.ordinary_user()) as target:
            recording = attach(self.directory, target.pid, "-d", "300ms")
            self.assertGreater(recording.report("-m", "blocked")["total_ns"], 0)

    def test_without_process_vm_readv(self):
        """Filters of containers often forbid it; /proc/PID/mem does as well."""
        path = self.path("filtered.data")
        with Running([build("sleeping", "-O0", "-g"), "20000"]) as target:
            target.wait_ready()
            subprocess.run(
                [build("without_vm_readv"), PROFC, "attach", "-p", str(target.pid), "-d", "1",
                 "-o", path],
                check=True,
            )
        recording = Recording(path)
        self.assertComplete(recording, 0.95)
        # Who naps waits for a CPU after each, on a busy machine half of the time.
        for name in ("sleep_in_poll", "sleep_in_condition", "sleep_in_read"):
            blocked = recording.function(name, "-m", "blocked")
            self.assertGreater(blocked["total_ns"], 800e6, name)

    def test_set_user_id_program_keeps_its_privileges(self):
        """Under a tracer that stays the kernel gives it none."""
        if os.statvfs(self.directory).f_flag & os.ST_NOSUID:
            self.skipTest("set-user-id programs have no effect here")
        program, profiler = self.public(need("id")), self.public(PROFC)
        os.chmod(program, 0o4755)
        os.chmod(self.directory, 0o777)
        for how, user in (("user", self.ordinary_user()), ("root", {})):
            done = subprocess.run(
                [profiler, "record", *FAST, "-o", self.path(f"of-{how}.data"), "--", "sh", "-c",
                 f"for i in 1 2 3 4 5 6 7 8; do {program} -u; done; true"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True, **user,
            )
            self.assertEqual(done.stdout.split(), ["0"] * 8)

    def test_own_process_for_an_ordinary_user(self):
        program, profiler = self.public(build("progressing")), self.public(PROFC)
        os.chmod(self.directory, 0o777)
        user = self.ordinary_user()
        with Running([program, self.path("counters")], **user) as target:
            target.wait_ready()
            subprocess.run(
                [profiler, "attach", "-p", str(target.pid), "-d", "500ms", "-o",
                 self.path("own.data")],
                check=True, **user,
            )
            self.assertUntouched(target.pid)

    def test_what_follows_its_detach_is_no_cost_of_a_stop(self):
        """On one CPU a thread that was let go has that at once, for a time slice of milliseconds."""
        program, profiler = self.public(build("spin_leaf")), self.public(PROFC)
        os.chmod(self.directory, 0o777)
        user, ratios = self.ordinary_user(), []
        for nr in range(7):
            path = self.path(f"{nr}.data")
            subprocess.run(
                ["taskset", "-c", str(min(os.sched_getaffinity(0))), profiler, "record", "-q", "-o", path,
                 "--no-symbols", "--", program, "400"],
                stdout=subprocess.DEVNULL, check=True, **user,
            )
            counters = json.loads(profc("info", "-i", path, "--json").stdout)["counters"]
            ratios.append(counters["hold_ns_p99"] / counters["hold_ns_median"])
        # Stops may be long for other reasons, on a busy machine in most recordings, but not in all.
        self.assertLess(min(ratios), 30, ratios)


class Server(LiveCase):
    """redis-server under the load of redis-benchmark, both on the loopback."""

    def start_server(self):
        need("redis-benchmark")
        server = subprocess.Popen(
            [need("redis-server"), "--port", "0", "--unixsocket", self.path("socket"),
             "--save", "", "--dir", self.directory],
            stdout=subprocess.DEVNULL,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.eventually(lambda: self.ask(b"PING\r\n") == b"+PONG\r\n", "an answer of the server")
        return server

    def ask(self, question):
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(self.path("socket"))
            except (FileNotFoundError, ConnectionRefusedError):
                return b""
            connection.sendall(question)
            return connection.recv(4096)

    def start_load(self):
        load = subprocess.Popen(
            ["redis-benchmark", "-s", self.path("socket"), "-l", "-q", "-t", "set,lpush"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)

    def test_profile_under_load_and_service_afterwards(self):
        server = self.start_server()
        self.start_load()
        before = procfs.cpu_ns(server.pid)
        with Recorder(self.directory, "attach", "-p", server.pid) as recorder:
            self.wait_until_recorded(recorder.path)
            begun = procfs.cpu_ns(server.pid)
            time.sleep(1)
            within = procfs.cpu_ns(server.pid) - begun
            recording = recorder.interrupt()
        spent = procfs.cpu_ns(server.pid) - before
        self.assertUntouched(server.pid)
        self.assertEqual(self.ask(b"PING\r\n"), b"+PONG\r\n")
        report = recording.report()
        self.assertGreaterEqual(report["total_ns"], within)
        self.assertLessEqual(report["total_ns"], spent)
        rows = {row["function"]: row for row in report["rows"]}
        if "aeMain" in rows:  # distributions may strip it
            self.assertMostlyIn(recording, "aeMain", 0.8)
        self.assertComplete(recording, 0.95)


class Refusals(LiveCase):
    """A target that cannot be profiled: status 1, the true reason, no file."""

    def refused(self, pid, *words, **popen):
        out = self.path("refused.data")
        done = profc("attach", "-p", pid, "-d", "200ms", "-o", out, status=1, **popen)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(out), "a recording of nothing was written")
        return done

    def test_no_such_process(self):
        with subprocess.Popen(["true"]) as gone:
            pass
        self.refused(gone.pid, f"no process {gone.pid}")

    def test_pid_that_is_no_number(self):
        profc("attach", "-p", "redis", "-o", self.path("x"), status=2)

    def test_process_that_another_tracer_holds(self):
        strace = need("strace")
        with Running(["sleep", "1000"]) as target:
            tracer = subprocess.Popen(
                [strace, "-o", "/dev/null", "-p", str(target.pid)], stderr=subprocess.DEVNULL
            )
            try:
                self.eventually(lambda: procfs.tracer(target.pid) == tracer.pid, "strace attaching")
                self.refused(target.pid, "strace", str(tracer.pid), "hint:")
                self.assertEqual(procfs.tracer(target.pid), tracer.pid)
            finally:
                tracer.terminate()
                tracer.wait()

    def test_process_without_its_leader_that_another_tracer_holds(self):
        """Whoever traces its threads does not trace the first one."""
        strace = need("strace")
        with Running([build("zombie_leader"), "60000"]) as target:
            target.wait_ready()
            self.eventually(lambda: procfs.state(target.pid) == "Z", "end of the leader")
            (tid,) = [tid for tid in procfs.threads(target.pid) if tid != target.pid]
            tracer = subprocess.Popen(
                [strace, "-o", "/dev/null", "-p", str(tid)], stderr=subprocess.DEVNULL
            )
            try:
                self.eventually(lambda: procfs.tracer(target.pid, tid) == tracer.pid, "strace attaching")
                reason = f"process {target.pid} is already traced by strace (pid {tracer.pid})"
                self.refused(target.pid, reason, "hint:")
                self.assertIn(reason, profc("doctor", "-p", target.pid, status=1).stdout)
            finally:
                tracer.terminate()
                tracer.wait()

    def refused_to_nobody(self, pid, *words):
        done = subprocess.run(
            [self.public(PROFC), "attach", "-p", str(pid), "-o", "/dev/null"],
            stderr=subprocess.PIPE, text=True, check=False, **self.ordinary_user(),
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_process_of_another_user(self):
        with Running(["sleep", "1000"]) as target:
            self.refused_to_nobody(target.pid, "user", "hint:")

    def test_undumpable_process_of_the_same_user(self):
        program = self.public(build("undumpable"))
        with Running([program], **self.ordinary_user()) as target:
            target.wait_ready()
            self.refused_to_nobody(target.pid, "dump")

    def test_process_that_has_ended_but_was_not_waited_for(self):
        with subprocess.Popen(["true"]) as zombie:
            self.eventually(lambda: procfs.state(zombie.pid) == "Z", "its end")
            self.refused(zombie.pid, "has exited already")

    def test_doctor_says_the_same_beforehand(self):
        with Running(["sleep", "1000"]) as target:
            done = subprocess.run(
                [self.public(PROFC), "doctor", "-p", str(target.pid)],
                stdout=subprocess.PIPE, text=True, check=False, **self.ordinary_user(),
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("belongs to another user", done.stdout)
        self.assertIn("a stop may cut a long transfer", done.stdout)
        with subprocess.Popen(["true"]) as gone:
            pass
        self.assertIn(f"no process {gone.pid}", profc("doctor", "-p", gone.pid, status=1).stdout)

    def test_kernel_thread(self):
        if procfs.status(2).get("PPid") != "0" or procfs.status(2).get("Name") != "kthreadd":
            self.skipTest("no kernel threads are visible here")
        self.refused(2, "kernel")

    def test_profc_itself_cannot_be_its_target(self):
        """`exec` keeps the pid: the shell knows it before profc runs."""
        done = subprocess.run(
            ["sh", "-c", f"exec {PROFC} attach -p $$ -o {self.path('self.data')}"],
            stderr=subprocess.PIPE, text=True, check=False,
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("itself", done.stderr)
