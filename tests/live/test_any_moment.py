# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGINT and SIGTERM end profc at any moment of any command, and leave nothing behind.

Each run tries other moments: SEED= repeats those of another.
"""

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time

import procfs
from live import LiveCase
from paths import PROFC
from profc import profc
from rounds import rounds
from targets import build

IN_COMPANY = True

# A hang, on the busiest of machines: it is some milliseconds mostly.
PATIENCE = 20
CRASHES = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL}


class AnyMoment(LiveCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("SEED", random.randrange(1 << 32)))

        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.profile = os.path.join(scratch.name, "profile")
        # profc itself has more debug information than most; it is read at the end.
        profc(
            "record", "-q", "-F", "5000", "--max-overhead", "0", "-o", cls.profile, "--",
            PROFC, "symbolize", "-e", PROFC, *map(hex, range(0x20000, 0x60000, 0x40)),
        )

    def setUp(self):
        super().setUp()
        self.random = random.Random(self.seed)

    def start(self, *arguments):
        with open(self.path("said"), "wb") as said:
            return subprocess.Popen(
                [PROFC, *map(str, arguments)], cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=said, start_new_session=True,
            )

    def finish(self, process, what):
        what = f"{what} (SEED={self.seed})"
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.fail(f"{what}: has not ended")
        with open(self.path("said"), "rb") as said:
            self.assertNotIn(process.returncode, CRASHES, f"{what}: {said.read()!r}")

    def assert_nothing_is_left(self, session, what):
        """What a command has started may run on for a moment; stopped, it would for ever."""
        for pid in procfs.of_session(session):
            self.assertNotIn(
                procfs.state(pid), ("t", "T"), f"{what}: {pid} is left stopped (SEED={self.seed})"
            )
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def interrupt(self, arguments, nr):
        """At so many moments, from the first to just behind its end."""
        began = time.monotonic()
        self.finish(self.start(*arguments), "without a signal")
        whole = time.monotonic() - began
        for _ in range(rounds(nr)):
            delay = self.random.uniform(0, 1.1 * whole)
            number = self.random.choice((signal.SIGINT, signal.SIGTERM))
            what = f"{number.name} after {delay:.4f} s of {' '.join(map(str, arguments))}"
            process = self.start(*arguments)
            time.sleep(delay)
            process.send_signal(number)
            self.finish(process, what)
            self.assert_nothing_is_left(process.pid, what)

    def test_recordings(self):
        command = [PROFC, "report", "-i", self.profile]
        self.interrupt(["record", "-q", "-o", "p", "--", *command], 10)
        self.interrupt(["record", "-q", "--mem", "-o", "p", "--", *command], 6)
        self.interrupt(["record", "-q", "--count", "^dwarf_", "-o", "p", "--", *command], 4)

    def test_recordings_whose_command_heeds_no_signal(self):
        """The second one ends them."""
        program = build("spin_leaf")
        script = f"trap '' INT TERM; exec {program} 60000"
        for _ in range(rounds(5)):
            process = self.start("record", "-q", "-o", "p", "--", "sh", "-c", script)
            time.sleep(self.random.uniform(0, 0.3))
            for _ in range(100):  # two at once may be taken for one
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                    time.sleep(self.random.uniform(0, 0.1))
            self.finish(process, "a command that heeds no signal")
            self.assert_nothing_is_left(process.pid, "a command that heeds no signal")

    def test_processes(self):
        with subprocess.Popen(
            [build("spin_leaf"), "600000"], stdout=subprocess.DEVNULL,
        ) as target:
            self.addCleanup(target.kill)
            self.interrupt(["attach", "-q", "-d", "0.2", "-o", "p", "-p", target.pid], 8)
            self.interrupt(["attach", "-q", "--mem", "-d", "0.2", "-o", "p", "-p", target.pid], 5)
            self.interrupt(["dump", "-p", target.pid], 3)
            self.interrupt(["top", "--times", "2", "--interval", "0.1", "-p", target.pid], 5)
            self.assertUntouched(target.pid)
            self.assertIsNone(target.poll())
            target.kill()

    def test_readers(self):
        reading = ["-i", self.profile]
        for arguments, nr in (
            (["report", *reading], 5),
            (["report", "--tree", *reading], 5),
            (["annotate", "main", *reading], 5),
            (["export", "--html", *reading, "-o", "page"], 5),
            (["export", "--pprof", *reading, "-o", "pprof"], 5),
            (["info", *reading], 4),
            (["diff", self.profile, self.profile], 5),
            (["merge", "-o", "merged", self.profile, self.profile], 5),
            (["symbolize", "-o", "named", self.profile], 5),
            (["symbolize", "-e", PROFC, *map(hex, range(0x20000, 0x60000, 0x40))], 5),
        ):
            with self.subTest(arguments=arguments):
                self.interrupt(arguments, nr)
