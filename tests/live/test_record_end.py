# SPDX-License-Identifier: GPL-2.0-or-later
"""How `profc record` ends: statuses, signals, Ctrl-C, the file and its rotation."""

import ctypes
import fcntl
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
import time

import procfs
from live import LiveCase
from paths import PROFC
from profc import Recorder, Recording, profc, record
from targets import build


class Statuses(LiveCase):
    def test_what_stands_out_and_what_was_asked_for_are_both_hinted_at(self):
        options = ("-F", "1000", "--max-overhead", "0", "--mem=all")
        recording = record(self.directory, [build("mutex_contention"), "1000"], *options)
        hints = [line for line in recording.stderr.splitlines() if line.startswith("hint: ")]
        self.assertEqual(hints, [f"hint: profc report --by lock -i {recording.path}",
                                 f"hint: profc report --leaks -i {recording.path}"])

    def test_status_of_the_command_is_passed_on(self):
        for status in (0, 1, 3, 125, 255):
            with self.subTest(status=status):
                recording = record(self.directory, [build("exit_status"), "exit", str(status)],
                                   status=status)
                said = "; the command exited with status"
                if status:
                    self.assertRegex(recording.stderr, rf"wrote .* kB{said} {status}\n")
                else:
                    self.assertNotIn(said, recording.stderr)

    def test_death_by_signal_is_of_that_signal(self):
        """Once the recording is whole; to a shell it is 128 and the number."""
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT):
            with self.subTest(signal=number.name):
                recording = record(
                    self.directory,
                    [build("exit_status"), "kill", str(int(number))],
                    status=-number,
                )
                self.assertGreater(recording.report()["total_ns"], 40e6)
                self.assertRegex(recording.stderr,
                                 rf"wrote .* kB; the command was killed by signal {int(number)}\n")

    def test_status_of_a_command_without_samples_is_said(self):
        done = profc("record", "-o", self.path("x"), "-F", "1", "--", "sh", "-c", "exit 9", status=9)
        self.assertIn("; the command exited with status 9\n", done.stderr)

    def test_death_leaves_no_core_of_profc(self):
        """Whatever the system does with cores: the kernel says that it made none."""
        for number in (signal.SIGQUIT, signal.SIGSEGV):
            with self.subTest(signal=number.name):
                script = f"ulimit -c 0; exec {build('exit_status')} kill {int(number)}"
                process = os.posix_spawn(
                    "/bin/sh",
                    ["sh", "-c", f"ulimit -c unlimited 2>/dev/null; cd {self.directory}; "
                     f"exec {PROFC} record -q -o x -- sh -c '{script}'"],
                    os.environ,
                )
                status = os.waitpid(process, 0)[1]
                self.assertEqual(os.WTERMSIG(status), number)
                self.assertFalse(os.WCOREDUMP(status))

    def test_command_not_found_is_127(self):
        done = profc("record", "-o", self.path("x"), "--", "no-such-command-here", status=127)
        self.assertIn("no-such-command-here", done.stderr)
        self.assertFalse(os.path.exists(self.path("x")))

    def record_by_path(self, *directories, status, **popen):
        return profc(
            "record", "-o", "/dev/null", "--", "no-such-command-here", status=status,
            env={**os.environ, "PATH": ":".join(["/usr/bin", *directories])}, **popen,
        )

    def test_command_not_found_is_127_also_where_some_directories_cannot_be_searched(self):
        user = self.ordinary_user()
        os.chmod(self.directory, 0o755)
        closed, plain = self.path("closed"), self.path("plain")
        os.mkdir(closed, 0o700)
        with open(plain, "w", encoding="utf-8"):
            pass
        done = self.record_by_path(closed, status=127, **user)
        self.assertIn(f"'{closed}' may not be searched\n", done.stderr)
        self.assertNotIn("Permission denied", done.stderr)
        done = self.record_by_path("/no-such-directory", plain, status=127, **user)
        self.assertIn("not found in any directory of PATH\n", done.stderr)

    def test_command_found_but_not_executable_is_126(self):
        user = self.ordinary_user()
        os.chmod(self.directory, 0o755)
        with open(self.path("no-such-command-here"), "w", encoding="utf-8") as file:
            file.write("no program\n")
        done = self.record_by_path(self.directory, status=126, **user)
        self.assertIn("Permission denied", done.stderr)

    def test_missing_interpreter_is_named(self):
        script = self.path("script")
        for first_line in ("#!/no/such/interpreter", "#! /no/such/interpreter -x"):
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"{first_line}\necho hello\n")
            os.chmod(script, 0o755)
            done = profc("record", "-o", self.path("x"), "--", script, status=127)
            self.assertIn("its interpreter '/no/such/interpreter' does not\n", done.stderr)
        done = profc(
            "record", "-o", self.path("x"), "--", "script", status=127,
            env={**os.environ, "PATH": self.directory},
        )
        self.assertIn("its interpreter '/no/such/interpreter' does not\n", done.stderr)

    def test_missing_dynamic_loader_is_named(self):
        program = self.path("odd")
        with open(build("exit_status"), "rb") as source, open(program, "wb") as copy:
            copy.write(source.read().replace(b"/ld-linux", b"/xd-linux", 1))
        os.chmod(program, 0o755)
        done = profc("record", "-o", self.path("x"), "--", program, status=127)
        self.assertIn("/xd-linux", done.stderr)

    def test_command_not_executable_is_126(self):
        plain = self.path("plain-file")
        with open(plain, "w", encoding="utf-8") as file:
            file.write("no program\n")
        done = profc("record", "-o", self.path("x"), "--", plain, status=126)
        self.assertIn("plain-file", done.stderr)
        self.assertIn("hint: the file is not executable", done.stderr)

    def test_unwritable_output_is_125(self):
        out = self.path("no-such-directory/profc.data")
        done = profc("record", "-o", out, "--", "true", status=125)
        self.assertIn("no-such-directory", done.stderr)

    def test_no_command_is_wrong_usage(self):
        profc("record", status=2)

    def test_a_command_too_short_to_sample_is_said(self):
        done = profc("record", "-o", self.path("profc.data"), "--", "true")
        self.assertEqual(done.stdout, "")


