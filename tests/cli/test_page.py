# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of profc export --html, as its users meet it: in a browser, by mouse and keys."""

import json
import os
import re
import unittest

from in_browser import InBrowser
from made import make_profile
from page import Page
from profc import Recording, profc, record
from targets import build, need, source_path

VIEWS = ("flame", "chart", "sandwich", "tree", "table", "source", "waits")


class Counters(InBrowser):
    """Metrics that the page knows by its data alone."""

    @classmethod
    def write_page(cls):
        cls.recording = record(cls.directory, [build("kernel_counters"), "phases", "150"],
                               "--metrics", "faults,switches,read-bytes")
        profc("export", "-i", cls.recording.path, "--html", "-m", "faults", "-o", cls.html)

    def test_are_metrics_as_others(self):
        offered = self.page.run("[...document.querySelector('#metric').options].map((o) => o.value)")
        self.assertEqual(self.page.run("document.querySelector('#metric').value"), "faults")
        self.assertNotIn("written-bytes", offered)
        for metric in ("faults", "switches"):
            self.choose("#metric", metric)
            total = self.recording.report("-m", metric)["total_count"]
            self.assertIn(f"{metric} {total:,}", self.text("#sum"))
        self.choose("#metric", "read-bytes")
        self.assertRegex(self.text("#sum"), r"read-bytes [0-9.]+ (B|KiB)")

    def test_table_is_the_report(self):
        self.page.click("#tab-table")
        shown = [cell for row in self.cells() for cell in row]
        for row in self.recording.rows("-m", "faults")[:3]:
            self.assertIn(f"{row['self_count']:,}", shown)

    def test_have_tracks(self):
        names = self.page.run("[...document.querySelectorAll('#summary .track-name')].map((o) => o.innerText)")
        self.assertEqual(names, ["all threads", "faults", "switches", "read-bytes"])

    def test_a_range_has_its_part(self):
        total = self.recording.report("-m", "faults")["total_count"]
        self.drag_range(0.2, 0.5)
        part = int(re.search(r"faults ([0-9,]+)", self.text("#sum")).group(1).replace(",", ""))
        self.assertGreater(part, 0)
        self.assertLess(part, 0.9 * total)


class ShortLives(InBrowser):
    """Processes that no sample met, and a thread that executes a program of its own name."""

    @classmethod
    def write_page(cls):
        works = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
        many = "for i in $(seq 150); do /bin/true; done"
        recording = record(cls.directory, ["sh", "-c", f"{many}; {works}; exec sh -c '{works}; exit'"])
        profc("export", "-i", recording.path, "--html", "-o", cls.html)

    def test_have_names_that_tell_tracks_apart(self):
        self.page.resize(1280, 2000)
        self.page.open(self.html, "#tall=1000")
        named = self.page.run("[...document.querySelectorAll('#threads .track-name')].map("
                              "(one) => [one.querySelector('.name').innerText, one.title])")
        self.assertGreater(len(named), 3)
        for column in zip(*named):
            self.assertEqual(len(set(column)), len(column), column)
        self.assertFalse([title for _, title in named if "pid 0" in title or "tid 0" in title], named)
        self.assertTrue(any(re.search(r"\(([0-9]+ )?process(es)? that no sample met\)", title) for _, title in named), named)
        self.assertTrue(any(re.match(r"sh .*from [0-9.]+ s$", short) for short, _ in named), named)


class ElapsedTime(InBrowser):
    """It is no metric of single samples."""

    @classmethod
    def write_page(cls):
        cls.recording = record(cls.directory, [build("works_in_phases"), "4"])
        profc("export", "-i", cls.recording.path, "--html", "-m", "elapsed", "-o", cls.html)

    def sum_ns(self):
        value, unit = re.search(r"elapsed ([0-9.]+) (s|ms)", self.text("#sum")).groups()
        return float(value) * {"s": 1e9, "ms": 1e6}[unit]

    def test_is_the_duration_and_so_is_that_of_a_range(self):
        duration_ns = self.recording.report()["duration_ns"]
        self.assertAlmostEqual(self.sum_ns(), duration_ns, delta=duration_ns * 0.01)
        self.drag_range(0.2, 0.5)
        self.assertAlmostEqual(self.sum_ns(), 0.3 * duration_ns, delta=duration_ns * 0.02)

    def test_table_is_the_report(self):
        self.page.click("#tab-table")
        shown = " ".join(cell for row in self.cells() for cell in row)
        row = self.recording.rows("-m", "elapsed")[0]
        self.assertIn(f"{row['self_pct']:.2f} \u00b1{row['ci_pct']:.1f}", shown)

    def test_has_no_track(self):
        names = self.page.run("[...document.querySelectorAll('#summary .track-name')].map((o) => o.innerText)")
        self.assertEqual(names, ["all threads", "critical path"])


class Verdict(InBrowser):
    """The page of what hardly ran at all begins with what stands out, in its metric."""

    @classmethod
    def write_page(cls):
        cls.recording = record(cls.directory, ["sleep", "0.5"])
        profc("export", "-i", cls.recording.path, "--html", "-o", cls.html)

    def metric(self):
        return self.page.run("document.querySelector('#metric').value")

    def test_is_that_of_explain_in_the_head(self):
        explained = json.loads(profc("explain", "-i", self.recording.path, "--json").stdout)
        self.assertEqual(explained["verdict"]["rule"], "call")
        self.assertEqual(self.text("#verdict"), explained["line"])

    def test_page_begins_with_its_metric(self):
        self.assertEqual(self.metric(), "wall")
        self.assertEqual(self.page.hash(), "")

    def test_a_metric_that_is_asked_for_goes_before_it(self):
        other = self.path("other.html")
        profc("export", "-i", self.recording.path, "--html", "-m", "blocked", "-o", other)
        self.page.open(other)
        self.assertEqual(self.metric(), "blocked")
        self.assertNotEqual(self.text("#verdict"), "")

    def test_a_part_of_the_recording_has_none(self):
        other = self.path("part.html")
        profc("export", "-i", self.recording.path, "--html", "-m", "wall", "--time", "0.1..0.3", "-o", other)
        self.page.open(other)
        self.assertTrue(self.page.run("document.querySelector('#verdict').hidden"))


