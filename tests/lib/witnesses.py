# SPDX-License-Identifier: GPL-2.0-or-later
"""The stacks of a process that does not go on, by profc and by others: {tid: [address, leaf first]}.

Of an address the place within a page is told: it is the same wherever a file is mapped.
"""

import collections
import json
import os
import re
import subprocess

from paths import BUILD
from profc import attach, profc
from targets import need

PAGE_MASK = 0xFFF
LIBUNWIND = os.path.join(BUILD, "tests", "oracle", "libunwind_stack")
HEADER = re.compile(r"\S.*? \d+/(?P<tid>\d+) \[")
FRAME = re.compile(r"\s+(?P<address>[0-9a-f]+) (?P<what>.*)")

GDB_SCRIPT = """
import gdb

# The stop of gdb itself puts a thread of aarch64 back to its call, svc, which will be restarted.
def put_back(frame):
    if frame.architecture().name() != "aarch64":
        return 0
    code = gdb.selected_inferior().read_memory(frame.pc(), 4).tobytes()
    return 4 if int.from_bytes(code, "little") == 0xD4000001 else 0

gdb.execute("set backtrace past-main on")
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread", thread.ptid[1])
    frame, is_exact = gdb.newest_frame(), True
    late = put_back(frame)
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("pc %x" % (frame.pc() + late - (not is_exact)))
            late = 0
            is_exact = frame.type() == gdb.SIGTRAMP_FRAME
        frame = frame.older()
"""


def of_lines(text):
    stacks = collections.defaultdict(list)
    tid = None
    for line in text.splitlines():
        word, _, value = line.partition(" ")
        if word == "thread":
            tid = int(value)
        elif word == "pc":
            stacks[tid].append(int(value, 16) & PAGE_MASK)
    return dict(stacks)


def by_libunwind(pid):
    done = subprocess.run(
        [LIBUNWIND, str(pid)], capture_output=True, text=True, check=True, timeout=60
    )
    return of_lines(done.stdout)


def by_gdb(directory, pid):
    script = os.path.join(directory, "frames.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(GDB_SCRIPT)
    command = [need("gdb"), "-nx", "-batch", "-p", str(pid), "-x", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    stacks = of_lines(done.stdout)
    if not stacks:
        raise AssertionError(f"gdb said nothing of stacks: {done.stdout}{done.stderr}")
    return stacks


def is_of_script(frame):
    """Others see native frames alone."""
    return re.search(r"\((.*\.(py|php|p[lm])|\[\w+\]|\(eval\)):\d+\)$", frame)


def by_profc(directory, pid, nr_threads=1):
    """
    Of each thread the one that it was in for the longest, or none if none could be taken. Where
    the machine is too slow for so many threads it is tried for longer.
    """
    for duration in ("150ms", "1s", "5s"):
        recording = attach(directory, pid, "-q", "-d", duration, status=None)
        stacks = stacks_of(recording) if recording.status == 0 else {}
        if len(stacks) >= nr_threads:
            break
    return stacks


def stacks_of(recording):
    text = profc(
        "export", "-i", recording.path, "--perf-script", "-m", "wall", "--no-inline", "--native"
    ).stdout
    weights = collections.defaultdict(collections.Counter)
    for block in text.split("\n\n"):
        header, *frames = block.strip("\n").splitlines() or [""]
        found = HEADER.match(header)
        if not found:
            continue
        weight = int(header.rstrip(":").split()[-2])
        native = [FRAME.match(frame)["address"] for frame in frames if not is_of_script(frame)]
        addresses = tuple(int(address, 16) & PAGE_MASK for address in native)
        if addresses != (0,):  # [unattributed]
            weights[int(found["tid"])][addresses] += weight
    return {tid: list(seen.most_common(1)[0][0]) for tid, seen in weights.items()}


def dumped_threads(pid):
    return json.loads(profc("dump", "-p", pid, "--json").stdout)["processes"][0]["threads"]


def ends(pid):
    """{tid: why profc's walk ended}, by its dump."""
    return {thread["tid"]: thread["stack_end"] for thread in dumped_threads(pid)}


def lands(pid):
    """Is a thread about to continue in the handler of an exception? libgcc has overwritten the
    return address of its own frame then, which gdb and libunwind take for its caller. Single steps
    judge such stacks (test_single_step_exceptions)."""
    leaves = [frame["function"] for thread in dumped_threads(pid) for frame in thread["stack"][:2]]
    return any(name.startswith("_Unwind_") for name in leaves)
