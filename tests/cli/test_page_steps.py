# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done to stacks on the page of profc export --html, step by step, and how the page looks."""

import unittest

from in_browser import InBrowser
from page import Page
from profc import profc, record
from targets import build


class Made(InBrowser):
    SIZE = (4000, 300, 4, 100)

    def chips(self):
        return self.page.run("[...document.querySelectorAll('.chip')].map((chip) => chip.innerText.replace(' \u00d7', ''))")


class Steps(Made):
    def pick_row(self, row):
        self.page.run(f"document.querySelectorAll('#view-table .body .row')[{row}].click()")
        self.page.settle()

    def test_are_taken_back_one_by_one_the_last_first(self):
        self.page.click("#tab-table")
        sums = [self.text("#sum")]
        for row, key in ((3, "h"), (1, "d"), (2, "f")):
            self.pick_row(row)
            self.page.key(key)
            sums.append(self.text("#sum"))
        kinds = [chip.split(":")[0] for chip in self.chips()]
        self.assertEqual(kinds, ["hidden", "dropped", "focus"])
        link = self.page.run("location.hash")
        self.page.open(self.html, link)
        self.assertEqual([chip.split(":")[0] for chip in self.chips()], kinds)
        while self.page.run("!document.querySelector('#chosen-function').hidden"):
            self.page.key("Escape")
        for left in (2, 1, 0):
            self.page.key("Escape")
            self.assertEqual([chip.split(":")[0] for chip in self.chips()], kinds[:left])
            self.assertEqual(self.text("#sum"), sums[left])

    def test_one_in_the_middle_can_be_taken_back(self):
        self.page.click("#tab-table")
        for row, key in ((3, "h"), (1, "d"), (2, "f")):
            self.pick_row(row)
            self.page.key(key)
        self.page.run("document.querySelectorAll('.chip')[1].click()")
        self.page.settle()
        self.assertEqual([chip.split(":")[0] for chip in self.chips()], ["hidden", "focus"])

    def module_of(self, row):
        return self.cells()[row][-2]

    def test_a_module_is_dropped_with_its_time(self):
        self.page.click("#tab-table")
        self.pick_row(0)
        module, before = self.module_of(0), self.text("#sum")
        self.page.key("D", shift=True)
        self.assertEqual(self.chips(), [f"dropped: all of {module}"])
        self.assertNotEqual(self.text("#sum"), before)
        self.assertNotIn(module, [row[-2] for row in self.cells()])

    def test_a_module_is_merged_without_losing_time(self):
        self.page.click("#tab-table")
        self.pick_row(0)
        module, before = self.module_of(0), self.text("#sum")
        self.page.key("g")
        self.assertEqual(self.chips(), [f"merged: {module}"])
        self.assertEqual(self.text("#sum"), before)
        for view in ("flame", "chart", "tree", "sandwich"):
            self.page.click(f"#tab-{view}")
            self.assertEqual(self.text("#sum"), before)
        self.page.click("#tab-tree")
        self.page.key("Home")
        self.page.key("*")
        rows = self.page.run(
            "[...document.querySelectorAll('#view-tree .body .row')].map((row) => [Number(row.ariaLevel), row.lastChild.title])")
        with open(self.html, encoding="utf-8") as file:
            tables = Page(file.read()).tables
        own = {name for name, _, _, of, *_ in tables["functions"] if of >= 0 and tables["modules"][of][0] == module}
        above, nr_own = {}, 0
        for level, title in rows:
            name = title.split("(")[0]  # in tables it has no arguments
            above[level] = name
            nr_own += name in own
            self.assertFalse(name in own and above.get(level - 1) in own, rows)
        self.assertGreater(nr_own, 0)


class Controls(Made):
    """Those without an effect in a view are grey there."""

    def look(self):
        """All that is to be seen below the tools."""
        return self.page.run(
            "[...document.querySelectorAll('main [role=tabpanel]:not([hidden]) canvas')].map((at) => at.toDataURL()).join() +"
            "document.querySelector('main').innerText")

    def test_grey_ones_change_nothing_and_others_do(self):
        changed = set()
        for view in ("flame", "chart", "tree", "table", "source"):
            for control, value in (("invert", "invert=1"), ("collapse", "collapse=1"), ("group", "group=thread"),
                                   ("colors", "colors=heat")):
                self.page.open(self.html, f"#view={view}")
                is_grey = self.page.run(f"document.querySelector('#{control}').disabled")
                self.page.settle()
                before = self.look()
                self.page.open(self.html, f"#view={view}&{value}")
                self.page.settle()
                if is_grey:
                    self.assertEqual(self.look(), before, (view, control))
                    self.assertIn("no effect", self.page.run(f"document.querySelector('#{control}').title"))
                elif self.look() != before:
                    changed.add((view, control))
        self.assertLessEqual({("flame", "invert"), ("tree", "invert"), ("flame", "group"), ("tree", "group"),
                              ("flame", "colors"), ("chart", "colors")}, changed)


