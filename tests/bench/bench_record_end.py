#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 9: from Ctrl-C to the prompt, names included; perf needs its first report for those."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import bench
from bench_symbol import SOURCE, generate
from paths import PROFC

RECORD_S = 3


def forever(*argv):
    """A shell that runs a command again and again."""
    return ["sh", "-c", 'while :; do "$@" >/dev/null; done', "sh", *argv]


def programs():
    spin = "while 1: sum(n * n % 7 for n in range(1000))"
    yield "python", [sys.executable, "-c", spin]
    if shutil.which("clang++"):
        yield "clang -O2", forever("clang++", "-O2", "-g", "-c", "-o", "/dev/null", SOURCE)
    yield "206 MiB of .debug_info", forever(generate(205))


def interrupt(argv, seconds=RECORD_S):
    """Seconds that a recorder needs to end after Ctrl-C at its terminal."""
    recorder = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(seconds)
    started = time.monotonic()
    os.killpg(recorder.pid, signal.SIGINT)
    recorder.wait()
    return time.monotonic() - started


def perf_report(path):
    started = time.monotonic()
    try:
        subprocess.run(
            ["perf", "report", "--stdio", "-i", path], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=30,
        )
    except subprocess.TimeoutExpired:
        pass
    return time.monotonic() - started


def contenders(directory, program):
    path = os.path.join(directory, "data")
    found = {
        "profc": lambda: interrupt([PROFC, "record", "-o", path, "--", *program]),
        "without names": lambda: interrupt(
            [PROFC, "record", "--no-symbols", "-o", path, "--", *program]
        ),
    }
    if shutil.which("perf"):
        found["perf and its report"] = lambda: interrupt(
            ["perf", "record", "-q", "-F", "100", "--call-graph", "dwarf", "-o", path, "--", *program]
        ) + perf_report(path)
    return found


def main():
    for name, program in programs():
        with tempfile.TemporaryDirectory() as directory:
            results = bench.rounds(contenders(directory, program), 3)
        bench.show(9, name, **{
            who: f"{bench.median(times):.2f} s" for who, times in results.items()
        })


if __name__ == "__main__":
    main()
