# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 4: CPU that profc itself uses on a process of many threads, one of which runs."""

import bench
from targets import build

LONG_MS, SHORT_MS = 8000, 2000


def tool_cpu_s(program, threads, run_ms, tool):
    """CPU seconds of a tool beside the target while that runs."""
    return bench.run_beside([program, str(threads), str(run_ms)], tool).tool_cpu_s


def steady_pct(program, threads, tool):
    """Percent of a CPU between two lengths: what attaching and ending cost is left out."""
    long = tool_cpu_s(program, threads, LONG_MS, tool)
    short = tool_cpu_s(program, threads, SHORT_MS, tool)
    return 100 * (long - short) / ((LONG_MS - SHORT_MS) / 1000)


def main():
    program = build("threads_idle")
    for threads in (1000, 10000):
        runs = bench.rounds(
            {
                "profc": lambda: steady_pct(program, threads, bench.profc_attach("-F", "100")),
                "bare_stop": lambda: steady_pct(program, threads, bench.bare_stop(100, "far")),
                "perf_dwarf": lambda: steady_pct(
                    program, threads, bench.perf_record(100, "dwarf,32768")
                ),
            },
            count=3,
        )
        bench.show(
            4, f"CPU used with {threads} threads, 1 running, 100 Hz",
            **{name: f"{bench.median(results):.2f} %" for name, results in runs.items()},
        )
    runs = bench.rounds(
        {"eu_stack": lambda: tool_cpu_s(program, 1000, 3000, bench.polling(*bench.EU_STACK))},
        count=1,
    )
    bench.show(
        4, "CPU used with 1000 threads by polling as fast as it can",
        **{name: f"{100 * results[0] / 3:.0f} %" for name, results in runs.items()},
    )


if __name__ == "__main__":
    main()
