# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of profc.data, written from man/profc-data.5 alone.

	python3 tests/cli/read_profc_data.py [FILE]

prints the totals of a recording as JSON. It proves that the page is enough, and
that writer and reader of profc do not share a mistake. Zstandard is left to the
zstd command.
"""

import json
import os
import re
import struct
import subprocess
import sys

MASK = 2**64 - 1

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "man", "profc-data.5")

NAMES = {1: "facts", 2: "command", 3: "texts", 4: "modules", 5: "processes", 6: "threads",
         7: "frames", 8: "stacks", 9: "samples", 10: "counters", 11: "marks", 12: "functions",
         13: "locations", 14: "module_symbols", 15: "end", 16: "allocations", 17: "moments",
         18: "counts", 19: "refusals", 22: "sources", 23: "discards", 26: "searches",
         27: "searched", 28: "waits", 29: "verdicts", 32: "runs", 33: "instructions", 41: "wakes"}


def read_page():
    """{type: {column: what it holds}}, from the lists of the page: "max overhead" as max_overhead."""
    with open(PAGE, encoding="utf-8") as page:
        sections = re.split(r"^\.S[sh] (?:Type (\d+): )?.*\n", page.read(), flags=re.MULTILINE)
    rows = re.compile(r"^\.It (.+?) Ta (\w*) ?Ta\b", re.MULTILINE)
    return {int(kind): {re.sub("[ -]", "_", name.lower()): content for name, content in rows.findall(text)}
            for kind, text in zip(sections[1::2], sections[2::2]) if kind}


TABLES = read_page()


class Bytes:
    """A run of bytes that is read from front to back."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, length):
        if length > len(self.data) - self.at:
            raise ValueError("ends early")
        self.at += length
        return self.data[self.at - length : self.at]

    def uleb(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def left(self):
        return len(self.data) - self.at


def signed(zigzag):
    return zigzag >> 1 if zigzag & 1 == 0 else -(zigzag >> 1) - 1


def numbers(data, rows):
    """Decode one column of numbers."""
    data = Bytes(data)
    head = data.take(1)[0]
    base = data.uleb()
    differing = range(rows)
    if head & 0x10:
        bitmap = data.take((rows + 7) // 8)
        differing = [row for row in range(rows) if bitmap[row // 8] >> row % 8 & 1]
    values = [base] * rows
    for plane in range(head & 0xF):
        for row, byte in zip(differing, data.take(len(differing))):
            values[row] += byte << 8 * plane
    if data.left():
        raise ValueError("bytes behind the last plane")
    return [value & MASK for value in values]


def texts(data, lengths):
    data = Bytes(data)
    return [data.take(length) for length in lengths]


def table_rows(kind, payload):
    """The rows of a record, each a dict."""
    payload = Bytes(payload)
    rows = payload.uleb()
    sizes = [payload.uleb() for _ in range(payload.uleb())]
    found, before = {}, None
    for (column, content), size in zip(TABLES[kind].items(), sizes):
        data = payload.take(size)
        before = texts(data, before) if content == "bytes" else numbers(data, rows)
        found[column] = before
    return [dict(zip(found, values)) for values in zip(*found.values())]


class Recording:
    """The tables of a file, references resolved as far as the totals need."""

    def __init__(self, path):
        self.texts = [b""]
        self.facts = {}
        self.command = []
        self.modules = [{"path": b"[unknown]", "build_id": b"", "kind": 0}]
        self.processes, self.threads, self.frames = [], [], []
        self.stacks = [(0, None)]
        self.samples, self.counters, self.marks = [], {}, []
        self.functions, self.chains, self.module_symbols = [], {}, []
        self.counts, self.refusals, self.runs = [], [], []
        self.allocations, self.moments, self.discards = [], [], []
        self.searches, self._next_searched = [], 0
        self.waits, self.wakes, self.sources = [], [], []
        self.verdicts, self._next_verdict = [], 0
        self._next_allocation, self._last_moment, self._last_of_process = 0, 0, {}
        self.complete = False
        self._next_count = 0
        self._last_of_thread, self._last_time, self._last_address, self._frame = {}, 0, 0, 0
        self._read(path)

    def _read(self, path):
        with open(path, "rb") as file:
            head = file.read(24)
        magic, size, name, version, _ = struct.unpack("<II8sII", head)
        if (magic, size, name) != (0x184D2A5C, 16, b"profc\0\0\0"):
            raise ValueError("not a profile")
        if version not in (1, 2, 3):
            raise ValueError(f"version {version}")
        decoded = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
        content = Bytes(decoded)
        while content.left():
            kind = content.uleb()
            payload = content.take(content.uleb())
            if kind in NAMES:
                take = getattr(self, "_take_" + NAMES[kind])
                take(table_rows(kind, payload))

    def text(self, number):
        return self.texts[number].decode(errors="replace")

    def _take_facts(self, rows):
        self.facts = rows[0]

    def _take_command(self, rows):
        self.command = [self.text(row["argument"]) for row in rows]

    def _take_texts(self, rows):
        self.texts += [row["text"] for row in rows]

    def _take_modules(self, rows):
        self.modules += rows

    @staticmethod
    def _replace(table, rows):
        for row in rows:
            table[row["number"] : row["number"] + 1] = [row]

    def _take_processes(self, rows):
        self._replace(self.processes, rows)

    def _take_threads(self, rows):
        self._replace(self.threads, rows)

    def _take_sources(self, rows):
        self.sources += rows

    def _take_waits(self, rows):
        self._replace(self.waits, rows)

    def _take_wakes(self, rows):
        self.wakes += rows

    def _take_frames(self, rows):
        for row in rows:
            self._last_address = (self._last_address + signed(row["address"])) & MASK
            self.frames.append((row["module"], self._last_address))

    def _take_stacks(self, rows):
        for row in rows:
            self.stacks.append((len(self.stacks) - 1 - row["caller"], row["frame"]))

    def _take_samples(self, rows):
        for row in rows:
            self._last_time = time = (self._last_time + signed(row["time"])) & MASK
            previous = self._last_of_thread.get(row["thread"], 0)
            expected = time - previous - row["runq"] - row["minor"]
            major = (expected + signed(row["major"])) & MASK
            blocked = row["kind"] == 1
            self.samples.append({
                "thread": row["thread"], "kind": row["kind"], "end": row["end"],
                "count": row["count"], "syscall": row["system_call"] - 1, "time": time,
                "runq": row["runq"], "stack": row["stack"],
                "cpu": row["minor"] if blocked else major,
                "blocked": major if blocked else row["minor"], "wait": row.get("wait", 0),
            })
            self._last_of_thread[row["thread"]] = time

    def _take_counters(self, rows):
        for row in rows:
            self.counters[self.text(row["name"])] = row["value"]

    def _take_marks(self, rows):
        self.marks += [(row["time"], self.text(row["text"])) for row in rows]

    def _take_runs(self, rows):
        self.runs += [row | {"command": self.text(row["command"]), "host": self.text(row["host"])}
                      for row in rows]

    def _take_functions(self, rows):
        self.functions += rows

    def _take_locations(self, rows):
        for row in rows:
            self._frame += row["frame"]
            self.chains.setdefault(self._frame, []).append(row)

    def _take_module_symbols(self, rows):
        self.module_symbols += rows

    def _take_counts(self, rows):
        for row in rows:
            number = (self._next_count + signed(row["number"])) & MASK
            if number < len(self.counts):
                before = self.counts[number]
            else:
                before = dict(self.counts[-1]) if self.counts else {}
                before["calls"] = 0
            now = {column: row[column] for column in ("kind", "flags", "to")}
            for column in ("process", "place", "callee", "calls", "from"):
                now[column] = (before.get(column, 0) + signed(row[column])) & MASK
            self.counts[number : number + 1] = [now]
            self._next_count = number + 1

    def _take_allocations(self, rows):
        for row in rows:
            number = (self._next_allocation + signed(row["number"])) & MASK
            if number == len(self.allocations) and row.get("part"):
                whole = self.allocations[number - row["part"]]
                assert row["more"] < whole["more"] and row["size"] <= whole["size"]
                whole["more"] -= row["more"] + 1
                whole["size"] -= row["size"]
                self.allocations.append(whole | {"size": row["size"], "more": row["more"],
                                                 "lived": row["lived"], "part": row["part"]})
            elif number == len(self.allocations):
                before = next((earlier for earlier in reversed(self.allocations)
                               if "part" not in earlier), {"time": 0, "mean": 0})
                now = {column: row[column] for column in ("size", "thread", "stack", "kind", "end", "more",
                                                       "lived")}
                now["time"] = before["time"] + 1024 * row["time"]
                now["mean"] = (before["mean"] + signed(row["mean"])) & MASK
                now["former"] = (None, "unknown")[row["former"]] if row["former"] < 2 else (
                    number - row["former"] + 1)
                self.allocations.append(now)
            else:
                assert not self.allocations[number]["life"] and row["life"]
                self.allocations[number]["lived"] = row["lived"]
            self.allocations[number] |= {
                column: row[column] for column in ("life", "freed_by", "moved")}
            self._next_allocation = number + 1

    def _take_moments(self, rows):
        for row in rows:
            before = self._last_of_process.get(row["process"], {})
            now = {column: (before.get(column, 0) + signed(value)) & MASK
                   for column, value in row.items()}
            self._last_moment += row["time"]
            now |= {"time": self._last_moment, "process": row["process"]}
            self._last_of_process[row["process"]] = now
            self.moments.append(now)

    def _take_searches(self, rows):
        self.searches += [row | {name: self.text(row[name]) for name in ("reason", "mark")}
                          for row in rows]

    def _take_searched(self, rows):
        for row in rows:
            number = (self._next_searched + signed(row["number"])) & MASK
            assert "state" not in self.allocations[number]
            self.allocations[number]["state"] = row["state"]
            self._next_searched = number + 1

    def _take_verdicts(self, rows):
        for row in rows:
            number = (self._next_verdict + signed(row["number"])) & MASK
            self.verdicts.append(row | {"number": number})
            self._next_verdict = number + 1

    def _take_discards(self, rows):
        self.discards += rows

    def _take_refusals(self, rows):
        self.refusals += [
            {"process": row["process"], "function": self.text(row["function"]),
             "module": self.text(row["module"]), "reason": self.text(row["reason"])}
            for row in rows]

    def _take_end(self, rows):
        locations = sum(len(chain) for chain in self.chains.values())
        found = [len(table) for table in (
            self.texts, self.modules, self.processes, self.threads, self.frames, self.stacks,
            self.samples, self.functions)] + [locations]
        found += [1, len(self.counts), len(self.refusals), len(self.allocations),
                  len(self.moments)]
        self.complete = list(rows[0].values()) == found

    def total(self, weight):
        return sum(sample[weight] for sample in self.samples)

    def shared(self):
        """The samples, with the CPU time as views have it: shared with those around."""
        reach = max(32_000_000, 8 * 1_000_000_000 // self.facts["frequency"])
        samples = [dict(sample) for sample in self.samples]
        chains = {}
        for sample in samples:
            if sample["kind"] == 0 and sample["cpu"] and sample["count"]:
                chains.setdefault(sample["thread"], []).append(sample)
        for chain in chains.values():
            gaps = [sample["cpu"] for sample in chain]
            for sample in chain:
                sample["cpu"] = 0
            for at, gap in enumerate(gaps):
                close = lambda sample: abs(sample["time"] - chain[at]["time"]) <= reach
                before = [sample for sample in chain[max(0, at - 2) : at] if close(sample)]
                after = [sample for sample in chain[at : at + 2] if close(sample)]
                for side in (before, after) if before else ():
                    for sample in side:
                        sample["cpu"] += gap // 2 // len(side)
                        chain[at]["cpu"] -= gap // 2 // len(side)
                chain[at]["cpu"] += gap
        return samples

    def self_ns(self):
        """CPU time by the name of the innermost function of the leaf, as views have it."""
        times = {}
        for sample in self.shared():
            frame = self.stacks[sample["stack"]][1]
            chain = self.chains.get(frame)
            if chain:
                name = self.text(self.functions[chain[0]["function"]]["name"])
                times[name] = times.get(name, 0) + sample["cpu"]
        return times

    def totals(self):
        return {
            "complete": self.complete,
            "command": self.command,
            "duration_ns": self.facts["duration"],
            "samples": self.total("count"),
            "cpu_ns": self.total("cpu"),
            "runq_ns": self.total("runq"),
            "blocked_ns": self.total("blocked"),
            "modules": [module["path"].decode(errors="replace") for module in self.modules],
            "counters": self.counters,
            "self_ns": self.self_ns(),
        }


if __name__ == "__main__":
    json.dump(Recording(sys.argv[1] if sys.argv[1:] else "profc.data").totals(), sys.stdout,
              indent=1)
    print()
