# SPDX-License-Identifier: GPL-2.0-or-later
"""profc report on a terminal: a browser that keys go around in, and that leaves no trace."""

import os
import re
import signal
import subprocess
import termios
import unittest

from made import MadeCase
from paths import PROFC
from screen import Screen
from targets import need
from terminal import on_terminal


class Browser(MadeCase):
    SIZE = (10000, 1000, 3, 0, 2000)

    def browse(self, *options, size=(24, 80), **environment):
        return Screen([PROFC, "report", "-i", self.data, *options], size, **environment)

    def assertRestored(self, screen):
        self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)
        self.assertIn(b"\x1b[?1049h", screen.seen)
        self.assertFalse(screen.grid.is_alternate)
        self.assertTrue(screen.grid.has_cursor)

    def test_keys_lead_around(self):
        with self.browse(size=(24, 120)) as screen:
            screen.wait_for("by function, most self first", "h: keys", "self ms", selected=".")
            first = screen.grid.selected()
            screen.press("down")
            lines = screen.grid.lines()
            self.assertRegex(lines[0], r"^[0-9.]+ s: [0-9.]+% on a CPU")
            screen.wait_for("by function", selected=lines[lines.index(first) + 1])
            screen.press("up", "enter")
            name = re.search(r"madeup::\S+", first)[0]
            screen.wait_for(f"callers and callees of {name}", "called by", "calls", selected=name)
            screen.press("escape")
            screen.wait_for("by function", selected=first)
            screen.press("t")
            screen.wait_for("call tree", "▾", selected="madeup::layer0::function_0")
            screen.press("enter")
            screen.wait_for("call tree", selected="▸ madeup::layer0::function_0")
            screen.press("t", "end")
            screen.wait_for("by function")
            screen.press("home", "s")
            screen.wait_for("by function, most total first", selected="100.0")
            screen.press("T")
            screen.wait_for("Enter chooses a thread", "worker", selected="all threads")
            screen.press("down", "\r")
            screen.wait_for("by function, most total first, thread ")
            screen.press("\x1b")
            screen.wait_for("by function, most total first   h: keys")
            screen.press("bbb")
            screen.wait_for("by module", ".so")
            screen.press("h")
            screen.wait_for("q, Ctrl-C   quit", "this help")
            screen.press("q")
            self.assertEqual(screen.finish(), 0)
            self.assertRestored(screen)

    def test_metrics_are_those_of_the_recording(self):
        words = (" of CPU time", " of wall time", " waiting for a CPU", " blocked", " samples in ",
                 " elapsed, ", " allocated", " blocks allocated", " alive", " alive at the peak", " not freed",
                 " freed soon", " freed in ", " of CPU time")
        with self.browse() as screen:
            for word in words:
                screen.wait_for(word)
                screen.press("m")
            screen.press("q")
            self.assertEqual(screen.finish(), 0)

    def test_filters(self):
        with self.browse(size=(24, 120)) as screen:
            screen.wait_for("by function", selected=".")
            name = re.search(r"madeup::\S+", screen.grid.selected())[0]
            screen.press("/", f"^{name}x\x7f$")
            screen.wait_for(f"function (regular expression): ^{name}$_")
            screen.press("\r")
            screen.wait_for(f"by function, most self first, function ^{name}$", "% of ")
            screen.press("n")
            screen.wait_for(selected=name)
            screen.press("/(\r")
            screen.wait_for("invalid regular expression '(': ")
            screen.press("/no such function\r")
            screen.wait_for("nothing of this", "Esc takes the filters away")
            screen.press("\x1b")
            screen.wait_for("most self first   h: keys", name)

    def test_another_size_is_drawn_anew(self):
        with self.browse() as screen:
            screen.wait_for("by function", "module")
            screen.resize(10, 40)
            text = screen.wait_for("by function", "self% total%  function")
            self.assertNotIn("module", text)
            screen.press("page down")
            screen.wait_for(selected=screen.grid.lines()[9])
            screen.resize(50, 200)
            screen.wait_for("by function", "module", "location", selected=".")
            while not all(screen.grid.lines()):
                screen.read(1)

    def test_the_first_page_may_be_another(self):
        with self.browse("--tree", "-m", "wall") as screen:
            screen.wait_for("call tree", " of wall time")
        with self.browse("--by", "line", "--sort", "total") as screen:
            screen.wait_for("by line, most total first")
        for option in ("--callers", "--callees"):
            with self.browse(option, "madeup::layer0::function_0") as screen:
                screen.wait_for("callers and callees of madeup::layer0::function_0", "called by")
                screen.press("escape")
                screen.wait_for("by function, most self first")
        with self.browse("--sort", "nothing") as screen:
            self.assertEqual(screen.finish(), 2)
            self.assertIn(b"unknown sort key 'nothing'", screen.seen)
            self.assertNotIn(b"\x1b", screen.seen)

    def test_the_terminal_is_left_as_it_was(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number), self.browse() as screen:
                screen.wait_for("by function")
                screen.process.send_signal(number)
                self.assertEqual(screen.finish(), -number)
                self.assertRestored(screen)
        with self.browse() as screen:
            screen.wait_for("by function")
            screen.press("\x03")
            self.assertEqual(screen.finish(), 0)
            self.assertRestored(screen)

    def test_job_control_gets_the_terminal_meanwhile(self):
        script = f"set -m; '{PROFC}' report -i '{self.data}'; echo stopped; stty -a; read line; fg"
        with Screen([need("bash"), "--norc", "--noprofile", "-c", script]) as screen:
            screen.wait_for("by function")
            screen.press("\x1a")
            screen.wait_for("stopped", "isig icanon")
            self.assertFalse(screen.grid.is_alternate)
            screen.press("\r")
            screen.wait_for("by function", selected=".")
            self.assertTrue(screen.grid.is_alternate)
            screen.press("t")
            screen.wait_for("call tree")
            screen.press("q")
            self.assertEqual(screen.finish(), 0)
            self.assertRestored(screen)

    def test_without_colours(self):
        with self.browse() as screen:
            screen.wait_for("by function", selected=".")
            screen.press("h")  # and all before it has come
            screen.wait_for("this help")
            self.assertRegex(screen.seen, rb"\x1b\[[0-9;]*3[1-6]")
        for options, environment in ((["--color", "never"], {}), ([], {"NO_COLOR": "1"})):
            with self.browse(*options, **environment) as screen:
                screen.wait_for("by function", selected=".")
                screen.press("h")
                screen.wait_for("this help")
                self.assertNotRegex(screen.seen, rb"\x1b\[[0-9;]*3[1-6]")

    def test_text_in_any_locale(self):
        for locale in ("C", "POSIX", "C.UTF-8"):
            with self.browse("--tree", LC_ALL=locale) as screen:
                screen.wait_for("call tree", "▸", "├─")

    def assertPlain(self, *options, wanted="self ms", **environment):
        """It ends by itself, and has sent nothing that moves."""
        status, seen = on_terminal(
            [PROFC, "report", "-i", self.data, *options],
            env={**os.environ, "TERM": "xterm", "PROFC_PAGER": "cat", "NO_COLOR": "1", **environment},
        )
        self.assertEqual(status, 0, seen)
        self.assertNotIn("\x1b", seen)
        self.assertIn(wanted, seen)
        return seen

    def test_plain_text_where_it_is_asked_for(self):
        self.assertPlain("--no-pager")
        self.assertPlain(TERM="dumb")
        self.assertPlain("-n", "3")
        self.assertPlain("--callers", "function_1.$", wanted="total")
        self.assertPlain("--json", wanted='"rows"')
        self.assertPlain("--csv", wanted="function,")
        self.assertPlain("--leaks", wanted="not freed")
        # curses does not free all of a terminal that it does not know.
        said = self.assertPlain(TERM="no-such-terminal", ASAN_OPTIONS="detect_leaks=0")
        self.assertIn("profc: the terminal 'no-such-terminal' is not known here", said)

    def test_no_browser_where_keys_are_not_typed(self):
        status, seen = on_terminal([PROFC, "report", "-i", self.data], stdin=subprocess.DEVNULL,
                                   env={**os.environ, "TERM": "xterm", "PROFC_PAGER": "cat",
                                        "NO_COLOR": "1"})
        self.assertEqual(status, 0)
        self.assertNotIn("\x1b", seen)


if __name__ == "__main__":
    unittest.main()