class Inlined(InBrowser):
    """Functions that the compiler has inlined, as trees in the terminal mark them."""

    @classmethod
    def write_page(cls):
        cls.recording = record(cls.directory, [build("inlined_hot_line"), "300"])
        profc("export", "-i", cls.recording.path, "--html", "-m", "cpu", "-o", cls.html)

    def test_tree_and_tip_mark_them(self):
        shown = profc("report", "-i", self.recording.path, "--tree").stdout
        expected = {line.split()[-2] for line in shown.splitlines() if line.endswith("(inlined)")}
        if not expected:
            self.skipTest("nothing was inlined")
        self.page.click("#tab-tree")
        self.page.key("Home")
        self.page.key("*")
        names = [row[-1].strip("\u25be\u25b8 \n") for row in self.cells("tree")]
        marked = {name.split()[-2] for name in names if name.endswith("(inlined)")}
        self.assertLessEqual(expected, marked)

    def test_chain_without_a_choice_stands_in_one_column(self):
        self.page.click("#tab-tree")
        self.page.key("Home")
        self.page.key("*")
        rows = self.page.run("[...document.querySelectorAll('#view-tree .body .row')].map((row) =>"
                             "[Number(row.ariaLevel), parseInt(row.lastChild.style.paddingLeft)])")
        chains = choices = 0
        for i, (level, indent) in enumerate(rows[1:-1], 1):
            below = [other for other in rows[i + 1:] if other[0] <= level]
            end = rows.index(below[0], i + 1) if below else len(rows)
            children = [other for other in rows[i + 1:end] if other[0] == level + 1]
            for child in children:
                self.assertEqual(child[1] - indent, 0 if len(children) == 1 else 14, rows)
            chains += len(children) == 1
            choices += len(children) > 1
        self.assertGreater(chains, 1)


# Contrast by WCAG: the least of all texts that are to be seen.
CONTRAST = """(() => {
	const part = (at) => { at /= 255; return at <= 0.04045 ? at / 12.92 : ((at + 0.055) / 1.055) ** 2.4; };
	const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
	const colour = (text, below) => { canvas.fillStyle = below; canvas.fillRect(0, 0, 1, 1); canvas.fillStyle = text;
		canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
	const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
	const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
	const back = (at) => { const above = at.parentElement ? back(at.parentElement) : "white";
		return css(colour(getComputedStyle(at).backgroundColor, above)); };
	let least = [99, ""];
	for (const at of document.querySelectorAll("body *")) {
		const own = [...at.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
		if (!own || !at.checkVisibility({visibilityProperty: true}) || at.closest(":disabled, .idle, #help, script, style"))
			continue;
		const below = back(at), values = [light(colour(getComputedStyle(at).color, below)), light(colour(below, "white"))];
		const ratio = (Math.max(...values) + 0.05) / (Math.min(...values) + 0.05);
		if (ratio < least[0])
			least = [ratio, at.tagName + "." + at.className + "#" + at.id + " " + at.innerText.slice(0, 30)];
	}
	return least;
})()"""


class Looks(Made):
    def test_theme_is_switched_by_button_key_and_link(self):
        def back():
            return self.page.run("getComputedStyle(document.body).backgroundColor")
        light = back()
        self.page.click("#theme")
        dark = back()
        self.assertNotEqual(dark, light)
        self.assertEqual(self.state()["theme"], "dark")
        self.page.key("l")
        self.assertEqual(back(), light)
        self.page.open(self.html, "#theme=dark")
        self.assertEqual(back(), dark)
        self.page.theme("dark")
        self.page.open(self.html, "#theme=light")
        self.assertEqual(back(), light)
        self.page.open(self.html)
        self.assertEqual(back(), dark)

    def test_every_text_has_contrast_enough(self):
        for theme in ("light", "dark"):
            for view in ("flame", "chart", "tree", "table", "source"):
                self.page.open(self.html, f"#theme={theme}&view={view}&function=3&from=1000000&to=20000000&hide=7")
                self.page.run("document.querySelectorAll('main [role=tabpanel]:not([hidden]) .body .row').forEach("
                              "(row, i) => i === 1 && row.click())")
                self.page.settle()
                ratio, where = self.page.run(CONTRAST)
                self.assertGreaterEqual(ratio, 4.5, (theme, view, where))

    def test_names_have_one_face_and_end_in_an_ellipsis(self):
        self.page.run("(() => { const proto = CanvasRenderingContext2D.prototype, plain = proto.fillText; window.drawn = [];"
                      "proto.fillText = function (text, ...at) { if (this.canvas.closest('#view-flame')) drawn.push([text, this.font]);"
                      "return plain.call(this, text, ...at); }; })()")
        self.page.resize(1100, 800)
        self.page.wait("drawn.length > 20")
        drawn = self.page.run("drawn")
        self.assertEqual(len({font for _, font in drawn}), 1)
        with open(self.html, encoding="utf-8") as file:
            names = {row[0] for row in Page(file.read()).tables["functions"]}
        for text, _ in drawn:
            if text not in names and text.endswith("\u2026"):
                self.assertTrue(any(text[:-1] in name for name in names), text)
        self.assertTrue(any(text.endswith("\u2026") for text, _ in drawn))

    def test_bars_do_not_cross_digits(self):
        self.page.click("#tab-table")
        heights = self.page.run("[...document.querySelectorAll('#view-table .bar')].map((at) =>"
                                "getComputedStyle(at).backgroundSize.split(' ')[1])")
        self.assertEqual(set(heights), {"3px"})

    def test_tools_are_in_landmarks(self):
        outside = self.page.run(
            "[...document.body.children].filter((at) => at.checkVisibility() && !at.matches('script, style, header, nav, main,"
            "footer, section[aria-label], [role=status], [aria-live]')).map((at) => at.id)")
        self.assertEqual(outside, [])

    def test_on_a_phone_the_answer_is_on_the_first_screen(self):
        self.page.resize(400, 800)
        self.open_page()
        _, top, _, _ = self.canvas()
        self.assertLess(top, 330)
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 400)

    def test_a_frame_above_the_zoomed_one_has_no_share_of_it(self):
        self.click_frame(0.2, 6)
        self.page.run("document.querySelector('#view-flame canvas').focus()")
        self.page.key("Home")
        self.assertNotIn("zoomed", self.text("#said"))


if __name__ == "__main__":
    unittest.main()
