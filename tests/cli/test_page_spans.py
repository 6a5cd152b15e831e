# SPDX-License-Identifier: GPL-2.0-or-later
"""Timed calls on the page of profc export --html: by time and length, and the slow ones, as report --spans has them."""

import collections
import json
import re
import unittest

from in_browser import InBrowser
from made import make_profile
from page import Page
from profc import profc

NS = {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3, "ns": 1}


class OfCalls(InBrowser):
    """A page of two functions whose calls were timed."""

    SIZE = (10000, 1000, 3, 0, 0, 2, 2, 5000)

    def open_page(self):
        super().open_page()
        self.page.open(self.html, "#view=spans")

    @classmethod
    def write_page(cls):
        super().write_page()
        cls.report = json.loads(profc("report", "-i", cls.data, "--spans", "--json").stdout)["spans"]
        with open(cls.html, encoding="utf-8") as file:
            cls.read = Page(file.read())
        cls.names = [row[0] for row in cls.read.tables["timedCalls"]["functions"]]

    def slow(self, name):
        """[length, begin, thread or -1] of slow calls, the longest first."""
        columns, start, found = self.read.columns, 0, []
        for function, thread, since, length in zip(*(columns["slow" + key] for key in ("Function", "Thread", "Time", "Length"))):
            start += since
            if self.names[function] == name:
                found.append((length, start, thread - 1))
        return sorted(found, reverse=True)

    def rows(self):
        return self.cells("spans")


class Columns(OfCalls):
    """What the page reads."""

    def test_calls_are_those_of_the_report(self):
        columns, calls = self.read.columns, collections.Counter()
        for function, nr in zip(columns["callFunction"], columns["callNr"]):
            calls[self.names[function]] += nr
        self.assertEqual(calls, {row["function"]: row["calls"] for row in self.report})
        self.assertEqual(sum(calls.values()), 5000)
        for name, _, ended, total, longest, *_ in self.read.tables["timedCalls"]["functions"]:
            (row,) = [row for row in self.report if row["function"] == name]
            self.assertEqual([ended, total, longest], [row["calls"], row["total_ns"], row["longest_ns"]])

    def test_so_are_the_slow_ones(self):
        for row in self.report:
            slow = self.slow(row["function"])
            self.assertGreater(len(slow), 5)
            self.assertEqual([(length, start) for length, start, _ in slow],
                             sorted(((call["length_ns"], call["from_ns"]) for call in row["slow"]), reverse=True))


