# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a recording of many samples: it shows itself before those are read, which a worker does."""

import os
import unittest

from in_browser import InBrowser
from profc import profc

NO_WORKER = "delete window.Worker;"
# As where a page is in a frame that may have none: an error comes some time after.
FAILS = "window.Worker = class { constructor() { setTimeout(() => this.onerror(), 300); } postMessage() {} terminate() {} };"
OTHER = "window.nrWorkers = 0; window.Worker = class extends Worker { postMessage(question) { window.nrWorkers++; %s } };"
COUNTED = OTHER % "super.postMessage(question);"
# One that meets bytes that are none of gzip.
SPOILS = OTHER % "super.postMessage({...question, texts: ['AAAA']});"
SLOW = OTHER % "setTimeout(() => super.postMessage(question), 1500);"

# The sums of the file and those of its samples: how many, and how many of them differ in the worst of five columns.
COMPARE = """window.compare = () => {
	const side = recordings[0], found = [fileSums(side), weigh(side, groupsOf(side), state.metric, null)].map((rows) =>
		new Map(Array.from(rows.stack, (stack, i) => [labelName(-2 - rows.group[i]) + " " + stack, SUMS.map((key) => rows[key][i])])));
	const [own, made] = found, differ = [...made].filter(([key, sums]) => String(own.get(key)) !== String(sums));
	return {hasFileSums: hasFileSums(side), own: own.size, made: made.size, differ: differ.slice(0, 5),
		joint: [...made.values()].filter((sums) => sums[4]).length};
};
start()"""


class OfManySamples(InBrowser):
    SIZE = (400_000, 2000, 7, 0, 0, 2, 0, 0, 4)

    def open_with(self, script, *what):
        self.page.call("Page.navigate", url="about:blank")
        added = self.page.call("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        try:
            self.page.open(*what)
        finally:
            self.page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=added)
        self.page.settle()

    def shown(self, anchor, script):
        """Texts of a view, and what its canvases have."""
        self.open_with(script, self.html, anchor)
        return self.page.run("""[document.body.innerText, ...[...document.querySelectorAll("canvas")].filter((one) => one.width)
			.map((one) => one.toDataURL())]""")

    def test_shows_what_pages_without_a_worker_show(self):
        for anchor in "", "#view=table&metric=wall&from=100000000000&to=200000000000":
            shown = self.shown(anchor, COUNTED)
            self.assertGreater(len(shown[0]), 300)
            self.assertEqual(self.page.run("nrWorkers"), 1)
            for script in (NO_WORKER, FAILS, SPOILS):
                self.assertEqual(self.shown(anchor, script), shown, (anchor, script))

    def test_shows_without_samples_what_it_shows_with_them(self):
        self.assertEqual(self.shown("", COUNTED), self.shown("#view=flame", COUNTED))

    def test_an_early_click_waits_for_samples(self):
        self.open_with(SLOW, self.html, "", "document.body && document.body.dataset.ready === '1'")
        self.assertIsNone(self.page.run("document.body.dataset.complete"))
        self.page.click("#tab-table")
        self.page.move(700, 200)
        self.assertEqual(self.state(), {})
        self.page.wait("document.body.dataset.complete === '1'")
        self.assertEqual(self.state(), {"view": "table"})
        self.assertGreater(len(self.cells()), 10)

    def test_early_clicks_come_after_each_other(self):
        self.open_with(SLOW, self.html, "", "document.body && document.body.dataset.ready === '1'")
        self.assertIsNone(self.page.run("document.body.dataset.complete"))
        for selector in ("#show-heat", "#show-heat", "#theme", "#theme", "#theme"):
            self.page.click(selector)
        self.assertEqual(self.state(), {})
        self.page.wait("document.body.dataset.complete === '1'")
        self.assertEqual(self.state(), {"theme": "dark"})

    def test_sums_of_the_file_are_those_of_the_samples(self):
        path = os.path.join(self.directory, "compared.html")
        for options in (), ("-m", "wall"), ("-m", "cpu", "--threads", "split"):
            profc("export", "-i", self.data, "--html", "-o", path, *options)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("\nstart()", "\n" + COMPARE))
            self.page.open(path)
            found = self.page.run("compare()")
            self.assertTrue(found["hasFileSums"], options)
            self.assertEqual((found["own"], found["differ"]), (found["made"], []), options)
            self.assertGreater(found["joint"], 100)


class OfOtherRows(InBrowser):
    """Rows that the first screen needs: it waits for them."""

    SIZE = (210_000, 500, 3, 0, 20_000)

    def test_shows_memory_and_comparisons(self):
        self.assertIn("210,000 samples", self.text("#about"))
        self.assertIsNone(self.page.run("document.querySelector('#tab-memory').hidden || null"))
        path = os.path.join(self.directory, "diff.html")
        profc("diff", self.data, self.data, "--html", "-o", path)
        self.page.open(path)
        self.assertIn("210,000 samples", self.text("#about-old"))


if __name__ == "__main__":
    unittest.main()
