# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases with a page of --html in a browser."""

import os
import unittest

import browser
from made import MadeCase
from profc import profc


class InBrowser(MadeCase):
    """`page` is the browser, open on the page anew for each test."""

    why_not = None  # what is not installed: then each test is skipped

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.html = os.path.join(cls.directory, "made.html")
        try:
            browser.program()
            cls.write_page()
        except unittest.SkipTest as skip:
            cls.why_not = str(skip)
            return
        cls.page = browser.Browser()
        cls.addClassCleanup(cls.page.close)

    @classmethod
    def write_page(cls):
        profc("export", "-i", cls.data, "--html", "-o", cls.html)

    def setUp(self):
        if self.why_not:
            self.skipTest(self.why_not)
        self.page.events.clear()
        self.page.resize(1280, 800)
        self.page.theme("light")
        self.open_page()
        self.addCleanup(lambda: self.assertEqual(self.page.problems(), []))

    def open_page(self):
        self.page.open(self.html)

    # --- words of the tests ---

    def state(self):
        """What the address says."""
        parts = [part.partition("=") for part in self.page.hash().lstrip("#").split("&")]
        return {key: value for key, _, value in parts if key}

    def canvas(self, view="flame"):
        return self.page.box(f"#view-{view} canvas")

    def click_frame(self, part, depth, button="left"):
        left, top, width, _ = self.canvas()
        self.page.click_at(left + width * part, top + 18 * depth + 9, button)

    def cells(self, view="table"):
        """The text of all rows in the document, cell by cell."""
        return self.page.run(
            f"[...document.querySelectorAll('#view-{view} .body .row')].map("
            "(row) => [...row.children].map((cell) => cell.innerText))")

    def choose(self, selector, value):
        self.page.run(f"(() => {{ const at = document.querySelector('{selector}'); "
                      f"at.value = '{value}'; at.dispatchEvent(new Event('change')); }})()")
        self.page.settle()

    def drag_range(self, start, end):
        left, top, width, height = self.page.box("#summary canvas")
        self.page.drag(left + width * start, top + height / 2, left + width * end,
                       top + height / 2)

    def text(self, selector):
        return self.page.text(selector)
