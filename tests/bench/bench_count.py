# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 14 and 15: what counting calls exactly costs a call, and the stops to begin and to end it."""

import contextlib
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import bench
from paths import PROFC
from profc import profc, record
from targets import DEFAULT_FLAGS, Running, build, parse_json_lines

CALLS = 5000000
STRETCHES = 20
UPROBE = "profc_bench:leaf"


def leaf(*flags):
    return build("counted_leaf", *DEFAULT_FLAGS[".c"], *flags)


def leaf_by_got():
    return leaf("-DBY_GOT", "-fPIC", "-Wl,--no-relax")


def run(program, threads, calls=CALLS, prefix=(), stretches=STRETCHES):
    """What the target says of itself, under the command `prefix`, in a directory that goes."""
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        done = subprocess.run(
            [*prefix, program, str(threads), str(calls), str(stretches)],
            cwd=directory, env=os.environ | {"GCOV_PREFIX": directory}, check=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
    return parse_json_lines(done.stdout)[-1]


def ns_per_call(*arguments, **named):
    return run(*arguments, **named)["ns_per_call"]


class Counted:
    """Runs that profc counts, and how many calls of them it has missed."""

    def __init__(self):
        self.missed = self.made = 0

    def ns_per_call(self, program, threads, *options):
        with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
            argv = [program, str(threads), str(CALLS), str(STRETCHES)]
            recording = record(directory, argv, "-F", "50", *options)
            (said,) = recording.said
            nodes = recording.report("--tree", "--counts")["nodes"]
        self.made += said["calls"]
        self.missed += abs(said["calls"] - sum(node["calls"] or 0 for node in nodes))
        return said["ns_per_call"]


@contextlib.contextmanager
def uprobe(program):
    """A probe of the kernel's at leaf(), as the prefix of a command that has it counted."""
    adds = ["perf", "probe", "-q", "-x", program, "--add", f"{UPROBE}=leaf"]
    done = subprocess.run(adds, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        leave_out("perf uprobe", (done.stderr.strip() or "perf probe failed").splitlines()[0])
        yield None
        return
    try:
        yield ["perf", "stat", "-e", UPROBE, "--"]
    finally:
        subprocess.run(["perf", "probe", "-q", "--del", UPROBE], check=False)


def leave_out(name, reason):
    print(f"row 14  {name}: left out: {reason}", flush=True)


def ours(threads, counted):
    """Each with the same program without probes, of the same round."""
    entry, site = ("--count", "^leaf$"), ("--count-calls-in", "call_leaf")
    plain, by_got = leaf(), leaf_by_got()
    return {
        "plain": lambda: ns_per_call(plain, threads),
        "plain_got": lambda: ns_per_call(by_got, threads),
        "profc_entry": lambda: counted.ns_per_call(plain, threads, *entry),
        "profc_call": lambda: counted.ns_per_call(plain, threads, *site),
        "profc_call_got": lambda: counted.ns_per_call(by_got, threads, *site),
    }


def compiled_in(threads):
    """Programs that were compiled to count: gcov as it is with threads, and as it is without."""
    builds = {
        "gcov": ("--coverage",),
        "gcov_inexact": ("--coverage", "-fprofile-update=single"),
        "gprof": ("-pg",),
    }
    return {
        name: functools.partial(ns_per_call, leaf(*flags), threads)
        for name, flags in builds.items()
    }


def slow(threads, uprobe_prefix):
    """Those that take so long for a call that fewer must do."""
    found = {}
    if shutil.which("uftrace"):
        prefix = ["uftrace", "record", "--no-libcall", "--no-event", "-d", "recording"]
        found["uftrace"] = functools.partial(
            ns_per_call, leaf("-pg"), threads, CALLS // 100, prefix, 5
        )
    if shutil.which("valgrind"):
        prefix = ["valgrind", "-q", "--tool=callgrind"]
        found["callgrind"] = functools.partial(ns_per_call, leaf(), threads, CALLS // 10, prefix, 5)
    if uprobe_prefix:
        found["perf_uprobe"] = functools.partial(
            ns_per_call, leaf(), threads, CALLS // 250, uprobe_prefix, 5
        )
    return found


def added_ns(runs, name, base="plain"):
    """Median over the rounds of what a call takes more."""
    return bench.median([there - here for there, here in zip(runs[name], runs[base])])


def show_costs(threads, uprobe_prefix):
    counted = Counted()
    runs = bench.rounds(
        ours(threads, counted) | compiled_in(threads) | slow(threads, uprobe_prefix)
    )
    figures = {
        name: f"{added_ns(runs, name, 'plain_got' if name.endswith('_got') else 'plain'):.2f} ns"
        for name in runs
        if not name.startswith("plain")
    }
    bench.show(
        14, f"added to a call of {bench.median(runs['plain']):.2f} ns, {threads} at once", **figures
    )
    bench.show(14, f"calls missed, {threads} at once", profc=f"{counted.missed} of {counted.made}")


def show_ways():
    """How a processor takes each way to count; the least is nearest to undisturbed."""
    ways = run_ways()
    plain = ways.pop("plain")
    bench.show(
        14, f"ways to count, added to a call of {plain:.2f} ns",
        **{name: f"{ns:.2f} ns" for name, ns in ways.items()},
    )


def run_ways():
    done = subprocess.run([build("counting_ways")], check=True, text=True, stdout=subprocess.PIPE)
    return parse_json_lines(done.stdout)[-1]


def shares(program, *options):
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        recording = record(directory, [program, "1", "1000000", "60"], "-F", "1000", *options)
        info = json.loads(recording.info("--json"))
        return {
            "leaf": recording.function("leaf")["self_pct"],
            "caller": recording.function("call_in_stretches")["total_pct"],
            "complete": info["stacks"]["complete_cpu_pct"],
        }


def show_shares():
    """
    What samples show of a function that is hot and counted, against the same uncounted. It is the
    longer one: where a call takes a nanosecond or two the processor itself tells, of many samples,
    the instruction behind the call, of how many depends on how the code lies.
    """
    program = leaf("-DLONG")
    runs = bench.rounds({
        "uncounted": lambda: shares(program),
        "entry": lambda: shares(program, "--count", "^leaf$"),
        "call": lambda: shares(program, "--count-calls-in", "call_leaf"),
        "all": lambda: shares(program, "--count", "."),
    })
    for what in ("leaf", "caller", "complete"):
        figures = {
            name: f"{bench.median([run[what] for run in results]):.2f} %"
            for name, results in runs.items()
        }
        bench.show(14, f"samples of a counted function: {what}", **figures)


def attached(directory, pid, *options):
    """The recording of a short while, and what it took profc: CPU seconds, and resident bytes."""
    path = os.path.join(directory, "attached.data")
    tool = subprocess.Popen(
        [PROFC, "attach", "-q", "--no-symbols", "-p", str(pid), "-o", path, "-F", "100",
         "-d", "200ms", *options],
        stdin=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(tool.pid, 0)
    tool.returncode = os.waitstatus_to_exitcode(status)
    if tool.returncode:
        raise RuntimeError(f"profc attach {' '.join(options)}: status {tool.returncode}")
    taken = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    return json.loads(profc("info", "-i", path, "--json").stdout), taken


def stops_ms(threads):
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        with Running([build("threads_idle"), str(threads), "60000"]) as target:
            target.wait_ready()
            info, _ = attached(directory, target.pid, "--count", "^(main|busy_work)$")
    counters = info["counters"]
    return [counters[f"probe_{what}_ns"] / 1e6 for what in ("install", "remove")]


def show_stops(threads):
    """Each is one stop of all threads together; what others do on the machine makes it longer."""
    runs = [stops_ms(threads) for _ in range(2 * bench.ROUNDS)]
    figures = {}
    for index, what in enumerate(("install", "remove")):
        times = [run[index] for run in runs]
        figures[what] = f"{bench.median(times):.2f} ms (least {min(times):.2f})"
    bench.show(
        15, f"stop with {threads} idle threads, goal {1 + 0.02 * threads:.1f} ms", **figures
    )


def large_programs():
    waits = "import ctypes, sys\nfor path in sys.argv[1:]: ctypes.CDLL(path)\n"
    waits += "print('ready', flush=True)\nsys.stdin.read()"
    yield "python3", [sys.executable, "-c", waits, "libstdc++.so.6"]
    for name in ("libLLVM-*.so.1", "libclang-cpp.so.*"):
        for path in sorted(glob.glob(f"/usr/lib/llvm-*/lib/{name}"))[-1:]:
            yield os.path.basename(path), [sys.executable, "-c", waits, "libstdc++.so.6", path]
    if shutil.which("node"):
        waits = "console.log('ready'); process.stdin.resume()"
        yield "node", ["node", "-e", waits]


def analysis(argv):
    """What all functions take over none, how many they are, and the stop to install."""
    everything = ("--count", ".", "--count-max", "1000000")
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory, Running(argv) as target:
        target.wait_ready()
        _, without = attached(directory, target.pid)
        info, taken = attached(directory, target.pid, *everything)
        if target.process.poll() is not None:
            raise RuntimeError(f"{argv[0]} has ended with {target.process.returncode}")
    cpu_s, nr_bytes = (there - here for there, here in zip(taken, without))
    return cpu_s, nr_bytes, info["probes"], info["counters"]["probe_install_ns"] / 1e6


def show_analysis(name, argv):
    runs = [analysis(argv) for _ in range(3)]
    cpu_s = bench.median([seconds for seconds, _, _, _ in runs])
    nr_bytes = bench.median([nr_bytes for _, nr_bytes, _, _ in runs])
    probes = runs[0][2]
    functions = probes["counted"] + len(probes["refused"])
    bench.show(
        15, f"counting all {functions} functions of {name}",
        counted=f"{probes['counted']}",
        cpu=f"{cpu_s:.2f} s",
        per_100000=f"{cpu_s * 1e5 / functions:.2f} s",
        resident=f"{nr_bytes / functions:.0f} B a function",
        stop=f"{bench.median([stop_ms for _, _, _, stop_ms in runs]):.1f} ms",
    )


def main():
    show_ways()
    for name in ("uftrace", "valgrind", "perf"):
        if not shutil.which(name):
            leave_out(name, "not installed")
    with contextlib.ExitStack() as stack:
        prefix = stack.enter_context(uprobe(leaf())) if shutil.which("perf") else None
        for threads in (1, 2):
            show_costs(threads, prefix)
    show_shares()
    for threads in (1, 100, 1000):
        show_stops(threads)
    for name, argv in large_programs():
        show_analysis(name, argv)


if __name__ == "__main__":
    main()
