# SPDX-License-Identifier: GPL-2.0-or-later
"""
How two symbolizers' answers about one address differ, and why.

An answer is the list of levels of symbolizers.parse(), innermost first. It is equal
when every level has the same file and line and the same function; a function may
go by another of its own names only where it is the outermost one, whose name some
tools take from the symbol table and others from the debug information.
"""

import bisect
import os
import re

import symbolizers

# What compilers append to the symbols of parts and copies of a function.
SUFFIX = re.compile(r"(\.(cold|part|isra|constprop|llvm|lto_priv)(\.\d+)*)+$")

# In the order in which they are tried: what is called equal, then what is not.
EQUAL = {
    "identical": "every name, file and line",
    "part": "outermost name with or without .cold, .part, .isra or .constprop",
    "alias": "outermost function by another symbol of the same code: C1 and C2, folded",
    "local": "file-local outermost function by its plain name or by its symbol",
}
DIFFERENT = {
    "no answer": "the other tool knows nothing of the address",
    "twin": "the same, with a file as another unit calls it that has a copy of the function",
    "label": "the other tool takes a label within the function for a function",
    "no chain": "the other tool knows the place, but not what it is inlined into",
    "outvoted": "a third tool says what profc says, and none what this one says",
    "unexplained": "none of these",
}


def base(name):
    """Of the symbols of one function; gcc's debug information calls all constructors C4."""
    return re.sub(r"([CD])[0-5](?=[EI])", r"\1?", SUFFIX.sub("", name))


class SymbolTable:
    """Which names the code of an address goes by."""

    def __init__(self, elf):
        self.rows = symbolizers.functions(elf)
        self.labels = symbolizers.labels(elf)
        self.starts = [start for start, _, _ in self.rows]
        self.reach = []
        for start, size, _ in self.rows:
            end = start + size
            self.reach.append(max(end, self.reach[-1]) if self.reach else end)

    def names_at(self, address):
        names, index = set(), bisect.bisect_right(self.starts, address) - 1
        while index >= 0 and self.reach[index] > address:
            start, size, name = self.rows[index]
            if address < start + size:
                names.add(base(name))
            index -= 1
        return names


def renaming(mine, other, names):
    """Why two names are one function's, or None when that is not known."""
    mine_base, other_base = base(mine), base(other)
    if SUFFIX.sub("", mine) == SUFFIX.sub("", other):
        return "part"
    if mine_base == other_base or {mine_base, other_base} <= names:
        return "alias"
    for plain, mangled in ((other, mine_base), (mine, other_base)):
        plain = base(plain).lstrip("~").partition("<")[0]
        spelt = "cl" if plain == "operator()" else f"{len(plain)}{plain}"
        if mangled in names and spelt in mangled:
            return "local"
    return None


def how_equal(mine, other, names):
    """One of EQUAL, or None."""
    if mine == other:
        return "identical"
    if len(mine) != len(other) or mine[:-1] != other[:-1] or not mine:
        return None
    if mine[-1][1] != other[-1][1]:
        return None
    return renaming(mine[-1][0], other[-1][0], names)


def knows_nothing(levels):
    return all(name == "??" and place == ("??", 0) for name, place in levels)


def without_directories(levels):
    return [(name, (os.path.basename(path), line)) for name, (path, line) in levels]


def classify(address, mine, other, others, table):
    """One of EQUAL or DIFFERENT. `others` are the answers of further tools."""
    names = table.names_at(address)
    found = how_equal(mine, other, names)
    if found:
        return found
    if knows_nothing(other):
        return "no answer"
    if how_equal(without_directories(mine), without_directories(other), names):
        return "twin"
    if other and other[-1][0] in table.labels and names:
        return "label"
    if len(other) == 1 and len(mine) > 1 and other[0][1] == mine[0][1]:
        return "no chain"
    if any(how_equal(mine, third, names) for third in others) and not any(
        how_equal(other, third, names) for third in others
    ):
        return "outvoted"
    return "unexplained"


class Comparison:
    """Of one tool's answers with profc's: how many there are of each kind, and examples."""

    def __init__(self, mine, other, others, table):
        self.counts = dict.fromkeys([*EQUAL, *DIFFERENT], 0)
        self.examples = {}
        self.nr = len(other)
        self.nr_backed = 0  # of DIFFERENT: a third tool says what profc says
        for address, levels in other.items():
            wanted = mine.get(address, [])
            further = [third.get(address, []) for third in others]
            kind = classify(address, wanted, levels, further, table)
            self.counts[kind] += 1
            if kind in DIFFERENT:
                names = table.names_at(address)
                self.nr_backed += any(how_equal(wanted, third, names) for third in further)
            self.examples.setdefault(kind, (address, wanted, levels))

    def share_equal(self):
        return sum(self.counts[kind] for kind in EQUAL) / max(self.nr, 1)
