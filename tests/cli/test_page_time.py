# SPDX-License-Identifier: GPL-2.0-or-later
"""Time on the page of profc export --html: its axis, ranges, marks, minimap and the tracks of processes."""

import json
import re
import unittest

from in_browser import InBrowser
from profc import Recording, profc

NS = {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3, "ns": 1}


def nanoseconds(text):
    value, unit = text.split()
    return float(value) * NS[unit]


class OfProcesses(InBrowser):
    """
    A page of four processes, of which the inner two have the same name and three threads each, and of two marks. It is
    made up: what a recording sees of a shell's children before they execute their programs differs from run to run.
    """

    SIZE = (5000, 300, 8, 0, 0, 2, 2, 0, 4)
    THREADS = 3

    @classmethod
    def write_page(cls):
        cls.recording = Recording(cls.data)
        profc("export", "-i", cls.data, "--html", "-m", "wall", "-o", cls.html)
        cls.marks = json.loads(cls.recording.info("--json"))["marks"]

    def list_of(self, expression, selector):
        return self.page.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((at) => {expression})")

    def rows_in_sight(self):
        """[name, is it of a process?, indent] from top to bottom"""
        return self.page.run(
            "[...document.querySelectorAll('#threads .track')].sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top))"
            ".map((at) => [at.querySelector('.name').innerText, Boolean(at.querySelector('.fold')),"
            "parseInt(at.querySelector('label').style.paddingLeft) || 0])")

    def show_all_rows(self):
        self.page.open(self.html, "#tall=400")


class Axis(OfProcesses):
    """What is drawn is read where it is drawn: by the calls of the canvas."""

    def drawn_texts(self, what):
        """[text, x, y] of what is written when the window has another width."""
        self.page.run("(() => { const proto = CanvasRenderingContext2D.prototype, plain = proto.fillText; window.texts = [];"
                      f"proto.fillText = function (text, x, y) {{ if (this.canvas.{what}) texts.push([text, x, y]);"
                      "return plain.call(this, text, x, y); }; })()")
        self.page.resize(1180, 800)
        self.page.wait("texts.length > 4")
        self.page.settle()
        return self.page.run("texts")

    def check_ticks(self, texts, from_ns, to_ns, width):
        ticks = {text: x - 3 for text, x, y in texts if y == 12 and re.fullmatch("[0-9.]+ s", text)}
        self.assertGreaterEqual(len(ticks), 3)
        for text, x in ticks.items():
            self.assertAlmostEqual(nanoseconds(text), from_ns + (to_ns - from_ns) * x / width, delta=(to_ns - from_ns) * 0.003)
        times = sorted(map(nanoseconds, ticks))
        self.assertIn(f"{min(b - a for a, b in zip(times, times[1:])):.0f}".rstrip("0"), ("1", "2", "5"))

    def test_tracks_have_round_times_and_texts_of_marks(self):
        texts = self.drawn_texts("closest('.axis')")
        width, duration_ns = self.page.box(".axis canvas")[2], self.recording.report()["duration_ns"]
        self.check_ticks(texts, 0, duration_ns, width)
        self.assertIn("mark 0", [text for text, _, _ in texts])
        shown = {text: x - 4 for text, x, y in texts if y != 12}
        self.assertAlmostEqual(shown["mark 0"], self.marks[0]["time_ns"] / duration_ns * width, delta=1)

    def test_time_order_has_them(self):
        self.page.click("#tab-chart")
        texts = self.drawn_texts("closest('#view-chart')")
        self.check_ticks(texts, 0, self.recording.report()["duration_ns"], self.canvas("chart")[2])
        self.assertIn("mark 0", [text for text, _, _ in texts])

    def test_tracks_have_their_scale(self):
        (scale,) = self.list_of("at.innerText", ".track-scale")
        nr = float(re.fullmatch(r"up to ([0-9.]+) threads?", scale).group(1))
        self.assertGreater(nr, 0.5)
        self.assertLess(nr, 9)


