#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent of profc: which functions have most samples, and who allocates.

    profc record --agent 'tests/agents/top_functions.py >top.json' -- CMD

It keeps sums by stack while the program runs, and asks `profc symbolize` for names at the end.
PROFC names the profc that is asked.
"""

import collections
import json
import math
import os
import subprocess
import sys

PROFC = os.environ.get("PROFC", "profc")


class Recording:
    """What the stream has told so far."""

    def __init__(self):
        self.modules, self.frames, self.stacks, self.threads = {}, {}, {}, {}
        self.samples = collections.Counter()  # by stack
        self.blocked_ns = collections.Counter()
        self.times = collections.Counter()  # cpu_ns, runq_ns, blocked_ns of all
        self.blocks = {}  # allocations, by id
        self.known = {}  # what is known exactly of the memory of a process: the last moment
        self.lost = 0

    def take(self, row):
        """One line; types that are not known are left out, as newer versions may have more."""
        take = getattr(self, "take_" + row["type"], None)
        if take:
            take(row)

    def take_hello(self, row):
        if row["version"] != 1:
            sys.exit(f"top_functions: version {row['version']} is not understood")

    def take_thread(self, row):
        self.threads[row["id"]] = row

    def take_module(self, row):
        self.modules[row["id"]] = row

    def take_frame(self, row):
        self.frames[row["id"]] = row

    def take_stack(self, row):
        self.stacks[row["id"]] = row["frames"]

    def take_sample(self, row):
        self.samples[row["stack"]] += row["samples"]
        self.blocked_ns[row["stack"]] += row["blocked_ns"]
        for name in ("cpu_ns", "runq_ns", "blocked_ns"):
            self.times[name] += row[name]

    def take_allocation(self, row):
        self.blocks[row["id"]] = row

    def take_free(self, row):
        self.blocks[row["allocation"]]["is_freed"] = True

    def take_memory(self, row):
        self.known[row["process"]] = row

    def take_lost(self, row):
        self.lost += row["n"]

    def process_of(self, block):
        return self.threads[block["thread"]]["process"]

    def is_fitted(self, block):
        """To what is known exactly of its process, by then."""
        known = self.known.get(self.process_of(block))
        return known and block["kind"] != "map" and block["time_ns"] <= known["time_ns"]

    def bytes_by_stack(self):
        """(all, alive at the end), estimated: blocks that are large are likelier to be met."""
        sums, variances, rows = collections.Counter(), collections.Counter(), []
        seen, largest = collections.Counter(), collections.Counter()
        for block in self.blocks.values():
            process = self.process_of(block)
            size, mean = block["bytes"], block["mean_bytes"]
            chance = -math.expm1(-max(size, 1) / mean) if mean else 1
            if self.is_fitted(block):
                sums[process] += size / chance
                variances[process] += (size / chance - size) * size / chance
                seen[process] += size
                largest[process] = max(largest[process], size / chance)
            rows.append((block, process, size / chance))
        allocated, alive = collections.Counter(), collections.Counter()
        for block, process, estimate in rows:
            if self.is_fitted(block) and variances[process]:
                exact = self.known[process]["allocated_bytes"]
                slope = (exact - sums[process]) / variances[process]
                besides = estimate - block["bytes"]
                # None gets less than it has itself.
                if 1 + slope * largest[process] >= 0:
                    estimate += besides * estimate * slope
                else:
                    part = max(exact - seen[process], 0) / (sums[process] - seen[process])
                    estimate = block["bytes"] + besides * part
            allocated[block["stack"]] += estimate
            if not block.get("is_freed"):
                alive[block["stack"]] += estimate
        return allocated, alive


def ask_names(path, addresses):
    """[[function, innermost first] of each address]"""
    # -a puts each address before its answer: of functions there are as many as are inlined.
    words = [PROFC, "symbolize", "-e", path, "-a", "-f", "-i", "-C", *addresses]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    names = []
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if line.startswith("0x"):
            names.append([])
        else:
            names[-1].append(line)
            next(lines)  # the place in the source
    return names


def names_of_frames(recording):
    """{frame: its functions, innermost first}"""
    names, by_module = {}, collections.defaultdict(list)
    for frame in recording.frames.values():
        if frame.get("function"):
            names[frame["id"]] = [frame["function"]]
        else:
            by_module[frame["module"]].append(frame)
    for module, frames in by_module.items():
        path = recording.modules[module]["path"]
        if recording.modules[module]["kind"] == "file":
            answers = ask_names(path, [frame["address"] for frame in frames])
            names.update({f["id"]: answer for f, answer in zip(frames, answers)})
    for frame in recording.frames.values():
        if names.get(frame["id"], ["??"])[0] == "??":
            names[frame["id"]] = [f"[{recording.modules[frame['module']]['path']}]"]
    return names


def functions(recording):
    """{function: its sums}: of itself, and with all that it called."""
    names = names_of_frames(recording)
    allocated, alive = recording.bytes_by_stack()
    weights = {"samples": recording.samples, "blocked_ns": recording.blocked_ns,
               "bytes": allocated, "alive_bytes": alive}
    rows = collections.defaultdict(collections.Counter)
    for stack, frames in recording.stacks.items():
        chain = [name for frame in frames for name in names[frame]]
        for unit, by_stack in weights.items():
            for name in set(chain):
                rows[name]["total_" + unit] += by_stack[stack]
                rows[name]["self_" + unit] += by_stack[stack] if name == chain[0] else 0
    return rows


def main():
    recording = Recording()
    for line in sys.stdin:
        recording.take(json.loads(line))
    rows = functions(recording)
    ordered = sorted(rows, key=lambda name: -rows[name]["self_samples"])
    print(json.dumps({
        "samples": sum(recording.samples.values()),
        "lost": recording.lost,
        **recording.times,
        "functions": {name: rows[name] for name in ordered},
    }))


if __name__ == "__main__":
    main()
