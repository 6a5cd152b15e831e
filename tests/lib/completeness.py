# SPDX-License-Identifier: GPL-2.0-or-later
"""Are the stacks whole that profc calls complete? Judged by a reader of its folded export that
knows by name, or by the ELF header, where threads begin, and nothing of how profc found out."""

import collections
import json
import math
import os
import re
import struct

from live import LiveCase
from profc import record

# Where the kernel, clone() of a C library, or Go's scheduler lets code begin, and where a thread is
# that has none any more, as it exits.
ROOT = re.compile(
    r"_start|_dl_start|_dl_start_user|_dlstart|(__)?clone3?|\[k\] do_exit|\[k\] do_execveat_common"
    r"|_rt0_amd64(_linux)?|runtime\.(rt0_go|goexit\d?|clone)(\.abi0)?"
)
NAMELESS = re.compile(r"\[(?P<module>.+)\+0x(?P<address>[0-9a-f]+)\]")
ENTRY_BYTES = 0x26  # of the entry function of glibc's programs
NO_STACK = "[unattributed]"
REMARK = re.compile(r"\[[^]]* [^]]*\]")  # what profc says of a stack in the place of a frame

FREQUENCY = 500
CLAIM_TOLERANCE = 1.0  # percentage points
MISSED_CHANCE = 0.001
EXAMPLES = 6
CHAIN_LEAST = 99
SHARE_TOLERANCE = 3.0  # beside what sampling allows: what is not in the functions themselves


def elf_entry(path):
    """Where the ELF header lets execution begin, or None."""
    try:
        with open(path, "rb") as file:
            header = file.read(32)
    except OSError:
        return None
    is_elf64 = len(header) == 32 and header[:5] == b"\x7fELF\x02"
    return struct.unpack_from("<Q", header, 24)[0] if is_elf64 else None


def nr_equal_samples(recording):
    """So many samples of one weight say as much as its samples (Kish): where the machine is busy
    profc looks late, and some of them weigh more."""
    weights = [weight for each in recording.speedscope()["profiles"] for weight in each["weights"]]
    return max(1, sum(weights) ** 2 / max(1, sum(weight**2 for weight in weights)))


def chance_of(nr, of, share):
    """Of so many samples exactly `nr` are in what has that share of them all."""
    if not 0 < share < 1:
        return float(nr == of * share)
    ways = math.lgamma(of + 1) - math.lgamma(nr + 1) - math.lgamma(of - nr + 1)
    return math.exp(ways + nr * math.log(share) + (of - nr) * math.log(1 - share))


