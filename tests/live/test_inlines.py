# SPDX-License-Identifier: GPL-2.0-or-later
"""Inlined functions: named, with their lines, and their whole chain of callers."""

import os

from live import LiveCase
from profc import record
from targets import build, marked_line, source_path

TARGET = "inlined_hot_line"
CHAIN = ["not_inlined", "inlined_outer", "inlined_middle", "inlined_inner"]


class InlinedHotLine(LiveCase):
    """One recording for all: the program spends its time on one inlined line."""

    compilers = {"gcc -O2": ("-O2", "-g"), "DWARF 4": ("-O2", "-gdwarf-4")}

    def recordings(self):
        for name, flags in self.compilers.items():
            with self.subTest(flags=name):
                yield record(self.directory, [build(TARGET, *flags), "700"])

    def test_hot_line_is_named_and_holds_the_self_time(self):
        for recording in self.recordings():
            report = recording.report("--by", "line")
            (row,) = [
                row
                for row in report["rows"]
                if row["line"] == marked_line(TARGET, "hot line")
                and row["function"] == "inlined_inner"
            ]
            self.assertEqual(os.path.basename(row["file"]), TARGET + ".c")
            self.assertTrue(row["inlined"])
            known_ns = self.known_ns(recording)
            self.assertShareAtLeast(row["self_ns"], known_ns, 0.9, "the hot line")

    def test_inline_chain_is_whole(self):
        for recording in self.recordings():
            chained = 0
            for frames, weight in recording.folded():
                if frames[-4:] == CHAIN and frames[-5] == "main":
                    chained += weight
            known_ns = self.known_ns(recording)
            self.assertShareAtLeast(chained, known_ns, 0.95, "the whole inline chain")

    def test_functions_of_the_chain_share_the_total(self):
        recording = record(self.directory, [build(TARGET), "700"])
        for function in CHAIN:
            row = recording.function(function)
            self.assertMostlyIn(recording, function, 0.95)
            self.assertEqual(row["inlined"], function != "not_inlined", function)

    def test_no_inline_folds_into_the_function(self):
        recording = record(self.directory, [build(TARGET), "700"])
        self.assertMostlyIn(recording, "not_inlined", 0.95, "self_ns", ("--no-inline",))
        names = [row["function"] for row in recording.rows("--no-inline")]
        self.assertNotIn("inlined_inner", names)

    def test_annotate_charges_the_line_it_was_written_on(self):
        recording = record(self.directory, [build(TARGET), "700"])
        annotated = recording.annotate(TARGET + ".c")
        self.assertEqual(os.path.basename(annotated["file"]), TARGET + ".c")
        lines = {line["line"]: line for line in annotated["lines"]}
        whole = sum(line["self_ns"] for line in annotated["lines"])
        hot = lines[marked_line(TARGET, "hot line")]
        self.assertShareAtLeast(hot["self_ns"], whole, 0.9, "self time of the hot line")
        with open(source_path(TARGET), encoding="utf-8") as source:
            text = source.read().splitlines()[hot["line"] - 1]
        self.assertEqual(hot["text"].strip(), text.strip())
        for mark in ("call of inner", "call of middle", "call of outer"):
            line = lines[marked_line(TARGET, mark)]
            self.assertShareAtLeast(line["total_ns"], whole, 0.9, mark)

    def test_annotate_shows_just_a_function(self):
        recording = record(self.directory, [build(TARGET), "700"])
        lines = [line["line"] for line in recording.annotate("inlined_inner")["lines"]]
        self.assertIn(marked_line(TARGET, "hot line"), lines)
        self.assertNotIn(marked_line(TARGET, "call of outer"), lines)
