# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory on the page of profc export --html: over time, by function, size and lifetime, as the reports have it."""

import collections
import json
import re
import unittest

from in_browser import InBrowser
from made import make_profile
from page import Page
from profc import profc, record
from targets import build

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
FREED, LEFT = 32, 64  # bits of blockFlags
IS = {"live": 1, "leaked": 2, "temporary": 4, "peak": 8, "alloc": 16, "freed": 32}


def amount(text):
    """Of "2.8 MiB", and how far it may be off as it is rounded."""
    number, unit = text.split()
    return float(number) * UNITS[unit], 0.06 * UNITS[unit]


def running_sum(numbers):
    """Of a column of differences: zigzag."""
    total, found = 0, []
    for number in numbers:
        total += -(number + 1) // 2 if number % 2 else number // 2
        found.append(total)
    return found


class OfMemory(InBrowser):
    SIZE = (2000, 300, 3, 0, 3000)

    @classmethod
    def write_page(cls):
        profc("export", "-i", cls.data, "--html", "-m", "leaked", "-o", cls.html)

    def json(self, *options):
        return json.loads(profc("report", "-i", self.data, "--json", "-n", "0", *options).stdout)

    def by_function(self, metric):
        """Rows of the report by the name that the page has: without arguments; None, where several have it."""
        rows = {}
        for row in self.json("-m", metric)["rows"]:
            name = row["function"].split("(")[0]
            rows[name] = None if name in rows else row
        return rows

    def assert_amount(self, text, expected):
        shown, delta = amount(text)
        self.assertAlmostEqual(shown, expected, delta=max(delta, 0.006 * expected))

    def open_memory(self, metric="leaked", more=""):
        self.page.open(self.html, f"#view=memory&metric={metric}{more}")


class Amounts(OfMemory):
    """What is said of memory."""

    def test_sum_has_its_interval_and_blocks(self):
        leaks = self.json("--leaks")
        words = re.search(r"leaked ([\d.]+ \w+) \u00b1([\d.]+ \w+) in ([\d,]+) blocks", self.text("#sum"))
        self.assert_amount(words[1], leaks["total_bytes"])
        self.assert_amount(words[2], leaks["ci_bytes"])
        self.assertAlmostEqual(int(words[3].replace(",", "")), leaks["total_blocks"], delta=20)  # each is rounded

    def test_those_of_functions_are_the_report(self):
        of_function = self.by_function("leaked")
        self.page.open(self.html, "#view=table&metric=leaked")
        blocks = self.page.run("[...document.querySelectorAll('#view-table .head > div')].findIndex((at) => at.innerText === 'blocks')")
        self.assertGreater(blocks, 0)
        for row in self.cells()[:10]:
            row_of = of_function[row[-3]]
            if not row_of:
                continue
            self.assert_amount(row[0], row_of["self_bytes"])
            self.assertAlmostEqual(int(row[blocks].replace(",", "")), row_of["total_blocks"], delta=20)
        title = self.page.run("document.querySelector('#view-table .body .row').firstChild.title")
        self.assertRegex(title, r"[\d.]+ \w+ \u00b1[\d.]+ \w+")

    def test_so_is_the_chosen_function(self):
        self.page.open(self.html, "#view=table&metric=leaked")
        self.page.click("#view-table .body .row")
        self.assertRegex(self.text("#chosen-text"), r"^[\d.]+ \w+ \u00b1[\d.]+ \w+ in [\d,]+ blocks? ")


