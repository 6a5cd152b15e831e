# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads wait for, on the page of profc export --html: names, holders and times are those of the reports."""

import re
import unittest

from in_browser import InBrowser
from page import Page
from profc import profc, record
from targets import build

# Where no CPU is idle, sleeps are looked at a few times a second, so that looks cost little.
FAST = ("-F", "1000", "--max-overhead", "0")
FRAMES = {"plain_lock": "mutex plain_lock", "heir_lock": "mutex heir_lock", "never": "cond never",
          "tickets": "sem tickets"}


class OfLocks(InBrowser):
    """A page of waits_for_known_owners."""

    @classmethod
    def write_page(cls):
        cls.recording = record(cls.directory, [build("waits_for_known_owners"), "800"], *FAST)
        profc("export", "-i", cls.recording.path, "--html", "-m", "blocked", "-o", cls.html)
        cls.locks = {row["name"]: row for row in cls.recording.rows("--by", "lock") if row["kind"]}

    def check_share(self, text, expected):
        """"24.54 \u00b10.4" of a row of the report."""
        share, half = map(float, text.split(" \u00b1"))
        self.assertAlmostEqual(share, expected["self_pct"], delta=0.0051)
        self.assertAlmostEqual(half, expected["ci_pct"], delta=0.051)

    def choose_in_table(self, frame):
        self.page.click("#tab-table")
        self.page.run("document.querySelector('#search').value = ''")
        self.page.run("document.querySelector('#search').focus()")
        self.page.type(f"^{frame}$")
        self.page.click("#view-table .body .row")


class Frames(OfLocks):
    """Below those of each sleep."""

    def test_times_are_those_of_the_report(self):
        with open(self.html, encoding="utf-8") as file:
            page = Page(file.read())
        times = {}
        for wait, ns in zip(page.columns["sampleWait"], page.columns["sampleBlocked"]):
            if wait:
                name = page.tables["waitObjects"][page.tables["waits"][wait - 1][0]][0]
                times[name] = times.get(name, 0) + ns
        times = {name: ns for name, ns in times.items() if ns}
        self.assertEqual(times, {name: row["self_ns"] for name, row in self.locks.items()})

    def test_tables_have_them(self):
        total = self.recording.report("-m", "blocked")["total_ns"]
        self.assertIn(f"blocked {total / 1e9:.3f} s", self.text("#sum"))
        self.page.click("#tab-table")
        shown = {row[-3]: row[1] for row in self.cells()}
        for name, frame in FRAMES.items():
            self.assertAlmostEqual(float(shown[frame].split()[0]), self.locks[name]["self_pct"], delta=0.0051)
        self.page.click("#tab-tree")
        self.page.key("Home")
        self.page.key("*")
        self.assertLessEqual(set(FRAMES.values()), {row[-1].lstrip("\u25b8\u25be ") for row in self.cells("tree")})

    def test_other_metrics_do_not(self):
        for metric in ("wall", "cpu"):
            self.choose("#metric", metric)
            self.page.click("#tab-table")
            rows = self.recording.rows("-m", metric, "--names", "short")
            self.assertEqual([row[-3] for row in self.cells()][:3], [row["function"] for row in rows][:3])

    def test_drawn_heaviest_first(self):
        self.page.click("#tab-tree")
        self.page.key("Home")
        self.page.key("*")
        rows = self.page.run("[...document.querySelectorAll('#view-tree .row')].map((row) =>"
                             "[Number(row.ariaLevel), parseFloat(row.children[1].innerText)])")
        before = {}
        for level, percent in rows:
            before = {above: part for above, part in before.items() if above <= level}
            self.assertLessEqual(percent, before.get(level, 100))
            before[level] = percent

    def test_tip_has_the_holder_and_its_function(self):
        self.choose_in_table("mutex plain_lock")
        said = self.text("#said")
        (owner,) = self.locks["plain_lock"]["owners"]
        self.assertIn(f"held by {owner['name']} {owner['pct']:.0f}%", said)
        self.assertIn(f"meanwhile in {owner['functions'][0]['function']}", said)

    def test_tip_says_that_there_is_none(self):
        self.choose_in_table("cond never")
        self.assertIn("no thread is known to hold it", self.text("#said"))

    def test_lines_of_the_source_keep_their_time(self):
        listing = self.recording.annotate("waits_for_known_owners.c", "-m", "blocked")
        self.page.open(self.html, "#view=source")
        self.page.settle()
        shown = self.page.run("[...document.querySelectorAll('#view-source .row')].map((row) => row.innerText)")
        self.assertTrue(shown)
        self.assertGreater(listing["total_ns"], 0)


