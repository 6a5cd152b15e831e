# SPDX-License-Identifier: GPL-2.0-or-later
"""Long transfers come out whole, however often their thread is looked at."""

from live import LiveCase
from profc import record
from targets import build

FAST = ("-F", "1000", "--max-overhead", "0")
MORE = ("blocking_waits", "blocking_transfers", "blocking_locks")


class Transfers(LiveCase):
    def test_blocking_calls_are_not_cut_short(self):
        program = build("blocking_calls", more=MORE)
        recording = record(self.directory, [program, "3000"], *FAST)
        whole = [case for case in recording.said if case["expects"] == "transfer"]
        self.assertGreaterEqual(len(whole), 4)
        for case in whole:
            self.assertGreater(case["calls"], 0, case)
            self.assertEqual(case["shorts"], 0, case)
