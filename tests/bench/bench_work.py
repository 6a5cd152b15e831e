# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 1 and 2: the pause of a sampled thread, and the work that CPU-bound threads lose.

The target notes every gap in its own time. Of a profiled run the largest gaps
are scheduling noise, as without profc; the pauses are the gaps that come on top,
and their number is known: one a sample. Beside them stands what a stop takes that does nothing.
"""

import bench
from targets import build

RUN_MS = 3000
LONGEST_GAP_NS = 2_000_000


def pause_us(profiled, plain, samples):
    """Median of the gaps that the profiled run has more than the plain one has."""
    noise = len(plain["gaps_ns"])
    extra = sorted(profiled["gaps_ns"])
    # The noise of a run is spread over all sizes: leave out as many from both ends.
    cut = min(noise, max(0, len(extra) - samples)) // 2
    kept = extra[cut : len(extra) - cut] or extra
    return bench.median(kept) / 1000


def run(argv, tool=None):
    return bench.run_beside(argv, tool).said[-1]


def contenders(program, threads, frequency, stack_kib):
    argv = [program, str(threads), str(RUN_MS), str(stack_kib)]
    options = ("-F", str(frequency), "--max-overhead", "0")
    place = "far" if threads < bench.CPUS else "near"
    return {
        "plain": lambda: run(argv),
        "profc": lambda: run(argv, bench.profc_attach(*options)),
        "bare_stop": lambda: run(argv, bench.bare_stop(frequency, place)),
        "perf_dwarf": lambda: run(argv, bench.perf_record(frequency, "dwarf,32768")),
        "perf_fp": lambda: run(argv, bench.perf_record(frequency, "fp")),
    }


def rate_on_cpu(run):
    """Rounds a second, the waits for a CPU left out: on a shared machine others cause them."""
    return run["rounds"] / (run["elapsed_ns"] - run["waited_ns"])


def rate_of_time(run):
    """Rounds a second: where no CPU is idle, what a tool uses of them is lost to the target."""
    return run["rounds"] / run["elapsed_ns"]


def show_lost(what, runs, rate):
    """The work each contender costs, and how much more is done beside profc than beside perf."""
    work = {name: [rate(run) for run in results] for name, results in runs.items()}
    figures = {
        name: f"{bench.lost_pct(work['plain'], rates):.2f} %"
        for name, rates in work.items()
        if name != "plain"
    }
    if "perf_dwarf" in work:
        more = [ours / theirs for ours, theirs in zip(work["profc"], work["perf_dwarf"])]
        figures["profc:perf_dwarf"] = f"{bench.median(more):.3f} of the work"
    bench.show(2, what, **figures)


def show_gaps(what, runs):
    """
    The time that the target misses more than in the plain run, in gaps that cannot be waits for
    another program: at 100 Hz the work lost is far below what two runs differ by.
    """
    missing = {
        name: [
            100 * sum(gap for gap in run["gaps_ns"] if gap < LONGEST_GAP_NS) / run["elapsed_ns"]
            for run in results
        ]
        for name, results in runs.items()
    }
    figures = {
        name: f"{bench.median([a - b for a, b in zip(shares, missing['plain'])]):.2f} %"
        for name, shares in missing.items()
        if name != "plain"
    }
    bench.show(2, what, **figures)


def compare(program, threads, frequency, note, rate=rate_on_cpu, stack_kib=0):
    runs = bench.rounds(contenders(program, threads, frequency, stack_kib))
    show_lost(f"work lost at {frequency} Hz, {note}", runs, rate)
    show_gaps(f"the same as time in gaps that came on top, {note}", runs)
    if frequency == 1000:
        samples = frequency * RUN_MS // 1000 * threads
        pauses = {
            name: bench.median(
                [pause_us(run, plain, samples) for run, plain in zip(runs[name], runs["plain"])]
            )
            for name in ("profc", "bare_stop", "perf_dwarf")
        }
        bench.show(
            1, f"pause a sample as the target sees it, {note}",
            **{name: f"{us:.1f} us" for name, us in pauses.items()},
        )


def compare_polling(program):
    """gdb and eu-stack stop every thread for as long as they take to print."""
    argv = [program, "1", str(RUN_MS)]
    runs = bench.rounds(
        {
            "plain": lambda: run(argv),
            "profc": lambda: run(argv, bench.profc_attach("-F", "100")),
            "eu_stack": lambda: run(argv, bench.polling(*bench.EU_STACK)),
            "gdb": lambda: run(argv, bench.polling(*bench.GDB)),
        },
        count=3,
    )
    show_lost("work lost to polling as fast as the tool can, profc at 100 Hz", runs, rate_on_cpu)


def main():
    program = build("work_rate")
    compare(program, 1, 100, "one busy thread, a CPU idle")
    compare(program, 1, 1000, "one busy thread, a CPU idle")
    compare(program, 1, 1000, "the same, 16 KiB of stack", stack_kib=16)
    compare(program, bench.CPUS, 1000, "every CPU busy", rate_of_time)
    compare(program, bench.CPUS, 1000, "the same, 16 KiB of stack", rate_of_time, stack_kib=16)
    compare_polling(program)


if __name__ == "__main__":
    main()
