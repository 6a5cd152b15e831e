#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses to functions, lines and inline chains: profc beside other symbolizers.

	tests/bench/bench_symbol.py [--elf FILE]... [--rounds N] [--addresses N] [--mib N] [--quick]

Without --elf, and without files in $BENCH_ELF (separated by colons), programs in C++,
C and Rust with N (C++, default 205) and 105 MiB of .debug_info are generated in the
build directory: see symbol_inputs.py. Other files must hold their debug information
themselves (eu-unstrip joins a program and its .debug file).

Time: every round asks each tool once, in turn; printed are the medians of wall and CPU
time, that beside profc's on one CPU, and the largest peak memory. Tools that go through
a unit anew for each address are asked about some of them only, twice, fewer and more;
what they would take for all is computed from those two and marked "~". perf script gets a
recording with one sample at each of those addresses, and what it takes is looked up while
it runs, together with that of the addr2line that it starts and does not wait for.

Answers: each tool's on all addresses are compared with profc's, level by level, and
counted by why they differ: see tests/lib/symbol_agreement.py. Those of eu-addr2line take
minutes; --quick leaves them out.
"""

import argparse
import concurrent.futures
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import perf_recording  # noqa: E402
import symbol_agreement  # noqa: E402
import symbol_inputs  # noqa: E402
import symbolizers  # noqa: E402
from paths import PROFC  # noqa: E402

FEW, MORE = 40, 240  # addresses for tools that are asked about some of them
CPUS = sorted(os.sched_getaffinity(0))


def pick_addresses(elf, nr):
    """nr addresses spread evenly over the bytes of all functions."""
    rows = symbolizers.functions(elf)
    picker = random.Random(1)
    chosen = picker.choices(rows, weights=[size for _, size, _ in rows], k=nr * 2)
    found = {address + picker.randrange(size) for address, size, _ in chosen if size}
    return sorted(picker.sample(sorted(found), min(nr, len(found))))


def spread(addresses, nr):
    return addresses[:: max(1, len(addresses) // nr)][:nr]


class Cost:
    """What one run took."""

    def __init__(self, wall, cpu, peak_mib):
        self.wall, self.cpu, self.peak_mib = wall, cpu, peak_mib


def measure(argv, questions):
    """(Cost, standard output). time(1) knows the peak of just this program."""
    timed = ["time", "-f", "%M", *argv] if shutil.which("time") else argv
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(
        timed,
        input=questions,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(done.stderr.split()[-1]) / 1024 if timed is not argv else float("nan")
    return Cost(wall, cpu, peak), done.stdout


def as_text(addresses):
    return "".join(f"{address:#x}\n" for address in addresses)


def first_installed(*names):
    return next(filter(shutil.which, names), None)


def whole_tools(elf):
    """{name: argv} of those that can be asked about all addresses at once."""
    found = {"profc": [PROFC, "symbolize", "-e", elf, "-afi"]}
    if shutil.which("taskset"):
        found["profc, one CPU"] = ["taskset", "-c", str(CPUS[0]), *found["profc"]]
    llvm = first_installed(
        "llvm-symbolizer", *(f"llvm-symbolizer-{n}" for n in range(25, 11, -1))
    )
    if llvm:
        style = ["--output-style=GNU", "--no-demangle", "-afi"]
        found["llvm-symbolizer"] = [llvm, f"--obj={elf}", *style]
    if shutil.which("addr2line"):
        found["addr2line"] = ["addr2line", "-e", elf, "-afi"]
    return found


def measure_whole(elf, addresses, rounds):
    """{tool: Cost}, {tool: answers}"""
    tools = whole_tools(elf)
    costs, answers = {name: [] for name in tools}, {}
    for _ in range(rounds):
        for name, argv in tools.items():
            cost, output = measure(argv, as_text(addresses))
            costs[name].append(cost)
            answers[name] = symbolizers.parse(output)
    medians = {
        name: Cost(
            statistics.median(cost.wall for cost in runs),
            statistics.median(cost.cpu for cost in runs),
            max(cost.peak_mib for cost in runs),
        )
        for name, runs in costs.items()
    }
    return medians, answers


def extrapolate(few, more, nr):
    """The cost of nr addresses of a tool whose cost rises evenly with their number."""
    share = (nr - FEW) / (MORE - FEW)
    return Cost(
        few.wall + (more.wall - few.wall) * share,
        few.cpu + (more.cpu - few.cpu) * share,
        more.peak_mib,
    )


def measure_elfutils(elf, addresses):
    argv = ["eu-addr2line", "-e", elf, "-afi"]
    few, _ = measure(argv, as_text(spread(addresses, FEW)))
    more, _ = measure(argv, as_text(spread(addresses, MORE)))
    return extrapolate(few, more, len(addresses))


def usage_of(pid):
    """(CPU seconds, peak MiB) of a process so far, or None when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            peak = re.search(r"VmHWM:\s+(\d+) kB", file.read())
    except OSError:
        return None
    ticks = int(words[11]) + int(words[12])
    return (ticks / os.sysconf("SC_CLK_TCK"), int(peak[1]) / 1024) if peak else None


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def measure_family(argv):
    """(Cost of a process and its children, standard output)"""
    seen = {}
    with tempfile.TemporaryFile("w+", errors="surrogateescape") as output:
        started = time.monotonic()
        with subprocess.Popen(argv, stdout=output, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                for pid in [process.pid, *children_of(process.pid)]:
                    seen[pid] = usage_of(pid) or seen.get(pid, (0, 0))
                time.sleep(0.01)
        wall = time.monotonic() - started
        output.seek(0)
        cpu, peak = (sum(column) for column in zip(*seen.values()))
        return Cost(wall, cpu, peak), output.read()


def measure_perf(elf, addresses):
    with tempfile.TemporaryDirectory() as scratch:
        costs = []
        for nr in (FEW, MORE):
            path = os.path.join(scratch, f"{nr}.data")
            perf_recording.write(path, elf, spread(addresses, nr))
            argv = ["perf", "script", "-i", path, "-F", "ip,sym,srcline", "--inline"]
            cost, output = measure_family(argv)
            if not re.search(r":[1-9]\d* \(inlined\)$", output, re.MULTILINE):
                return None  # this perf does not do the same work
            costs.append(cost)
        return extrapolate(*costs, len(addresses))


def elfutils_says(elf, addresses):
    """Asked about neighbours by as many processes as there are CPUs: it takes long."""
    size = max(1, len(addresses) // (8 * len(CPUS)))
    parts = [addresses[i : i + size] for i in range(0, len(addresses), size)]

    def ask(part):
        return symbolizers.run(["eu-addr2line", "-e", elf, "-afi"], input=as_text(part))

    with concurrent.futures.ThreadPoolExecutor(len(CPUS)) as pool:
        return symbolizers.parse_elfutils("".join(pool.map(ask, parts)))


def print_costs(costs, estimated):
    print("  tool              wall s   CPU s  CPU ratio  peak MiB")
    # The others have one thread, so one of profc's is the measure.
    own = costs.get("profc, one CPU", costs["profc"]).cpu
    for name, cost in costs.items():
        about = "~" if name in estimated else " "
        print(
            f"  {name:16}{about}{cost.wall:7.2f} {cost.cpu:7.2f} {cost.cpu / own:9.1f}x "
            f"{cost.peak_mib:9.0f}"
        )


def print_kinds(kinds, found):
    for kind, why in kinds.items():
        counts = [comparison.counts[kind] for comparison in found.values()]
        if any(counts):
            print(f"    {kind:16}" + "".join(f"{n:17}" for n in counts) + f"   {why}")


def print_agreement(elf, answers):
    mine = answers.pop("profc")
    answers.pop("profc, one CPU", None)
    table = symbol_agreement.SymbolTable(elf)
    found = {}
    for name, theirs in answers.items():
        further = [other for tool, other in answers.items() if tool != name]
        found[name] = symbol_agreement.Comparison(mine, theirs, further, table)
    print("  answers, of " + str(len(mine)) + "  " + "".join(f"{name:>17}" for name in found))
    print_kinds(symbol_agreement.EQUAL, found)
    shares = [100 * comparison.share_equal() for comparison in found.values()]
    print("    = equal         " + "".join(f"{share:15.2f} %" for share in shares))
    print_kinds(symbol_agreement.DIFFERENT, found)
    backed = "".join(f"{comparison.nr_backed:17}" for comparison in found.values())
    print(f"    with profc      {backed}   of these differences: so many times a third tool is")
    for name, comparison in found.items():
        if "unexplained" in comparison.examples:
            address, wanted, got = comparison.examples["unexplained"]
            print(f"  {name} at {address:#x}: {got}, profc: {wanted}")


def bench(elf, nr, rounds, answers_of_elfutils):
    addresses = pick_addresses(elf, nr)
    costs, answers = measure_whole(elf, addresses, rounds)
    estimated = set()
    if shutil.which("eu-addr2line"):
        costs["eu-addr2line"] = measure_elfutils(elf, addresses)
        estimated.add("eu-addr2line")
        if answers_of_elfutils:
            answers["eu-addr2line"] = elfutils_says(elf, addresses)
    perf = measure_perf(elf, addresses) if shutil.which("perf") else None
    if perf:
        costs["perf script"] = perf
        estimated.add("perf script")
    info = symbolizers.section_bytes(elf, ".debug_info") / 2**20
    whole = symbolizers.section_bytes(elf, ".debug_") / 2**20
    print(
        f"{os.path.basename(elf)}: {info:.0f} MiB of .debug_info, {whole:.0f} of .debug_*, "
        f"{len(addresses)} addresses, medians of {rounds}"
    )
    print_costs(costs, estimated)
    print_agreement(elf, answers)
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elf", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--addresses", type=int, default=10000)
    parser.add_argument("--mib", type=int, default=205)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    rest = (arguments.addresses, arguments.rounds, not arguments.quick)
    files = arguments.elf or list(filter(None, os.environ.get("BENCH_ELF", "").split(":")))
    for elf in files:
        bench(elf, *rest)
    for language, mib in (("c++", arguments.mib), ("c", 105), ("rust", 105)) if not files else ():
        elf = symbol_inputs.generate(language, mib)
        if elf:
            bench(elf, *rest)
        else:
            print(f"no compiler for {language}: left out\n")


if __name__ == "__main__":
    main()
