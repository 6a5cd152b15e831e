# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 25: what timing each call costs it, whether one is lost, and how long they seem."""

import contextlib
import functools
import json
import shutil
import subprocess
import tempfile

import bench
from bench_count import added_ns, leaf, ns_per_call
from profc import profc, record
from targets import build

PROBES = ("profc_bench:timed", "profc_bench:timed__return")
ALL_CALLS = 100_000_000
STRETCHES = 20
TIMED_CALLS = 400_000


def leave_out(name, reason):
    print(f"row 25  {name}: left out: {reason}", flush=True)


def spans_of(recording):
    (row,) = json.loads(profc("report", "-i", recording.path, "--spans", "--json").stdout)["spans"]
    return row


def ours(threads, calls, *options):
    """ns for a call, and how many calls are missing."""
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        argv = [leaf(), str(threads), str(calls), str(STRETCHES)]
        recording = record(directory, argv, "-F", "50", *options)
        (said,) = recording.said
        row = spans_of(recording)
    ended = sum(length["calls"] for length in row["lengths"])
    return said["ns_per_call"], abs(said["calls"] - ended) + abs(said["calls"] - row["calls"])


@contextlib.contextmanager
def uprobes(program):
    """Probes of the kernel's at the entry of leaf() and at its return; the prefix of a command."""
    adds = [f"{PROBES[0]}=leaf", f"{PROBES[0]}=leaf%return"]
    for add in adds:
        done = subprocess.run(
            ["perf", "probe", "-q", "-x", program, "--add", add],
            check=False, stderr=subprocess.PIPE, text=True,
        )
        if done.returncode:
            leave_out("perf uprobe", (done.stderr.strip() or "perf probe failed").splitlines()[0])
            yield None
            return
    try:
        yield ["perf", "stat", "-e", ",".join(PROBES), "--"]
    finally:
        subprocess.run(["perf", "probe", "-q", "--del", "profc_bench:*"], check=False)


def show_costs(threads, uprobe_prefix):
    calls = ALL_CALLS // STRETCHES // threads // 5
    contenders = {
        "plain": lambda: ns_per_call(leaf(), threads, calls),
        "profc": lambda: ours(threads, calls, "--spans", "leaf")[0],
        "profc_with_slow": lambda: ours(threads, calls, "--spans", "leaf>1us")[0],
        "clock_gettime": lambda: ns_per_call(leaf("-DBY_HAND"), threads, calls),
    }
    if shutil.which("uftrace"):
        prefix = ["uftrace", "record", "--no-libcall", "--no-event", "-d", "recording"]
        contenders["uftrace"] = functools.partial(ns_per_call, leaf("-pg"), threads, calls // 40, prefix, 5)
    if uprobe_prefix:
        contenders["uprobe_and_uretprobe"] = functools.partial(
            ns_per_call, leaf(), threads, calls // 200, uprobe_prefix, 5
        )
    runs = bench.rounds(contenders)
    bench.show(
        25, f"added to a call of {bench.median(runs['plain']):.2f} ns that is timed, {threads} at once",
        **{name: f"{added_ns(runs, name):.1f} ns" for name in runs if name != "plain"},
    )


def show_lost(threads):
    _, lost = ours(threads, ALL_CALLS // STRETCHES // threads, "--spans", "leaf")
    bench.show(25, f"timed calls lost, {threads} at once", profc=f"{lost} of {ALL_CALLS}")


def index_of(cycles):
    return cycles if cycles < 16 else 8 * (cycles.bit_length() - 4) + (cycles >> (cycles.bit_length() - 4))


def show_lengths(threads):
    """
    The program times each call itself, from outside: so by its clock calls are longer by a probe. Of a
    call that lost its CPU in between the two differ by more.
    """
    program = build("timed_calls.c", "-O2", "-g", "-D_GNU_SOURCE", "-pthread")
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        argv = [program, "mixed", str(threads), str(TIMED_CALLS // threads)]
        recording = record(directory, argv, "--spans", "handle_request")
        (said,) = recording.said
        row = spans_of(recording)
    found = [0] * len(said["lengths"])
    for length in row["lengths"]:
        found[index_of(round(length["least_ns"] / said["ns_per_cycle"]))] += length["calls"]
    least = index_of(round(1000 / said["ns_per_cycle"]))
    further, own_as_long, as_long, later = 0, 0, 0, 0
    for own, ranges in zip(reversed(said["lengths"][least:]), reversed(found[least:])):
        later = own_as_long  # in the ranges above this one
        own_as_long += own
        as_long += ranges
        further = max(further, as_long - own_as_long, later - as_long)
    bench.show(
        25, f"calls of 1 us or more, {threads} at once, not within a range of the program's own length",
        profc=f"{further} of {own_as_long}",
        p99=f"{row['p99_ns'] / 1e3:.1f} us",
        total=f"{100 * row['total_ns'] / (said['total'] * said['ns_per_cycle']):.2f} % of its own",
    )


def main():
    for name in ("uftrace", "perf"):
        if not shutil.which(name):
            leave_out(name, "not installed")
    with contextlib.ExitStack() as stack:
        prefix = stack.enter_context(uprobes(leaf())) if shutil.which("perf") else None
        for threads in (1, 2):
            show_costs(threads, prefix)
    for threads in (1, 2, 8):
        show_lost(threads)
        show_lengths(threads)


if __name__ == "__main__":
    main()
