# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 6 and 7: one stack unwound in every way there is, and how many reach the root."""

import os
import shutil
import subprocess
import sys

from paths import BUILD, ROOT
from targets import build

PROGRAM = os.path.join(BUILD, "tests", "bench", "bench_unwind")
PYTHON_WORK = "import json\nwhile True: json.loads(json.dumps([{'a': [1, 2, [3]]}] * 500))"
COMPILED = os.path.join(ROOT, "tests", "targets", "cpp_templates.cpp")


def works():
    """What is unwound: a name, snapshots (it must run on afterwards), and the command."""
    yield "depth 50", 300, [build("recursion_deep"), "46", "20000"]
    yield "python", 300, [sys.executable, "-c", PYTHON_WORK]
    if shutil.which("xz"):
        yield "xz", 300, ["sh", "-c", "exec xz -9 -c -T1 < /dev/urandom"]
    if shutil.which("clang"):
        yield "clang -O2", 100, ["clang", "-O2", "-g", "-c", "-x", "c++", "-o", "/dev/null", COMPILED]


def main():
    for name, nr_snapshots, command in works():
        print(f"{name}:", flush=True)
        subprocess.run([PROGRAM, "-n", str(nr_snapshots), *command], check=True)


if __name__ == "__main__":
    main()
