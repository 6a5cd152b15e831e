# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's process does what it can to root's profc, which counts its calls or its allocations."""

import array
import os
import socket

from live import LiveCase
from profc import attach
from targets import Running, build

IN_COMPANY = True

SECRET = b"of root, and of nobody else\n"
# Of the program alone: to look for the symbols of libraries takes longer than all else.
COUNTED = ("--count", "swaps_descriptors!^counted$")


class Hostile(LiveCase):
    """Targets run as an ordinary user, profc as root."""

    def setUp(self):
        super().setUp()
        self.user = self.ordinary_user()
        os.chmod(self.directory, 0o755)
        self.victim = self.path("victim")
        with open(self.victim, "wb") as file:
            file.write(SECRET)
        os.chmod(self.victim, 0o600)

    def assertUnharmed(self):
        with open(self.victim, "rb") as file:
            self.assertEqual(file.read(), SECRET)

    def attach(self, pid, *options, refusal=None):
        """
        profc ends by itself, with a profile that can be read; or without one, for the reason
        `refusal` (a regular expression).
        """
        recording = attach(
            self.directory, pid, *options, timeout=60, status=0 if refusal is None else None
        )
        if recording.status == 0:
            self.assertGreater(recording.report()["total_ns"], 0)
        else:
            self.assertEqual(recording.status, 1, recording.stderr)
            self.assertRegex(recording.stderr, refusal)
        return recording


class Descriptors(Hostile):
    """Other files in the place of the one that the process was made to make."""

    CYCLES = 4
    REFUSAL = (
        "has (put|mapped) another file in the place of the memory for its probes"
        "|has closed the memory that it made for its probes"
        "|may not map executable memory: Bad file descriptor"
    )

    def check(self, target):
        """Where it comes too late nothing is refused: as it does now and then."""
        target.wait_ready()
        nr_recorded = 0
        for i in range(self.CYCLES):
            options = ("--mem",) if i % 2 else COUNTED
            recording = self.attach(target.pid, "-d", "0.05", *options, refusal=self.REFUSAL)
            nr_recorded += recording.status == 0
            self.assertUnharmed()
        (said,) = target.finish()
        self.assertEqual(target.process.returncode, 0)
        self.assertGreater(said["calls"], 0)
        if not said["swapped"]:
            self.assertEqual(nr_recorded, self.CYCLES)

    def test_path_of_a_file_of_root(self):
        program = self.public(build("swaps_descriptors"))
        with Running([program, "path", self.victim], **self.user) as target:
            self.check(target)

    def test_descriptor_of_a_file_of_root(self):
        """Which root itself has handed out, for reading and writing."""
        program = self.public(build("swaps_descriptors"))
        ours, its = socket.socketpair()
        with ours, its, open(self.victim, "r+b") as file:
            kind, handed_out = socket.SCM_RIGHTS, array.array("i", [file.fileno()])
            ours.sendmsg([b"!"], [(socket.SOL_SOCKET, kind, handed_out)])
            command = [program, "socket", str(its.fileno())]
            with Running(command, pass_fds=[its.fileno()], **self.user) as target:
                self.check(target)
