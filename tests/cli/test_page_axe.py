# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of profc export --html, as axe-core judges it: by WCAG 2.2 and good practice, in all views and both themes."""

import glob
import os
import unittest

from in_browser import InBrowser
from profc import profc, record
from targets import build

PLACES = ("/usr/local/lib/node_modules", "/usr/lib/node_modules", "/usr/share/nodejs",
          os.path.expanduser("~/node_modules"))
VIEWS = ("flame", "chart", "sandwich", "tree", "table", "source", "waits", "memory")

# [rule, target, summary] of each violation.
JUDGE = """axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
	"best-practice"]}).then((found) => found.violations.flatMap((rule) => rule.nodes.map((node) =>
	[rule.id, node.target.join(" "), node.failureSummary])))"""


def axe_path():
    """AXE_CORE=FILE, or that of `npm install -g axe-core`; else skip."""
    places = [os.environ.get("AXE_CORE", "")] + [os.path.join(place, "axe-core", "axe.min.js") for place in PLACES]
    for path in places:
        if path and glob.glob(path):
            return path
    raise unittest.SkipTest("axe-core is not installed: npm install -g axe-core")


class Axe(InBrowser):
    @classmethod
    def write_page(cls):
        with open(axe_path(), encoding="utf-8") as file:
            cls.axe = file.read()
        recording = record(cls.directory, [build("waits_for_known_owners"), "400"], "-F", "1000", "--max-overhead", "0", "--mem=all")
        profc("export", "-i", recording.path, "--html", "--asm", "-m", "wall", "-o", cls.html)

    def judge(self, anchor):
        self.page.open(self.html, anchor)
        self.page.run(self.axe)
        self.page.settle()
        return [(anchor, *violation) for violation in self.page.run(JUDGE)]

    def test_views_have_no_violations(self):
        found = []
        for more in ("&theme=light", "&theme=dark&function=1&search=a&hide=2"):
            for view in VIEWS:
                metric = {"waits": "blocked", "memory": "leaked"}.get(view, "wall")
                found += self.judge(f"#view={view}&metric={metric}&asm=1{more}")
        self.assertEqual(found, [])

    def test_nor_have_memory_over_time_and_a_phone(self):
        found = self.judge("#view=chart&metric=leaked") + self.judge("#view=memory&metric=alloc&size=3")
        self.page.resize(400, 800)
        for view in VIEWS:
            found += self.judge(f"#view={view}")
        self.assertEqual(found, [])

    def test_nor_has_the_help(self):
        self.page.key("?")
        self.page.run(self.axe)
        self.assertEqual(self.page.run(JUDGE), [])


if __name__ == "__main__":
    unittest.main()
