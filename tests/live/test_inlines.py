# SPDX-License-Identifier: GPL-2.0-or-later
"""Inlined functions: named, with their lines, and their whole chain of callers."""

import os

from live import LiveCase
from profc import record
from targets import build, marked_line, source_path

TARGET = "inlined_hot_line"
CHAIN = ["not_inlined", "inlined_outer", "inlined_middle", "inlined_inner"]


class InlinedHotLine(LiveCase):
    """One recording of each build for all: the program spends its time on one inlined line."""

    compilers = {"gcc -O2": ("-O2", "-g"), "DWARF 4": ("-O2", "-gdwarf-4")}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recordings = {
            name: record(cls.scratch(), [build(TARGET, *flags), "1000"])
            for name, flags in cls.compilers.items()
        }
        cls.recording = cls.recordings["gcc -O2"]

    def test_hot_line_is_named_and_holds_the_self_time(self):
        for name, recording in self.recordings.items():
            with self.subTest(flags=name):
                report = recording.report("--by", "line")
                (row,) = [
                    row
                    for row in report["rows"]
                    if row["line"] == marked_line(TARGET, "hot line")
                    and row["function"] == "inlined_inner"
                ]
                self.assertEqual(os.path.basename(row["file"]), TARGET + ".c")
                self.assertTrue(row["inlined"])
                share = 0.9 - 1.5 * row["ci_pct"] / 100
                known_ns = self.known_ns(recording)
                self.assertShareAtLeast(row["self_ns"], known_ns, share, "the hot line")

    def test_inline_chain_is_whole(self):
        for name, recording in self.recordings.items():
            with self.subTest(flags=name):
                chained = 0
                for frames, weight in recording.folded():
                    if frames[-4:] == CHAIN and frames[-5] == "main":
                        chained += weight
                known_ns = self.known_ns(recording)
                self.assertShareAtLeast(chained, known_ns, 0.95, "the whole inline chain")

    def test_functions_of_the_chain_share_the_total(self):
        for function in CHAIN:
            row = self.recording.function(function)
            self.assertMostlyIn(self.recording, function, 0.95)
            self.assertEqual(row["inlined"], function != "not_inlined", function)

    def test_no_inline_folds_into_the_function(self):
        self.assertMostlyIn(self.recording, "not_inlined", 0.95, "self_ns", ("--no-inline",))
        names = [row["function"] for row in self.recording.rows("--no-inline")]
        self.assertNotIn("inlined_inner", names)

    def test_annotate_charges_the_line_it_was_written_on(self):
        annotated = self.recording.annotate(TARGET + ".c")
        self.assertEqual(os.path.basename(annotated["file"]), TARGET + ".c")
        lines = {line["line"]: line for line in annotated["lines"]}
        whole = sum(line["self_ns"] for line in annotated["lines"])
        hot = lines[marked_line(TARGET, "hot line")]
        self.assertShareAtLeast(hot["self_ns"], whole, 0.85, "self time of the hot line")
        with open(source_path(TARGET), encoding="utf-8") as source:
            text = source.read().splitlines()[hot["line"] - 1]
        self.assertEqual(hot["text"].strip(), text.strip())
        for mark in ("call of inner", "call of middle", "call of outer"):
            line = lines[marked_line(TARGET, mark)]
            self.assertShareAtLeast(line["total_ns"], whole, 0.9, mark)

    def test_annotate_shows_just_a_function(self):
        lines = [line["line"] for line in self.recording.annotate("inlined_inner")["lines"]]
        self.assertIn(marked_line(TARGET, "hot line"), lines)
        self.assertNotIn(marked_line(TARGET, "call of outer"), lines)