class Streams(LiveCase):
    def test_input_output_and_arguments_reach_the_command(self):
        done = profc(
            "record", "-o", self.path("profc.data"), "--", "sh", "-c",
            'read line; echo "got $line from $0 $#"; echo to-stderr >&2', "name", "--flag", "-o",
            stdin=None, input="the input\n",
        )
        self.assertEqual(done.stdout, "got the input from name 2\n")
        self.assertIn("to-stderr", done.stderr)

    def test_quiet_says_nothing(self):
        done = profc(
            "record", "-q", "-o", self.path("profc.data"), "--", build("spin_leaf"), "100"
        )
        self.assertEqual(done.stderr, "")

    def test_quiet_says_nothing_of_what_was_too_short_to_be_seen(self):
        """Which is no failure; what is one is said."""
        path = self.path("x.data")
        result = profc("record", "-q", "-F", "1", "-o", path, "--", "true")
        self.assertEqual(result.stderr, "")
        result = profc(
            "record", "-q", "-F", "1", "--delay", "60", "-o", path, "--", "true", status=125
        )
        self.assertIn("no samples were taken", result.stderr)

    def test_verbose_says_what_was_done_to_the_command(self):
        path = self.path("x.data")
        command = ("-o", path, "--", build("spin_leaf"), "100")
        brief = profc("record", *command).stderr.splitlines()
        lines = profc("record", "-v", *command).stderr.splitlines()
        self.assertGreater(len(lines), len(brief))
        self.assertTrue([line for line in lines if "ptrace-stops of threads" in line], lines)

    def test_environment_and_directory_are_the_callers(self):
        done = profc(
            "record", "-o", self.path("profc.data"), "--", "sh", "-c", 'pwd; echo "$MARK"',
            cwd=self.directory, env={**os.environ, "MARK": "of the caller"},
        )
        self.assertEqual(
            done.stdout.splitlines(), [os.path.realpath(self.directory), "of the caller"]
        )

    def test_descriptors_of_profc_do_not_leak_into_the_command(self):
        script = "ls -l /proc/self/fd"
        plain = subprocess.run(
            ["sh", "-c", script], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True
        )
        done = profc("record", "-o", self.path("profc.data"), "--", "sh", "-c", script)
        self.assertEqual(len(done.stdout.splitlines()), len(plain.stdout.splitlines()))

    def test_signal_mask_and_dispositions_are_the_callers(self):
        script = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
        plain = subprocess.run(
            ["sh", "-c", script], stdout=subprocess.PIPE, text=True, check=True
        )
        done = profc("record", "-o", self.path("profc.data"), "--", "sh", "-c", script)
        self.assertEqual(done.stdout, plain.stdout)

    def test_slack_of_timers_is_the_callers(self):
        """Its own, and that of which it may ask to have it back: they were profc's own."""
        script = (
            "import ctypes; libc = ctypes.CDLL(None); own = libc.prctl(30);"
            "libc.prctl(29, 0); print(own, libc.prctl(30))"
        )
        command = [sys.executable, "-c", script]
        plain = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        done = profc("record", "-o", self.path("profc.data"), "--", *command)
        self.assertEqual(done.stdout, plain.stdout)


