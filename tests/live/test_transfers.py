# SPDX-License-Identifier: GPL-2.0-or-later
"""Long transfers come out whole, but for the first one of a thread.

What a stop does to a call that runs cannot be known before it has happened once: the
first long transfer of a thread may be cut short, after that it is left alone.
"""

from live import LiveCase
from profc import record
from targets import build

FAST = ("-F", "1000", "--max-overhead", "0")
MORE = ("blocking_waits", "blocking_transfers", "blocking_locks")


class Transfers(LiveCase):
    def test_no_more_than_the_first_is_cut_short(self):
        program = build("blocking_calls", more=MORE)
        recording = record(self.directory, [program, "3000"], *FAST)
        whole = [case for case in recording.said if case["expects"] == "transfer"]
        self.assertGreaterEqual(len(whole), 4)
        for case in whole:
            self.assertGreater(case["calls"], 0, case)
            self.assertLessEqual(case["shorts"], 1, case)
