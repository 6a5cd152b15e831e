# SPDX-License-Identifier: GPL-2.0-or-later
"""profc record as a job of a shell: a person at the terminal sees what is seen without it."""

import os
import re
import tempfile

from live import LiveCase
from paths import PROFC
from targets import need
from terminal import Terminal

IN_COMPANY = True


class Jobs(LiveCase):
    """Each test types the same twice: with ./run recording its command, and plain."""

    OPTIONS = ()

    def session(self, how, prefix, steps, user=None):
        """What the terminal shows; `steps` are (what is typed, what is waited for)."""
        directory = tempfile.mkdtemp(prefix=how, dir=self.directory)
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
        text = re.sub(r"(\[\d\]) \d+", r"\1 N", shell.text).replace("\r", "")
        # A stop in the background may be told of before it is asked for, too.
        return re.sub(r"(\n[^\n]+)\1+", r"\1", re.sub(r"\n+", "\n", text))

    def assert_same(self, *steps):
        plain = self.session("plain", "", steps)
        options = "-q --no-symbols -F 1000 --max-overhead 0 -o profc.data"
        record = " ".join([PROFC, "record", options, *self.OPTIONS, "--"])
        recorded = {"root": None, "user": 65534} if os.geteuid() == 0 else {"user": None}
        for how, user in recorded.items():
            with self.subTest(recorded_as=how):
                self.assertEqual(self.session(how, record, steps, user), plain)
        return plain

    READY = Terminal.PROMPT
    LASTS = "./run sh -c 'sleep 0.3; echo $((40 + 2))nd; exec sleep 100'"


class Deaths(Jobs):
    def test_interrupt_ends_the_loop_of_a_shell(self):
        loop = f'bash -c "for i in 1 2 3; do {self.LASTS}; echo once; done; echo end"\n'
        seen = self.assert_same((loop.replace("$", "\\$"), "42nd"), ("\x03", self.READY), ("echo $?\n", self.READY))
        self.assertNotIn("once", seen)
        self.assertIn("130", seen)

    def test_are_told_as_those_of_the_command(self):
        seen = self.assert_same(
            (self.LASTS + "\n", "42nd"), ("\x03", self.READY), ("echo $?\n", self.READY),
            (self.LASTS + "\n", "42nd"), ("\x1c", self.READY), ("echo $?\n", self.READY),
            ("./run sh -c 'sleep 0.1; kill -TERM $$'; echo $?\n", self.READY),
            ("./run sh -c 'sleep 0.1; kill -SEGV $$'; echo $?\n", self.READY),
            ("./run sleep 100 &\n", self.READY),
            ("sleep 1; kill %1; wait %1; echo $?\n", self.READY),
        )
        for word in ("Quit", "Terminated", "Segmentation fault"):
            self.assertIn(word, seen)


class Stops(Jobs):
    # A shell's trap would wait for its sleep to end.
    TELLS = "$|=1; select undef, undef, undef, 0.4; $SIG{CONT} = sub { print 40 + 3, qq(\\n) }; print 40 + 2, qq(\\n); sleep(1) for 1 .. 100"

    def test_of_the_job_are_those_of_the_command(self):
        seen = self.assert_same(
            (f"./run {need('perl')} -e '{self.TELLS}'\n", "42"), ("\x1a", self.READY), ("jobs\n", self.READY),
            ("fg\n", "\n43"), ("\x1a", self.READY), ("echo $?\n", self.READY),
            ("kill -KILL %1; sleep 0.5\n", self.READY), ("jobs\n", self.READY),
        )
        self.assertIn("Stopped", seen)


class StopsAfterTheRecording(Stops):
    """While profc waits for its command only."""

    OPTIONS = ("-d", "100ms")
