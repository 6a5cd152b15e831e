# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 10 to 12: bytes a sample, memory of record, and views of a large recording."""

import os
import re
import subprocess
import tempfile
import time

import bench
from paths import BUILD, PROFC
from targets import build

MAKE_PROFILE = os.path.join(BUILD, "tests", "bench", "make_profile")
SAMPLES, STACKS = 1_000_000, 100_000


def run(argv):
    """(seconds, peak memory in MB) of a command; its output is thrown away."""
    started = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(argv)}: status {process.returncode}")
    return time.monotonic() - started, usage.ru_maxrss / 1024


def perf_samples(path):
    """How many samples a recording of perf holds."""
    text = subprocess.run(["perf", "report", "--stats", "-i", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return int(re.search(r"SAMPLE events:\s+(\d+)", text).group(1))


def profc_samples(path):
    text = subprocess.run([PROFC, "info", "-i", path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return int(re.search(r"^samples +([\d,]+)", text, re.MULTILINE).group(1).replace(",", ""))


def recorded_bytes(directory):
    """Bytes a sample of a real recording of ten seconds, by profc and perf."""
    argv = [build("four_functions"), "10000"]
    ours, theirs = os.path.join(directory, "profc.data"), os.path.join(directory, "perf.data")
    run([PROFC, "record", "-q", "--no-symbols", "-o", ours, "--", *argv])
    run(["perf", "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf", "-F", "500",
         "-o", theirs, "--", *argv])
    bench.show(
        10, "bytes a sample, recorded for 10 s",
        profc=f"{os.path.getsize(ours) / profc_samples(ours):.1f}",
        perf_dwarf=f"{os.path.getsize(theirs) / perf_samples(theirs):.0f}",
    )


def recorder_memory(directory):
    """Peak memory of record must not grow with time."""
    path = os.path.join(directory, "memory.data")
    argv = [PROFC, "record", "-q", "--no-symbols", "-o", path, "--", build("four_functions")]
    short, long = ([run([*argv, ms])[1] for _ in range(2)] for ms in ("2000", "10000"))
    bench.show(11, "peak memory of record", after_2_s=f"{min(short):.0f} MB",
               after_10_s=f"{min(long):.0f} MB")


def views(path):
    commands = {
        "report": ["report"],
        "tree": ["report", "--tree"],
        "info": ["info"],
        "folded": ["export", "--folded"],
        "speedscope": ["export", "--speedscope"],
    }
    contenders = {
        name: lambda words=words: run([PROFC, *words, "-i", path])
        for name, words in commands.items()
    }
    results = bench.rounds(contenders)
    bench.show(12, f"seconds for {SAMPLES:,} samples, {STACKS:,} stacks",
               **{name: f"{bench.median([s for s, _ in runs]):.2f}"
                  for name, runs in results.items()})
    bench.show(12, "peak memory of the same",
               **{name: f"{max(mb for _, mb in runs):.0f} MB" for name, runs in results.items()})


def main():
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        path = os.path.join(directory, "large.data")
        said = subprocess.run([MAKE_PROFILE, path, str(SAMPLES), str(STACKS)],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        bench.show(10, "made-up recording", profc=said.strip())
        recorded_bytes(directory)
        recorder_memory(directory)
        views(path)


if __name__ == "__main__":
    main()
