# SPDX-License-Identifier: GPL-2.0-or-later
"""
A perf.data with one sample at each of some addresses of a file, so that perf script
can be asked about the very addresses that other symbolizers are asked about.

As perf record --call-graph dwarf writes it: with registers and a little stack, because
perf shows inlined functions only of stacks that it has unwound itself.
"""

import os
import struct

import symbolizers

PID = 1
SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_CALLCHAIN = 1 << 0, 1 << 1, 1 << 2, 1 << 5
SAMPLE_REGS, SAMPLE_STACK = 1 << 12, 1 << 13
EXCLUDE_CALLCHAIN_USER = 1 << 22
RECORD_MMAP, RECORD_COMM, RECORD_SAMPLE = 1, 3, 9
MISC_USER = 2
REGISTERS = 0xFF0FFF  # of x86-64: all but the segments
REGISTER_SP, REGISTER_IP = 7, 8
ATTR_BYTES, HEADER_BYTES, PAGE, STACK_BYTES = 112, 104, 4096, 64


def code_segments(elf):
    """[(file offset, address, size)] of what is mapped executable."""
    found = []
    for line in symbolizers.run(["readelf", "-lW", elf]).splitlines():
        words = line.split()
        if words and words[0] == "LOAD" and "E" in "".join(words[6:-1]):
            found.append(tuple(int(words[i], 16) for i in (1, 2, 5)))
    return found


def is_position_independent(elf):
    return "Type: DYN" in " ".join(symbolizers.run(["readelf", "-h", elf]).split())


def record(kind, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, MISC_USER, 8 + len(body)) + body


def attributes():
    kinds = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CALLCHAIN | SAMPLE_REGS | SAMPLE_STACK
    attr = struct.pack("<IIQQQQQ", 1, ATTR_BYTES, 0, 1000000, kinds, 0, EXCLUDE_CALLCHAIN_USER)
    attr += struct.pack("<IIQQQQI", 0, 0, 0, 0, 0, REGISTERS, STACK_BYTES)
    return attr + b"\0" * (ATTR_BYTES - len(attr)) + struct.pack("<QQ", 0, 0)


def mapping(elf, base, offset, address, size):
    skipped = address % PAGE
    length = -(-(size + skipped) // PAGE) * PAGE
    place = struct.pack("<IIQQQ", PID, PID, base + address - skipped, length, offset - skipped)
    return record(RECORD_MMAP, place + os.fsencode(os.path.abspath(elf)) + b"\0")


def sample(time_ns, ip):
    values = {REGISTER_IP: ip, REGISTER_SP: 0x7FFFFFF00000}
    registers = [values.get(bit, 0) for bit in range(24) if REGISTERS >> bit & 1]
    body = struct.pack("<QIIQQ", ip, PID, PID, time_ns, 0)
    body += struct.pack(f"<Q{len(registers)}Q", 2, *registers)  # 2: of 64 bits
    body += struct.pack("<Q", STACK_BYTES) + bytes(STACK_BYTES)
    return record(RECORD_SAMPLE, body + struct.pack("<Q", STACK_BYTES))


def write(path, elf, addresses):
    base = 0x7F0000000000 if is_position_independent(elf) else 0
    attr = attributes()
    events = record(RECORD_COMM, struct.pack("<II", PID, PID) + b"bench\0")
    for segment in code_segments(elf):
        events += mapping(elf, base, *segment)
    events += b"".join(sample(i + 1, base + address) for i, address in enumerate(addresses))
    header = b"PERFILE2" + struct.pack(
        "<QQQQQQQQ",
        *(HEADER_BYTES, len(attr), HEADER_BYTES, len(attr)),
        *(HEADER_BYTES + len(attr), len(events), 0, 0),
    )
    with open(path, "wb") as file:
        file.write(header + bytes(HEADER_BYTES - len(header)) + attr + events)