class Tab(OfCalls):
    def test_has_the_function_with_most_time_first(self):
        first = max(self.report, key=lambda row: row["total_ns"])
        chosen = "document.querySelector('#timed').selectedOptions[0].innerText"
        self.assertEqual(self.page.run(chosen), first["function"])
        self.assertIn(f"{first['calls']:,} calls", self.text("#timed-sums"))
        other = self.page.run("document.querySelectorAll('#timed option')[1].value")
        self.choose("#timed", other)
        self.assertEqual(self.state()["timed"], other)
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertNotEqual(self.page.run(chosen), first["function"])

    def test_lists_slow_calls(self):
        name = self.page.run("document.querySelector('#timed').selectedOptions[0].innerText")
        slow = self.slow(name)
        for (took, at, thread), (length, start, number) in zip(self.rows(), slow):
            value, unit = took.split()
            self.assertAlmostEqual(float(value) * NS[unit], length, delta=0.006 * NS[unit])
            self.assertAlmostEqual(float(at.split()[0]) * 1e9, start, delta=1000)
            self.assertRegex(thread, rf"worker-{number}\b")
        self.page.click("#view-spans [data-sort=at]")
        self.page.click("#view-spans [data-sort=at]")
        starts = [float(row[1].split()[0]) for row in self.rows()]
        self.assertEqual(starts, sorted(starts))

    def test_a_slow_call_leads_to_its_time_in_time_order(self):
        name = self.page.run("document.querySelector('#timed').selectedOptions[0].innerText")
        length, start, thread = self.slow(name)[0]
        for act in (lambda: self.page.click("#view-spans .body .row"),
                    lambda: [self.page.key(key) for key in ("9", "ArrowDown", "Enter")]):
            self.page.open(self.html, "#view=spans")
            act()
            state = self.state()
            self.assertEqual([state["view"], int(state["thread"])], ["chart", thread])
            self.assertEqual([int(state["from"]), int(state["to"])], [start, start + length])
        self.page.back()
        self.assertEqual(self.state()["view"], "spans")

    def test_obeys_time_and_threads(self):
        name = self.page.run("document.querySelector('#timed').selectedOptions[0].innerText")
        slow, (_, start, thread) = self.slow(name), self.slow(name)[0]
        self.page.open(self.html, f"#view=spans&threads={thread}")
        self.assertEqual(len(self.rows()), sum(1 for call in slow if call[2] == thread))
        self.page.open(self.html, f"#view=spans&from={start}&to={start + 1000000}")
        self.assertEqual(len(self.rows()), sum(1 for call in slow if call[1] < start + 1000000 and call[1] + call[0] > start))

    def test_keys_go_over_the_map(self):
        self.page.run("document.querySelector('#view-spans canvas').focus()")
        said = set()
        for _ in range(60):
            self.page.key("ArrowUp")
            said.add(self.text("#said"))
        found = [re.fullmatch(r"0 to [0-9.]+ s, ([\d,]+) calls? of [0-9.]+ .?s to [0-9.]+ .?s", words) for words in said]
        columns, name = self.read.columns, self.page.run("document.querySelector('#timed').selectedOptions[0].innerText")
        first = [nr for function, interval, nr in zip(*(columns["call" + key] for key in ("Function", "Interval", "Nr")))
                 if not interval and self.names[function] == name]
        self.assertEqual(sorted(int(match[1].replace(",", "")) for match in found if match), sorted(first))
        self.page.key("Enter")
        self.assertEqual(int(self.state()["from"]), self.read.tables["timedCalls"]["fromNs"])

    def test_dragging_selects_a_time(self):
        left, top, width, height = self.page.box("#view-spans canvas")
        self.page.drag(left + width * 0.25, top + height / 2, left + width * 0.5, top + height / 2)
        self.assertAlmostEqual(int(self.state()["from"]) / int(self.state()["to"]), 0.5, delta=0.02)

    def test_map_is_darkest_where_most_calls_are(self):
        """Most calls of the first function take 4 to 65 µs, and few more than 8 ms."""
        found = self.page.run(
            "(() => { const canvas = document.querySelector('#view-spans canvas'), {width, height} = canvas, rows = [];"
            "const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);"
            "for (let y = 0; y < height; y++) { let nr = 0; for (let x = 60; x < width; x++) {"
            "const at = 4 * (y * width + x); nr += data[at + 3] > 200 && data[at] - data[at + 2] > 25 ? 1 : 0; } rows.push(nr); }"
            "return rows; })()")
        third = len(found) // 3
        self.assertGreater(sum(found[-third:]), 2 * sum(found[third:-third]))

    def test_fits_all_widths(self):
        for theme in ("light", "dark"):
            self.page.theme(theme)
            for width in (400, 900, 1280):
                self.page.resize(width, 800)
                self.page.open(self.html, "#view=spans")
                self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width)
                self.assertGreater(self.page.box("#view-spans canvas")[3], 60)


class Without(InBrowser):
    SIZE = (300, 20, 1)

    def test_there_is_no_tab(self):
        self.page.open(self.html, "#view=spans")
        self.assertTrue(self.page.run("document.querySelector('#tab-spans').hidden"))
        diff, timed = self.path("diff.html"), make_profile(self.path("timed.data"), 300, 20, 1, 0, 0, 2, 0, 100)
        profc("diff", "--html", "-o", diff, timed, timed)
        self.page.open(diff, "#view=spans")
        self.assertTrue(self.page.run("document.querySelector('#tab-spans').hidden"))
        self.assertEqual(self.page.problems(), [])


if __name__ == "__main__":
    unittest.main()