class MostOfThreads(OfProcesses):
    def setUp(self):
        super().setUp()
        if not self.why_not:
            self.show_all_rows()

    def test_is_beside_their_names(self):
        rows = self.list_of("[Boolean(at.querySelector('.fold')), at.querySelector('.most').innerText]", "#threads .track")
        for is_process, text in rows:
            self.assertRegex(text, r"^[0-9.]+$" if is_process else r"^\d+%$")
            self.assertLessEqual(float(text.rstrip("%")), 9 if is_process else 100)
        self.assertIn("100%", [text for _, text in rows])


class OfOneProcess(OfProcesses):
    """All threads of a process in time order."""

    def process(self):
        return self.page.run("[...document.querySelectorAll('#thread option')].map((at) => at.value)"
                             ".find((value) => value.startsWith('process'))")

    def show(self):
        self.page.open(self.html, "#tall=400")
        self.page.run("[...document.querySelectorAll('#threads .track')].find((at) => at.querySelector('.fold'))"
                      ".querySelector('input').focus()")
        self.page.key("Enter")

    def heads(self):
        """Texts of lanes, from top to bottom, as they are drawn when the window has another width."""
        self.page.run("(() => { const proto = CanvasRenderingContext2D.prototype; const plain = window.plain = window.plain ||"
                      "proto.fillText; window.texts = []; proto.fillText = function (text, x, y) {"
                      "if (this.canvas.closest('#view-chart')) texts.push([text, y]); return plain.call(this, text, x, y); }; })()")
        width = self.page.run("innerWidth")
        self.page.resize(width - 10, 6000)
        self.page.wait("texts.length > 4")
        self.page.settle()
        texts = self.page.run("texts")
        last = max(i for i, (text, y) in enumerate(texts) if y == 12)
        shown = sorted({(y, text) for text, y in texts[:last] if re.match("[\u25b8\u25be] ", text)})
        return [text for _, text in shown]

    def test_has_a_lane_for_each_thread(self):
        self.show()
        self.assertEqual(self.state()["view"], "chart")
        process = int(self.state()["process"])
        chosen = self.page.run("document.querySelector('#thread').selectedOptions[0].innerText")
        self.assertEqual(chosen, "all 3 threads of pool")
        heads = self.heads()
        self.assertEqual([head[0] for head in heads], ["\u25be"] * self.THREADS)
        self.page.open(self.html, f"#view=chart&process={process}")
        self.assertEqual(self.page.run("document.querySelector('#thread').selectedOptions[0].innerText"), chosen)

    def test_lanes_fold_by_mouse_keys_and_link(self):
        self.show()
        left, top, width, _ = self.canvas("chart")
        axis = 31  # with marks
        self.page.click_at(left + 40, top + axis + 8)
        self.assertEqual(len(self.state()["shut"].split(",")), 1)
        self.assertEqual([head[0] for head in self.heads()], ["\u25b8"] + ["\u25be"] * 2)
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertEqual([head[0] for head in self.heads()], ["\u25b8"] + ["\u25be"] * 2)
        self.page.run("document.querySelector('#view-chart canvas').focus()")
        self.page.key("ArrowDown")
        for _ in range(40):
            if "shows its stacks" in self.text("#said"):
                break
            self.page.key("ArrowUp")
        self.page.key("Enter")
        self.assertEqual([head[0] for head in self.heads()], ["\u25be"] * self.THREADS)

    def test_keys_go_through_all_lanes(self):
        self.show()
        self.page.run("document.querySelector('#view-chart canvas').focus()")
        lanes, before = set(), None
        for _ in range(400):
            self.page.key("ArrowDown")
            said = self.text("#said")
            if said == before:
                break
            before = said
            found = re.search(r"pool/worker-\d \(pid \d+, tid (\d+)\), hides", said)
            if found:
                lanes.add(found.group(1))
        self.assertEqual(len(lanes), self.THREADS - 1)  # all but that above the first box

    def test_only_selected_threads_have_lanes(self):
        self.show()
        self.page.run("document.querySelector('#threads .fold').closest('.track').nextSibling.querySelector('input').click()")
        self.page.settle()
        self.assertEqual(len(self.heads()), self.THREADS - 1)


