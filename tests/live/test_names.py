# SPDX-License-Identifier: GPL-2.0-or-later
"""What functions are called: as callers call them, and told apart where they have no names."""

import re
import shutil
import tempfile
import unittest

from profc import record
from targets import build

IN_COMPANY = True
NAMELESS = re.compile(r"^\[four_functions\+0x[0-9a-f]+\]$")


class Names(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def test_functions_go_by_the_name_that_callers_use(self):
        recording = record(self.directory, [build("internal_alias"), "300"])
        names = {row["function"] for row in recording.rows()}
        self.assertIn("spin", names)
        self.assertNotIn("__GI___libc_spin", names)

    def test_each_function_is_one_row(self):
        recording = record(self.directory, [build("four_functions", "-O2", "-s"), "400"])
        rows = [row for row in recording.rows() if row["module"] and
                row["module"].endswith("/four_functions")]
        # The ELF header names one.
        self.assertIn("_start", [row["function"] for row in rows])
        rows = [row for row in rows if row["function"] != "_start"]
        self.assertTrue(all(NAMELESS.match(row["function"]) for row in rows), rows)
        # The four hot ones, those that call them, and what the C library puts around main().
        self.assertLessEqual(len(rows), 12, [row["function"] for row in rows])
        hot = sorted((row["self_pct"] for row in rows), reverse=True)[:4]
        self.assertGreater(sum(hot), 80)


if __name__ == "__main__":
    unittest.main()