class Columns(OfMemory):
    """What the page reads, against the reports."""

    def setUp(self):
        if self.why_not:
            self.skipTest(self.why_not)
        with open(self.html, encoding="utf-8") as file:
            self.read = Page(file.read())
        columns = self.read.columns
        grain = self.read.tables["blockGrainNs"]
        self.assertEqual(grain, self.read.tables["lifeGrainNs"])
        self.flags = columns["blockFlags"]
        self.bytes = [columns["kindBytes"][kind] for kind in columns["blockKind"]]
        self.born = [time * grain for time in running_sum(columns["blockTime"])]
        self.gone = [(time // grain + life - 1) * grain if life else float("inf")
                     for time, life in zip(self.born, columns["blockLife"])]

    def sum_of(self, metric):
        return sum(size for size, flags in zip(self.bytes, self.flags) if flags & IS[metric])

    def test_metrics_are_the_reports(self):
        for metric in ("live", "leaked", "temporary", "peak", "alloc", "freed"):
            self.assertAlmostEqual(self.sum_of(metric), self.json("-m", metric)["total_bytes"], delta=60)

    def test_the_peak_is_what_was_alive_then(self):
        peak = self.json("-m", "peak")
        self.assertEqual(self.read.tables["peakNs"], peak["at_ns"])
        grain = self.read.tables["blockGrainNs"]
        alive = sum(size for size, flags, born, gone in zip(self.bytes, self.flags, self.born, self.gone)
                    if flags & ~(FREED | LEFT) and born <= peak["at_ns"] // grain * grain and gone > peak["at_ns"] // grain * grain)
        self.assertAlmostEqual(alive, peak["total_bytes"], delta=0.02 * peak["total_bytes"])

    def test_leaks_have_age_growth_and_what_points_to_them(self):
        leaks = self.json("--leaks", "--reachable")
        columns, tables = self.read.columns, self.read.tables
        left = [i for i, flags in enumerate(self.flags) if flags & LEFT]
        self.assertEqual(len(left), len(columns["leftAge"]))
        self.assertEqual(len(left), sum(row["samples"] for row in leaks["leaks"]))
        self.assertAlmostEqual(max(columns["leftAge"]) * tables["lifeGrainNs"],
                               max(row["oldest_ns"] for row in leaks["leaks"]), delta=tables["lifeGrainNs"])
        self.assertAlmostEqual(sum(columns["leftLate"]) * 1e9 / tables["lateNs"],
                               sum(row["growth_bytes_per_s"] for row in leaks["leaks"]), delta=len(leaks["leaks"]))
        for verdict, name in ((1, "pointed_to_bytes"), (2, "lost_bytes")):
            own = sum(self.bytes[i] for i, found in zip(left, columns["leftSearch"]) if found == verdict)
            self.assertAlmostEqual(own, sum(row[name] for row in leaks["leaks"]), delta=60)


class Tab(OfMemory):
    def test_sites_are_the_functions_that_allocate(self):
        for metric in ("leaked", "alloc", "freed"):
            self.open_memory(metric)
            of_function = self.by_function(metric)
            total = self.json("-m", metric)["total_bytes"]
            for amount_, share, *_ in self.cells("memory"):
                self.assertAlmostEqual(100 * amount(amount_.split(" \u00b1")[0])[0] / total, float(share.split()[0]),
                                       delta=0.6)
            names = self.page.run("[...document.querySelectorAll('#view-memory .sites .row .name')].map((at) => at.innerText)")
            shares = [float(row[1].split()[0]) for row in self.cells("memory")]
            for name, share in zip(names, shares):
                if of_function[name]:
                    self.assertAlmostEqual(100 * of_function[name]["self_bytes"] / total, share, delta=0.011)

    def test_leaks_have_columns_of_their_own(self):
        self.page.resize(1900, 900)
        self.open_memory("leaked")
        head = self.text("#view-memory .sites .head")
        for word in ("blocks", "oldest", "growing by", "lost"):
            self.assertIn(word, head)
        self.assertRegex(" ".join(cell for row in self.cells("memory") for cell in row), r"[\d.]+ \w+/s")
        self.open_memory("alloc")
        self.assertNotIn("oldest", self.text("#view-memory .sites .head"))

    def bars(self, number):
        """[name, amount, share, blocks] of a histogram."""
        return self.page.run(
            f"[...document.querySelectorAll('#view-memory .bars')[{number}].tBodies[0].rows].map((row) => "
            "[...row.cells].map((cell) => cell.innerText).filter(Boolean))")

    def test_lifetimes_are_the_report(self):
        self.open_memory("alloc")
        expected = {row["name"].replace("us", "\u00b5s").replace("<", "less than").replace(">=", "at least"): row
                    for row in self.json("--by", "lifetime")["rows"]}
        shown = {name: values for name, *values in self.bars(1)}
        self.assertEqual(set(shown), set(expected))
        for name, (size, share, blocks) in shown.items():
            self.assert_amount(size, expected[name]["self_bytes"])
            self.assertAlmostEqual(float(share.split()[0]), expected[name]["self_pct"], delta=0.0051)
            self.assertAlmostEqual(int(blocks.split()[0].replace(",", "")), expected[name]["self_blocks"], delta=50)

    def test_sizes_add_up_and_select(self):
        self.open_memory("alloc")
        bars = self.bars(0)
        self.assertAlmostEqual(sum(float(row[2].split()[0]) for row in bars), 100, delta=0.1)
        heaviest = max(range(len(bars)), key=lambda i: float(bars[i][2].split()[0]))
        before = self.text("#sum")
        self.page.run(f"document.querySelectorAll('#view-memory .bars')[0].tBodies[0].rows[{heaviest}].querySelector('button').click()")
        self.page.settle()
        self.assertIn("size", self.state())
        self.assertIn(f"{bars[heaviest][2].split()[0]} ", self.text("#sum"))
        self.assertIn(f"blocks of {bars[heaviest][0]}", self.text("#transforms"))
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertEqual([row[0] for row in self.bars(0)], [bars[heaviest][0]])
        self.page.key("Escape")
        self.assertEqual(self.text("#sum"), before)

    def test_has_a_metric_of_memory_and_gives_it_back(self):
        self.page.open(self.html, "#metric=cpu")
        self.page.click("#tab-memory")
        self.assertEqual(self.state()["metric"], "peak")
        self.assertIn("peak ", self.text("#sum"))
        self.assertTrue(self.page.run("document.querySelector('#metric option[value=cpu]').disabled"))
        self.page.click("#tab-table")
        self.assertIn("cpu ", self.text("#sum"))

    def test_keys_lead_to_callers(self):
        self.page.key("8")
        self.assertEqual(self.state()["view"], "memory")
        self.page.key("ArrowDown")
        self.page.key("Enter")
        self.assertEqual(self.state()["view"], "sandwich")

    def test_fits_all_widths(self):
        for theme in ("light", "dark"):
            self.page.theme(theme)
            for width in (400, 700, 1280, 2000):
                self.page.resize(width, 800)
                self.open_memory("leaked")
                self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width)
                self.assertGreater(self.page.box("#view-memory .memory-chart canvas")[3], 60)

    def test_recording_without_memory_has_no_tab(self):
        self.assertFalse(self.page.run("document.querySelector('#tab-memory').hidden"))
        html = self.path("plain.html")
        profc("export", "-i", make_profile(self.path("plain.data"), 2000, 300, 3), "--html", "-o", html)
        self.page.open(html, "#view=memory")
        self.assertTrue(self.page.run("document.querySelector('#tab-memory').hidden"))
        self.assertTrue(self.page.run("document.querySelector('#view-memory').hidden"))


class Phases(OfMemory):
    SIZE = (2000, 300, 3, 0, 3000, 2, 3)

    def test_are_of_the_blocks_that_are_looked_at(self):
        """Of one size, as of all."""
        self.open_memory("alloc")
        size = self.page.run("document.querySelector('#view-memory .bars button').dataset.value")
        for more in ("", f"&size={size}"):
            self.open_memory("alloc", more)
            self.page.click("#marks summary")
            amounts = self.page.run("[...document.querySelectorAll('#phases tr')].slice(1).map((row) => row.children[3].innerText)")
            self.assertEqual(len(amounts), 4)
            sizes, deltas = zip(*map(amount, amounts))
            whole, delta = amount(re.match(r"alloc ([\d.]+ \w+)", self.text("#sum"))[1])
            self.assertAlmostEqual(sum(sizes), whole, delta=delta + sum(deltas))


# By pixel of a column of the chart: how many have a colour of a band, from the lowest axis up.
COLOURED = """(() => {
	const canvas = document.querySelector("%s canvas"), {width, height} = canvas, found = [];
	const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
	for (let x = 0; x < width; x++) {
		let nr = 0;
		for (let y = 0; y < height; y++) {
			const at = 4 * (y * width + x), most = Math.max(data[at], data[at + 1], data[at + 2]);
			nr += data[at + 3] > 200 && most - Math.min(data[at], data[at + 1], data[at + 2]) > 40 ? 1 : 0;
		}
		found.push(nr);
	}
	return found;
})()"""


class OverTime(OfMemory):
    def test_time_order_shows_memory_in_its_metrics(self):
        for metric, is_memory in (("cpu", False), ("leaked", True), ("wall", False), ("alloc", True)):
            self.page.open(self.html, f"#view=chart&metric={metric}")
            self.assertEqual(self.page.run("Boolean(document.querySelector('#view-chart .memory-chart')?.checkVisibility())"), is_memory)
            self.assertEqual(self.page.run("document.querySelector('#view-chart .chart').checkVisibility()"), not is_memory)

    def test_leaks_grow_to_the_end(self):
        self.page.open(self.html, "#view=chart&metric=leaked")
        self.page.settle()
        found = self.page.run(COLOURED % "#view-chart .memory-chart")
        third = len(found) // 3
        self.assertGreater(sum(found[-third:]), 2 * sum(found[:third]))

    def most_of_the_time(self, nr):
        """Functions by what they had leaked in the mean, from the columns."""
        with open(self.html, encoding="utf-8") as file:
            read = Page(file.read())
        columns, tables, sums = read.columns, read.tables, collections.Counter()
        for leaf, kind, flags, born in zip(columns["blockLeaf"], columns["blockKind"], columns["blockFlags"],
                                           running_sum(columns["blockTime"])):
            if flags & IS["leaked"]:
                function = read.stacks[columns["leafStack"][leaf]][-(columns["leafSite"][leaf] or 1)]
                sums[function] += columns["kindBytes"][kind] * (tables["toNs"] - born * tables["blockGrainNs"])
        return [tables["functions"][function][0] for function, _ in sums.most_common(nr)]

    def test_bands_are_the_functions_with_most(self):
        self.open_memory("leaked")
        names = self.page.run("[...document.querySelectorAll('.band-list button .name')].map((at) => at.innerText)")
        self.assertGreater(len(names), 3)
        self.assertEqual(names, self.most_of_the_time(len(names)))
        self.page.run("document.querySelector('.band-list button .name').click()")
        self.page.settle()
        self.assertIn(names[0], self.text("#chosen-text"))

    def test_dragging_selects_a_range_of_all_views(self):
        self.page.open(self.html, "#view=chart&metric=alloc")
        left, top, width, height = self.page.box("#view-chart .memory-chart canvas")
        self.page.drag(left + width * 0.25, top + height / 2, left + width * 0.5, top + height / 2)
        state = self.state()
        self.assertAlmostEqual(float(state["from"]) / float(state["to"]), 0.5, delta=0.02)
        self.page.key("Escape")
        self.assertNotIn("from", self.state())

    def resident_at_end(self):
        self.page.run("document.querySelector('#view-memory .memory-chart canvas').focus()")
        self.page.key("End")
        found = re.search(r"([\d.]+ \w+) resident", self.text("#said"))
        return found and amount(found[1])

    def test_resident_memory_is_beside_what_was_alive(self):
        with open(self.html, encoding="utf-8") as file:
            resident = Page(file.read()).columns["residentBytes"]
        expected = json.loads(profc("info", "-i", self.data, "--json").stdout)["heap"]["rss_bytes"]
        self.assertEqual(resident[-1], expected)
        for metric in ("live", "peak", "leaked"):
            self.open_memory(metric)
            shown, delta = self.resident_at_end()
            self.assertAlmostEqual(shown, expected, delta=delta)
        self.page.click(".band-list .key")
        self.assertEqual(self.state()["resident"], "0")
        self.assertIsNone(self.resident_at_end())
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertIsNone(self.resident_at_end())
        self.open_memory("alloc")
        self.assertIsNone(self.resident_at_end())

    def test_keys_say_what_was_alive(self):
        self.open_memory("live")
        self.page.run("document.querySelector('#view-memory .memory-chart canvas').focus()")
        self.page.key("End")
        words = self.text("#said")
        self.assertIn(" in all", words)
        total = self.json("-m", "live")["total_bytes"]
        self.assertAlmostEqual(amount(re.search(r"([\d.]+ \w+) in all", words)[1])[0], total, delta=0.05 * total)
        self.page.key("ArrowUp")
        self.page.key("Enter")
        self.assertIn("function", self.state())


class ShortLives(InBrowser):
    """Where all blocks are recorded, those that live shortly share rows."""

    @classmethod
    def write_page(cls):
        cls.recording = record(cls.directory, [build("allocates"), *["peaks:2000:5000"] * 40, "leaks:1:1000"], "--mem=all")
        profc("export", "-i", cls.recording.path, "--html", "-m", "peak", "-o", cls.html)

    def test_they_are_alive_in_the_mean(self):
        with open(self.html, encoding="utf-8") as file:
            read = Page(file.read())
        grain, unseen = read.tables["blockGrainNs"], read.columns["blockUnseen"]
        self.assertTrue(read.tables["sharesRows"])
        self.assertGreater(sum(unseen), 0)
        self.assertLessEqual(max(unseen) * grain, read.tables["durationNs"])
        names = "document.querySelector('#view-memory .band-list').innerText"
        self.page.open(self.html, "#view=memory&metric=peak")
        self.assertIn("in the mean", self.page.run(names))
        self.page.open(self.html, "#view=memory&metric=leaked")
        self.assertNotIn("in the mean", self.page.run(names))


if __name__ == "__main__":
    unittest.main()
