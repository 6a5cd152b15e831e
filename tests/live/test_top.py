# SPDX-License-Identifier: GPL-2.0-or-later
"""`profc top`: tables of what goes on, with and without a terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import procfs
from counters import Counters
from live import LiveCase
from paths import PROFC
from profc import profc
from targets import Running, build, need
from terminal import Terminal

IN_COMPANY = True

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """profc top on a terminal of its own; what it has drawn, without the escapes."""

    def __init__(self, *arguments, size=(30, 80)):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen(
            [PROFC, "top", "--interval", "100ms", *map(str, arguments)],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
        )
        self.raw = ""

    def resize(self, *size):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def press(self, keys):
        self.raw = ""
        os.write(self.ours, keys.encode())

    def read(self, patience):
        readable, _, _ = select.select([self.ours], [], [], patience)
        if readable:
            self.raw += os.read(self.ours, 65536).decode(errors="replace")

    def wait_for(self, text, patience=20):
        """Until the text stands in something that was drawn since the last key."""
        deadline = time.monotonic() + patience
        while text not in ESCAPES.sub("", self.raw):
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} never was in {ESCAPES.sub('', self.raw)[-3000:]}")
            self.read(0.1)
        return ESCAPES.sub("", self.raw)

    def lines(self, patience=20):
        """Of the next screen that is drawn from its beginning to its end."""
        self.raw = ""
        deadline = time.monotonic() + patience
        while not (whole := re.search(r"\x1b\[H(.*?)\x1b\[J", self.raw, re.DOTALL)):
            if time.monotonic() > deadline:
                raise AssertionError(f"no whole screen: {self.raw[-3000:]!r}")
            self.read(0.1)
        return re.split(r"\r*\n", ESCAPES.sub("", whole.group(1)))

    def lines_within(self, nr_lines, columns, patience=20):
        """Of the first screen that fits: some of the former size may be under way."""
        deadline = time.monotonic() + patience
        while len(lines := self.lines(patience)) > nr_lines or max(map(len, lines)) > columns:
            if time.monotonic() > deadline:
                raise AssertionError(f"no screen fits: {lines}")
        return lines

    def finish(self):
        while self.process.poll() is None:
            self.read(0.05)
        self.read(0)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


def running(command):
    """The ids of who was started by what ends so."""
    done = subprocess.run(
        ["pgrep", "-f", f"{command}$"], stdout=subprocess.PIPE, text=True, check=False
    )
    return done.stdout


class Top(LiveCase):
    def spinner(self):
        target = Running([build("progressing"), self.path("counters")])
        self.addCleanup(target.__exit__)
        return target.wait_ready()

    def maps(self, target):
        with open(f"/proc/{target.pid}/maps", encoding="utf-8") as file:
            return file.read()

    def test_without_a_terminal_table_follows_table(self):
        target = self.spinner()
        done = profc(
            "top", "-p", target.pid, "--interval", "200ms", "--times", "3", "--width", "80"
        )
        tables = done.stdout.split("\n\n")
        self.assertEqual(done.stdout.count(" of CPU time in the last "), 3, done.stdout)
        self.assertEqual(len(tables), 6)
        self.assertIn("progress_work", tables[-1])
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 80)
        self.assertUntouched(target.pid)

    def test_verdict_on_the_window_is_above_the_table(self):
        done = profc("top", "--times", "2", "--width", "200", "--", build("mutex_contention"), "3000")
        heads = [table.splitlines() for table in done.stdout.split("\n\n")[::2]]
        self.assertEqual(len(heads), 2, done.stdout)
        for head in heads:
            self.assertRegex(
                head[1],
                r"^[\d.]+ m?s: .* blocked: [\d.]+ m?s for mutex mutex in wait_for_lock, whose owner "
                r"was in hold_the_lock",
            )

    def test_calls_are_counted_while_it_is_looked_at(self):
        target = self.spinner()
        # "<" where no sample was taken in it, on a busy machine.
        work = r"(?m)^ *[\d.]+ .* [\d.,]+ +<?[\d.]+ [nµm]s .*progress_work"
        options = ("--interval", "300ms", "--window", "0", "--count", "^progress_work$")
        done = profc("top", "-p", target.pid, *options, "--times", "3", "--width", "120")
        self.assertIn("calls", done.stdout)
        self.assertTrue(re.findall(work, done.stdout), done.stdout)
        self.assertNotIn("profc-probes", self.maps(target))
        self.assertUntouched(target.pid)

    def test_calls_of_a_command_are_counted_from_its_beginning(self):
        data = self.path("top.data")
        target = build("exit_status")
        profc("top", "-o", data, "--count", "^main$", "--", target, "exit", "0")
        rows = json.loads(profc("report", "-i", data, "--json", "-m", "calls").stdout)["rows"]
        self.assertEqual([row["calls"] for row in rows if row["function"] == "main"], [1])

    def test_a_function_that_is_not_there_is_named(self):
        target = self.spinner()
        done = profc("top", "-p", target.pid, "--count", "^progress_wrok$", status=1)
        self.assertIn("no function matches '^progress_wrok$'", done.stderr)
        self.assertIn("did you mean 'progress_work'?", done.stderr)
        self.assertNotIn("profc-probes", self.maps(target))
        done = profc("top", "-p", target.pid, "--count", "3", status=2)
        self.assertIn("--times N ends after N tables", done.stderr)

    def test_without_a_terminal_twenty_rows_are_shown(self):
        work = "import re\nfor i in range(9999999): re.compile('(a|b)*c{3}[%d]+' % i)"
        # A busy machine leaves few samples of the first second.
        arguments = ("-F", "1000", "--max-overhead", "0", "--by", "line", "--window", "0",
                     "--interval", "1s", "--times", "3")
        done = profc("top", *arguments, "--", sys.executable, "-c", work)
        rows = done.stdout.split("\n\n")[-1].splitlines()
        self.assertEqual(len(rows), 1 + 20 + 1, done.stdout)
        self.assertRegex(rows[-1], r"^and [0-9,]+ more with ")
        done = profc("top", *arguments, "-n", "0", "--", sys.executable, "-c", work)
        self.assertGreater(len(done.stdout.split("\n\n")[-1].splitlines()), 30)

    def test_sleepers_are_shown_up_to_now(self):
        """It was told of them after a second, and then ever more rarely."""
        with Running(["sleep", "1000"]) as target:
            self.eventually(lambda: procfs.state(target.pid) == "S", "sleeping")
            for metric in ("wall", "blocked"):
                done = profc(
                    "top", "-p", target.pid, "-m", metric, "--window", "500ms",
                    "--interval", "300ms", "--times", "8",
                )
                shown = re.findall(r"^CPU [0-9]+%, [0-9]+/1 threads; ([0-9.]+) (m?s) .*in the last ([0-9.]+) (m?s)", done.stdout, re.M)
                self.assertEqual(len(shown), 8, done.stdout)
                for time_shown, unit, window, window_unit in shown[2:]:
                    share = float(time_shown) / float(window) * (1000 if unit > window_unit else 1)
                    self.assertGreater(share, 0.9, done.stdout)
                    self.assertLess(share, 1.01, done.stdout)

    def test_what_shows_sleepers_is_said(self):
        """CPU time, which is shown if nothing is asked for, is nothing of theirs."""
        with Running(["sleep", "1000"]) as target:
            self.eventually(lambda: procfs.state(target.pid) == "S", "sleeping")
            done = profc("top", "-p", target.pid, "--interval", "100ms", "--times", "3")
            self.assertIn("nothing of this, so far\n-m wall shows sleeping threads", done.stdout)
            with Screen("-p", target.pid) as screen:
                screen.wait_for("m shows other metrics")
                screen.press("m")
                screen.wait_for("nanosleep")
                screen.press("q")
                self.assertEqual(screen.finish(), 0)

    def test_output_that_cannot_be_written_is_said_at_the_beginning(self):
        """It was found out at the end, and all of the recording lost."""
        with Running(["sleep", "1000"]) as target:
            for output, reason in (
                (self.path("no/such"), "cannot write"), (self.directory, "cannot write"),
                ("-", "standard output is for the tables"),
            ):
                done = profc("top", "-p", target.pid, "-o", output, status=1)
                self.assertEqual(done.stdout, "")
                self.assertIn(reason, done.stderr)
            kept = self.path("kept")
            with open(kept, "w", encoding="utf-8") as file:
                file.write("as it was")
            profc("top", "-o", kept, "--", "no-such-command-here", status=1)
            with open(kept, encoding="utf-8") as file:
                self.assertEqual(file.read(), "as it was")
            self.assertEqual(os.listdir(self.directory), ["kept"])

    def test_keys(self):
        target = self.spinner()
        with Screen("-p", target.pid) as screen:
            screen.wait_for("progress_work")
            screen.press("s")
            screen.wait_for("by function, most total first")
            screen.press("\x1b[F")  # to the last row, which is selected then
            selected_last = r"\x1b\[7m[^\x1b]*\x1b\[0m\x1b\[K\x1b\[J"
            self.eventually(lambda: screen.read(0.1) or re.search(selected_last, screen.raw),
                            "the last row, selected")
            screen.press("\x1b[H\r")
            screen.wait_for("callers and callees of ")
            screen.press("t")
            screen.wait_for("call tree")
            screen.press("T")
            screen.wait_for("Enter chooses a thread")
            screen.press("\x1b")
            screen.wait_for("call tree")
            screen.press("t")
            screen.wait_for("by function, most total first")
            screen.press("bbbb")
            self.assertIn("tid", screen.wait_for("by thread"))
            screen.press("bbbbbbbm")
            screen.wait_for(" of wall time in the last ")
            screen.press("/no_such_function\r")
            screen.wait_for("nothing of this, so far")
            screen.wait_for("Esc takes the filters away")
            screen.press("/(\r")
            screen.wait_for("invalid regular expression")
            screen.press("/\r")
            screen.wait_for("progress_main")
            screen.press("h")
            screen.wait_for("Ctrl-C   quit")
            screen.press("x ")
            screen.wait_for("PAUSED")
            screen.press("q")
            self.assertEqual(screen.finish(), 0)
            # The former screen, its keys, and below the command the last table.
            self.assertIn("\x1b[?1049l", screen.raw)
            self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)
            self.assertIn("progress_main", screen.raw.split("\x1b[?1049l")[1])
        self.assertUntouched(target.pid)

    def test_another_size_is_drawn_even_while_nothing_is_recorded(self):
        target = self.spinner()
        with Screen("-p", target.pid) as screen:
            screen.wait_for("progress_work")
            screen.press(" ")
            screen.wait_for("PAUSED")
            screen.resize(10, 40)
            self.assertIn("progress_work", "".join(screen.lines_within(10, 40)))
            screen.press("q")
            self.assertEqual(screen.finish(), 0)

    def test_signals_leave_the_terminal_as_it_was(self):
        target = self.spinner()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Screen("-p", target.pid) as screen:
                screen.wait_for("progress_work")
                screen.process.send_signal(number)
                self.assertEqual(screen.finish(), 0)
                self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)
        self.assertUntouched(target.pid)

    def test_a_command_has_no_part_of_the_screen(self):
        script = f"echo noise; echo noise >&2; read line; {build('spin_leaf')} 700; exit 3"
        with Screen("--", "sh", "-c", script) as screen:
            screen.wait_for("spin_leaf")
            self.assertEqual(screen.finish(), 0)
            self.assertNotIn("\nnoise", screen.raw)

    def test_quitting_ends_the_command(self):
        with Screen("--", build("spin_leaf"), "60000") as screen:
            screen.wait_for("spin_leaf")
            screen.press("\x03")
            self.assertEqual(screen.finish(), 0)
        self.eventually(lambda: not running("spin_leaf 60000"), "the command's end")

    def test_recording_is_kept_if_asked(self):
        path = self.path("kept.data")
        profc("top", "-o", path, "--interval", "100ms", "--", build("spin_leaf"), "500")
        report = json.loads(profc("report", "-i", path, "--json").stdout)
        self.assertRatio(report["total_ns"], 500e6, 0.1, "CPU time")
        self.assertEqual(report["rows"][0]["function"], "spin_leaf")

    def test_a_new_name_is_found_later(self):
        """Code that is met for the first time after names were looked up; none are lost."""
        with Running([build("four_functions"), "3000"]) as target:
            done = profc("top", "-p", target.pid, "--interval", "100ms", "--window", "0")
            self.assertNotRegex(done.stdout.split("\n\n")[-1], r"\[four_functions\+0x")

    def test_failures_are_told(self):
        profc("top", status=2)
        profc("top", "-p", "1", "--", "true", status=2)
        done = profc("top", "--", "no-such-command-here", status=1)
        self.assertIn("cannot run 'no-such-command-here'", done.stderr)
        self.assertIn("not found in any directory of PATH", done.stderr)
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        done = profc("top", "-p", gone.pid, status=1)
        self.assertIn(f"there is no process {gone.pid}", done.stderr)


class Memory(LiveCase):
    """Who holds the memory now. With a rate of one byte all blocks are recorded."""

    def server(self):
        target = Running([build("allocates"), "serve"])
        self.addCleanup(target.__exit__)
        return target.wait_ready()

    def ask(self, target, word):
        """What it says when it has done it."""
        target.process.stdin.write(word + "\n")
        target.process.stdin.flush()
        return json.loads(target.process.stdout.readline())

    def assertRow(self, table, pattern):
        self.assertRegex(table, re.compile(pattern, re.M))

    def test_what_is_alive_and_keys_for_the_rest(self):
        target = self.server()
        self.ask(target, "leaks:400:10000")
        with Screen("-p", target.pid, "--mem=1", "--window", "0") as screen:
            screen.wait_for("0 bytes alive")
            seen = "\n".join(screen.lines())
            self.assertIn("what was allocated before is not known", seen)
            self.assertRegex(seen, r"live 0 bytes, allocated 0 bytes, 0 bytes/s, RSS .* at first\)")
            self.ask(target, "leaks:1024:1024")
            self.ask(target, "holds:512:4096")
            screen.wait_for("3.00 MiB alive, 1,536 blocks")
            screen.wait_for(" holds ")  # found after it came into view, and no other code
            seen = "\n".join(screen.lines())
            self.assertIn("live 3.00 MiB, allocated 3.00 MiB, ", seen)
            self.assertRow(seen, r"^ +2048 66\.7 0\.0 +2048 +66\.7 +512 +holds +allocates")
            self.assertRow(seen, r"^ +1024 33\.3 0\.0 +1024 +33\.3 +1,024 +leaks +allocates")
            self.ask(target, "lets_go:512:4096")
            screen.wait_for("1.00 MiB alive, 1,024 blocks")
            seen = "\n".join(screen.lines())
            self.assertIn("live 1.00 MiB, allocated 3.00 MiB, ", seen)
            for words in (
                "3.00 MiB alive at the peak, at ", "1.00 MiB not freed, 1,024 blocks",
                "freed soon in the last", " of CPU time in the last", " of wall time", " waiting for",
                " blocked in the last", " samples in the last",
                "3.00 MiB allocated in the last", "1,536 blocks allocated in the last",
                "1.00 MiB alive, 1,024 blocks",
            ):
                screen.press("m")
                screen.wait_for(words)
            screen.press("bbbbb")
            screen.wait_for("by process")
            screen.press("b")
            screen.wait_for("by pid")
            self.assertRow("\n".join(screen.lines()), rf"^ +1024 .* {target.pid} +allocates")
            screen.press("b")
            screen.wait_for("by lifetime")
            screen.press("b")
            screen.wait_for("by function")
            screen.press("q")
            self.assertEqual(screen.finish(), 0)
        self.assertUntouched(target.pid)
        with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
            self.assertNotIn("profc-probes", maps.read())

    def test_it_fits_small_screens(self):
        target = self.server()
        for columns, nr_lines in ((80, 24), (40, 12), (40, 10)):
            with Screen("-p", target.pid, "--mem=1", size=(nr_lines, columns)) as screen:
                screen.wait_for("alive")
                self.ask(target, "leaks:64:3000")
                self.ask(target, "callocs:64:3000")
                screen.wait_for("callocs")
                screen.press("s")
                screen.wait_for("most total first")
                lines = screen.lines()
                self.assertLessEqual(max(map(len, lines)), columns, lines)
                self.assertLessEqual(len(lines), nr_lines, lines)
                self.assertEqual("RSS" in "".join(lines[1:4]), nr_lines >= 12)
                self.assertTrue(any(" 100.0" in line for line in lines[3:]), lines)
                screen.press("h")
                screen.wait_for("Ctrl-C   quit")
                lines = screen.lines()
                self.assertLessEqual(max(map(len, lines)), columns, lines)
                screen.press("q")
                self.assertEqual(screen.finish(), 0)

    def test_of_a_command_without_a_terminal(self):
        data = self.path("top.data")
        argv = (build("allocates"), "leaks:512:2048", "temporaries:100:50000", "waits")
        done = profc("top", "--mem=1", "-o", data, "--width", "100", "--", *argv)
        table = done.stdout[done.stdout.rindex(" alive, ") - 12:]
        self.assertIn("1.00 MiB alive, 512 blocks", table)
        self.assertIn("live 1.00 MiB, allocated 5.77 MiB, ", table)
        self.assertNotIn("at first", table)
        self.assertRow(table, r"^ +1024 100\.0 0\.0 +1024 +100\.0 +512 +leaks ")
        rows = json.loads(profc("report", "-i", data, "--json", "-m", "alloc").stdout)["rows"]
        sums = {row["function"]: row["total_bytes"] for row in rows}
        self.assertEqual((sums["leaks"], sums["temporaries"]), (1 << 20, 5000000))

    def test_what_cannot_be_shown_is_refused(self):
        for options, why in (
            (("-m", "live"), "--metric live needs --mem"),
            (("--mem", "--by", "state"), "memory cannot be divided by state"),
            (("--mem", "--by", "syscall", "-m", "alloc"), "memory cannot be divided by syscall"),
            (("-m", "freed"), "--metric freed needs --mem"),
            (("--mem", "-m", "freed"), "--metric freed needs --mem-free-stacks"),
            (("--by", "lifetime"), "time cannot be divided by lifetime"),
            (("--mem=2T",), "is not a size of 1 to 1G bytes"),
        ):
            ended = profc("top", *options, "--", "true", status=2)
            self.assertIn(why, ended.stderr)


class Job(LiveCase):
    """profc top as a job of a shell that somebody types to."""

    READY = Terminal.PROMPT
    TABLE = " of CPU time in the last "
    FORMER_SCREEN = "\x1b[?1049l"

    def setUp(self):
        super().setUp()
        self.shell = Terminal([need("bash"), "--norc", "--noprofile", "-i"], self.directory)
        self.shell.read_until(self.READY)
        self.addCleanup(self.hang_up)
        self.modes = self.ask("stty -g")

    def hang_up(self):
        """A test has failed amid it."""
        if self.shell:
            os.kill(self.shell.process_id, signal.SIGHUP)

    def leave(self):
        self.shell.close()
        self.shell = None

    def ask(self, line):
        """What a line prints, as a terminal in its usual mode shows it."""
        before = len(self.shell.text)
        self.shell.type(line + "\n", self.READY)
        return self.shell.text[before:].replace("\r", "").removeprefix(line + "\n")

    def press(self, key, wanted):
        """What is seen after it, up to what is wanted."""
        before = len(self.shell.text)
        self.shell.type(key, wanted)
        return self.shell.text[before:]

    def top(self, *arguments):
        self.press(f"{PROFC} top --interval 100ms {' '.join(map(str, arguments))}\n", self.TABLE)

    def spinner(self):
        path = self.path("counters")
        target = Running([build("progressing"), path])
        self.addCleanup(target.__exit__)
        return target.wait_ready().pid, Counters(path)

    def assert_stopped(self, seen):
        """And the terminal is the shell's, as it was."""
        self.assertIn(self.FORMER_SCREEN, seen)
        self.assertIn("Stopped", seen.split(self.FORMER_SCREEN)[1])
        self.assertEqual(self.ask("stty -g"), self.modes)

    def end(self):
        """By its key; the last table stays on the terminal."""
        seen = self.press("q", self.READY)
        self.assertIn(self.TABLE, seen.split(self.FORMER_SCREEN)[1])
        self.assertEqual(self.ask("stty -g"), self.modes)
        self.leave()

    def test_stops_by_its_key_and_leaves_attached_processes_alone(self):
        pid, counters = self.spinner()
        self.top("-p", pid, "-o", "kept")
        for _ in range(2):
            self.assert_stopped(self.press("\x1a", self.READY))
            self.assertUntouched(pid)
            self.assertProgress(counters)
            self.assertNotIn(self.READY, self.press("fg\n", self.TABLE))
            self.eventually(lambda: procfs.observer(pid), "attaching again")
            self.press("s", "by function, ")
        self.end()
        self.assertUntouched(pid)
        info = json.loads(profc("info", "-i", self.path("kept"), "--json").stdout)
        self.assertEqual([process["pid"] for process in info["processes"]], [pid])
        threads = [thread["tid"] for thread in info["threads"]]
        self.assertEqual(len(threads), len(set(threads)), "each in one row")

    def test_stops_by_a_signal_to_it_alone(self):
        pid, counters = self.spinner()
        self.top("-p", pid)
        os.kill(*procfs.children(self.shell.process_id), signal.SIGTSTP)
        self.shell.read_until(self.READY)
        self.assertEqual(self.ask("stty -g"), self.modes)
        self.assertUntouched(pid)
        self.assertProgress(counters)
        self.press("fg\n", self.TABLE)
        self.end()

    def test_draws_nothing_in_the_background(self):
        pid, _ = self.spinner()
        self.top("-p", pid)
        self.assert_stopped(self.press("\x1a", self.READY))
        self.ask("bg")
        self.eventually(lambda: procfs.observer(pid), "attaching again")
        self.assertEqual(self.ask("sleep 1; echo $((40 + 2))nd"), "42nd\n" + self.READY)
        self.assertEqual(self.ask("stty -g"), self.modes)
        self.press("fg\n", self.TABLE)
        self.end()

    def test_ends_if_nobody_is_left_when_it_goes_on(self):
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            self.top("-p", target.pid)
            self.shell.read_until("progress_work")
            self.assert_stopped(self.press("\x1a", self.READY))
        seen = self.press("fg\n", self.READY)
        self.assertIn("progress_work", seen)
        self.assertIn("0", self.ask("echo $?"))
        self.leave()

    def test_stops_with_its_command(self):
        self.top("--", build("spin_leaf"), "50000")
        for _ in range(2):
            self.assert_stopped(self.press("\x1a", self.READY))
            (profc_pid,) = procfs.children(self.shell.process_id)
            (command,) = (
                pid for pid in procfs.children(profc_pid)
                if procfs.status(pid)["Name"] == "spin_leaf"
            )
            self.eventually(lambda: procfs.state(command) in "tT", "the stop of the command")
            self.press("fg\n", self.TABLE)
            self.eventually(lambda: procfs.state(command) not in "tT", "the command goes on")
        self.end()

    def test_quitting_ends_what_the_command_has_started(self):
        """A shell that waits for a program heeds Ctrl-C only when that has ended."""
        self.top("--", "sh", "-c", f"'{build('spin_leaf')} 70000; true'")
        self.end()
        self.eventually(lambda: not running("spin_leaf 70000"), "its end")
