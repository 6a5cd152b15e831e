# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows that profc compiles against those of `readelf --debug-dump=frames-interp`.

    python3 tests/lib/frame_rows.py FILE...

compares every row of every FDE of the files and says what differs. readelf prints `exp` for
rules by expressions: that there is one is compared, not what it says.
"""

import collections
import os
import re
import subprocess
import sys

from paths import BUILD

ROWS = os.path.join(BUILD, "tests", "oracle", "rows")
# readelf's names of registers that a CFA is counted from, by DWARF number
X86_64 = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"]
NUMBERS = {name: number for number, name in enumerate(X86_64)}
NUMBERS.update({f"r{number}": number for number in range(8, 16)})
NUMBERS.update({f"x{number}": number for number in range(31)}, sp=31)

Row = collections.namedtuple("Row", "address start end rules augmentation")


def readelf_rows(path):
    """What readelf prints, row by row; the last of several at one address counts."""
    command = ["readelf", "--debug-dump=frames-interp", path]
    augmentations, columns, fde, last = {}, [], None, None
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for line in process.stdout:
            found = re.match(r'([0-9a-f]+) \S+ \S+ CIE "([^"]*)"', line)
            if found:
                augmentations[int(found[1], 16)] = found[2]
            if found or "ZERO terminator" in line or "Contents of" in line:
                fde = None
            found = re.search(r" FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
            if found:
                fde = [int(number, 16) for number in found.groups()]
            elif "   LOC" in line:
                columns = line.split()[1:]
            elif fde and re.match(r"[0-9a-f]{8,} ", line):
                words = [word for word in line.split() if not word.startswith("(")]
                address = int(words[0], 16)
                if last and (last.address, last.start) != (address, fde[1]):
                    yield last
                rules = dict(zip(columns, words[1:]))
                last = Row(address, fde[1], fde[2], rules, augmentations.get(fde[0], ""))
    if last:
        yield last


def cfa_of(row):
    found = re.match(r"(\w+?)([+-]\d+)$", row.rules["CFA"])
    if not found or found[1] not in NUMBERS:
        return "exp"
    return f"r{NUMBERS[found[1]]}{int(found[2]):+d}"


def is_equal_fp(ours, theirs):
    if ours.startswith("f"):
        return theirs == "exp"
    # a register that is never mentioned has a column, with u, if it is in another row
    return ours == theirs or (ours in "su" and theirs in "su")


def judge(row, ours, is_x86_64):
    """`equal`, why there is nothing to compare, or what differs."""
    frame_pointer, return_address = ("rbp", "c-8") if is_x86_64 else ("x29", "u")
    fp = row.rules.get(frame_pointer, "u")
    ra = row.rules.get("ra", return_address)
    if ours[0] == "fallback":
        return "left to libunwind"
    if "S" in row.augmentation:
        return "signal frame" if ours[0] in ("signal", "exp", cfa_of(row)) else "different: signal"
    if ours[0] == "root":
        return "equal" if ra == "u" else "different: root"
    if len(ours) != 3:
        return "different: " + ours[0]
    if ours[0] != cfa_of(row):
        return "different: CFA"
    if ours[2] != ra and not (ours[2] == "s" and ra in "su"):
        return "different: return address"
    return "equal" if is_equal_fp(ours[1], fp) else "different: frame pointer"


def is_x86_64(path):
    with open(path, "rb") as file:
        return file.read(20)[18] == 62


def compare(path):
    """How many rows there are of each kind, and an example of each difference."""
    rows = [row for row in readelf_rows(path) if row.start <= row.address < row.end]
    addresses = "".join(f"{row.address:x}\n" for row in rows)
    done = subprocess.run(
        [ROWS, path], input=addresses, capture_output=True, text=True, check=True
    )
    counts, examples, x86_64 = collections.Counter(), {}, is_x86_64(path)
    for row, line in zip(rows, done.stdout.splitlines(), strict=True):
        verdict = judge(row, line.split()[1:], x86_64)
        counts[verdict] += 1
        if verdict.startswith("different"):
            examples.setdefault(verdict, f"{row} is {line}")
    return counts, examples


def main():
    for path in sys.argv[1:]:
        counts, examples = compare(path)
        print(path, dict(counts))
        for verdict, example in examples.items():
            print("   ", verdict, example)


if __name__ == "__main__":
    main()