class Range(OfProcesses):
    def test_has_its_length_while_and_after_dragging(self):
        left, top, width, height = self.page.box("#summary canvas")
        self.page.mouse("mouseMoved", left + width * 0.25, top + height / 2)
        self.page.mouse("mousePressed", left + width * 0.25, top + height / 2, "left")
        self.page.mouse("mouseMoved", left + width * 0.75, top + height / 2, "left")
        self.page.settle()
        duration_ns = self.recording.report()["duration_ns"]
        self.assertEqual(self.state(), {})
        self.assertAlmostEqual(nanoseconds(self.text("#range-length")), duration_ns / 2, delta=duration_ns * 0.02)
        self.page.mouse("mouseReleased", left + width * 0.75, top + height / 2, "left")
        self.page.settle()
        length_ns = int(self.state()["to"]) - int(self.state()["from"])
        self.assertAlmostEqual(nanoseconds(self.text("#range-length")), length_ns, delta=1e6)
        self.assertAlmostEqual(nanoseconds(self.text("#length").removeprefix("= ")), length_ns, delta=1e6)
        self.page.click("#all-time")
        self.assertEqual(self.text("#length"), "")

    def type_range(self, start, end):
        for name, value in (("from", start), ("to", end)):
            self.page.run(f"document.querySelector('#{name}').value = '{value}'")
        self.page.run("document.querySelector('#to').dispatchEvent(new Event('change'))")
        self.page.settle()

    def test_says_why_it_is_none(self):
        self.type_range("0.3", "0.2")
        self.assertIn("before", self.text("#range-wrong"))
        self.assertEqual(self.page.run("document.querySelector('#range-wrong').role"), "alert")
        self.type_range("soon", "0.2")
        self.assertIn("seconds", self.text("#range-wrong"))
        self.type_range("0.1", "0.2")
        self.assertEqual(self.text("#range-wrong"), "")
        self.assertEqual((self.state()["from"], self.state()["to"]), ("100000000", "200000000"))


class Marks(OfProcesses):
    def open_menu(self):
        self.page.click("#marks summary")

    def phases(self):
        return self.page.run("[...document.querySelectorAll('#phases tr')].slice(1).map((row) =>"
                             "[...row.children].map((cell) => cell.innerText))")

    def test_phases_are_those_of_the_report(self):
        for metric in ("wall", "cpu"):
            self.choose("#metric", metric)
            if metric == "wall":
                self.open_menu()
            rows = self.recording.rows("--by", "mark", "-m", metric)
            shown = {row[0]: row[1:] for row in self.phases()}
            names = [row["mark"] or "[before the first mark]" for row in rows]
            self.assertEqual(list(shown), names)
            total_ns = sum(row["self_ns"] for row in rows)
            for name, row in zip(names, rows):
                begins, lasts, weight, share = shown[name]
                self.assertAlmostEqual(nanoseconds(begins), row["begin_ns"], delta=1e6)
                self.assertAlmostEqual(nanoseconds(lasts), row["end_ns"] - row["begin_ns"], delta=1e6)
                self.assertAlmostEqual(nanoseconds(weight), row["self_ns"], delta=total_ns * 0.05)
                self.assertAlmostEqual(float(share.split()[0]), row["self_pct"], delta=5)

    def test_choice_of_marks_is_a_range_that_a_link_has(self):
        self.open_menu()
        self.choose("#from-mark", "0")
        self.choose("#to-mark", "1")
        (first, second) = [mark["time_ns"] for mark in self.marks]
        self.assertEqual([int(self.state()[key]) for key in ("from", "to")], [first, second])
        self.choose("#from-mark", "1")
        self.choose("#to-mark", "0")
        self.assertIn("before", self.text("#range-wrong"))
        self.page.open(self.html, f"#from={first}&to={second}")
        self.open_menu()
        self.assertEqual(self.page.run("[from, to].map((at) => at.value)".replace(
            "from, to", "document.querySelector('#from-mark'), document.querySelector('#to-mark')")), ["0", "1"])
        self.choose("#from-mark", "")
        self.assertEqual(int(self.state()["to"]), second)

    def test_a_phase_is_a_range_by_keys(self):
        self.page.run("document.querySelector('#marks summary').focus()")
        self.page.key("Enter")
        self.page.run("document.querySelectorAll('#phases button')[1].focus()")
        self.page.key("Enter")
        (first, second) = [mark["time_ns"] for mark in self.marks]
        self.assertEqual([int(self.state()[key]) for key in ("from", "to")], [first, second])
        self.assertEqual(self.page.run("document.activeElement.innerText"), "mark 0")
        self.assertEqual(self.page.run("document.activeElement.ariaPressed"), "true")
        self.page.key("Enter")
        self.assertNotIn("from", self.state())
        self.page.key("Escape")
        self.assertFalse(self.page.run("document.querySelector('#marks').open"))
        self.assertEqual(self.page.run("document.activeElement.tagName"), "SUMMARY")


