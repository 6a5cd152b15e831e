# SPDX-License-Identifier: GPL-2.0-or-later
"""Ask several symbolizers about the same addresses and compare what they say."""

import os
import random
import re
import shutil
import subprocess
import unittest

from paths import PROFC


def run(argv, **options):
    done = subprocess.run(
        list(map(str, argv)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        check=False,
        **options,
    )
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, argv))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def section_bytes(elf, prefix):
    """The sizes of all sections whose names begin so, as they are in the file."""
    total = 0
    for line in run(["readelf", "-SW", elf]).splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 6 and words[1].startswith(prefix) and words[2] != "NOBITS":
            total += int(words[5], 16)
    return total


def functions(elf):
    """[(address, size, name)] of the functions in the symbol table."""
    found = []
    for line in run(["nm", "--defined-only", "-S", elf]).splitlines():
        words = line.split(maxsplit=3)
        if len(words) == 4 and words[2] in "tTwWi":
            found.append((int(words[0], 16), int(words[1], 16), words[3]))
    return sorted(found)


def labels(elf):
    """The names of symbols of code that have no size."""
    words = [line.split() for line in run(["nm", "--defined-only", "-S", elf]).splitlines()]
    return {row[2] for row in words if len(row) == 3 and row[1] in "tT"}


def address_of(elf, name):
    """The address of a symbol, sized or not."""
    for line in run(["nm", "--defined-only", elf]).splitlines():
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[2] == name:
            return int(words[0], 16)
    raise AssertionError(f"no symbol {name} in {elf}")


def addresses_in(elf, nr, seed=1):
    """Up to nr addresses spread evenly over the bytes of all functions, ascending."""
    every = [
        address + offset for address, size, _ in functions(elf) for offset in range(size)
    ]
    every = sorted(set(every))
    if len(every) > nr:
        every = sorted(random.Random(seed).sample(every, nr))
    return every


def tidy(place):
    """file:line without discriminator, the path as it would be opened."""
    place = re.sub(r" \(discriminator \d+\)$", "", place)
    path, _, line = place.rpartition(":")
    return (path if path == "??" else os.path.normpath(path)), 0 if line == "?" else int(line)


def parse(text):
    """{address: [(function, (file, line))…]} of what `addr2line -afi` printed."""
    answers, levels, pending = {}, None, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            levels = answers.setdefault(int(line, 16), [])
        elif pending is None:
            pending = line
            continue
        elif line:
            levels.append((pending, tidy(line)))
        pending = None
    return answers


def parse_elfutils(text):
    """The same of what `eu-addr2line -afi` printed, which has columns and tells calls twice."""
    plain = re.sub(r" inlined at .*$", "", text, flags=re.MULTILINE)
    plain = re.sub(r"^(.*:\d+):\d+$", r"\1", plain, flags=re.MULTILINE)
    return parse(plain)


def ask(argv, addresses):
    text = "".join(f"{address:#x}\n" for address in addresses)
    return parse(run(argv, input=text))


def profc_says(elf, addresses, *options):
    return ask([PROFC, "symbolize", "-e", elf, "-afi", *options], addresses)


def addr2line_says(elf, addresses, *options):
    return ask(["addr2line", "-e", elf, "-afi", *options], addresses)


def llvm_program():
    """llvm-addr2line under one of the names distributions give it, or a skip."""
    for name in ["llvm-addr2line"] + [f"llvm-addr2line-{n}" for n in range(25, 11, -1)]:
        if shutil.which(name):
            return name
    raise unittest.SkipTest("llvm-addr2line is not installed")


def llvm_says(elf, addresses, *options):
    return ask([llvm_program(), "-e", elf, "-afi", *options], addresses)


def elfutils_says(elf, addresses):
    text = "".join(f"{address:#x}\n" for address in addresses)
    return parse_elfutils(run(["eu-addr2line", "-e", elf, "-afi"], input=text))


def base_name(function):
    """Without what compilers append to the symbols of parts and copies of a function."""
    return re.sub(r"\.(cold|part|isra|constprop|llvm)(\.\d+)*$", "", function)


def share_equal(mine, other, function=base_name):
    """How many of other's answers are mine, level by level, and the first that are not."""
    equal, different = 0, []
    for address, levels in other.items():
        wanted = [(function(name), place) for name, place in levels]
        got = [(function(name), place) for name, place in mine.get(address, [])]
        if got == wanted:
            equal += 1
        elif len(different) < 5:
            different.append(f"{address:#x}: {got} instead of {wanted}")
    return equal / max(len(other), 1), different
