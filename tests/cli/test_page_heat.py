# SPDX-License-Identifier: GPL-2.0-or-later
"""The heat map of the page of profc export --html: its cells, and how they are selected."""

import re
import unittest

from in_browser import InBrowser
from profc import Recording

NS = {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3, "ns": 1}


class Map(InBrowser):
    """`at` is a cell by column and row, of columns of `COLUMN_NS` that have `ROWS`."""

    COLUMN_NS, ROWS = 1e9, 50

    def open_page(self):
        self.page.open(self.html, f"#heat=1&column={self.COLUMN_NS / 1e9:g}")
        self.duration_ns = Recording(self.data).report()["duration_ns"]
        self.cell_ns = self.COLUMN_NS / self.ROWS

    def place(self, column, row):
        left, top, width, height = self.page.box("#heat-map")
        return (left + (column + 0.5) * self.COLUMN_NS / self.duration_ns * width, top + (row + 0.5) / self.ROWS * height)

    def time_of(self, column, row):
        start = column * self.COLUMN_NS + row * self.cell_ns
        return round(start), round(min(start + self.cell_ns, self.duration_ns))

    def chosen(self, *keys):
        return tuple(int(self.state()[key]) for key in keys or ("from", "to"))


class OfSeconds(Map):
    SIZE = (12000, 300, 4)

    def test_is_shown_by_its_button_and_link(self):
        self.page.open(self.html)
        self.assertTrue(self.page.run("document.querySelector('#heat').hidden"))
        self.page.click("#show-heat")
        self.assertFalse(self.page.run("document.querySelector('#heat').hidden"))
        self.assertEqual(self.page.run("document.querySelector('#show-heat').ariaPressed"), "true")
        self.assertIn("heat", self.state())
        self.assertGreater(self.page.box("#heat-map")[3], 100)
        self.page.click("#show-heat")
        self.assertNotIn("heat", self.state())

    def test_cell_is_what_the_report_has_of_its_time(self):
        for metric, unit, total in (("cpu", "CPUs?", "total_ns"), ("wall", "threads?", "total_ns")):
            self.choose("#metric", metric)
            for column, row in ((1, 10), (3, 40)):
                self.page.move(*self.place(column, row))
                start, end = self.time_of(column, row)
                report = Recording(self.data).report("--time", f"{start}ns..{end}ns", "-m", metric)
                shown = float(re.search(rf"([0-9.]+) {unit}", self.text("#tip")).group(1))
                self.assertAlmostEqual(shown, report[total] / (end - start), delta=0.03)
        self.page.move(5, 5)

    def test_click_selects_a_moment_and_a_second_one_takes_it_back(self):
        whole = self.text("#sum")
        self.page.click_at(*self.place(2, 25))
        self.assertEqual(self.chosen(), self.time_of(2, 25))
        start, end = self.chosen()
        total = Recording(self.data).report("--time", f"{start}ns..{end}ns")["total_ns"]
        value, unit = re.search(r"cpu ([0-9.]+) (m?s)", self.text("#sum")).groups()
        self.assertAlmostEqual(float(value) * NS[unit], total, delta=total * 0.002)
        anchor, shown = self.page.run("location.hash"), self.text("#sum")
        self.page.open(self.html, anchor)
        self.assertEqual(self.text("#sum"), shown)
        self.page.click_at(*self.place(2, 25))
        self.assertEqual(self.text("#sum"), whole)

    def test_drag_selects_all_between(self):
        self.page.drag(*self.place(1, 30), *self.place(3, 10))
        self.assertEqual(self.chosen(), (self.time_of(1, 30)[0], self.time_of(3, 10)[1]))
        self.page.drag(*self.place(2, 20), *self.place(2, 5))  # back
        self.assertEqual(self.chosen(), (self.time_of(2, 5)[0], self.time_of(2, 20)[1]))

    def test_keys_go_and_select(self):
        self.page.run("document.querySelector('#heat-map').focus()")
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
            self.page.key(key)
        self.assertRegex(self.text("#said"), r"^1.04 s +[0-9.]+ CPUs?, \d+% of the CPU time in \S+")
        self.assertNotIn("from", self.state())
        self.page.key("Enter")
        self.assertEqual(self.chosen(), self.time_of(1, 2))
        self.page.key("ArrowRight", shift=True)
        self.page.key("ArrowUp", shift=True)
        self.assertEqual(self.chosen(), (self.time_of(1, 2)[0], self.time_of(2, 1)[1]))
        self.page.key("Escape")
        self.assertNotIn("from", self.state())

    def test_is_of_the_selected_threads_and_stacks(self):
        def shown():
            self.page.move(5, 5)
            self.page.move(*self.place(2, 25))
            return float(re.search(r"([0-9.]+) CPUs?", self.text("#tip")).group(1))
        whole = shown()
        self.page.open(self.html, "#heat=1&column=1&threads=0,1")
        part = shown()
        self.assertLess(part, whole * 0.8)
        self.assertGreater(part, 0)
        self.page.open(self.html, "#heat=1&column=1&without=madeup")
        self.assertEqual(shown(), 0)
        self.page.move(5, 5)

    def test_columns_are_as_long_as_is_chosen(self):
        lengths = self.page.run("[...document.querySelectorAll('#heat-column option')].map((at) => at.value)")
        self.assertEqual(lengths, ["0", "0.1", "1"])
        self.choose("#heat-column", "0.1")
        self.COLUMN_NS = 1e8
        self.cell_ns = 2e6
        self.page.click_at(*self.place(17, 20))
        self.assertEqual(self.chosen(), self.time_of(17, 20))

    def test_a_wrong_column_does_no_harm(self):
        for column in ("86400", "7", "-1", "x"):
            self.page.open(self.html, f"#heat=1&column={column}")
            self.assertGreater(self.page.box("#heat-map")[2], 300)
            self.assertEqual(self.page.problems(), [])


