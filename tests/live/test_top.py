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

from live import LiveCase
from paths import PROFC
from profc import profc
from targets import Running, build

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """profc top on a terminal of its own; what it has drawn, without the escapes."""

    def __init__(self, *arguments):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 80, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen(
            [PROFC, "top", "--interval", "100ms", *map(str, arguments)],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
        )
        self.raw = ""

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


class Top(LiveCase):
    def spinner(self):
        target = Running([build("progressing"), self.path("counters")])
        self.addCleanup(target.__exit__)
        return target.wait_ready()

    def test_without_a_terminal_table_follows_table(self):
        target = self.spinner()
        done = profc(
            "top", "-p", target.pid, "--interval", "200ms", "--count", "3", "--width", "80"
        )
        tables = done.stdout.split("\n\n")
        self.assertEqual(done.stdout.count(" of CPU time in the last "), 3, done.stdout)
        self.assertEqual(len(tables), 6)
        self.assertIn("progress_main", tables[-1])
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 80)
        self.assertUntouched(target.pid)

    def test_without_a_terminal_twenty_rows_are_shown(self):
        work = "import re\nfor i in range(9999999): re.compile('(a|b)*c{3}[%d]+' % i)"
        arguments = ("--by", "line", "--interval", "1s", "--count", "1")
        done = profc("top", *arguments, "--", sys.executable, "-c", work)
        rows = done.stdout.split("\n\n")[1].splitlines()
        self.assertEqual(len(rows), 1 + 20 + 1, done.stdout)
        self.assertRegex(rows[-1], r"^and [0-9,]+ more with ")
        done = profc("top", *arguments, "-n", "0", "--", sys.executable, "-c", work)
        self.assertGreater(len(done.stdout.splitlines()), 30)

    def test_keys(self):
        target = self.spinner()
        with Screen("-p", target.pid) as screen:
            screen.wait_for("progress_main")
            screen.press("s")
            screen.wait_for("by function, most total first")
            screen.press("bbbb")
            self.assertIn("tid", screen.wait_for("by thread"))
            screen.press("bbbbm")
            screen.wait_for(" of wall time in the last ")
            screen.press("/no_such_function\r")
            screen.wait_for("nothing of this, so far")
            screen.press("/(\r")
            screen.wait_for("bad regular expression")
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

    def test_signals_leave_the_terminal_as_it_was(self):
        target = self.spinner()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Screen("-p", target.pid) as screen:
                screen.wait_for("progress_main")
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
        self.eventually(lambda: not self.running("spin_leaf 60000"), "the command's end")

    def running(self, command):
        done = subprocess.run(["pgrep", "-f", f"{command}$"], stdout=subprocess.PIPE, text=True,
                              check=False)
        return done.stdout

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
        self.assertIn("not in any directory of PATH", done.stderr)
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        done = profc("top", "-p", gone.pid, status=1)
        self.assertIn(f"there is no process {gone.pid}", done.stderr)
