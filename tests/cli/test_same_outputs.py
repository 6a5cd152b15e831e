# SPDX-License-Identifier: GPL-2.0-or-later
"""Some 460 views, exports and comparisons of fixed recordings print what they did."""

import os
import subprocess
import unittest

from paths import ROOT


class Outputs(unittest.TestCase):
    def test_are_the_same(self):
        runner = os.path.join(ROOT, "tests", "outputs", "run")
        done = subprocess.run([runner], capture_output=True, text=True, check=False)
        hint = "\nhint: compare two builds by tests/outputs/run --keep DIR; then make accept"
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + hint)


if __name__ == "__main__":
    unittest.main()