class Tab(OfLocks):
    """Waits."""

    def rows(self):
        return {row[5]: row for row in self.cells("waits")}

    def test_is_the_report(self):
        self.page.click("#tab-waits")
        rows = self.rows()
        self.assertEqual(set(rows), set(self.locks))
        for name, expected in self.locks.items():
            row = rows[name]
            self.check_share(row[1], expected)
            self.assertEqual(row[2:5] + [row[6]], [f"{expected['self_samples']:,}", str(expected["threads"]),
                                                  expected["kind"], expected["waiting_in"]])
            if expected["kind"] == "join":  # for which the report names the thread alone
                self.assertEqual(row[7], "holder 100%")
                continue
            self.assertEqual(row[7], ", ".join(f"{owner['name']} {owner['pct']:.0f}%" for owner in expected["owners"]))
            if expected["owners"]:
                (owner,) = expected["owners"]
                self.assertTrue(row[8].startswith(owner["functions"][0]["function"]), row)

    def test_is_sorted_and_searched(self):
        self.page.click("#tab-waits")
        self.page.click("#view-waits [data-sort=name]")
        names = [row[5] for row in self.cells("waits")]
        self.assertEqual(names, sorted(names))
        self.assertEqual(self.state()["waitSort"], "name")
        self.page.key("/")
        self.page.type("want_lock")
        self.assertEqual(set(self.rows()), {name for name, row in self.locks.items() if row["waiting_in"] == "want_lock"})
        self.page.key("Enter")
        self.assertRegex(self.text("#place"), r"^\d of 4$")
        self.page.run("document.querySelector('#search').select()")
        self.page.type("nowhere")
        self.assertEqual(self.text("#view-waits .note"), "No match.")

    def test_obeys_time_and_threads(self):
        self.page.click("#tab-waits")
        self.drag_range(0.25, 0.5)
        part = float(self.rows()["plain_lock"][0].split()[0])
        unit = self.rows()["plain_lock"][0].split()[1]
        whole = self.locks["plain_lock"]["self_ns"]
        self.assertAlmostEqual(part * {"s": 1e9, "ms": 1e6}[unit], 0.25 * whole, delta=0.05 * whole)
        self.page.key("Escape")
        self.page.run("[...document.querySelectorAll('#threads .track')].find((track) => track.querySelector('.name')"
                      ".innerText === 'idle').querySelector('input').dispatchEvent("
                      "new MouseEvent('click', {bubbles: true, shiftKey: true}))")
        self.page.settle()
        self.assertEqual(set(self.rows()), {"never"})
        self.page.run("[...document.querySelectorAll('#threads .track')].find((track) => track.querySelector('.name')"
                      ".innerText === 'holder').querySelector('input').dispatchEvent("
                      "new MouseEvent('click', {bubbles: true, shiftKey: true}))")
        self.page.settle()
        self.assertEqual(self.text("#view-waits .note"), "Nothing that is selected waits for a lock or a descriptor.")

    def test_a_click_shows_both_stacks_and_back_undoes(self):
        self.choose("#metric", "cpu")
        self.page.click("#tab-waits")
        self.assertTrue(self.page.run("document.querySelector('#metric').disabled"))
        place = [row[5] for row in self.cells("waits")].index("plain_lock") + 1
        self.page.click(f"#view-waits .body .row:nth-child({place})")
        self.assertEqual(self.state()["view"], "sandwich")
        heads = self.page.run("[...document.querySelectorAll('#view-sandwich .head')].map((head) => "
                              "head.lastElementChild.innerText)")
        self.assertEqual(heads[1:], ["waiting in", "held by"])
        self.assertRegex(self.cells("sandwich .callee-list")[0][-1], r"holder \(pid \d+, tid \d+\)$")
        left, top, width, _ = self.page.box("#view-sandwich .callees canvas")
        self.page.move(left + width * 0.2, top + 18 * 5 + 9)
        self.assertRegex(self.text("#tip"), r"^[0-9.]+ m?s +[0-9.]+ \u00b1[0-9.]+% of the time in which it was held\n"
                         "compute_with_locks")
        anchor = self.page.run("location.hash")
        self.page.back()
        self.assertEqual(self.state()["view"], "waits")
        self.page.open(self.html, anchor)
        self.assertIn("mutex plain_lock", self.text("#chosen-text"))

    def test_other_tabs_keep_their_metric(self):
        self.choose("#metric", "wall")
        self.page.click("#tab-waits")
        self.assertIn("blocked ", self.text("#sum"))
        self.page.click("#tab-tree")
        self.assertIn("wall ", self.text("#sum"))

    def test_keys_go_there(self):
        self.page.key("7")
        self.page.key("ArrowDown")
        self.assertIn("function", self.state())
        self.page.key("Enter")
        self.assertEqual(self.state()["view"], "sandwich")
        self.page.key("f")
        self.assertIn("focus: ", self.text("#transforms"))
        self.page.key("7")
        self.assertEqual(len(self.rows()), 1)
        self.page.click("#transforms .chip")
        self.assertEqual(len(self.rows()), len(self.locks))

    def test_fits_all_widths(self):
        for width in (320, 400, 900, 1280):
            for theme in ("light", "dark"):
                self.page.resize(width, 800)
                self.page.theme(theme)
                self.page.open(self.html, "#view=waits")
                self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width)
                self.assertEqual(len(self.cells("waits")), len(self.locks))


