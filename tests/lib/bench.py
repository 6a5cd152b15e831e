# SPDX-License-Identifier: GPL-2.0-or-later
"""Side-by-side measurements: alternated runs, medians, one printed line a result.

Machines are shared and noisy. So every contender runs once in each round, in
turn, and only figures of the same round are compared.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile

from paths import BUILD, PROFC
from targets import parse_json_lines

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
CPUS = len(os.sched_getaffinity(0))
EU_STACK = ("eu-stack", "-p", "PID")
GDB = ("gdb", "-nx", "-batch", "-p", "PID", "-ex", "thread apply all bt")


def rounds(contenders, count=ROUNDS):
    """{name: [result of each round]} of callables that run in turn."""
    results = {name: [] for name in contenders}
    for _ in range(count):
        for name, run in contenders.items():
            results[name].append(run())
    return results


def median(values):
    return statistics.median(values)


def lost_pct(undisturbed, disturbed):
    """Median over the rounds of the work that is missing, in percent."""
    return median([100 * (1 - there / here) for here, there in zip(undisturbed, disturbed)])


def show(row, what, **figures):
    """One line: the row of the list of figures, what was measured, each contender's."""
    columns = "   ".join(f"{name} {figure}" for name, figure in figures.items())
    print(f"row {row:>2}  {what}: {columns}", flush=True)


class Outcome:
    """What a target said, and what the tool beside it cost."""

    def __init__(self, said, tool_cpu_s):
        self.said = said
        self.tool_cpu_s = tool_cpu_s


def run_beside(argv, tool=None):
    """
    Run a target to its end with a tool beside it: a function from the pid, and where a recording
    may be written, to an argv. To write is part of what a tool costs, so none writes to /dev/null.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryDirectory() as scratch:
        target = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output)
        beside = subprocess.Popen(
            tool(target.pid, os.path.join(scratch, "recording")) if tool else ["true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        target.wait()
        os.kill(beside.pid, signal.SIGINT)  # send_signal() would reap it and lose its usage
        _, _, usage = os.wait4(beside.pid, 0)
        beside.returncode = 0
        output.seek(0)
        return Outcome(parse_json_lines(output.read()), usage.ru_utime + usage.ru_stime)


def profc_attach(*options):
    """The argv of profc beside a pid."""
    fixed = ("-q", "--no-symbols", *options)
    return lambda pid, path: [PROFC, "attach", "-p", str(pid), "-o", path, *fixed]


def perf_record(frequency, graph):
    """The argv of perf record beside a pid, with a given kind of call graph."""
    fixed = ("-q", "-e", "cpu-clock", "--call-graph", graph, "-F", str(frequency))
    return lambda pid, path: ["perf", "record", "-p", str(pid), "-o", path, *fixed]


def bare_stop(frequency, place):
    """
    The argv of what stops the busy threads of a pid from a "near" or a "far" CPU, and does nothing
    else: how much the kernel itself takes, which no tool that stops threads can be below.
    """
    program = os.path.join(BUILD, "tests", "bench", "bare_stop")
    return lambda pid, _: [program, str(pid), str(frequency), place]


def polling(*tool):
    """
    The argv of a loop that runs a one-shot tool on the pid over and over, for 20 seconds at most:
    a thread whose time-outs begin again after each stop never ends beside one that polls.
    """
    loop = (
        "import subprocess, sys, time\n"
        "end = time.monotonic() + 20\n"
        "while subprocess.run(sys.argv[1:], stdout=-3, stderr=-3).returncode == 0:\n"
        "    if time.monotonic() > end: break\n"
    )
    return lambda pid, _: [
        sys.executable, "-c", loop, *(str(pid) if word == "PID" else word for word in tool)
    ]