class Processes(OfProcesses):
    def setUp(self):
        super().setUp()
        if not self.why_not:
            self.show_all_rows()

    def test_have_their_threads_below_them(self):
        rows = self.rows_in_sight()
        self.assertEqual([is_process for _, is_process, _ in rows].count(True), 2)
        threads = self.recording.rows("--by", "thread", "-m", "wall")
        self.assertEqual(len(rows), len(threads) + 2)
        for i, (_, is_process, _) in enumerate(rows):
            if is_process:
                self.assertEqual([row[1:] for row in rows[i + 1:i + 1 + self.THREADS]], [[False, 16]] * self.THREADS)

    def test_fold_by_mouse_keys_and_link(self):
        before = self.rows_in_sight()
        self.page.click("#threads .fold")
        self.assertEqual(len(self.rows_in_sight()), len(before) - self.THREADS)
        self.assertEqual(self.page.run("document.activeElement.ariaExpanded"), "false")
        self.assertEqual(len(self.state()["folded"].split(",")), 1)
        self.page.key("ArrowRight")
        self.assertEqual(self.rows_in_sight(), before)
        self.page.key("ArrowLeft")
        self.assertEqual(len(self.rows_in_sight()), len(before) - self.THREADS)
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertEqual(len(self.rows_in_sight()), len(before) - self.THREADS)
        self.page.key("ArrowDown")  # that is for the view, as nothing of the list has the focus
        self.assertEqual(len(self.rows_in_sight()), len(before) - self.THREADS)

    def test_box_of_a_process_is_those_of_its_threads(self):
        whole = self.text("#sum")
        self.page.run("document.querySelector('#threads .fold').parentNode.querySelector('input').click()")
        self.page.settle()
        nr = len(self.recording.rows("--by", "thread", "-m", "wall"))
        self.assertEqual(len(self.state()["threads"].split(",")), nr - self.THREADS)
        self.assertNotEqual(self.text("#sum"), whole)
        of_process = self.page.run("document.querySelector('#threads .fold').closest('.track').className")
        self.assertIn("off", of_process)

    def test_are_in_the_order_that_is_chosen(self):
        def outer():
            return [name for name, is_process, indent in self.rows_in_sight() if is_process or not indent]
        self.choose("#track-sort", "name")
        self.assertEqual(self.state()["trackSort"], "name")
        self.assertEqual([name.split("/")[0] for name in outer()], ["late", "madeup", "pool 1100", "pool 1200"])
        self.choose("#track-sort", "start")
        self.assertEqual([name.split("/")[0] for name in outer()], ["madeup", "pool 1100", "pool 1200", "late"])
        self.choose("#track-sort", "cpu")
        self.assertEqual([name.split("/")[0] for name in outer()], ["pool 1100", "pool 1200", "madeup", "late"])

    def test_keys_go_from_thread_to_thread(self):
        self.page.run("document.querySelector('#threads').focus()")
        self.page.key("ArrowDown")
        self.page.key("ArrowDown")
        rows = self.rows_in_sight()
        self.assertEqual(self.page.run("document.activeElement.closest('.track').querySelector('.name').innerText"), rows[1][0])
        self.page.key("End")
        last = self.page.run("document.activeElement.closest('.track').querySelector('.name').innerText")
        self.assertEqual(last, rows[-1][0])
        self.page.key("Enter")
        self.assertEqual(self.state()["view"], "chart")

    def test_list_is_as_high_as_it_is_dragged(self):
        self.page.open(self.html, "#tall=120")
        left, top, width, height = self.page.box("#track-grip")
        before = self.page.box("#threads")[3]
        self.page.drag(left + width / 2, top + height / 2, left + width / 2, top + height / 2 - 30)
        self.assertAlmostEqual(self.page.box("#threads")[3], before - 30, delta=2)
        self.page.run("document.querySelector('#track-grip').focus()")
        row = self.page.box("#threads .track")[3]
        self.assertGreaterEqual(row, 24)  # boxes are not to be too close for a finger
        self.page.key("ArrowUp")
        self.assertAlmostEqual(self.page.box("#threads")[3], before - 30 - row, delta=2)
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertAlmostEqual(self.page.box("#threads")[3], before - 30 - row, delta=2)