class Arrows(OfLocks):
    """In time order, from a thread to the one that has what it waits for."""

    def open_thread(self, name):
        with open(self.html, encoding="utf-8") as file:
            threads = Page(file.read()).tables["threads"]
        self.threads = {row[1]: number for number, row in enumerate(threads)}
        self.page.open(self.html, f"#view=chart&thread={self.threads[name]}")

    def walk_down(self):
        """The words of each frame of the stack in the middle, root first."""
        said = []
        while not said or said[-1] != self.text("#said"):
            said.append(self.text("#said"))
            self.page.key("ArrowDown")
        return said[1:]

    def most_of_holder(self, words):
        """The function in which the holder was most of the time that the words are of, as the report has it."""
        length, unit, start = re.match(r"([0-9.]+) (s|ms|\u00b5s) +at ([0-9.]+) s ", words).groups()
        from_ns = float(start) * 1e9
        to_ns = from_ns + float(length) * {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3}[unit]
        rows = self.recording.rows("--time", f"{from_ns:.0f}ns..{to_ns:.0f}ns", "--thread", "^holder$", "-m", "wall")
        return max((row for row in rows if row["function"].endswith("_with_locks")), key=lambda row: row["total_ns"])["function"]

    def test_keys_go_to_the_holder(self):
        self.open_thread("waiter-1")
        said = self.walk_down()
        for words, frame in zip(said[-2:], ("mutex plain_lock, .*", "")):
            self.assertRegex(words, rf"blocked, {frame}held by \S*holder \(pid \d+, tid \d+\), meanwhile in {self.most_of_holder(words)}$")
        self.page.key("Enter")
        self.assertEqual(self.state()["thread"], str(self.threads["holder"]))
        self.assertEqual(self.page.run("document.querySelector('#thread').value"), str(self.threads["holder"]))
        self.page.back()
        self.assertEqual(self.state()["thread"], str(self.threads["waiter-1"]))

    def test_a_click_goes_to_the_holder(self):
        self.open_thread("waiter-1")
        depth = len(self.walk_down())
        left, top, width, _ = self.canvas("chart")
        self.page.click_at(left + width / 2, top + 18 * (depth - 1) + 9)  # the lock
        self.assertEqual(self.state()["thread"], str(self.threads["waiter-1"]))
        self.page.click_at(left + width / 2, top + 18 * depth + 9, "right")
        self.assertTrue(self.page.run("document.querySelector('#menu').hidden"))
        self.page.click_at(left + width / 2, top + 18 * depth + 9)
        self.assertEqual(self.state()["thread"], str(self.threads["holder"]))

    def test_none_where_no_thread_has_it(self):
        self.open_thread("idle")
        self.assertRegex(self.walk_down()[-1], r"cond never, no thread is known to hold it$")


class WithoutWaits(InBrowser):
    """The tab says why it has none."""

    SIZE = (300, 20, 1)

    def test_recording_does_not_have_them(self):
        self.page.click("#tab-waits")
        self.assertEqual(self.text("#view-waits .note"), "The recording does not have what threads waited for.")

    def test_none_was_seen(self):
        recording = record(self.directory, [build("four_functions"), "100"])
        other = self.path("other.html")
        profc("export", "-i", recording.path, "--html", "-o", other)
        self.page.open(other, "#view=waits")
        self.assertEqual(self.text("#view-waits .note"), "No thread was seen to wait for a lock or a descriptor.")

    def test_a_comparison_has_no_tab(self):
        other = self.path("diff.html")
        profc("diff", "--html", "-o", other, self.data, self.data)
        self.page.open(other, "#view=waits")
        self.assertTrue(self.page.run("document.querySelector('#tab-waits').hidden"))
        self.page.key("7")
        self.assertEqual(self.page.run("document.querySelector('[aria-selected=true]').id"), "tab-flame")


if __name__ == "__main__":
    unittest.main()
