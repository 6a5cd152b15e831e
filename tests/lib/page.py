# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of a page of --html, read as its scripts read it, by other code."""

import base64
import gzip
import json
import re


def numbers(data, at, nr):
    found = []
    for _ in range(nr):
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(value)
    return found, at


def zigzag(value):
    return -(value + 1) // 2 if value % 2 else value // 2


class Page:
    """`tables` is the JSON; columns are members by their names."""

    def __init__(self, html, block="data"):
        text = re.search(rf'<script id="{block}" type="text/plain">(.*?)</script>', html, re.S)[1]
        data = gzip.decompress(base64.b64decode(text))
        self.tables = json.loads(data[:data.index(b"\n")])
        self.columns, at = {}, data.index(b"\n") + 1
        for name, nr in self.tables["columns"]:
            self.columns[name], at = numbers(data, at, nr)
        assert at == len(data)
        self.stacks = self.paths()

    def paths(self):
        """Function numbers of each stack, root first."""
        paths, frame = [], 0
        for i, (delta, back) in enumerate(zip(self.columns["stackFrame"],
                                              self.columns["stackPrefix"])):
            frame += zigzag(delta)
            above = paths[i - back] if back else ()
            paths.append(above + (self.columns["frameFunction"][frame],))
        return paths

    def full_name(self, function):
        short, _, _, _, _, *full = self.tables["functions"][function]
        return full[0] if full else short

    def samples(self, *weights):
        """(stack, sum of the weights) of each sample."""
        grain = self.tables["grainNs"]
        for i, stack in enumerate(self.columns["sampleStack"]):
            yield self.stacks[stack], grain * sum(self.columns[name][i] for name in weights)
