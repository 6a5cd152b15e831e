# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 16 and 17: what recording allocations costs a program, sampled and all of them."""

import functools
import json
import os
import shutil
import subprocess
import tempfile

import bench
from profc import profc, record
from targets import build, parse_json_lines

# Of each program the figure that it says of itself, by its own CPU clock, and for those who take
# long for an allocation how much less it is to do.
PAIRS, NODES, ROUNDS_OF_NODES, ROUNDS_OF_MAPS, LESS = 2000000, 300000, 20, 60, 20


def pairs(share=1):
    return [build("malloc_pairs"), "64", str(PAIRS // share), "20"], "ns_per_pair"


def nodes(share=1):
    # The first round of a program takes the pages.
    rounds = max(5, ROUNDS_OF_NODES // share)
    return [build("list_of_nodes"), str(NODES), str(rounds)], "ns_per_node"


def maps(share=1):
    return [build("maps_of_words"), str(max(1, ROUNDS_OF_MAPS // share))], "ms_per_round"


def alone(program, prefix=(), **environment):
    """Under the command `prefix`, in a directory that goes."""
    argv, figure = program
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        done = subprocess.run(
            [*prefix, *argv], cwd=directory, env=os.environ | environment, check=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
    return parse_json_lines(done.stdout)[-1][figure]


class Recorded:
    """Runs that profc records, and how many blocks of them it has lost."""

    def __init__(self):
        self.dropped = self.blocks = 0

    def figure(self, program, *options):
        argv, figure = program
        with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
            recording = record(directory, argv, "--no-symbols", *options)
            heap = json.loads(recording.info("--json"))["heap"]
        self.dropped += heap["dropped"]
        self.blocks += heap["samples"]
        return recording.said[-1][figure]


@functools.lru_cache(maxsize=None)  # once for all programs
def leave_out(row, name, reason):
    print(f"row {row}  {name}: left out: {reason}", flush=True)


def has_all():
    """Can all allocations be recorded, or what does profc say?"""
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        path = os.path.join(directory, "data")
        done = profc("record", "-q", "--mem=all", "-o", path, "--", "true", status=None)
    if done.returncode == 0:
        return True
    leave_out(17, "profc_all", (done.stderr.strip() or "no reason").splitlines()[0])
    return False


def library(name):
    """The path of a library that the loader knows, or None."""
    done = subprocess.run(
        [shutil.which("ldconfig") or "/sbin/ldconfig", "-p"], check=True, text=True,
        stdout=subprocess.PIPE,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return next((words[-1] for words in lines if words and words[0] == name), None)


def jemalloc_complaint(path):
    """What it says where it was built without its profiler."""
    done = subprocess.run(
        ["true"], env=os.environ | {"LD_PRELOAD": path, "MALLOC_CONF": "prof:true"}, check=True,
        text=True, stderr=subprocess.PIPE,
    )
    return done.stderr.strip()


def other_allocators(program):
    """{name: run} of allocators that sample by themselves, each with and without that."""
    found = {}
    path = library("libjemalloc.so.2")
    complaint = jemalloc_complaint(path) if path else "not installed"
    if complaint:
        leave_out(16, "jemalloc", complaint.splitlines()[0])
    else:
        run = functools.partial(alone, program(), LD_PRELOAD=path)
        found["jemalloc"] = functools.partial(run, MALLOC_CONF="prof:false")
        found["jemalloc_prof"] = functools.partial(
            run, MALLOC_CONF="prof:true,lg_prof_sample:19"
        )
    path = library("libtcmalloc.so.4")
    if not path:
        leave_out(16, "tcmalloc", "not installed (libtcmalloc_minimal has no sampling)")
    else:
        run = functools.partial(alone, program(), LD_PRELOAD=path)
        found["tcmalloc"] = functools.partial(run, TCMALLOC_SAMPLE_PARAMETER="0")
        found["tcmalloc_sampling"] = functools.partial(run, TCMALLOC_SAMPLE_PARAMETER="524288")
    return found


def all_of_them(program):
    """{name: run} of those that record all, at their own pace."""
    found = {}
    if shutil.which("heaptrack"):
        found["heaptrack"] = functools.partial(
            alone, program(LESS), ["heaptrack", "--raw", "-o", "recording"]
        )
    else:
        leave_out(17, "heaptrack", "not installed")
    if shutil.which("valgrind"):
        found["massif"] = functools.partial(
            alone, program(LESS), ["valgrind", "-q", "--tool=massif", "--massif-out-file=recording"]
        )
    else:
        leave_out(17, "massif", "not installed")
    return found


def ours(program, sampled, whole, does_all):
    contenders = {
        "plain": lambda: alone(program()),
        "profc": lambda: sampled.figure(program(), "--mem", "--no-cpu"),
        "profc_64K": lambda: sampled.figure(program(), "--mem=64K", "--no-cpu"),
        "profc_and_samples": lambda: sampled.figure(program(), "--mem"),
    }
    if does_all:
        contenders["profc_all"] = lambda: whole.figure(program(), "--mem=all", "--no-cpu")
    return contenders


# Which run without a profiler a contender's is compared with, of the same round.
BASES = {"jemalloc_prof": "jemalloc", "tcmalloc_sampling": "tcmalloc"}


def show(program, what, unit, does_all):
    sampled, whole = Recorded(), Recorded()
    runs = bench.rounds(
        ours(program, sampled, whole, does_all) | other_allocators(program) | all_of_them(program)
    )
    for name, results in runs.items():
        base = runs[BASES.get(name, "plain")]
        figures = {"median": f"{bench.median(results):.2f} {unit}"}
        if results is not base:
            figures["ratio"] = f"{bench.median([x / y for x, y in zip(results, base)]):.3f}"
            figures["added"] = f"{bench.median([x - y for x, y in zip(results, base)]):.2f} {unit}"
        is_whole = name in ("profc_all", "heaptrack", "massif")
        bench.show(17 if is_whole else 16, f"{what}, {name}", **figures)
    bench.show(16, f"{what}, blocks lost", profc=f"{sampled.dropped} of {sampled.blocks} sampled")
    if does_all:
        bench.show(17, f"{what}, blocks lost", profc_all=f"{whole.dropped} of {whole.blocks}")


def main():
    does_all = has_all()
    show(pairs, "a pair of malloc(64) and free", "ns", does_all)
    show(nodes, "a node of a list, made and freed", "ns", does_all)
    show(maps, "a round of a C++ program with maps", "ms", does_all)


if __name__ == "__main__":
    main()
