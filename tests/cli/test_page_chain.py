# SPDX-License-Identifier: GPL-2.0-or-later
"""The critical path as a track of the page, beside `report --chain` of the same recording."""

import json

from in_browser import InBrowser
from profc import profc, record
from targets import build

STEPS = 240  # closer than a wait is long


class OfPhases(InBrowser):
    """A page of a program that computes alone and in threads that it waits for."""

    @classmethod
    def write_page(cls):
        cls.recording = record(cls.directory, [build("works_in_phases"), "4"], "-F", "1000",
                               "--max-overhead", "0")
        profc("export", "-i", cls.recording.path, "--html", "-o", cls.html)
        cls.chain = json.loads(profc("report", "-i", cls.recording.path, "--chain", "-n", "0",
                                     "--json").stdout)

    def track(self):
        """Where it is on the screen; None: there is none."""
        return self.page.run(
            "(() => { const at = document.querySelector('canvas[aria-label=\"critical path over time\"]');"
            "if (!at) return null; const {left, top, width, height} = at.getBoundingClientRect();"
            "return [left, top, width, height]; })()")

    def told(self):
        """The words of the tip at moments that are as far apart."""
        left, top, width, height = self.track()
        for step in range(STEPS):
            self.page.move(left + width * (step + 0.5) / STEPS, top + height / 2)
            yield self.page.run("document.getElementById('tip').innerText")

    def test_tells_which_thread_the_end_waited_for(self):
        tips = list(self.told())
        waited_for = [tip for tip in tips if "the end waited for " in tip]
        self.assertGreater(len(waited_for), 0.9 * STEPS)
        tids = {row["tid"] for row in self.chain["rows"]}
        self.assertGreater(len(tids), 4)
        (process,) = self.recording.rows("--by", "pid")
        first = process["pid"]
        own_ns = sum(row["elapsed_ns"] for row in self.chain["rows"] if row["tid"] == first)
        share = own_ns / self.chain["total_ns"]
        of_first = [tip for tip in waited_for if f"tid {first})" in tip]
        self.assertAlmostEqual(len(of_first) / len(waited_for), share, delta=0.15)
        self.assertTrue(any("blocked: clock_nanosleep" in tip and "waits" in tip for tip in tips))

    def test_another_page_has_none(self):
        path = self.directory + "/one.data"
        profc("record", "-q", "-o", path, "--", build("spin_leaf"), "100")
        profc("export", "-i", path, "--html", "-o", path + ".html")
        self.page.open(path + ".html")
        self.assertIsNone(self.track())
