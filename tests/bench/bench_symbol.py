#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses to functions, lines and inline chains: profc beside other symbolizers.

	tests/bench/bench_symbol.py [--elf FILE]... [--rounds N] [--addresses N] [--mib N]

Without --elf a C++ program with N MiB of .debug_info (default 205) is generated
in the build directory: one translation unit, heavy with templates, is compiled
once, and copies of it are linked whole under other names, so that each is a
compilation unit of its own.

Every round asks each tool once, in turn; printed are the medians of wall and CPU
time, that beside profc's on one CPU, the largest peak memory, and how many answers are equal to profc's, level by
level: names without the suffixes of parts of functions (.cold, .part.0), and
without the outermost one, which llvm takes from the symbol table, where aliases
of constructors and destructors differ from what the debug information says.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import symbolizers  # noqa: E402
from paths import BUILD, PROFC  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_symbol.cpp")


def run(*argv, **options):
    subprocess.run(list(map(str, argv)), check=True, **options)


def debug_info_bytes(elf):
    for line in symbolizers.run(["readelf", "-SW", elf]).splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 6 and words[1] == ".debug_info":
            return int(words[5], 16)
    return 0


def generate(mib):
    """The generated program; built once and kept."""
    program = os.path.join(BUILD, "tests", "bench", f"symbol-{mib}")
    if os.path.exists(program):
        return program
    os.makedirs(os.path.dirname(program), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(program)) as scratch:
        one, whole = os.path.join(scratch, "one.o"), os.path.join(scratch, "whole.o")
        print(f"# compiling {os.path.basename(SOURCE)} (about 20 s)", file=sys.stderr)
        run("g++", "-std=c++17", "-O2", "-g", "-fno-gnu-unique", "-c", "-o", one, SOURCE)
        # Without groups the linker cannot take the copies for duplicates of one another.
        run("ld", "-r", "--force-group-allocation", "-o", whole, one)
        nr = (mib << 20) // debug_info_bytes(one) + 1
        names = [f"unit_run_{number}" for number in range(nr)]
        for name in names:
            run(
                "objcopy",
                f"--redefine-sym=unit_run={name}",
                f"--keep-global-symbol={name}",
                whole,
                os.path.join(scratch, name + ".o"),
            )
        main = os.path.join(scratch, "main.c")
        with open(main, "w", encoding="ascii") as file:
            file.write("".join(f"int {name}(int);\n" for name in names))
            calls = "".join(f" + {name}(argc)" for name in names)
            file.write(f"int main(int argc, char **argv)\n{{\n\treturn !argv{calls};\n}}\n")
        run("gcc", "-g", "-c", "-o", main + ".o", main)
        objects = [os.path.join(scratch, name + ".o") for name in names]
        run("g++", "-pthread", "-o", os.path.join(scratch, "program"), main + ".o", *objects)
        os.replace(os.path.join(scratch, "program"), program)
    return program


def pick_addresses(elf, nr):
    """nr addresses spread evenly over the bytes of all functions."""
    rows = symbolizers.functions(elf)
    picker = random.Random(1)
    chosen = picker.choices(rows, weights=[size for _, size, _ in rows], k=nr * 2)
    found = {address + picker.randrange(size) for address, size, _ in chosen}
    return sorted(picker.sample(sorted(found), min(nr, len(found))))


def measure(argv, questions):
    """(wall seconds, CPU seconds, standard output)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        output, _ = process.communicate(questions)
        wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, output


def peak_mib(argv, questions):
    """Of one run more, under time(1), which knows the peak of just this child."""
    if not shutil.which("time"):
        return float("nan")
    done = subprocess.run(
        ["time", "-f", "%M", *argv],
        input=questions,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return int(done.stderr.split()[-1]) / 1024


def tools(elf):
    found = {"profc": [PROFC, "symbolize", "-e", elf, "-afi"]}
    if shutil.which("taskset"):
        one_cpu = str(min(os.sched_getaffinity(0)))
        found["profc, one CPU"] = ["taskset", "-c", one_cpu, *found["profc"]]
    for name in ["llvm-addr2line"] + [f"llvm-addr2line-{n}" for n in range(25, 11, -1)]:
        if shutil.which(name):
            found["llvm-addr2line"] = [name, "-e", elf, "-afi"]
            break
    if shutil.which("addr2line"):
        found["addr2line"] = ["addr2line", "-e", elf, "-afi"]
    return found


def bench(elf, nr, rounds):
    addresses = pick_addresses(elf, nr)
    questions = "".join(f"{address:#x}\n" for address in addresses)
    commands = tools(elf)
    walls = {name: [] for name in commands}
    cpus = {name: [] for name in commands}
    answers = {}
    for _ in range(rounds):
        for name, argv in commands.items():
            wall, cpu, output = measure(argv, questions)
            walls[name].append(wall)
            cpus[name].append(cpu)
            answers[name] = symbolizers.without_outermost_names(symbolizers.parse(output))
    print(
        f"{os.path.basename(elf)}: {debug_info_bytes(elf) / 2**20:.0f} MiB of .debug_info, "
        f"{len(addresses)} addresses, medians of {rounds}"
    )
    print("  tool              wall s   CPU s   CPU ratio  peak MiB  equal to profc")
    # The others have one thread, so one of profc's is the measure.
    own = statistics.median(cpus.get("profc, one CPU", cpus["profc"]))
    for name, argv in commands.items():
        cpu = statistics.median(cpus[name])
        equal, _ = symbolizers.share_equal(answers["profc"], answers[name])
        print(
            f"  {name:16} {statistics.median(walls[name]):7.2f} {cpu:7.2f} {cpu / own:10.1f}x "
            f"{peak_mib(argv, questions):9.0f} {100 * equal:14.2f} %"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elf", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--addresses", type=int, default=10000)
    parser.add_argument("--mib", type=int, default=205)
    arguments = parser.parse_args()
    for elf in arguments.elf or [generate(arguments.mib)]:
        bench(elf, arguments.addresses, arguments.rounds)


if __name__ == "__main__":
    main()
