# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 19: what a busy thread misses for each stop, by the processor's own counter of time.

One thread with 2 KiB of stack, from a CPU that is idle ("away") and, where another program
computes on every other CPU, from its own ("beside"). A visit that does nothing with what it
reads is the bound for a profiler that stops threads. bare_and_proc also reads the two files of
/proc that show the thread's clocks, and whether it may be visited. The collector walks the
stacks: where no CPU is idle a thread pays for it in time slices, which are no gaps of a stop.
Slices of all runs are compared by their medians, as neighbours disturb some of them.
"""

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile

import bench
from paths import BUILD
from profc import profc
from targets import build, parse_json_lines

FREQUENCY = 1000
RUN_MS, SLICE_MS = 1750, 250
STARTING_SLICES = 3  # a tool starts, and reads what there is
BARE = os.path.join(BUILD, "tests", "bench", "bare_visit")
HOG = "while True: pass"
# BENCH_TARGET="chrt -f 1" keeps neighbours on a shared machine off the target's CPU.
BEFORE = os.environ.get("BENCH_TARGET", "").split()


def processor():
    """The model of the processor, with what tells models of one name apart."""
    found = {}
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            found.setdefault(name.strip(), value.strip())
    name = found.get("model name", platform.machine())
    return f"{name}, family {found.get('cpu family', '?')} model {found.get('model', '?')}"


class Run:
    """The slices of one run of the target, and how often a tool beside it stops it a second."""

    def __init__(self, slices, per_s, own_us=None, collector_us=None):
        self.missed = [each["missed_ns"] / each["elapsed_ns"] for each in slices[STARTING_SLICES:]]
        self.per_s = per_s
        self.own_us = own_us
        self.collector_us = collector_us


def run(program, cpu, tool=None, count=None):
    """Run the target beside a tool; `count` makes stops a second of what the tool left."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as said:
        path = os.path.join(scratch, "recording")
        target = subprocess.Popen(
            [*BEFORE, program, str(RUN_MS), str(SLICE_MS), str(cpu)],
            stdout=subprocess.PIPE, text=True,
        )
        beside = tool and subprocess.Popen(
            tool(target.pid, path), stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL
        )
        slices = parse_json_lines(target.communicate()[0])
        if beside:
            beside.send_signal(signal.SIGINT)
            beside.wait()
        said.seek(0)
        return Run(slices, *(count(path, said.read()) if count else (0,)))


def stops_of_profc(path, _):
    """Stops a second, what profc holds a stop for, and the CPU time of its collector for each."""
    counters = json.loads(profc("info", "-i", path, "--json").stdout)["counters"]
    per_tick = counters["stops"] / max(counters["ticks"], 1)
    return (
        counters["frequency_hz_effective"] * per_tick / 1000,
        counters["stop_cost_ns"] / 1000,
        counters["working_cpu_ns"] / max(counters["stops"], 1) / 1000,
    )


def contenders(program, cpu, other, place):
    options = ("-F", str(FREQUENCY), "--max-overhead", "0")
    bare = (str(other), "spin") if place == "away" else (str(cpu), "sleep")
    steady = lambda _path, _said: (FREQUENCY,)
    return {
        "plain": lambda: run(program, cpu),
        "profc": lambda: run(program, cpu, bench.profc_attach(*options), stops_of_profc),
        "bare_visit": lambda: run(
            program, cpu, lambda pid, _: [BARE, str(pid), str(FREQUENCY), *bare], steady
        ),
        "bare_and_proc": lambda: run(
            program, cpu, lambda pid, _: [BARE, str(pid), str(FREQUENCY), *bare, "reads"], steady
        ),
        "perf_dwarf": lambda: run(
            program, cpu, bench.perf_record(FREQUENCY, "dwarf,2048"), steady
        ),
        "perf_fp": lambda: run(program, cpu, bench.perf_record(FREQUENCY, "fp"), steady),
    }


def missed_us(runs, plain):
    """By the median of all slices, what a stop adds to the gaps that there are in any case."""
    extra = bench.median([share for each in runs for share in each.missed])
    extra -= bench.median([share for each in plain for share in each.missed])
    return 1e6 * extra / bench.median([each.per_s for each in runs])


def compare(program, place, cpus):
    runs = bench.rounds(contenders(program, cpus[0], cpus[-1], place))
    plain = runs.pop("plain")
    figures = {name: f"{missed_us(results, plain):.1f} us" for name, results in runs.items()}
    own = bench.median([each.own_us for each in runs["profc"]])
    figures["profc_says"] = f"{own:.1f} us"
    bench.show(19, f"missed for each stop at {FREQUENCY} Hz, {place}", **figures)
    collector = bench.median([each.collector_us for each in runs["profc"]])
    what = "the collector, CPU time for each stop, start and end included"
    bench.show(19, what, profc=f"{collector:.1f} us")


def main():
    program = build("stop_gaps")
    cpus = sorted(os.sched_getaffinity(0))
    print(f"        processor: {processor()}, {len(cpus)} CPUs, Linux {platform.release()}")
    if len(cpus) > 1:
        compare(program, "away", cpus)
    hogs = [
        subprocess.Popen(
            [sys.executable, "-c", HOG], preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu})
        )
        for cpu in cpus[1:]
    ]
    try:
        compare(program, "beside", cpus)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


if __name__ == "__main__":
    main()