class MinimapOfGraphs(InBrowser):
    """A page of a recording that is the same in each run."""

    SIZE = (4000, 300, 4)

    def is_shown(self, view):
        return self.page.run(f"!document.querySelector('#view-{view} .minimap').hidden")

    def check_drag(self, view):
        left, top, width, height = self.page.box(f"#view-{view} .minimap")
        parts = [float(self.state()[key]) for key in ("left", "right")]
        middle = sum(parts) / 2
        self.page.drag(left + width * middle, top + height / 2, left + width * (middle + 0.2), top + height / 2)
        self.page.run("new Promise((done) => setTimeout(done, 300))")
        for key, part in zip(("left", "right"), parts):
            self.assertAlmostEqual(float(self.state()[key]), part + 0.2, delta=0.01)

    def test_is_there_while_a_part_is_in_sight_and_moves_it(self):
        for view in ("flame", "chart"):
            self.page.click(f"#tab-{view}")
            self.assertFalse(self.is_shown(view))
            self.page.open(self.html, f"#view={view}&left=0.3&right=0.5")
            self.assertTrue(self.is_shown(view))
            self.check_drag(view)
            self.page.run(f"document.querySelector('#view-{view} .minimap').focus()")
            self.page.key("Home")
            self.page.run("new Promise((done) => setTimeout(done, 300))")
            self.assertAlmostEqual(float(self.state()["left"]), 0, delta=0.001)
            self.assertAlmostEqual(float(self.state()["right"]), 0.2, delta=0.001)
            self.page.key("Escape")
            self.assertFalse(self.is_shown(view))


class ManyThreads(InBrowser):
    """Few elements, whatever their number, and each can be come to."""

    SIZE = (3000, 100, 200)

    def test_200_are_usable(self):
        self.assertLess(self.page.run("document.querySelectorAll('#threads .track').length"), 20)
        self.page.run("document.querySelector('#threads').focus()")
        self.page.key("End")
        name = self.page.run("document.activeElement.closest('.track').querySelector('.name').innerText")
        self.choose("#track-sort", "name")
        names = self.page.run("[...document.querySelectorAll('#threads .name')].map((at) => at.innerText)")
        self.assertNotEqual(name, names[-1])


if __name__ == "__main__":
    unittest.main()
