# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host of a virtual machine takes of its CPUs."""

import re

TOOK_IN_WORDS = re.compile(r"^# the host took (\d+)% of the CPUs meanwhile$", re.MULTILINE)


class HostWatch:
    """What part of all CPUs the host of a virtual machine takes: proc_stat(5), "steal"."""

    def __init__(self):
        self.stolen, self.whole = self.read()

    @staticmethod
    def read():
        with open("/proc/stat", encoding="ascii") as file:
            times = [int(word) for word in file.readline().split()[1:9]]
        return times[7], sum(times)

    def part(self):
        """Since it was made."""
        stolen, whole = self.read()
        return (stolen - self.stolen) / max(1, whole - self.whole)

    def in_words(self):
        """As TOOK_IN_WORDS finds it, behind the mark of a diagnostic of TAP."""
        return f"the host took {100 * self.part():.0f}% of the CPUs meanwhile\n"
