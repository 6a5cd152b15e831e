# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads wait for, on the page of profc export --html: names, holders and times are those of the reports."""

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
        self.assertEqual(times, {name: row["self_ns"] for name, row in self.locks.items()})

    def test_tables_have_them(self):
        total = self.recording.report("-m", "blocked")["total_ns"]
        self.assertIn(f"blocked {total / 1e9:.3f} s", self.text("#sum"))
        self.page.click("#tab-table")
        shown = {row[-3]: row[1] for row in self.cells()}
        for name, frame in FRAMES.items():
            self.assertTrue(shown[frame].startswith(f"{self.locks[name]['self_pct']:.2f} \u00b1"), shown[frame])
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


if __name__ == "__main__":
    unittest.main()