class OfADay(Map):
    """Columns of ten minutes by default, which begin with those of the clock."""

    SIZE = (86400, 300, 2, 0, 0, 2000)
    COLUMN_NS, ROWS = 600e9, 60

    def open_page(self):
        super().open_page()
        self.page.open(self.html, "#heat=1")

    def test_a_day_has_columns_of_minutes(self):
        self.assertEqual(self.page.run("document.querySelector('#heat-column').selectedOptions[0].innerText"), "column: 10 min")
        start_ns = (1700000000 % 600) * 1e9  # since when the first column is there
        left, top, width, height = self.page.box("#heat-map")
        column, row = 70, 30
        time = column * self.COLUMN_NS - start_ns
        self.page.click_at(left + (time + self.COLUMN_NS / 2) / self.duration_ns * width, top + (row + 0.5) / self.ROWS * height)
        self.assertEqual(self.chosen(), (round(time + row * self.cell_ns), round(time + (row + 1) * self.cell_ns)))

    def test_moments_are_in_hours(self):
        self.page.run("document.querySelector('#to').value = '1:30:00'")
        self.page.run("document.querySelector('#from').value = '3600.5'")
        self.page.run("document.querySelector('#to').dispatchEvent(new Event('change'))")
        self.page.settle()
        self.assertEqual(self.chosen(), (3600500000000, 5400000000000))
        self.assertEqual(self.page.run("document.querySelector('#from').value"), "1:00:00.5")
        self.assertEqual(self.text("#length"), "= 30:00")
        left, top, width, height = self.page.box("#summary canvas")
        self.page.move(left + width / 2, top + height / 2)
        self.assertRegex(self.text("#tip"), r"^1[12]:[0-9]{2}:[0-9.]+ +[0-9]{2}:[0-9]{2}:[0-9]{2} UTC\n")
        self.page.move(5, 5)


if __name__ == "__main__":
    unittest.main()
