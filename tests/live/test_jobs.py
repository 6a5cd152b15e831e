# SPDX-License-Identifier: GPL-2.0-or-later
"""profc record as a job of a shell: a person at the terminal sees what is seen without it."""

import os
import re

from live import LiveCase
from paths import PROFC
from targets import need
from terminal import Terminal

QUICK = "record -q --no-symbols -F 1000 --max-overhead 0 -o profc.data --"


class Jobs(LiveCase):
    """Each test types the same twice: with ./run recording its command, and plain."""

    def session(self, how, prefix, steps, user=None):
        """What the terminal shows; `steps` are (what is typed, what is waited for)."""
        directory = self.path(how)
        os.mkdir(directory)
        os.chmod(self.directory, 0o755)
        os.chmod(directory, 0o777)
        run = os.path.join(directory, "run")
        with open(run, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {prefix} "$@"\n')
        os.chmod(run, 0o755)
        shell = Terminal([need("bash"), "--norc", "--noprofile", "-i"], directory, user)
        shell.read_until(shell.PROMPT)
        for typed, wanted in (("stty -echo; ulimit -c 0\n", shell.PROMPT), *steps):
            shell.type(typed, wanted)
        self.assertEqual(shell.close(), 3)
        return re.sub(r"\b\d{4,}\b", "N", shell.text).replace("\r", "")

    def assert_same(self, *steps):
        plain = self.session("plain", "", steps)
        recorded = {"root": None, "user": 65534} if os.geteuid() == 0 else {"user": None}
        for how, user in recorded.items():
            with self.subTest(recorded_as=how):
                self.assertEqual(
                    self.session(how, f"{PROFC} {QUICK}", steps, user), plain
                )
        return plain

    READY = Terminal.PROMPT
    LASTS = "./run sh -c 'sleep 0.3; echo $((40 + 2)); exec sleep 100'"


class Deaths(Jobs):
    def test_interrupt_ends_the_loop_of_a_shell(self):
        loop = f'bash -c "for i in 1 2 3; do {self.LASTS}; echo once; done; echo end"\n'
        seen = self.assert_same((loop.replace("$", "\\$"), "42"), ("\x03", self.READY), ("echo $?\n", self.READY))
        self.assertNotIn("once", seen)
        self.assertIn("130", seen)

    def test_are_told_as_those_of_the_command(self):
        seen = self.assert_same(
            (self.LASTS + "\n", "42"), ("\x03", self.READY), ("echo $?\n", self.READY),
            (self.LASTS + "\n", "42"), ("\x1c", self.READY), ("echo $?\n", self.READY),
            ("./run sh -c 'sleep 0.1; kill -TERM $$'; echo $?\n", self.READY),
            ("./run sh -c 'sleep 0.1; kill -SEGV $$'; echo $?\n", self.READY),
            ("./run sleep 100 &\n", self.READY),
            ("sleep 0.3; kill %1; wait %1; echo $?\n", self.READY),
        )
        for word in ("Quit", "Terminated", "Segmentation fault"):
            self.assertIn(word, seen)