class Views(InBrowser):
    SIZE = (4000, 300, 4, 100, 500)

    def test_begins_with_all_of_the_recording(self):
        report = Recording(self.data).report()
        self.assertIn("madeup", self.text("#title"))
        self.assertIn("4,000 samples", self.text("#about"))
        self.assertIn(f"cpu {report['total_ns'] / 1e9:.3f} s", self.text("#sum"))
        self.assertEqual(self.page.hash(), "")

    def test_the_graph_has_most_of_the_window(self):
        self.assertLess(self.canvas()[1], 800 * 0.42)  # with a verdict of two lines

    def test_tracks_have_short_names_and_cpu_time(self):
        threads = Recording(self.data).report("--by", "thread")["rows"]
        shown = self.page.run("[...document.querySelectorAll('#threads .track-name')].map("
                              "(label) => [...label.querySelectorAll('span')].map((span) => span.innerText))")
        scale = {"s": 1e9, "ms": 1e6}
        cpu_ns = {name: float(text.split()[0]) * scale[text.split()[1]] for name, text, _ in shown}
        self.assertEqual(sorted(cpu_ns), sorted(row["name"] for row in threads))
        for row in threads:
            self.assertAlmostEqual(cpu_ns[row["name"]], row["self_ns"], delta=1e6)

    def test_table_is_the_report(self):
        rows = Recording(self.data).report("-n", "10", "--names", "short")["rows"]
        self.page.click("#tab-table")
        for expected, row in zip(rows, self.cells()):
            self.assertEqual(row[1].split()[0], f"{expected['self_pct']:.2f}")
            self.assertEqual(row[3].split()[0], f"{expected['total_pct']:.2f}")
            self.assertAlmostEqual(float(row[1].split("±")[1]), expected["ci_pct"], delta=0.06)

    def test_table_has_all_rows_and_few_elements(self):
        self.page.click("#tab-table")
        nr = int(self.page.run("document.querySelector('#view-table .rows').ariaRowCount")) - 1
        self.assertGreater(nr, 300)
        self.assertLess(len(self.cells()), 100)
        self.page.run("document.querySelector('#view-table .rows').focus()")
        self.page.key("End")
        self.assertEqual(
            self.page.run("document.querySelector('#view-table .row.picked').ariaRowIndex"),
            str(nr + 1))

    def test_address_is_that_of_the_end_of_a_held_key(self):
        self.page.click("#tab-table")
        nr, took_ms = self.page.run(
            "(() => { const rows = document.querySelector('#view-table .rows'), begun = performance.now(); rows.focus(); let nr = 0;"
            "const replace = history.replaceState.bind(history);"
            "history.replaceState = (...all) => { nr++; replace(...all); };"
            "for (let i = 0; i < 300; i++) rows.dispatchEvent("
            "new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true})); return [nr, performance.now() - begun]; })()")
        # Thirty at once, and then one in 0.3 s, which is half of the 200 in 30 s that Chromium takes.
        self.assertLessEqual(nr, 31 + took_ms / 300)
        shown = self.text("#chosen-text")
        # A timer that is set later, and for longer, ends after that of the page.
        self.page.run("new Promise((done) => setTimeout(done, 1000))")
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertEqual(self.text("#chosen-text"), shown)

    def test_every_column_sorts(self):
        self.page.click("#tab-table")
        for name in ("self", "total", "calls", "perCall", "name", "module", "file"):
            selector = f"#view-table .head button[data-sort={name}]"
            self.page.click(selector)
            first = self.cells()[0]
            self.page.click(selector)
            self.assertNotEqual(self.cells()[0], first, name)

    def test_click_zooms_and_back_undoes(self):
        self.click_frame(0.2, 6)
        path = self.state()["zoom"]
        self.assertEqual(len(path.split(",")), 6)
        self.click_frame(0.2, 9)
        self.assertEqual(len(self.state()["zoom"].split(",")), 9)
        self.page.back()
        self.assertEqual(self.state()["zoom"], path)
        self.page.back()
        self.assertEqual(self.page.hash(), "")

    def test_a_link_shows_the_same(self):
        self.click_frame(0.2, 6)
        self.drag_range(0.25, 0.5)
        self.choose("#metric", "wall")
        self.page.click("#invert")
        self.page.click("#tab-tree")
        anchor, rows, total = self.page.run("location.hash"), self.cells("tree"), self.text("#sum")
        self.assertIn("of the selection", " ".join(rows[0]) + " of the selection")
        self.page.open(self.html, anchor)
        self.assertEqual(self.cells("tree"), rows)
        self.assertEqual(self.text("#sum"), total)

    def test_range_is_followed_by_all_views(self):
        whole = self.text("#sum")
        self.drag_range(0.25, 0.5)
        start, end = int(self.state()["from"]), int(self.state()["to"])
        report = Recording(self.data).report("--time", f"{start}ns..{end}ns")
        total = report["total_ns"]
        shown = float(re.search(r"cpu ([0-9.]+) s", self.text("#sum"))[1]) * 1e9
        self.assertAlmostEqual(shown, total, delta=total * 0.001 + 1e6)
        for view in VIEWS:
            self.page.click(f"#tab-{view}")
            self.assertNotEqual(self.text("#sum"), whole)
        self.page.click("#tab-table")
        rows = report["rows"]
        self.assertAlmostEqual(float(self.cells()[0][1].split()[0]), rows[0]["self_pct"], delta=0.02)
        # Of all, too: less than of the selection.
        self.assertLess(float(self.cells()[0][2].split()[0]), float(self.cells()[0][1].split()[0]))
        self.page.click("#all-time")
        self.assertEqual(self.text("#sum"), whole)

    def test_threads_are_chosen_by_their_boxes(self):
        whole = self.text("#sum")
        self.page.click("#threads input")
        self.assertEqual(len(self.state()["threads"].split(",")), 3)
        self.assertIn("3 of 4 threads", self.text("#chosen"))
        self.assertNotEqual(self.text("#sum"), whole)
        self.page.click("#all-threads")
        self.assertEqual(self.text("#sum"), whole)

    def test_threads_are_merged_by_a_pattern(self):
        self.choose("#group", "thread")
        self.click_frame(0.2, 1)
        self.assertIn("tid", self.state()["zoom"])
        self.choose("#group", "pattern")
        self.click_frame(0.2, 1)
        self.assertEqual(self.state()["zoom"], "=worker-*")
        self.page.run("document.querySelector('#pattern').select()")
        self.page.run("document.querySelector('#pattern').focus()")
        self.page.type("w(")
        self.assertEqual(self.page.run("document.querySelector('#pattern').ariaInvalid"), "true")

    def test_click_in_a_track_shows_that_thread_in_time_order(self):
        self.page.click("#threads canvas")
        self.assertEqual(self.state()["view"], "chart")
        thread = self.page.run("document.querySelector('#threads canvas').dataset.thread")
        self.assertEqual(self.page.run("document.querySelector('#thread').value"), thread)
        left, top, width, _ = self.canvas("chart")
        self.page.click_at(left + width / 2, top + 18 * 2 + 9)
        self.assertIn("function", self.state())

    def test_metrics_of_the_file_can_be_switched(self):
        metrics = self.page.run("[...document.querySelector('#metric').options].map((o) => o.value)")
        for metric in ("cpu", "wall", "blocked", "samples", "calls", "alloc", "allocs", "live",
                       "leaked"):
            self.assertIn(metric, metrics)
        for metric in ("wall", "elapsed", "alloc", "live", "peak", "leaked", "temporary", "freed"):
            self.choose("#metric", metric)
            report = Recording(self.data).report("-m", metric)
            total = report.get("total_ns", report.get("total_bytes"))
            text = self.text("#sum")
            value, unit = re.search(rf"{metric} ([0-9.]+) (\w+)", text).groups()
            scale = {"s": 1e9, "ms": 1e6, "B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}
            self.assertAlmostEqual(float(value) * scale[unit], total, delta=total * 0.01, msg=text)

    def test_focus_hide_and_their_undoing(self):
        whole = self.text("#sum")
        self.click_frame(0.2, 8)
        self.page.key("f")
        self.assertIn("focus: ", self.text("#transforms"))
        self.assertNotEqual(self.text("#sum"), whole)
        self.page.click("#transforms .chip")
        self.assertEqual(self.text("#sum"), whole)
        self.page.key("h")
        self.assertIn("hidden:", self.text("#transforms"))
        self.assertEqual(self.text("#sum"), whole)
        hidden = self.state()["function"]
        self.page.click("#tab-table")
        name = self.page.run("document.querySelector('#chosen-text .name').innerText")
        self.assertEqual(self.state()["hide"], hidden)
        self.assertNotIn(name, [row[-3] for row in self.cells()])
        self.page.key("m")
        self.assertIn("hidden: all of lib", self.text("#transforms"))

    def sum_ns(self):
        value, unit = re.search(r"cpu ([0-9.]+) (s|ms)", self.text("#sum")).groups()
        return float(value) * {"s": 1e9, "ms": 1e6}[unit]

    def test_stacks_with_a_match_alone_and_without_them(self):
        whole = self.sum_ns()
        self.page.key("/")
        self.page.type("function_1[12]")
        self.page.click("#only")
        self.assertEqual((self.state()["only"], self.page.run("document.querySelector('#search').value")),
                         ("function_1[12]", ""))
        self.assertIn("focus: /function_1[12]/", self.text("#transforms"))
        with_it = Recording(self.data).report("--function", "function_1[12]")["total_ns"]
        self.assertLess(with_it, whole * 0.95)
        self.assertAlmostEqual(self.sum_ns(), with_it, delta=2e6)
        self.page.back()
        self.assertAlmostEqual(self.sum_ns(), whole, delta=1)
        self.page.click("#without")
        self.assertAlmostEqual(self.sum_ns(), whole - with_it, delta=2e6)
        anchor = self.page.run("location.hash")
        self.page.open(self.html, anchor)
        self.assertAlmostEqual(self.sum_ns(), whole - with_it, delta=2e6)
        self.page.key("Escape")
        self.assertAlmostEqual(self.sum_ns(), whole, delta=1)

    def test_stacks_of_a_function_are_dropped(self):
        whole = self.sum_ns()
        self.page.click("#tab-table")
        self.page.click("#view-table .body .row:nth-child(4)")
        name = self.page.run("document.querySelector('#chosen-text .name').innerText")
        total = float(self.cells()[3][3].split()[0])
        self.page.key("d")
        self.assertAlmostEqual(self.sum_ns(), whole * (1 - total / 100), delta=whole * 0.001)
        self.assertIn("dropped: " + name, self.text("#transforms"))
        self.assertNotIn(name, [row[-3] for row in self.cells()])
        # No view shows their time, either.
        self.page.click("#tab-chart")
        self.page.key("/")
        self.page.type(f"^{re.escape(name)}$")
        self.page.key("Enter")
        self.assertEqual(self.text("#place"), "none here")

    def test_menu_at_the_right_button(self):
        self.click_frame(0.2, 8, "right")
        self.assertEqual(self.page.run("document.activeElement.innerText"), "Focus")
        self.page.key("ArrowDown")
        self.assertEqual(self.page.run("document.activeElement.innerText"), "Drop")
        self.page.key("Escape")
        self.assertTrue(self.page.run("document.querySelector('#menu').hidden"))

    def test_callers_and_callees_add_up(self):
        self.click_frame(0.2, 8)
        self.page.key("c")
        self.assertEqual(self.state()["view"], "sandwich")
        self.assertTrue(self.cells("sandwich"))
        callers = self.page.run("[...document.querySelectorAll('.caller-list .row')].map("
                                "(row) => parseFloat(row.children[1].innerText))")
        self.assertAlmostEqual(sum(callers), 100, delta=0.5)

    def test_callers_begin_with_functions_to_choose_from(self):
        rows = Recording(self.data).report("-n", "3")["rows"]
        self.page.click("#tab-sandwich")
        names = [row[-3] for row in self.cells("sandwich .choices")]
        for name, row in zip(names, rows):
            self.assertEqual(name, re.sub(r"<.*|\(.*", "", row["function"]))
        self.page.key("ArrowDown")
        self.page.key("ArrowDown")
        self.assertIn(names[1], self.text("#chosen-text"))
        self.assertGreater(self.page.box("#view-sandwich .callees canvas")[2], 400)
        # They stay beside the graphs, and searching finds in them.
        self.page.key("/")
        self.page.type("function_1.*")
        found = int(re.match(r"(\d+) functions", self.text("#found"))[1])
        self.page.key("Enter")
        self.assertEqual(self.text("#place"), f"1 of {found}")
        for row in self.cells("sandwich .choices"):
            self.assertIn("function_1", row[-1])

    def test_counted_calls_have_callers_too(self):
        self.choose("#metric", "calls")
        self.page.click("#tab-table")
        self.page.click("#view-table .body .row")
        calls = self.cells()[0][0]
        self.assertRegex(calls, r"^[0-9,]+$")
        self.page.key("c")
        below = self.page.run("[...document.querySelectorAll('.caller-list .row, .callee-list .row')]"
                              ".map((row) => row.children[0].innerText)")
        self.assertTrue(below)
        self.assertRegex(self.text("#chosen-text"), rf"^{calls} [0-9.]+ ±0%")

    def test_a_link_to_callers_shows_the_function_itself(self):
        self.click_frame(0.2, 24)
        self.page.key("c")
        anchor = self.page.run("location.hash")
        self.page.resize(1280, 600)
        self.page.open(self.html, anchor)
        self.page.settle()
        top, room, height = self.page.run(
            "(() => { const host = document.querySelector('#view-sandwich .callers');"
            "return [host.scrollTop, host.clientHeight, host.scrollHeight]; })()")
        self.assertGreater(height, room + 18)
        self.assertAlmostEqual(top + room, height, delta=1)

    def test_names_and_stacks_can_be_copied(self):
        self.page.run("window.copied = [], document.addEventListener('copy', (event) => "
                      "copied.push(event.clipboardData.getData('text/plain')))")
        self.click_frame(0.2, 8)
        self.page.run("document.execCommand('copy')")
        full = self.page.run("document.querySelector('#chosen-text').title")
        self.assertEqual(self.page.run("copied.pop()"), full)
        self.click_frame(0.2, 8, "right")
        self.page.click("#menu button:nth-last-child(1)")
        stack = self.page.run("copied.pop()").splitlines()
        self.assertEqual(len(stack), 8)
        self.assertTrue(stack[0].startswith(full), stack)
        self.assertEqual(stack[-1], "madeup")
        # The same from the rows of the tree, and from a stack in time order.
        self.page.click("#tab-tree")
        self.page.click("#view-tree .row.picked", "right")
        self.page.click("#menu button:nth-last-child(1)")
        self.assertEqual(self.page.run("copied.pop()").splitlines(), stack)
        self.page.click("#tab-chart")
        left, top, width, _ = self.canvas("chart")
        self.page.click_at(left + width / 2, top + 18 * 4 + 9, "right")
        self.page.click("#menu button:nth-last-child(1)")
        self.assertEqual(len(self.page.run("copied.pop()").splitlines()), 4)

    def test_track_says_what_ran_at_the_cursor(self):
        left, top, width, height = self.page.box("#threads canvas")
        self.page.move(left + width / 2, top + height / 2)
        self.assertRegex(self.text("#tip"), r"^[0-9.]+ s\n.*(on a CPU|blocked|waiting for one) \d+%.*\n\S+")
        name = self.text("#tip").splitlines()[-1]
        self.page.click_at(left + width / 2, top + height / 2)
        self.assertIn(name, self.text("#chosen-text"))
        self.page.move(*self.page.box("#summary canvas")[:2])
        self.assertRegex(self.text("#tip"), r"[0-9.]+ threads (on a CPU|waiting)")
        self.page.move(5, 5)

    def test_tree_opens_all_below_a_row(self):
        self.page.click("#tab-tree")
        self.page.key("Home")
        self.page.key("*")
        self.page.key("ArrowLeft")
        self.page.key("ArrowRight")
        # Each row that has some below it is open.
        states = self.page.run("[...document.querySelectorAll('#view-tree .row')].map("
                               "(row) => row.ariaExpanded)")
        self.assertNotIn("false", states[1:])
        self.assertGreater(states.count("true"), 10)

    def test_tree_opens_and_closes(self):
        self.page.click("#tab-tree")
        self.page.run("document.querySelector('#view-tree .rows').focus()")
        nr = len(self.cells("tree"))
        self.page.key("Home")
        self.page.key("ArrowLeft")
        self.assertEqual(len(self.cells("tree")), 1)
        self.page.key("ArrowRight")
        self.assertGreater(len(self.cells("tree")), 1)
        self.assertGreater(nr, 1)
        self.assertEqual(self.page.run(
            "document.querySelector('#view-tree .row').getAttribute('aria-expanded')"), "true")

    def test_heaviest_callees_stand_first(self):
        self.page.click("#tab-tree")
        for metric, group in (("cpu", "process"), ("blocked", "process"), ("wall", "thread"),
                              ("alloc", "none")):
            self.choose("#metric", metric)
            self.choose("#group", group)
            rows = self.page.run("[...document.querySelectorAll('#view-tree .row')].map((row) =>"
                                 "[Number(row.ariaLevel), parseFloat(row.children[1].innerText)])")
            self.assertGreater(len(rows), 4)
            before = {}
            for level, percent in rows:
                before = {above: part for above, part in before.items() if above <= level}
                self.assertLessEqual(percent, before.get(level, 100), (metric, group))
                before[level] = percent

    def test_search_counts_and_goes_from_match_to_match(self):
        self.page.key("/")
        self.page.type("function_1.*")
        found = re.match(r"(\d+) functions, .*%", self.text("#found"))
        self.assertGreater(int(found[1]), 1)
        self.page.key("Enter")
        self.page.key("Enter")
        self.assertRegex(self.text("#place"), r"^2 of \d+$")
        self.assertRegex(self.text("#said"), "function_1")
        self.page.key("Escape")
        self.assertNotIn("search", self.state())
        self.page.key("/")
        self.page.type("nowhere")
        self.assertEqual(self.text("#found"), "no function")

    def test_a_wrong_pattern_is_marked(self):
        self.page.key("/")
        self.page.type("function_(")
        self.assertEqual(self.text("#found"), "not a regular expression")
        self.assertEqual(self.page.run("document.querySelector('#search').ariaInvalid"), "true")
        self.page.type(")")
        self.assertNotEqual(self.text("#found"), "not a regular expression")

    def test_keys_walk_the_graph(self):
        self.page.run("document.querySelector('#view-flame canvas').focus()")
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft"):
            self.page.key(key)
        self.assertRegex(self.text("#said"), r"^[0-9.]+ m?s .*madeup::layer")
        self.page.key("Enter")
        self.assertIn("zoom", self.state())
        self.page.key("Escape")
        self.assertNotIn("zoom", self.state())
        self.page.click("#reset")
        self.page.key("+")
        self.page.wait("location.hash.includes('left=')")
        self.page.key("?")
        self.assertTrue(self.page.run("document.querySelector('#help').open"))
        self.page.key("Escape")
        self.assertFalse(self.page.run("document.querySelector('#help').open"))

    def test_keys_walk_the_time_order(self):
        self.page.key("2")
        for _ in range(8):
            self.page.key("+")
        said = []
        for key in (*["ArrowDown"] * 8, "ArrowRight", "ArrowLeft", "ArrowUp"):
            self.page.key(key)
            said.append(self.text("#said"))
        self.assertEqual(len(set(said[:9])), 9)
        self.assertEqual(said[9], said[7])
        self.assertEqual(said[10], said[6])
        self.assertRegex(said[0], r"^[0-9.]+ m?s +at [0-9.]+ s")
        self.page.wait("location.hash.includes('left=')")
        before = self.page.hash()
        self.page.key("ArrowDown")
        self.page.key("Enter")
        self.page.wait(f"decodeURIComponent(location.hash).replace(/function=[0-9]+/, '') !== "
                       f"{json.dumps(before)}.replace(/function=[0-9]+/, '')")
        bounds = Recording(self.data).report()["duration_ns"]
        shown = float(self.state()["right"]) - float(self.state()["left"])
        length, unit = re.match(r"([0-9.]+) (s|ms)", said[7]).groups()
        self.assertAlmostEqual(shown * bounds, float(length) * {"s": 1e9, "ms": 1e6}[unit],
                               delta=bounds * 0.0001)

    def test_narrow_frames_have_the_beginning_of_their_name(self):
        self.page.run("window.drawn = [], ((fill) => { CanvasRenderingContext2D.prototype.fillText = "
                      "function (text, ...at) { drawn.push(text); fill.call(this, text, ...at); }; })"
                      "(CanvasRenderingContext2D.prototype.fillText)")
        self.page.resize(1200, 800)
        self.page.settle()
        drawn = self.page.run("drawn")
        with open(self.html, encoding="utf-8") as file:
            names = [name for name, *_ in Page(file.read()).tables["functions"]]
        own = {name.rsplit("::", 1)[-1] for name in names}
        cut = [text for text in drawn if text.endswith("\u2026")]
        self.assertTrue(cut)
        self.assertTrue(set(drawn) & set(names))
        for text in cut:  # without what it is in, and with more than an ellipsis
            self.assertGreaterEqual(len(text), 3)
            self.assertTrue([name for name in own if name.startswith(text[:-1])], text)

    def test_wheel_and_drag(self):
        left, top, width, _ = self.canvas()
        self.page.wheel(left + width / 4, top + 100, -300, control=True)
        self.page.wait("location.hash.includes('right=')")
        zoomed = self.state()
        self.assertLess(float(zoomed["right"]) - float(zoomed["left"]), 0.5)
        self.page.drag(left + 600, top + 100, left + 300, top + 60)
        self.page.wait(f"!location.hash.includes('left={zoomed['left']}')")
        self.assertGreater(float(self.state()["left"]), float(zoomed["left"]))
        self.assertNotIn("zoom", self.state())  # it was no click
        self.assertGreater(
            self.page.run("document.querySelector('#view-flame .graph').scrollTop"), 0)

    def test_tooltip_stands_at_the_cursor_with_numbers_first(self):
        left, top, width, _ = self.canvas()
        self.page.move(left + width * 0.2, top + 18 * 8 + 9)
        tip = self.page.box("#tip")
        self.assertLess(abs(tip[0] - (left + width * 0.2)), 40)
        self.assertRegex(self.text("#tip"), r"^[0-9.]+ m?s +[0-9.]+ ±[0-9.]+%")
        self.page.move(left + width * 0.2, top - 60)

    def test_frames_and_rows_have_names(self):
        for view in VIEWS:
            self.page.click(f"#tab-{view}")
        tree = self.page.call("Accessibility.getFullAXTree")["nodes"]
        nameless = [node["role"]["value"] for node in tree if not node.get("ignored") and
                    node.get("role", {}).get("value") in ("button", "textbox", "searchbox",
                    "combobox", "checkbox", "tab", "grid", "treegrid", "application", "row")
                    and not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [])

    def test_all_widths_and_both_themes(self):
        for width in (320, 700, 1280, 2560):
            for theme in ("light", "dark"):
                self.page.resize(width, 800)
                self.page.theme(theme)
                for view in VIEWS:
                    wide = self.page.run(f"document.querySelector('#tab-{view}').click(), "
                                         "document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, view)
                self.page.settle()
                back = self.page.run("getComputedStyle(document.body).backgroundColor")
                self.assertEqual(back == "rgb(255, 255, 255)", theme == "light")

    def test_prints_light_and_without_tools(self):
        self.page.theme("dark")
        self.page.click("#tab-table")
        self.page.run("dispatchEvent(new Event('beforeprint'))")
        self.page.call("Emulation.setEmulatedMedia", media="print", features=[])
        self.assertEqual(self.page.run("getComputedStyle(document.querySelector('#tools')).display"),
                         "none")
        self.assertEqual(len(self.cells()), 200)
        self.page.call("Emulation.setEmulatedMedia", media="", features=[])
        self.page.run("dispatchEvent(new Event('afterprint'))")
        self.assertLess(len(self.cells()), 100)

    def test_addresses_of_other_pages_do_no_harm(self):
        for anchor in ("#view=nowhere&function=99999999&zoom=7,x,=y&from=5&to=1&hide=1e9,-1",
                       "#%%%=%E0%A4&search=%E0%A4%A&metric=joules&sort=-nothing&view=table",
                       "#threads=99&view=chart&thread=77", "#threads=&left=2&right=1"):
            self.page.open(self.html, anchor)
            self.assertEqual(self.page.problems(), [], anchor)


class ManyThreads(InBrowser):
    """More than there is room for."""

    SIZE = (3000, 100, 40)

    def names(self):
        return self.page.run("[...document.querySelectorAll('#threads .name')].map((name) => name.innerText)")

    def test_threads_are_searched_for(self):
        all_names, whole = self.names(), self.text("#sum")
        name = all_names[3]
        self.page.click("#thread-search")
        self.page.type(f"/{name} ")
        self.assertEqual(self.names(), [name])
        report = Recording(self.data).report("--by", "thread")["rows"]
        own = next(row["self_ns"] for row in report if row["name"] == name)
        value, unit = re.search(r"cpu ([0-9.]+) (s|ms)", self.text("#sum")).groups()
        self.assertAlmostEqual(float(value) * {"s": 1e9, "ms": 1e6}[unit], own, delta=1e6)
        self.page.type("(")
        self.assertEqual(self.page.run("document.querySelector('#thread-search').ariaInvalid"), "true")
        self.assertEqual(self.names(), [name])
        self.page.click("#all-threads")
        self.assertEqual((self.names(), self.text("#sum")), (all_names, whole))
        self.assertEqual(self.page.run("document.querySelector('#thread-search').value"), "")


class ManyStacks(InBrowser):
    """More data than one block of the page holds."""

    SIZE = (80000, 5000, 4)

    def test_blocks_of_data_are_one(self):
        report = Recording(self.data).report("-n", "10", "--names", "short")
        self.assertGreater(self.page.run("document.querySelectorAll('div.data-rows').length"), 1)
        self.assertIn("80,000 samples", self.text("#about"))
        self.assertIn(f"cpu {report['total_ns'] / 1e9:.3f} s", self.text("#sum"))
        self.page.click("#tab-table")
        for expected, row in zip(report["rows"], self.cells()):
            self.assertEqual(row[1].split()[0], f"{expected['self_pct']:.2f}")
            self.assertEqual(row[3].split()[0], f"{expected['total_pct']:.2f}")


class Sources(InBrowser):
    """A program of the tests, with its source and its instructions."""

    @classmethod
    def write_page(cls):
        need("objdump")
        cls.recording = record(cls.directory, [build("four_functions"), "300"])
        profc("export", "-i", cls.recording.path, "--html", "--asm", "-o", cls.html)

    def choose_function(self, name):
        self.page.key("/")
        self.page.type(f"^{name}$")
        self.page.click("#tab-table")
        self.page.click("#view-table .body .row")
        self.page.key("s")

    def scroll_all(self):
        """The rows of the whole source, as one scrolls over it."""
        rows = {}
        for top in range(0, 20000, 400):
            self.page.run(f"document.querySelector('#view-source .rows').scrollTop = {top}")
            self.page.settle()
            for row in self.page.run("[...document.querySelectorAll('#view-source .body .row')].map("
                                     "(row) => [Number(row.dataset.row), "
                                     "...[...row.children].map((cell) => cell.innerText)])"):
                rows[row[0]] = row[1:]
            if top > self.page.run("document.querySelector('#view-source .rows').scrollTop"):
                break
        return [rows[i] for i in sorted(rows)]

    def test_lines_have_their_text_and_cost(self):
        self.choose_function("four_integer")
        with open(source_path("four_functions"), encoding="utf-8") as file:
            text = file.read().expandtabs(8).splitlines()
        rows = self.scroll_all()
        self.assertEqual(len(rows), len(text))
        self.assertEqual([row[-1].strip() for row in rows], [line.strip() for line in text])
        own = sum(float(row[1].split()[0]) for row in rows if row[1])
        listing = self.recording.annotate("four_functions.c")
        expected = sum(line["self_ns"] for line in listing["lines"]) / listing["total_ns"] * 100
        self.assertAlmostEqual(own, expected, delta=0.3)

    def test_legend_has_modules_that_only_call(self):
        rows = self.recording.report("-n", "0", "--by", "module")["rows"]
        modules = {os.path.basename(row["module"]) for row in rows if row["module"]}
        self.assertGreater(len(modules), 1)
        self.assertLessEqual(modules, set(self.text("#legend").split()))

    def test_search_goes_from_line_to_line(self):
        with open(source_path("four_functions"), encoding="utf-8") as file:
            lines = [number for number, line in enumerate(file, 1) if "four_" in line]
        self.choose_function("four_integer")
        self.page.key("/")
        self.page.run("document.querySelector('#search').select()")
        self.page.type("four_")
        found = set()
        for _ in lines:
            self.page.key("Enter")
            found.add(self.page.run("document.querySelector('#view-source .row.picked').dataset.row"))
        self.assertEqual(found, {str(line - 1) for line in lines})
        self.assertRegex(self.text("#place"), rf"^\d+ of {len(lines)} lines$")
        self.assertEqual(self.text("#found"), f"{len(lines)} lines")
        marked = self.page.run("[...document.querySelectorAll('#view-source mark')].map((at) => at.innerText)")
        self.assertEqual(set(marked), {"four_"})

    def test_kept_instructions_and_those_of_view_are_shown(self):
        kept, html = self.path("kept.data"), self.path("kept.html")
        profc("record", "-o", kept, "--with-source", "--", build("four_functions"), "300")
        profc("export", "-i", kept, "--html", "-o", html)
        self.page.open(html, "#view=source&asm=1")
        self.assertIn("Instructions of four_", self.text("#view-source .note"))
        profc("view", "--no-open", self.recording.path, "-o", html)
        self.page.open(html, "#view=source&asm=1")
        self.assertIn("--asm", self.text("#view-source .note"))
        profc("view", "--no-open", "--asm", self.recording.path, "-o", html)
        self.page.open(html, "#view=source&asm=1")
        self.assertIn("Instructions of four_", self.text("#view-source .note"))
        profc("view", "--no-open", "--source-path", "x", self.recording.path, "-o", html, status=2)

    def of_rows(self, rows, cell):
        """The text of a cell of each row that a selector finds in the source."""
        return self.page.run(f"[...document.querySelectorAll('#view-source {rows}')].map((row) => [...row.children].at({cell}).innerText)")

    def test_instructions_stand_beside_their_lines(self):
        self.choose_function("four_integer")
        self.page.click("#asm")
        self.page.settle()
        self.assertTrue(self.page.run("document.querySelector('#view-source .code-lines').checkVisibility()"))
        (line,) = self.of_rows(".lines .row.match", -2)
        self.assertEqual(set(self.of_rows(".code-lines .row.match", 2)), {f"four_functions.c:{line}"})
        other = self.of_rows(".lines .row.hued:not(.match)", -2)[0]
        self.page.run(f"document.querySelector('#view-source .lines .row[data-row=\"{int(other) - 1}\"]').click()")
        self.page.settle()
        self.assertEqual(set(self.of_rows(".code-lines .row.match", 2)), {f"four_functions.c:{other}"})
        self.page.run("document.querySelector('#view-source .code-lines .row.hued:not(.match)').click()")
        self.page.settle()
        (line,) = self.of_rows(".lines .row.match, .lines .row.picked", -2)
        self.assertIn(f"four_functions.c:{line}", self.of_rows(".code-lines .row.picked", 2))

    def test_source_and_instructions_scroll_together(self):
        self.page.resize(1280, 500)
        self.choose_function("four_integer")
        self.page.click("#asm")
        self.page.settle()
        own = [int(text.split(":")[1]) for text in self.of_rows(".code-lines .row", 2) if text.startswith("four_functions.c:")]
        tops = {".code-lines": ("0", "at.scrollHeight"), ".lines": [str(22 * line - 150) for line in (min(own), max(own))]}
        for pane, wanted in tops.items():
            for top in wanted:
                self.page.run(f"(() => {{ const at = document.querySelector('#view-source {pane}'); at.scrollTop = {top}; }})()")
                self.page.settle()
                self.page.settle()
                self.assertTrue({f"four_functions.c:{line}" for line in self.of_rows(".lines .row", -2)} &
                                set(self.of_rows(".code-lines .row", 2)), (pane, top))

    def test_source_says_who_calls_the_function(self):
        self.choose_function("four_integer")
        called = self.page.run("[...document.querySelectorAll('#called-by button')].map((at) => at.innerText)")
        self.assertRegex(called[0], r"^\w+ 100\.0 \u00b1")
        self.page.click("#called-by button")
        self.assertIn(called[0].split()[0], self.text("#chosen-text"))

    def test_instructions_have_the_cost_of_their_function(self):
        self.page.resize(800, 800)
        self.choose_function("four_float")
        self.page.click("#asm")
        self.assertEqual(self.state()["asm"], "1")
        self.assertIn("Instructions of four_float", self.text("#view-source .note"))
        rows = self.scroll_all()
        own = sum(float(row[1].split()[0]) for row in rows if row[1])
        self.assertAlmostEqual(own, self.recording.self_pct("four_float"), delta=0.3)
        self.assertRegex(" ".join(row[-1] for row in rows), r"\bret")


class Scripts(InBrowser):
    """A program of Python, whose functions are told from native ones by their colour."""

    PROGRAM = """import time
def work():
    return sum(i * i for i in range(5000))
end = time.process_time() + 0.5
while time.process_time() < end:
    work()
"""

    @classmethod
    def write_page(cls):
        cls.script = os.path.join(cls.directory, "app.py")
        with open(cls.script, "w", encoding="utf-8") as file:
            file.write(cls.PROGRAM)
        cls.recording = record(cls.directory, [need("/usr/bin/python3.11"), cls.script])
        profc("export", "-i", cls.recording.path, "--html", "-o", cls.html)

    def test_scripts_have_a_colour_of_their_own(self):
        for theme in ("light", "dark"):
            self.page.theme(theme)
            self.open_page()
            colors = dict(self.page.run(
                "[...document.querySelectorAll('#legend .key')].map((key) => [key.innerText,"
                " getComputedStyle(key.querySelector('i')).backgroundColor])"))
            self.assertEqual(len(set(colors.values())), len(colors), colors)
            self.assertIn("scripts", colors)
            self.assertNotIn("app.py", colors)
            red, green, blue = map(int, re.findall(r"\d+", colors["scripts"]))
            self.assertGreater(blue, max(red, green) + 40)

    def test_tip_says_file_and_line(self):
        self.page.key("/")
        self.page.type("^work$")
        self.page.click("#tab-table")
        self.page.click("#view-table .body .row")
        self.assertTrue(self.text("#chosen-text").endswith(f"work {self.script}:2"),
                        self.text("#chosen-text"))


class NoSources(InBrowser):
    """Of a program that is not on this machine."""

    SIZE = (3000, 100, 1)

    def test_lines_without_their_text_say_so(self):
        self.page.click("#tab-source")
        self.assertIn("not found", self.text("#view-source .note"))
        self.assertRegex(self.cells("source")[0][-2], r"^\d+$")
        self.page.click("#view-source .body .row", "right")
        self.assertTrue(self.page.run("document.querySelector('#menu').hidden"))

    def test_begins_with_a_file_that_is_there(self):
        self.page.click("#tab-source")
        files = self.page.run("[...document.querySelectorAll('#file option')].map((option) => option.value)")
        there = os.path.join(self.directory, "there")
        copy = files[-1].replace("/usr/src", there)
        os.makedirs(os.path.dirname(copy))
        with open(copy, "w", encoding="utf-8") as source:
            source.write("line\n" * 1200)
        html = os.path.join(self.directory, "there.html")
        profc("export", "-i", self.data, "--html", "--source-path", f"/usr/src={there}", "-o", html)
        self.page.open(html, "#view=source")
        self.assertEqual(self.page.run("document.querySelector('#file').value"), files[-1])

    def test_text_is_looked_for_elsewhere(self):
        self.page.click("#tab-source")
        file = self.page.run("document.querySelector('#file').value")
        moved = os.path.join(self.directory, "moved")
        copy = file.replace("/usr/src", moved)
        os.makedirs(os.path.dirname(copy))
        with open(copy, "w", encoding="utf-8") as source:
            source.writelines(f"\tline({number});\n" for number in range(1, 1201))
        html = os.path.join(self.directory, "moved.html")
        profc("export", "-i", self.data, "--html", "--source-path", f"/usr/src={moved}", "-o", html)
        self.page.open(html, "#view=source")
        self.assertIn("line(", self.cells("source")[0][-1])
        for options in (("--asm", "--folded"), ("--source-path", "x", "--html"),
                        ("--source-path", "x=y", "--json")):
            profc("export", "-i", self.data, *options, status=2)


class Picture(InBrowser):
    """The SVG of profc export --flamegraph."""

    SIZE = (4000, 300, 2)

    @classmethod
    def write_page(cls):
        cls.html = os.path.join(cls.directory, "made.svg")
        profc("export", "-i", cls.data, "--flamegraph", "-o", cls.html)

    def open_page(self):
        self.page.resize(1000, 800)
        self.page.open(self.html, is_ready="document.querySelectorAll('g.f').length > 3")

    def frames(self):
        """[x, width, text, title] of those that are shown."""
        return self.page.run(
            "[...document.querySelectorAll('g.f')].filter((g) => g.style.display !== 'none').map((g) => "
            "[...['x', 'width'].map((name) => Number(g.querySelector('rect').getAttribute(name))), "
            "g.querySelector('text').textContent, g.querySelector('title').textContent])")

    def test_fills_the_window(self):
        for width in (1000, 500, 2000):
            self.page.resize(width, 800)
            self.page.settle()
            self.assertAlmostEqual(self.frames()[0][1], width - 20, delta=1)

    def test_names_are_short_after_zoom_too(self):
        narrow = next(i for i, frame in enumerate(self.frames()) if frame[1] < 20 and
                      "std::vector" in frame[3])
        self.page.run(f"document.querySelectorAll('g.f')[{narrow}].dispatchEvent(new Event('click'))")
        shown = [frame for frame in self.frames() if frame[1] > 900]
        self.assertGreater(len(shown), 3)
        self.assertNotIn("std::vector", " ".join(frame[2] for frame in shown))

    def test_has_a_dark_theme(self):
        colour = "getComputedStyle(document.querySelector('#back')).fill"
        light = self.page.run(colour)
        self.page.theme("dark")
        self.assertNotEqual(self.page.run(colour), light)


class Comparison(InBrowser):
    """profc diff --html of two recordings of one program."""

    SIZE = (6000, 300, 2)

    @classmethod
    def write_page(cls):
        cls.old = make_profile(os.path.join(cls.directory, "old.data"), 4000, 300, 2)
        profc("diff", "--html", "-o", cls.html, cls.old, cls.data)

    def test_page_says_what_a_width_means(self):
        self.assertIn("as wide as old and new together", self.text("#sum"))
        self.page.click("#tab-table")
        self.assertNotIn("as wide as", self.text("#sum"))

    def test_what_has_no_code_has_one_row(self):
        paths = []
        for name in ("one", "two"):
            paths.append(self.path(name + ".data"))
            profc("record", "-o", paths[-1], "--", build("spin_leaf"), "60")
        html = self.path("short.html")
        profc("diff", "--html", "-m", "wall", "-o", html, *paths)
        self.page.open(html, "#view=table&metric=wall")
        names = self.page.run("[...document.querySelectorAll('#view-table .row .name')].map((at) => at.innerText)")
        no_code = [name for name in names if name.startswith("[un")]
        self.assertEqual(len(no_code), len(set(no_code)), names)
        self.assertIn("spin_leaf", names)

    def test_verdict_of_either_side_is_in_the_head(self):
        lines = []
        for name, path in (("new", self.data), ("old", self.old)):
            explained = json.loads(profc("explain", "-i", path, "--json").stdout)
            lines.append(f"{name}: {explained['line']}")
        self.assertEqual(self.text("#verdict"), "\n".join(lines))

    def test_table_is_that_of_diff(self):
        rows = json.loads(profc("diff", "--json", "-n", "8", self.old, self.data).stdout)["rows"]
        self.page.click("#tab-table")
        for row, cells in zip(rows, self.cells()):
            change, half = cells[3].replace("\u2212", "-").split(" \u00b1")
            self.assertAlmostEqual(float(change), row["change_pct"], delta=0.006)
            self.assertAlmostEqual(float(half), row["ci_pct"], delta=0.06)
            self.assertTrue(row["sure"])

    def test_only_sure_changes_have_a_colour(self):
        self.page.click("#tab-table")
        self.page.run("document.querySelector('#view-table .rows').focus()")
        colours = set()
        for _ in range(3):
            colours |= {tuple(pair) for pair in self.page.run(
                "[...document.querySelectorAll('#view-table .body .row')].map((row) => "
                "[row.children[3].className.replace('number ', ''), row.children[3].innerText])")}
            self.page.key("PageDown")
        for name, text in colours:
            change, half = text.replace("\u2212", "-").split(" \u00b1")
            if abs(abs(float(change)) - float(half)) > 0.06:
                is_sure = abs(float(change)) > float(half)
                self.assertEqual(name, "dim" if not is_sure else
                                 "more" if float(change) > 0 else "less", text)
        self.assertGreater(len({name for name, _ in colours}), 1)

    def test_tooltip_has_old_and_new_side_by_side(self):
        left, top, width, _ = self.canvas()
        self.page.move(left + width * 0.3, top + 18 * 4 + 9)
        self.assertRegex(self.text("#tip"), r"^old [0-9.]+ m?s +new [0-9.]+ m?s +[+\u2212]?[0-9.]+ ±")
        self.page.move(left + width * 0.3, top - 30)

    def sums_ms(self):
        """Of the new side and of the old one."""
        found = re.search(r"cpu new ([0-9.]+) (m?s) .*old ([0-9.]+) (m?s)", self.text("#sum")).groups()
        return [float(value) * {"s": 1e3, "ms": 1}[unit] for value, unit in (found[:2], found[2:])]

    def total_ms(self, path, *options):
        return Recording(path).report(*options)["total_ns"] / 1e6

    def test_each_side_has_its_range_of_time(self):
        whole = self.sums_ms()
        left, top, width, height = self.page.box("#summary-old canvas")
        self.page.drag(left + width * 0.2, top + height / 2, left + width * 0.7, top + height / 2)
        start, end = (int(self.state()[key]) for key in ("oldFrom", "oldTo"))
        self.assertNotIn("from", self.state())
        new, old = self.sums_ms()
        self.assertAlmostEqual(new, whole[0], delta=1)
        self.assertAlmostEqual(old, self.total_ms(self.old, "--time", f"{start}ns..{end}ns"), delta=2)
        self.drag_range(0.2, 0.7)
        start, end = (int(self.state()[key]) for key in ("from", "to"))
        self.assertAlmostEqual(self.sums_ms()[0], self.total_ms(self.data, "--time", f"{start}ns..{end}ns"), delta=2)
        anchor, sums = self.page.run("location.hash"), self.sums_ms()
        self.page.open(self.html, anchor)
        self.assertEqual(self.sums_ms(), sums)
        self.assertEqual([self.text(f"#{id}") != "" for id in ("length", "length-old")], [True, True])
        self.page.key("Escape")
        self.page.key("Escape")
        self.assertEqual(self.sums_ms(), whole)

    def test_each_side_has_its_threads(self):
        whole = self.sums_ms()
        self.page.run("document.querySelector('#threads-old input').click()")
        self.page.settle()
        self.assertNotIn("threads", self.state())
        new, old = self.sums_ms()
        threads = [row["self_ns"] / 1e6 for row in Recording(self.old).report("--by", "thread")["rows"]]
        self.assertAlmostEqual(new, whole[0], delta=1)
        self.assertIn(round(old / 10), [round(ms / 10) for ms in threads])
        self.assertIn("1 of 2", self.text("#chosen-old"))
        self.page.click("#all-threads-old")
        self.assertEqual(self.sums_ms(), whole)

    def test_tracks_are_side_by_side_and_below_each_other_where_narrow(self):
        new, old = (self.page.box(f"#summary{suffix}") for suffix in ("", "-old"))
        self.assertEqual(new[1], old[1])
        self.assertGreaterEqual(old[0], new[0] + new[2])
        self.page.resize(700, 900)
        new, old = (self.page.box(f"#summary{suffix}") for suffix in ("", "-old"))
        self.assertGreater(old[1], new[1] + new[3])

    def middle_s(self):
        """When the box is at which keys begin, in time order."""
        self.page.run("document.querySelector('#view-chart canvas').focus()")
        self.page.key("ArrowDown")
        return float(re.search(r" at ([0-9.]+) s", self.text("#said"))[1])

    def test_time_order_is_that_of_either_side(self):
        ends_s = [Recording(path).report()["duration_ns"] / 1e9 for path in (self.data, self.old)]
        self.assertGreater(ends_s[0], 1.3 * ends_s[1])
        self.page.click("#tab-chart")
        chosen = "document.querySelector('#thread').selectedOptions[0].innerText"
        self.assertTrue(self.page.run(chosen).startswith("new: "))
        self.assertAlmostEqual(self.middle_s(), ends_s[0] / 2, delta=0.02 * ends_s[0])
        self.choose("#thread", "old 1")
        self.assertRegex(self.page.run(chosen), r"^old: .*worker-1")
        self.assertAlmostEqual(self.middle_s(), ends_s[1] / 2, delta=0.02 * ends_s[1])
        self.page.open(self.html, self.page.run("location.hash"))
        self.assertRegex(self.page.run(chosen), r"^old: .*worker-1")
        self.choose("#thread", "old process 0")
        self.assertEqual(self.page.run(chosen), "old: all 2 threads of madeup")
        self.choose("#thread", "0")
        self.assertNotIn("ofOld", self.state())

    def test_tracks_of_the_old_side_lead_to_its_time_order(self):
        left, top, width, height = self.page.box("#threads-old canvas")
        self.page.click_at(left + width / 2, top + height / 2)
        self.assertEqual([self.state()["view"], self.state()["ofOld"]], ["chart", "1"])
        self.page.back()
        self.assertNotIn("ofOld", self.state())
        self.page.run("document.querySelector('#threads-old input').focus()")
        self.page.key("Enter")
        self.assertEqual([self.state()["view"], self.state()["ofOld"]], ["chart", "1"])
        self.page.run("document.querySelector('#threads input').focus()")
        self.page.key("Enter")
        self.assertNotIn("ofOld", self.state())

    def test_no_two_elements_have_one_id(self):
        ids = self.page.run("[...document.querySelectorAll('[id]')].map((at) => at.id)")
        self.assertEqual(len(ids), len(set(ids)))


if __name__ == "__main__":
    unittest.main()
