# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranges of time that are compared with another one, the baseline, on the page of profc export --html."""

import json
import unittest

from in_browser import InBrowser
from profc import profc, record
from targets import build


class Baseline(InBrowser):
    """A program that first does one thing and then another."""

    @classmethod
    def write_page(cls):
        fifo = cls.directory + "/control"
        script = 'set -e; "$1" 400; echo "mark second" >"$0"; "$2" 300'
        cls.recording = record(cls.directory, ["sh", "-c", script, fifo, build("spin_leaf"), build("mutex_contention")],
                               "--control", f"fifo:{fifo}")
        profc("export", "-i", cls.recording.path, "--html", "-m", "cpu", "-o", cls.html)

    def open_page(self):
        super().open_page()
        self.page.open(self.html, "#metric=cpu")
        self.duration_ns = self.recording.report()["duration_ns"]
        (mark,) = json.loads(self.recording.info("--json"))["marks"]
        self.mark_ns = mark["time_ns"]

    def heads(self):
        return [text.rstrip(" \u25be\u25b4") for text in self.page.run(
            "[...document.querySelectorAll('#view-table .head > div')].map((at) => at.innerText)")]

    def row_of(self, name):
        """By the titles of the columns."""
        rows = [dict(zip(self.heads(), row)) for row in self.cells()]
        return next(row for row in rows if row["function"] == name)

    def change_of(self, row):
        return float(row["change of self"].split()[0].replace("\u2212", "-"))

    def compare(self):
        """All after the mark with a part of what is before it."""
        part = self.mark_ns / self.duration_ns
        self.drag_range(0.2 * part, 0.6 * part)
        self.page.key("b")
        self.drag_range(part + 0.1 * (1 - part), 0.99)

    def test_range_is_compared_with_it_per_second(self):
        self.compare()
        state = self.state()
        self.assertLess(int(state["oldTo"]), int(state["from"]))
        self.assertIn("baseline", self.text("#sum"))
        self.page.click("#tab-table")
        self.assertIn("baseline self", self.heads())
        row = self.row_of("spin_leaf")
        self.assertLess(self.change_of(row), -50)  # of all CPU time of the baseline, a second
        self.assertEqual(row["self"], "gone")

    def rates(self, name, start, end):
        """CPU time a second of a function itself and of all, in a range, as the report has them."""
        report = self.recording.report("-m", "cpu", "--time", f"{start}ns..{end}ns")
        own = sum(row["self_ns"] for row in report["rows"] if row["function"] == name)
        return own / (end - start), report["total_ns"] / (end - start)

    def test_amounts_are_of_one_second(self):
        """The baseline is half as long as what is compared with it."""
        self.drag_range(0.1, 0.2)
        self.page.key("b")
        self.drag_range(0.2, 0.4)
        self.page.click("#tab-table")
        from_, to, old_from, old_to = (int(self.state()[key]) for key in ("from", "to", "oldFrom", "oldTo"))
        self.assertAlmostEqual(to - from_, 2 * (old_to - old_from), delta=0.02 * (to - from_))
        own, _ = self.rates("spin_leaf", from_, to)
        before, all_before = self.rates("spin_leaf", old_from, old_to)
        self.assertGreater(before, 0)
        self.assertAlmostEqual(self.change_of(self.row_of("spin_leaf")), 100 * (own - before) / all_before, delta=0.5)

    def test_a_link_has_it_and_back_and_escape_take_it_back(self):
        self.compare()
        self.page.click("#tab-table")
        anchor, rows = self.page.run("location.hash"), self.cells()
        self.page.open(self.html, anchor)
        self.assertEqual(self.cells(), rows)
        self.page.key("Escape")
        self.assertNotIn("from", self.state())
        self.page.key("Escape")
        self.assertNotIn("oldFrom", self.state())
        self.assertNotIn("colors", self.state())
        self.assertNotIn("baseline", self.text("#sum"))

    def test_shift_and_drag_selects_it(self):
        left, top, width, height = self.page.box("#summary canvas")
        y = top + height / 2
        self.page.mouse("mousePressed", left + width * 0.1, y, "left", modifiers=8)
        self.page.mouse("mouseMoved", left + width * 0.3, y, "left", modifiers=8)
        self.page.mouse("mouseReleased", left + width * 0.3, y, "left", modifiers=8)
        self.page.settle()
        self.assertNotIn("from", self.state())
        self.assertAlmostEqual(int(self.state()["oldTo"]), self.duration_ns * 0.3, delta=self.duration_ns * 0.01)
        self.assertIn("baseline:", self.text("#no-base"))
        self.page.click("#no-base")
        self.assertNotIn("oldFrom", self.state())

    def test_all_views_show_both(self):
        self.compare()
        for view in ("flame", "chart", "sandwich", "tree", "table", "source", "waits"):
            self.page.click(f"#tab-{view}")
            self.page.settle()
            self.assertEqual(self.page.problems(), [], view)
        self.page.click("#tab-flame")
        self.assertIn("as wide as baseline and range", self.text("#sum"))


class Lines(InBrowser):
    """Those of a source belong to one of two profiles; a range and its baseline have the same."""

    def note(self, html, anchor):
        self.page.open(html, "#view=source" + anchor)
        return self.text("#view-source .note")

    def test_only_two_profiles_have_those_of_the_new_one(self):
        diff = self.path("diff.html")
        profc("diff", "--html", "-o", diff, self.data, self.data)
        self.assertIn("Lines are those of the new profile.", self.note(diff, ""))
        self.assertNotIn("new profile", self.note(self.html, "&from=2000000000&to=3000000000&oldFrom=0&oldTo=1000000000"))
        self.assertIn("baseline", self.text("#sum"))


if __name__ == "__main__":
    unittest.main()
