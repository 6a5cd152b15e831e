# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 5: the totals and shares found, against what the program's own clocks say."""

import tempfile

import bench
from profc import record
from targets import build

FOUR = ("four_integer", "four_float", "four_memory", "four_division")


def errors(program):
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        recording = record(directory, [program, "2000"])
        (said,) = recording.said
        total = recording.report()["total_ns"]
        outside = 0
        for function in FOUR:
            row = recording.function(function)
            share = 100 * said[function] / said["cpu_ns"]
            outside += abs(row["self_pct"] - share) > row["ci_pct"]
        return abs(total / said["cpu_ns"] - 1) * 100, outside


def burst_errors(program):
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        recording = record(directory, [program, "4000"])
        cpu_ns = recording.said[-1]["cpu_ns"]
        return abs(recording.report()["total_ns"] / cpu_ns - 1) * 100


def main():
    four = [errors(build("four_functions")) for _ in range(bench.ROUNDS)]
    bench.show(
        5, "total CPU of a busy program, difference from the kernel's",
        profc=f"{bench.median([total for total, _ in four]):.3f} %",
    )
    bench.show(
        5, "shares outside their 95 % interval",
        profc=f"{sum(outside for _, outside in four)} of {4 * len(four)}",
    )
    bursts = [burst_errors(build("bursts")) for _ in range(2)]
    bench.show(
        5, "total CPU of bursts of 0.3 and 0.9 ms, difference from the kernel's",
        profc=f"{bench.median(bursts):.3f} %",
    )


if __name__ == "__main__":
    main()
