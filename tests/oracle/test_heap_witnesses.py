# SPDX-License-Identifier: GPL-2.0-or-later
"""What is recorded of memory beside heaptrack and LeakSanitizer."""

import glob
import json
import os
import re
import subprocess

from live import LiveCase
from profc import profc, record
from targets import build, need

# Of half widths of 95 % intervals: of 10,000 true estimates one is further off.
HALF_WIDTHS = 2
# At the rate that is used here: of less there may be no block that was recorded, and no interval.
FEW_BYTES = 20 << 10


class HeapTrack(LiveCase):
    def setUp(self):
        super().setUp()
        need("heaptrack")
        need("zstd")

    def heaptrack(self, *argv):
        """What it has recorded, before that is interpreted."""
        for former in glob.glob(self.path("beside*")):
            os.unlink(former)
        subprocess.run(
            ["heaptrack", "--raw", "-o", self.path("beside"), *argv],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        (path,) = glob.glob(self.path("beside*"))
        return path

    def totals(self, path):
        """Blocks, bytes, most bytes at once, and bytes that are left: of its lines by hand."""
        lines = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True)
        alive, now = {}, 0
        blocks = total = peak = 0
        for words in map(str.split, lines.stdout.splitlines()):
            if words[0] == "+":
                size = int(words[1], 16)
                alive[words[3]] = size
                now += size
                total += size
                blocks += 1
                peak = max(peak, now)
            elif words[0] == "-":
                now -= alive.pop(words[1], 0)
        return {"blocks": blocks, "bytes": total, "peak": peak, "left": now}

    def reserve(self):
        """It loads the library of C++, which allocates before the program begins: nothing else."""
        source = self.path("nothing.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-o", self.path("nothing"), source], check=True)
        return self.totals(self.heaptrack(self.path("nothing")))

    def recorded(self, rate, *argv):
        recording = record(self.directory, list(argv), rate, "--no-cpu", "--no-symbols")
        heap = json.loads(recording.info("--json"))["heap"]
        return recording, heap

    def check(self, *argv):
        reserve = self.reserve()
        self.assertEqual(reserve["blocks"], 1)
        told = self.totals(self.heaptrack(*argv))
        expected = {key: told[key] - reserve[key] for key in ("blocks", "bytes", "peak")}
        _, heap = self.recorded("--mem=all", *argv)
        self.assertEqual(heap["allocated_blocks"], expected["blocks"])
        self.assertEqual(heap["allocated_bytes"], expected["bytes"])
        self.assertEqual(heap["peak_bytes"], expected["peak"])
        self.assertEqual(heap["live_bytes"], told["left"])
        self.assertEqual(heap["dropped"], 0)
        _, heap = self.recorded("--mem=1K", *argv)
        self.assertEqual(heap["allocated_blocks"], expected["blocks"])
        self.assertEqual(heap["allocated_bytes"], expected["bytes"])
        for what, exact in (("peak", expected["peak"]), ("live", told["left"])):
            if exact < FEW_BYTES:
                continue
            off = abs(heap[f"{what}_bytes"] - exact)
            self.assertLessEqual(off, HALF_WIDTHS * heap[f"{what}_ci_bytes"], what)

    def test_totals_of_a_program_of_cpp(self):
        self.check(build("maps_of_words"), "1")

    def test_blocks_that_are_left(self):
        self.check(build("allocates"), "leaks:100:500", "temporaries:2000:64", "grows:50:1000",
                   "peaks:20:10000")

    def test_who_allocates_how_often(self):
        """Blocks by stack, as both have them: of the 20 with most."""
        program = build("maps_of_words", "-O1", "-g", "-fno-inline")
        subprocess.run(
            ["heaptrack", "-o", self.path("beside"), program, "1"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        (path,) = glob.glob(self.path("beside*"))
        theirs = self.path("theirs.folded")
        subprocess.run(
            ["heaptrack_print", "-F", theirs, "--flamegraph-cost-type", "allocations", path],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        recording = record(self.directory, [program, "1"], "--mem=all", "--no-cpu")
        ours = profc("export", "-i", recording.path, "--folded", "-m", "allocs").stdout
        with open(theirs, encoding="utf-8") as file:
            expected = self.of_main(file.read())
        found = self.of_main(ours)
        self.assertGreaterEqual(len(expected), 8)
        top = sorted(expected, key=expected.get, reverse=True)[:20]
        self.assertEqual({key: found.get(key) for key in top}, {key: expected[key] for key in top})

    def of_main(self, text):
        """{what the frames from main() on are called, without types: blocks}."""
        found = {}
        for line in text.splitlines():
            stack, count = line.rsplit(" ", 1)
            names = [name for name in map(self.plain, stack.split(";")) if name]
            # Functions of the C library have several names each.
            if "main" in names and "printf" not in stack:
                names = names[names.index("main") :]
                found[tuple(names)] = found.get(tuple(names), 0) + int(count)
        return found

    def plain(self, name):
        former = None
        while former != name:
            former = name
            name = re.sub(r"<[^<>]*>|\([^()]*\)", "", name)
        name = name.strip().split("::")[-1].strip()
        return "" if name == "operator new" else name.split(" ")[-1]


class LeakSanitizer(LiveCase):
    """
    Lost is what is a direct leak there. What is lost only because the block that points to it is
    lost is pointed to here: indirect leaks, and rings of more than one block. A pointer to the
    middle of a block counts for both, and so do registers and stacks.
    """

    WORDS = ("indirect", "all", "exit")
    LEAK = re.compile(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\)")

    def sanitized(self):
        """{("Direct" or "Indirect", function): (bytes, blocks)}"""
        program = self.path("sanitized")
        source = os.path.join(os.path.dirname(__file__), "..", "targets", "loses_pointers.c")
        built = subprocess.run(
            ["gcc", "-O2", "-g", "-w", "-fsanitize=leak", "-o", program, source, "-lpthread"],
            capture_output=True, check=False,
        )
        if built.returncode:
            self.skipTest("gcc has no LeakSanitizer here")
        text = subprocess.run([program, *self.WORDS], capture_output=True, text=True,
                              check=False).stderr
        if "LeakSanitizer has encountered a fatal error" in text:
            self.skipTest("LeakSanitizer cannot trace here")
        found, kind = {}, None
        for line in text.splitlines():
            leak = self.LEAK.search(line)
            if leak:
                kind, amount = leak[1], (int(leak[2]), int(leak[3]))
            elif kind and " #1 " in line:
                key = kind, line.split(" in ")[1].split()[0]
                before = found.get(key, (0, 0))
                found[key] = before[0] + amount[0], before[1] + amount[1]
                kind = None
        return found

    def recorded(self):
        """The same, of what is lost and what is pointed to."""
        program = build("loses_pointers", libraries=("-lpthread",))
        recording = record(self.directory, [program, *self.WORDS], "--mem=all", "--reachable",
                           "--no-cpu", status=3)
        text = profc("report", "-i", recording.path, "--leaks", "--reachable", "--json").stdout
        lost, pointed_to = {}, {}
        for leak in json.loads(text)["leaks"]:
            name = leak["stack"][0]["function"]
            if leak["lost_blocks"]:
                lost[name] = leak["lost_bytes"], leak["lost_blocks"]
            if leak["pointed_to_blocks"]:
                pointed_to[name] = leak["pointed_to_bytes"], leak["pointed_to_blocks"]
        return lost, pointed_to

    def test_lost_is_a_direct_leak(self):
        theirs = self.sanitized()
        lost, pointed_to = self.recorded()
        direct = {name: of for (kind, name), of in theirs.items() if kind == "Direct"}
        indirect = {name: of for (kind, name), of in theirs.items() if kind == "Indirect"}
        self.assertEqual(set(direct), {"loses", "loses_ring", "loses_large", "loses_chain"})
        self.assertEqual(lost, direct)
        self.assertEqual(set(indirect), {"loses_chain", "loses_cycle"})
        self.assertEqual({name: pointed_to.get(name) for name in indirect}, indirect)
