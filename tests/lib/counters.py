# SPDX-License-Identifier: GPL-2.0-or-later
"""The counters that the target `progressing` keeps in a file."""

import struct
import time


class Counters:
    def __init__(self, path):
        self.path = path

    def total(self):
        with open(self.path, "rb") as file:
            contents = file.read()
        return sum(struct.unpack(f"={len(contents) // 8}Q", contents))

    def speed(self, seconds):
        """Rounds per second, seen over that time."""
        before, started = self.total(), time.monotonic()
        time.sleep(seconds)
        return (self.total() - before) / (time.monotonic() - started)
