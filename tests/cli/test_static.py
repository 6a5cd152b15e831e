# SPDX-License-Identifier: GPL-2.0-or-later
"""A profc that needs no library, where there is nothing else: a root directory of its own, and /proc."""

import os
import shutil
import subprocess
import tempfile
import unittest

from paths import BUILD, PROFC
from screen import Screen
from targets import build, need


def static_profc():
    """make STATIC=1 makes it, beside the other one."""
    for path in (PROFC, os.path.join(BUILD, "static", "profc")):
        if os.path.exists(path) and "\nstatic:" in subprocess.run(
            [path, "--version", "-v"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout:
            return path
    return None


class Static(unittest.TestCase):
    profc = static_profc()

    def setUp(self):
        if not self.profc:
            self.skipTest("no static profc: make STATIC=1")
        need("unshare")

    @classmethod
    def setUpClass(cls):
        if not cls.profc:
            return
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        os.mkdir(os.path.join(cls.root, "proc"))
        os.mkdir(os.path.join(cls.root, "tmp"))
        shutil.copy(cls.profc, os.path.join(cls.root, "profc"))
        shutil.copy(build("malloc_pairs", "-O1", "-g", "-static"), os.path.join(cls.root, "work"))

    def inside(self, *command):
        return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "sh", "-c",
                'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"', self.root, *command]

    def run_inside(self, *command):
        done = subprocess.run(
            self.inside(*command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_it_says_what_is_left_out(self):
        self.assertIn("debuginfod is off", self.run_inside("/profc", "--version", "-v"))

    def test_doctor_finds_what_works(self):
        self.assertIn("calls and allocations of processes can be recorded", self.run_inside("/profc", "doctor"))

    def test_it_records_and_shows(self):
        self.assertIn("wrote /tmp/a.data", self.run_inside("/profc", "record", "-o", "/tmp/a.data", "/work"))
        self.assertIn("malloc", self.run_inside("/profc", "report", "-i", "/tmp/a.data"))
        self.run_inside("/profc", "export", "-i", "/tmp/a.data", "--html", "-o", "/tmp/a.html")
        with open(os.path.join(self.root, "tmp", "a.html"), encoding="utf-8") as page:
            self.assertIn("<html", page.read())

    def test_it_counts_calls_and_memory(self):
        counted = self.run_inside("/profc", "record", "--count", "^pairs$", "--mem", "-o", "/tmp/b.data",
                                  "/work", "64", "10000", "10")
        self.assertIn("counted 10 calls", counted)
        self.assertRegex(counted, r"recorded [0-9,]+ of 100,")

    def test_the_browser_knows_the_usual_terminals(self):
        self.run_inside("/profc", "record", "-q", "-o", "/tmp/c.data", "/work")
        for term in ("linux", "screen", "screen-256color", "tmux", "tmux-256color", "xterm", "xterm-256color"):
            with self.subTest(term=term):
                command = self.inside("/profc", "report", "-i", "/tmp/c.data")
                with Screen(command, TERM=term) as screen:
                    screen.wait_for("h: keys", "malloc")
                    # Where there is no locale of UTF-8 either.
                    screen.press("t")
                    screen.wait_for("call tree", "v main")
                    self.assertTrue(screen.seen.isascii())
                    screen.press("q")
                    self.assertEqual(screen.process.wait(20), 0)

    def test_another_terminal_is_refused_by_name(self):
        self.run_inside("/profc", "record", "-q", "-o", "/tmp/d.data", "/work")
        with Screen(self.inside("/profc", "report", "-i", "/tmp/d.data"), TERM="vt52-made-up") as screen:
            screen.wait_for("'vt52-made-up' is not known here")