class Account:
    """Of one profile: what profc claims, and where its stacks begin, in per cent of CPU time."""

    def __init__(self, recording):
        info = json.loads(recording.info("--json"))
        self.claimed = info["stacks"]["complete_cpu_pct"] or 0.0
        self.entries = collections.defaultdict(set)
        for module in info["modules"]:
            entry = elf_entry(module["path"])
            if entry:
                self.entries[os.path.basename(module["path"])].add(entry)
        stacks = recording.folded()
        self.rooted = [(frames, weight) for frames, weight in stacks if self.is_rooted(frames)]
        self.others = [
            (frames, weight) for frames, weight in stacks
            if frames[1] != NO_STACK and not self.is_rooted(frames)
        ]
        self.unattributed_ns = sum(weight for frames, weight in stacks if frames[1] == NO_STACK)
        self.known = sum(weight for _, weight in self.rooted + self.others)
        self.nr_equal_samples = nr_equal_samples(recording)

    def is_rooted(self, frames):
        """Is the outermost frame where threads begin? frames[0] is the process."""
        return bool(ROOT.fullmatch(frames[1])) or self.is_entry(frames[1])

    def is_entry(self, frame):
        nameless = NAMELESS.fullmatch(frame)
        if not nameless:
            return False
        address = int(nameless["address"], 16)
        entries = self.entries[nameless["module"]]
        return any(entry <= address < entry + ENTRY_BYTES for entry in entries)

    def elsewhere(self, bottoms):
        """The stacks that begin on another of the thread's stacks, in a function of that name."""
        return [
            (frames, weight) for frames, weight in self.others
            if bottoms.fullmatch(frames[2 if REMARK.fullmatch(frames[1]) else 1])
        ]

    def percent(self, stacks):
        return 100 * sum(weight for _, weight in stacks) / max(1, self.known)

    def below(self, function):
        """Per cent of the time in stacks with that function, wherever they begin."""
        stacks = self.rooted + self.others
        return self.percent([stack for stack in stacks if function in stack[0]])

    def allowance(self, percent):
        """By how much so few samples may miss that share, in percentage points: once in 1,000 times
        they miss it by more. A rest of 1 % is in one sample or none of thirty, and may be in three:
        it has a longer tail than the normal distribution."""
        nr = int(self.nr_equal_samples)
        rest = 1 - percent / 100
        likely, most = 0.0, -1
        while likely < 1 - MISSED_CHANCE and most < nr:
            most += 1
            likely += chance_of(most, nr, rest)
        return 100 * (most / nr - rest)

    def examples(self, stacks):
        """The most frequent, outermost frame first."""
        sums = collections.Counter()
        for frames, weight in stacks:
            sums[" > ".join(frame[:60] for frame in frames[1:6])] += weight
        return "\n".join(
            f"{100 * weight / max(1, self.known):6.2f} % begin with {text}"
            for text, weight in sums.most_common(EXAMPLES)
        )

    def unmarked(self):
        """The others of which profc itself says nothing in the place of the outermost frame."""
        return [stack for stack in self.others if not REMARK.fullmatch(stack[0][1])]

    def __str__(self):
        return (
            f"of {self.known / 1e9:.2f} s of CPU time (beside {self.unattributed_ns / 1e9:.2f} s"
            f" without a stack) {self.claimed:.2f} % are called complete, and"
            f" {self.percent(self.rooted):.2f} % begin where threads do; the others:\n"
            f"{self.examples(self.others)}\nof these without a remark:\n"
            f"{self.examples(self.unmarked())}"
        )


class CompletenessCase(LiveCase):
    def judge(self, program):
        command = program.command(self)
        options = ("-q", "-F", str(FREQUENCY))
        recording = record(self.directory, command, *options, cwd=self.directory)
        account = Account(recording)
        self.assertGreater(account.known, 0, "CPU time of known stacks")
        rooted = account.percent(account.rooted)
        self.assertLessEqual(account.claimed, rooted + CLAIM_TOLERANCE, f"claimed, {account}")
        if program.least is not None:
            least = program.least - account.allowance(program.least)
            elsewhere = account.elsewhere(re.compile(program.elsewhere))
            self.assertGreaterEqual(rooted + account.percent(elsewhere), least, account)
        if program.chain:
            self.judge_chain(account, program.chain)
        for function, share in program.shares.items():
            tolerance = SHARE_TOLERANCE + account.allowance(100 * share)
            self.assertWithin(account.below(function), 100 * share, tolerance, function)

    def judge_chain(self, account, chain):
        """A stack that begins at a root and has the last function has those that called it."""
        chain = [re.compile(name) for name in chain]
        stacks = [stack for stack in account.rooted if any(map(chain[-1].fullmatch, stack[0]))]
        broken = [stack for stack in stacks if not self.has_chain(stack[0], chain)]
        most = 100 - CHAIN_LEAST + account.allowance(CHAIN_LEAST)
        self.assertLessEqual(account.percent(broken), most, account.examples(broken))

    @staticmethod
    def has_chain(frames, chain):
        frames = iter(frames)
        return all(any(name.fullmatch(frame) for frame in frames) for name in chain)


def add_tests(case, programs):
    """A test for each, so that each passes, fails or is skipped by itself."""

    def test_of(program):
        def test(self):
            self.judge(program)

        return test

    for program in programs:
        setattr(case, f"test_{program.name}", test_of(program))