class Empty(LiveCase):
    def test_threads_that_nobody_is_called_are_said(self):
        """It was said to have ended before the first look."""
        options = ("--threads", "nosuch", "-o", self.path("profc.data"))
        for arguments, status in (
            (("record", *options, "--", "sleep", "0.1"), 125),
            (("attach", *options, "-d", "100ms", "-p", os.getpid()), 1),
        ):
            done = profc(*arguments, status=status)
            self.assertIn("--threads 'nosuch' is found in no name", done.stderr)
            self.assertIn("hint: there were threads called ", done.stderr)
        done = profc("top", *options[:2], "--", "sleep", "0.1", status=1)
        self.assertIn("hint: there were threads called sleep\n", done.stderr)

    def test_directory_in_the_place_of_a_command_is_explained(self):
        for command, status in (("record", 126), ("stat", 126), ("top", 1)):
            done = profc(command, self.directory, status=status, cwd=self.directory)
            self.assertEqual(done.stderr.splitlines()[0],
                             f"profc: cannot run '{self.directory}': Is a directory")
            self.assertIn("hint: name a program in it, or -p PID for a process that runs",
                          done.stderr)

    def test_process_id_in_the_place_of_a_command_is_explained(self):
        for command, status in (("record", 127), ("top", 1)):
            done = profc(command, "1234567", status=status, cwd=self.directory)
            self.assertIn("hint: to record process 1234567, use -p 1234567", done.stderr)


