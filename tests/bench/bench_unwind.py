# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 6 and 7: one stack unwound in every way there is, and how many reach the root."""

import os
import subprocess
import sys

from paths import BUILD

PROGRAM = os.path.join(BUILD, "tests", "bench", "bench_unwind")
WORK = "import json\nwhile True: json.loads(json.dumps([{'a': [1, 2, [3]]}] * 500))"


def main():
    with subprocess.Popen([sys.executable, "-c", WORK]) as target:
        try:
            subprocess.run([PROGRAM, "-n", "400", "-p", str(target.pid)], check=True)
        finally:
            target.kill()


if __name__ == "__main__":
    main()
