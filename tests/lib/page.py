# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of a page of --html, read as its scripts read it, by other code."""

import base64
import gzip
import json
import re


def numbers(data, at, nr, size, least):
    """A column, and where it ends: a plane of lowest bytes, then one of the next, …"""
    end = at + nr * size
    found = [least] * nr
    for plane in range(size):
        for i, byte in enumerate(data[at + plane * nr:at + (plane + 1) * nr]):
            found[i] += byte << (8 * plane)
    return found, end


class Page:
    """`tables` is the JSON; columns are members by their names."""

    def __init__(self, html, block="data"):
        data = b""
        for name in (block, block + "-rows"):
            parts = re.findall(rf'<div class="{name}" hidden>(.*?)</div>', html, re.S)
            data += gzip.decompress(base64.b64decode("".join(parts)))
        self.tables = json.loads(data[:data.index(b"\n")])
        self.columns, at = {}, data.index(b"\n") + 1
        for name, *what in self.tables["columns"]:
            self.columns[name], at = numbers(data, at, *what)
        assert at == len(data)
        self.stacks = self.paths()

    def prefixes(self):
        """By stack: the row above it, or -1. Nodes are groups of rows in the order of a walk."""
        columns = self.columns
        found, way, groups = [], [], []
        for up, nr in zip(columns["nodeUp"], columns["nodeRows"]):
            del way[len(way) - up:]
            first = len(found)
            for row in range(first, first + nr):
                found.append(groups[way[-1]] + columns["stackPrefix"][row] if way else -1)
            way.append(len(groups))
            groups.append(first)
        return found

    def paths(self):
        """Function numbers of each stack, root first."""
        columns = self.columns
        firsts = [0]
        for nr in columns["frameNext"]:
            firsts.append(firsts[-1] + nr)
        paths, frames = [], []
        for prefix, which in zip(self.prefixes(), columns["stackNext"]):
            above = frames[prefix] if prefix >= 0 else len(firsts) - 2
            frames.append(columns["nextFrame"][firsts[above] + which])
            begin = paths[prefix] if prefix >= 0 else ()
            paths.append(begin + (columns["frameFunction"][frames[-1]],))
        return paths

    def full_name(self, function):
        short, _, _, _, _, *full = self.tables["functions"][function]
        return full[0] if full else short

    def samples(self, *weights):
        """(stack, sum of the weights) of each sample."""
        grain = self.tables["grainNs"]
        for i, leaf in enumerate(self.columns["sampleLeaf"]):
            yield self.stacks[self.columns["leafStack"][leaf]], grain * sum(self.columns[name][i] for name in weights)