class Files(LiveCase):
    def test_default_file_and_its_rotation(self):
        for part in ("100", "200"):
            profc("record", "--", build("spin_leaf"), part, cwd=self.directory)
        self.assertEqual(
            sorted(name for name in os.listdir(self.directory)), ["profc.data", "profc.data.old"]
        )
        totals = [
            json.loads(profc("report", "--json", "-i", self.path(name)).stdout)["total_ns"]
            for name in ("profc.data.old", "profc.data")
        ]
        self.assertRatio(totals[0], 100e6, 0.1, "the older recording")
        self.assertRatio(totals[1], 200e6, 0.1, "the newer recording")

    NAMES = ("profc.data", "profc.data.old")

    def make_recordings(self):
        for name in self.NAMES:
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(name)

    def assert_recordings_stand(self, why):
        for name in self.NAMES:
            with open(self.path(name), encoding="utf-8") as file:
                self.assertEqual(file.read(), name, why)
        left = [name for name in os.listdir(self.directory) if name.startswith("profc.data.old.")]
        self.assertEqual(left, [])

    def test_what_a_profc_has_left_that_was_killed_is_cleared_away(self):
        """What was to be put back, had its command not run; nothing of others."""
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        kept = ["profc.data.old.2", f"profc.data.old.profc-{os.getpid()}", "profc.data.old.profc-x"]
        for place in ("", "directory/"):
            os.makedirs(self.path(place), exist_ok=True)
            for name in (*kept, f"profc.data.old.profc-{gone.pid}", *self.NAMES):
                with open(self.path(place + name), "w", encoding="utf-8"):
                    pass
            profc("record", "-o", f"{place}profc.data", "--", "true", cwd=self.directory)
            left = [name for name in os.listdir(self.path(place)) if name.startswith("profc")]
            self.assertEqual(sorted(left), sorted([*kept, *self.NAMES]))

    def test_process_that_cannot_be_attached_to_costs_no_recording(self):
        self.make_recordings()
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        profc("attach", "-p", gone.pid, status=1, cwd=self.directory)
        self.assert_recordings_stand("attach")

    def test_command_that_only_the_kernel_refuses_costs_no_recording(self):
        """A directory may be executed for all that is foreseen."""
        self.make_recordings()
        os.mkdir(self.path("directory"))
        profc("record", "--", "./directory", status=126, cwd=self.directory)
        self.assert_recordings_stand("record")

    def test_name_whose_first_script_has_no_interpreter_is_searched_on(self):
        """As execvp(3) does."""
        for place, interpreter in (("first", "/nowhere/sh"), ("second", "/bin/sh")):
            os.mkdir(self.path(place))
            script = self.path(f"{place}/tool")
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"#!{interpreter}\nexit 7\n")
            os.chmod(script, 0o755)
        path = f"{self.path('first')}:{self.path('second')}:{os.environ['PATH']}"
        profc("record", "--", "tool", status=7, cwd=self.directory,
              env={**os.environ, "PATH": path})

    def test_directory_in_the_place_of_the_older_one_stands(self):
        """And is said: nothing can be set aside there."""
        with open(self.path("profc.data"), "w", encoding="utf-8") as file:
            file.write("profc.data")
        os.mkdir(self.path("profc.data.old"))
        done = profc("record", "--", "true", status=125, cwd=self.directory)
        self.assertIn("cannot rename", done.stderr)
        self.assertEqual(sorted(os.listdir(self.directory)), ["profc.data", "profc.data.old"])

    def test_command_that_cannot_run_costs_no_recording(self):
        """The older one was lost to a name that was mistyped."""
        self.make_recordings()
        script = self.path("no-program")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/no/such/interpreter\n")
        for command, mode, status in (
            ("no-such-command", 0o644, 127), ("./no-such-command", 0o644, 127),
            ("./no-program", 0o644, 126), ("./no-program", 0o755, 127), ("no-program", 0o644, 126),
        ):
            os.chmod(script, mode)
            profc(
                "record", "--", command, status=status, cwd=self.directory,
                env={**os.environ, "PATH": f"/usr/bin:{self.directory}"},
            )
            self.assert_recordings_stand(command)

    def test_report_reads_the_default_file(self):
        profc("record", "--", build("spin_leaf"), "200", cwd=self.directory)
        done = profc("report", cwd=self.directory)
        self.assertIn("spin_leaf", done.stdout)

    def test_dash_is_standard_output(self):
        done = subprocess.run(
            [PROFC, "record", "-o", "-", "--", "sh", "-c", f"{build('spin_leaf')} 200 >&2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=True,
        )
        self.assertIn(b"hint: what the command itself prints goes there too", done.stderr)
        with open(self.path("piped"), "wb") as file:
            file.write(done.stdout)
        report = json.loads(profc("report", "--json", "-i", self.path("piped")).stdout)
        self.assertGreater(report["total_ns"], 150e6)

    def test_recording_is_a_run_of_zstd_frames(self):
        recording = record(self.directory, [build("spin_leaf"), "200"])
        done = subprocess.run(["zstd", "-t", "-q", recording.path], check=False)
        self.assertEqual(done.returncode, 0)

    def test_recording_stands_alone(self):
        """Symbols are in the file: the program may be gone."""
        program = self.path("short-lived")
        with open(build("spin_leaf"), "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())
        os.chmod(program, 0o755)
        recording = record(self.directory, [program, "200"])
        os.unlink(program)
        self.assertGreater(recording.function("spin_leaf")["self_pct"], 50)


class ControlC(LiveCase):
    """Ends the recording, never the profile, and treats the command as a shell would."""

    def press(self, argv, *options, after=lambda: None, env=None):
        """Record in a terminal of its own, press Ctrl-C there, return the Recording."""
        ours, theirs = pty.openpty()
        with Recorder(
            self.directory, "record", *options, "--", *argv, stdin=theirs,
            start_new_session=True, env=env,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
        ) as recorder:
            self.wait_until_recorded(recorder.path)
            os.write(ours, b"\x03")
            after()
            recording = recorder.finish()
        os.close(ours)
        os.close(theirs)
        return recording

    def test_of_the_terminal_ends_the_command_too(self):
        recording = self.press([build("spin_leaf"), "20000"])
        self.assertEqual(recording.status, -signal.SIGINT)
        self.assertMostlyIn(recording, "spin_leaf", 0.9, "self_ns")

    def test_is_left_to_a_command_that_handles_it(self):
        script = f"trap 'echo handled; exit 9' INT; {build('spin_leaf')} 20000; exit 1"
        recording = self.press(["sh", "-c", script])
        self.assertEqual(recording.stdout, "handled\n")
        self.assertEqual(recording.status, 9)
        self.assertMostlyIn(recording, "spin_leaf", 0.9, "self_ns")

    def test_signals_to_profc_alone_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                with Recorder(
                    self.directory, "record", "--", build("spin_leaf"), "20000"
                ) as recorder:
                    self.wait_until_recorded(recorder.path)
                    recording = recorder.interrupt(number)
                self.assertEqual(recording.status, -number)
                self.assertMostlyIn(recording, "spin_leaf", 0.9, "self_ns")

    def test_twice_ends_the_recording_alone(self):
        """A command that does not heed it is left running; the profile is whole."""
        # Its end would be that of the output, too, which is read to the end.
        script = f"trap '' INT; echo $$; exec {build('spin_leaf')} 60000 >/dev/null 2>&1"
        with Recorder(self.directory, "record", "--", "sh", "-c", script) as recorder:
            pid = int(recorder.process.stdout.readline())
            self.addCleanup(os.kill, pid, signal.SIGKILL)
            self.wait_until_recorded(recorder.path)
            recorder.process.send_signal(signal.SIGINT)
            self.eventually(lambda: not procfs.pending(recorder.pid), "the first signal")
            recording = recorder.interrupt()
        self.assertEqual(recording.status, -signal.SIGINT)
        self.assertGreater(recording.function("spin_leaf")["total_ns"], 0)
        self.assertUntouched(pid)

    def text_of(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def long_search(self):
        """A program, options and environment for names that wait for a server, and that."""
        try:
            ctypes.CDLL("libdebuginfod.so.1")
        except OSError:
            self.skipTest("libdebuginfod is not installed")
        program = self.path("bare")
        subprocess.run(["strip", "-o", program, build("spin_leaf")], check=True)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        silent.settimeout(60)
        environment = {
            **os.environ,
            "DEBUGINFOD_URLS": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "DEBUGINFOD_CACHE_PATH": self.path("cache"),
        }
        return program, ("--debuginfod-timeout", "10m"), environment, silent

    def test_ends_the_search_for_names(self):
        """Of which some wait for a server that never answers; the profile is whole."""
        program, options, environment, silent = self.long_search()
        with Recorder(
            self.directory, "record", *options, "--", program, "200", env=environment
        ) as recorder:
            connection, _ = silent.accept()
            recording = recorder.interrupt()
            connection.close()
        self.assertEqual(recording.status, 0)
        self.assertIn("debug information was not read to its end", recording.stderr)
        self.assertIn(f"hint: profc symbolize {recording.path}", recording.stderr)
        self.assertGreater(recording.report()["total_ns"], 150e6)

    def test_ends_the_search_for_names_of_a_snapshot(self):
        """Which profc's end waits for; that of the profile is short then, and both are whole."""
        program, options, environment, silent = self.long_search()
        fifo, snapshot = self.path("fifo"), self.path("snapshot")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", *options, "--", program, "20000",
            env=environment,
        ) as recorder:
            self.wait_until_recorded(recorder.path)
            (command,) = procfs.children(recorder.pid)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write(f"snapshot {snapshot}\n")
                control.flush()
                connection, _ = silent.accept()
                self.assertTrue(self.has_visitors(recorder.pid))
                control.write("stop\n")
            # From then on it is not the recording that is to end.
            self.eventually(lambda: not self.has_visitors(recorder.pid), "its end")
            recorder.process.send_signal(signal.SIGINT)
            self.eventually(lambda: os.path.exists(snapshot), "the snapshot")
            os.kill(command, signal.SIGTERM)
            whole = recorder.finish()
            connection.close()
        self.assertEqual(whole.status, -signal.SIGTERM)
        self.assertNotIn("the search for names was ended", whole.stderr)
        part_ns = Recording(snapshot).report()["total_ns"]
        self.assertGreater(part_ns, 0)
        self.assertGreaterEqual(whole.report()["total_ns"], part_ns)

    def has_visitors(self, pid):
        """Each keeps the clocks of its own thread open."""
        own = re.compile(f"/proc/{pid}/task/[0-9]+/schedstat$")
        return any(own.match(path) for path in procfs.open_files(pid))

    def test_that_has_ended_the_command_does_not_end_the_search(self):
        """It is not taken for a second one, however late it is read."""
        program, options, environment, silent = self.long_search()

        def let_search_go_on():
            with silent.accept()[0]:
                time.sleep(0.5)
            silent.close()

        recording = self.press(
            [program, "20000"], *options, env=environment, after=let_search_go_on
        )
        self.assertEqual(recording.status, -signal.SIGINT)
        self.assertNotIn("the search for names was ended", recording.stderr)
        self.assertGreater(recording.report()["total_ns"], 0)


class LeftBehind(LiveCase):
    def test_what_the_command_left_running_is_recorded_until_one_signal(self):
        """It waited without a word, and the first signal went to the command, which was gone."""
        script = "(setsid sleep 60 >/dev/null 2>&1 & echo $!); exit 3"
        with Recorder(self.directory, "record", "--", "sh", "-c", script) as recorder:
            left = int(recorder.process.stdout.readline())
            self.addCleanup(os.kill, left, signal.SIGKILL)
            said = recorder.process.stderr.readline()
            recording = recorder.interrupt()
        self.assertIn("the command has ended", said)
        self.assertEqual(recording.status, 3)
        self.assertGreater(recording.report("-m", "wall")["total_ns"], 0)
        os.kill(left, 0)


class Duration(LiveCase):
    def test_orphans_are_reaped_before_and_after(self):
        """A script that waits for the end of one by its id would wait for ever."""
        script = (
            "for i in 1 2; do (setsid sleep $1 >/dev/null & echo $! >pid); "
            "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done; done; echo gone"
        )
        for duration in ("10", "100ms"):
            recording = record(
                self.directory, ["sh", "-c", script, "sh", "0.4"], "-d", duration,
                cwd=self.directory, timeout=20,
            )
            self.assertEqual(recording.stdout, "gone\n")

    def test_ends_the_recording_but_not_the_command(self):
        recording = record(self.directory, [build("spin_leaf"), "1500"], "-d", "500ms")
        (said,) = recording.said
        self.assertGreaterEqual(said["cpu_ns"], 1500e6)
        report = recording.report()
        self.assertGreaterEqual(report["duration_ns"], 500e6)
        self.assertLess(report["duration_ns"], 1500e6, "less than the command took, anyhow")
        self.assertLessEqual(report["total_ns"], report["duration_ns"])

    def test_the_delay_is_no_part_of_the_rate(self):
        path = self.path("rate.data")
        profc(
            "record", "-F", "100", "--max-overhead", "0", "--delay", "700ms", "-o", path, "--",
            build("spin_leaf"), "1500",
        )
        info = json.loads(profc("info", "-i", path, "--json").stdout)
        # The rate itself is a matter of who else wants the CPUs.
        counted = info["counters"]["ticks"] / (info["counters"]["frequency_hz_effective"] / 1000)
        self.assertWithin(info["duration_ns"] / 1e9 - counted, 0.7, 0.2, "seconds left out")

    def test_ending_within_the_delay_is_no_success(self):
        result = profc(
            "record", "--delay", "20s", "-o", self.path("delay.data"), "--", build("spin_leaf"),
            "200", status=125,
        )
        self.assertIn("ended before the --delay was over", result.stderr)

    def test_sleepers_are_to_be_looked_at_by_wall_time(self):
        path = self.path("sleep.data")
        result = profc("record", "-o", path, "--", "sleep", "0.3")
        self.assertIn("hint: profc report -m wall --by syscall -i " + path, result.stderr)
        self.assertRegex(result.stderr, r"blocked: .* in clock_nanosleep")

    def test_the_hint_can_be_pasted(self):
        path = self.path("two words.data")
        result = profc("record", "-o", path, "--", build("spin_leaf"), "100")
        self.assertRegex(result.stderr, rf"hint: profc .* -i '{path}'\n")

    def test_delay_leaves_out_the_beginning(self):
        recording = record(self.directory, [build("spin_leaf"), "1000"], "--delay", "300ms")
        (said,) = recording.said
        report = recording.report()
        # However busy the machine is, the program gets a part of the first 300 ms.
        self.assertLess(report["total_ns"], said["cpu_ns"] - 20e6)
        self.assertMostlyIn(recording, "spin_leaf", 0.9, "self_ns")
