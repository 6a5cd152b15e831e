# SPDX-License-Identifier: GPL-2.0-or-later
"""profc annotate: which source it finds, what it charges to its lines, what it says otherwise."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from live import LiveCase
from made import MadeCase
from page import Page
from profc import profc, record
from targets import build, need, source_path


class Annotate(MadeCase):
    """And made-up text for its hottest file."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        report = json.loads(profc("report", "-i", cls.data, "--json", "--by", "line").stdout)
        cls.lines = report["rows"]
        cls.file = cls.lines[0]["file"]  # /usr/src/madeup/layerN/partN.cc
        cls.moved = os.path.join(cls.directory, "moved")
        copy = cls.file.replace("/usr/src", cls.moved)
        os.makedirs(os.path.dirname(copy))
        with open(copy, "w", encoding="utf-8") as source:
            source.writelines(f"\tline({number});\n" for number in range(1, 1201))

    def annotate(self, *arguments, **popen):
        done = profc("annotate", "-i", self.data, "--json", *arguments, **popen)
        return json.loads(done.stdout)

    def self_of_lines(self):
        """The report's self time of the hottest file by line."""
        sums = {}
        for row in self.lines:
            if row["file"] == self.file:
                sums[row["line"]] = sums.get(row["line"], 0) + row["self_ns"]
        return {line: ns for line, ns in sums.items() if ns}

    def test_every_line_with_its_text_and_cost(self):
        page = self.annotate("--source-path", f"/usr/src={self.moved}", self.file)
        self.assertEqual(page["file"], self.file)
        self.assertEqual([line["line"] for line in page["lines"]][:1200], list(range(1, 1201)))
        self.assertEqual(page["lines"][6]["text"], "\tline(7);")
        self.assertEqual({line["line"]: line["self_ns"] for line in page["lines"]
                          if line["self_ns"]}, self.self_of_lines())

    def test_costs_without_text(self):
        done = profc("annotate", "-i", self.data, "--json", self.file)
        page = json.loads(done.stdout)
        self.assertEqual({line["line"]: line["self_ns"] for line in page["lines"]
                          if line["self_ns"]}, self.self_of_lines())
        self.assertTrue(all(line["text"] == "" for line in page["lines"]))
        self.assertIn("--source-path", done.stderr)

    def test_found_by_the_end_of_the_path(self):
        layer = os.path.basename(os.path.dirname(self.file))
        part = os.path.basename(self.file)
        for name in (f"{layer}/{part}", f"./{layer}/x/../{part}"):
            self.assertEqual(self.annotate(name)["file"], self.file)
        done = profc("annotate", "-i", self.data, part[1:], status=1)
        self.assertTrue(done.stderr.startswith("profc: no samples in"), done.stderr)

    def test_text_found_below_the_current_directory(self):
        page = self.annotate(self.file, cwd=os.path.join(self.moved, "madeup"))
        self.assertEqual(page["lines"][0]["text"], "\tline(1);")

    def test_a_function_shows_its_lines(self):
        row = self.lines[0]
        page = self.annotate(row["function"])
        pages = [page, *page.get("more_files", [])]
        page = next(page for page in pages if page["file"] == row["file"])
        hottest = max(page["lines"], key=lambda line: line["self_ns"])
        self.assertEqual((page["file"], hottest["line"]), (row["file"], row["line"]))

    def test_without_a_name_the_hottest_files(self):
        rows = json.loads(profc("report", "-i", self.data, "--json", "--by", "file").stdout)["rows"]
        first = self.annotate("-n", "2")
        pages = [first, *first["more_files"]]
        self.assertEqual([page["file"] for page in pages], [row["file"] for row in rows[:2]])
        self.assertNotIn("more_files", self.annotate("-n", "1"))

    def test_without_a_name_says_how_many_files_there_are_besides(self):
        def besides(*arguments):
            text = profc("annotate", "-i", self.data, *arguments).stdout
            return [int(nr) for nr in re.findall("^and ([0-9]+) more file", text, re.MULTILINE)]

        (nr,) = besides("-n", "1")
        self.assertEqual(besides("-n", "2"), [nr - 1])
        self.assertEqual(besides(self.file), [])

    def test_without_a_name_programs_get_whole_files(self):
        first = self.annotate("-n", "1000", "--source-path", f"/usr/src={self.moved}")
        pages = [page for page in (first, *first["more_files"]) if page["file"].endswith(self.file)]
        self.assertEqual([page["lines"][0]["line"] for page in pages], [1])

    def test_text_for_people(self):
        done = profc("annotate", "-i", self.data, "--width", "80", "--source-path",
                     f"/usr/src={self.moved}", self.file)
        for line in done.stdout.splitlines():
            if not line.startswith("/usr/src"):
                self.assertLessEqual(len(line), 80, line)
        hottest = max(self.self_of_lines().items(), key=lambda item: item[1])[0]
        self.assertRegex(done.stdout, rf"\n +[0-9.]+ +[0-9.]+ .* {hottest}  +line\({hottest}\);\n")

    def test_heading_of_a_file_fits_the_width(self):
        done = profc("annotate", "-i", self.data, "--width", "64", self.file)
        (heading,) = [line for line in done.stdout.splitlines() if " total (" in line]
        self.assertLessEqual(len(heading), 64)
        self.assertIn(os.path.basename(self.file) + ": ", heading)

    def test_source_newer_than_the_recording(self):
        copy = self.file.replace("/usr/src", self.moved)
        for newer in (False, True):
            os.utime(copy, (2**31, 2**31) if newer else (1, 1))
            done = profc("annotate", "-i", self.data, "--source-path", f"/usr/src={self.moved}",
                         self.file)
            self.assertEqual("lines may have moved" in done.stderr, newer, done.stderr)

    def test_source_that_is_read_elsewhere_is_said_to_be(self):
        copy = self.file.replace("/usr/src", self.moved)
        done = profc("annotate", "-i", self.data, "--json", "--source-path",
                     f"/usr/src={self.moved}", self.file)
        self.assertIn(f"reading {self.file} from {copy}\n", done.stderr)
        self.assertEqual(json.loads(done.stdout)["read_from"], copy)
        self.assertEqual(self.annotate(self.file)["read_from"], "")

    def test_source_that_is_too_short(self):
        shorter = os.path.join(self.directory, "shorter")
        copy = self.file.replace("/usr/src", shorter)
        os.makedirs(os.path.dirname(copy))
        with open(copy, "w", encoding="utf-8") as source:
            source.write("line(1);\n")
        os.utime(copy, (1, 1))
        done = profc("annotate", "-i", self.data, "--source-path", f"/usr/src={shorter}",
                     self.file)
        last = max(row["line"] for row in self.lines if row["file"] == self.file)
        self.assertIn(f"has 1 lines, but line {last} has samples", done.stderr)

    def test_a_pipe_in_place_of_the_source_is_not_read(self):
        os.mkfifo(os.path.join(self.directory, os.path.basename(self.file)))
        page = self.annotate(self.file, cwd=self.directory)
        self.assertEqual(page["lines"][0]["text"], "")

    def test_instructions_of_a_program_that_is_not_here(self):
        done = profc("annotate", "-i", self.data, "--asm", "-n", "1")
        self.assertIn("is missing or differs from the recorded file", done.stderr)
        self.assertRegex(done.stdout, r"\n self m?s     %   address\n +[0-9.]+ +[0-9.]+ +[0-9a-f]+\n")
        done = profc("annotate", "-i", self.data, "--asm", "no_such_function", status=1)
        self.assertIn("'no_such_function'", done.stderr)

    def test_a_word_that_is_a_profile_is_opened(self):
        named = profc("annotate", "-i", self.data, "--json").stdout
        self.assertEqual(profc("annotate", "--json", self.data).stdout, named)
        page = json.loads(profc("annotate", "--json", self.data, self.file).stdout)
        self.assertEqual(page["file"], self.file)
        self.assertEqual(profc("annotate", self.data, "--asm", "-n", "1").stdout,
                         profc("annotate", "-i", self.data, "--asm", "-n", "1").stdout)
        done = profc("annotate", "-i", self.data, self.data, status=1)
        self.assertIn("is a profile, but one is already given", done.stderr)
        for command, options in (("report", []), ("info", []), ("export", ["--folded"])):
            self.assertEqual(profc(command, *options, self.data).stdout,
                             profc(command, *options, "-i", self.data).stdout)

    def test_wrong_usage(self):
        done = profc("annotate", "-i", self.data, "--source-path", "nonsense", status=2)
        self.assertIn("OLD=NEW", done.stderr)
        profc("annotate", "-i", self.data, "--asm", "--json", status=2)
        done = profc("annotate", "-i", self.data, "no_such_function", status=1)
        self.assertIn("'no_such_function'", done.stderr)
        self.assertIn("hint: ", done.stderr)


class Counted(MadeCase):
    SIZE = (10000, 1000, 3, 200)

    def lines(self, word):
        done = profc("annotate", "-i", self.data, "--json", word)
        return {line["line"]: line for line in json.loads(done.stdout)["lines"]}

    def functions(self):
        rows = json.loads(profc("report", "-i", self.data, "--json").stdout)["rows"]
        return [row for row in rows if row["calls"] is not None]

    def test_functions_have_their_calls_where_they_are_defined(self):
        sampled = [row for row in self.functions() if row["calls"] and row["total_ns"]][:5]
        self.assertTrue(sampled)
        for row in sampled:
            line = self.lines(row["file"])[row["line"]]
            self.assertEqual(line["calls"], row["calls"])
            self.assertAlmostEqual(line["per_call_ns"], row["per_call_ns"], places=3)

    def test_code_without_samples_has_its_calls(self):
        row = next(row for row in self.functions() if row["calls"] and not row["total_ns"])
        line = self.lines(row["function"].split("(")[0])[row["line"]]
        self.assertEqual((line["calls"], line["total_ns"]), (row["calls"], 0))

    def test_columns_of_line_profilers(self):
        row = next(row for row in self.functions() if row["calls"] and row["total_ns"])
        text = profc("annotate", "-i", self.data, "--width", "80", row["file"]).stdout
        self.assertRegex(text, r"\n +ncalls tottime \S+ +% +percall +line\n")
        self.assertIn(f"{row['calls']:,}", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))


class Recorded(unittest.TestCase):
    """The source as it was when the recording ended."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.source = os.path.join(self.directory, "spin_leaf.c")
        shutil.copy(source_path("spin_leaf"), self.source)
        os.utime(self.source, (10**9, 10**9))
        program = os.path.join(self.directory, "program")
        subprocess.run([need("gcc"), "-D_GNU_SOURCE", "-O2", "-g", "-I",
                        os.path.dirname(source_path("spin_leaf")), "-o", program, self.source],
                       check=True)
        self.recording = record(self.directory, [program, "300"])

    def said(self, *options):
        return profc("annotate", "-i", self.recording.path, *options, "spin_leaf").stderr

    def change(self, content, modified):
        with open(self.source, "w", encoding="utf-8") as source:
            source.write(content)
        os.utime(self.source, (modified, modified))

    def test_the_same_source_draws_no_warning(self):
        self.assertEqual(self.said(), "")

    def test_another_size_draws_a_warning(self):
        with open(self.source, encoding="utf-8") as source:
            self.change("/* */ " + source.read(), 10**9)
        for options in ((), ("--asm",)):
            self.assertRegex(self.said(*options), "spin_leaf.c has [0-9]+ bytes, but had [0-9]+")

    def test_another_time_draws_a_warning(self):
        os.utime(self.source, (10**9 - 5, 10**9 - 5))
        for options in ((), ("--asm",)):
            self.assertIn("has another modification time", self.said(*options))

    def test_what_was_merged_is_still_known(self):
        merged = os.path.join(self.directory, "merged.data")
        profc("merge", "-o", merged, self.recording.path, self.recording.path)
        os.utime(self.source, (10**9 - 5, 10**9 - 5))
        done = profc("annotate", "-i", merged, "spin_leaf")
        self.assertIn("has another modification time", done.stderr)

    def test_instructions_of_another_program_are_not_shown(self):
        program = os.path.join(self.directory, "program")
        with open(program, "r+b") as file:
            content = file.read()
            at = content.index(b"GNU\0", content.index(b"\x14\0\0\0\3\0\0\0GNU\0")) + 4
            file.seek(at)
            file.write(bytes([content[at] ^ 1]))
        done = profc("annotate", "-i", self.recording.path, "--asm", "spin_leaf")
        self.assertIn("is missing or differs from the recorded file", done.stderr)
        rows = done.stdout.partition(" address\n")[2].partition("\n\n")[0].splitlines()
        self.assertTrue(rows, done.stdout)
        for row in rows:
            self.assertRegex(row, r"^ *[0-9.]+ +[0-9.]+ +[0-9a-f]+$")

    def test_a_program_without_lines_has_instructions(self):
        recording = record(self.directory, [build("spin_leaf", "-O2", "-s", "-static"), "300"])
        hottest = recording.rows()[0]["function"]
        for words in ((), (hottest,)):
            done = profc("annotate", "-i", recording.path, *words, status=1)
            self.assertIn("no samples in code with line numbers", done.stderr)
            self.assertIn("with --asm instructions are shown", done.stderr)
        self.assertIn(" j", profc("annotate", "-i", recording.path, "--asm", hottest).stdout)

    def test_code_without_symbols_is_shown_as_instructions(self):
        """What it hints at works, and jumps have no name of another function."""
        recording = record(self.directory, [build("spin_leaf", "-O2", "-s"), "300"])
        hottest = recording.rows()[0]["function"]
        self.assertRegex(hottest, r"^\[spin_leaf.*\+0x[0-9a-f]+\]$")
        done = profc("annotate", "-i", recording.path, hottest, status=1)
        self.assertIn("with --asm its instructions are shown", done.stderr)
        done = profc("annotate", "-i", recording.path, "--asm", hottest)
        self.assertRegex(done.stdout, r"(?m) j[a-z]+ +\+0x[0-9a-f]+$")
        self.assertNotRegex(done.stdout, r" j[a-z]+ .*<.*\+0x")


if __name__ == "__main__":
    unittest.main()


class Instructions(LiveCase):
    """--asm finds code by its addresses, whatever its symbols are called, and without any."""

    MADE = ("same_name", "(anonymous namespace)::unnamed", "main::{lambda:37}::operator()",
            "with_cold_part")

    def record(self, program):
        need("objdump")
        return record(self.directory, [program, "1200"], "-F", "1000", "--max-overhead", "0")

    def program(self, *flags):
        return build("hidden_functions", *(flags or ("-O2", "-g")),
                     more=["hidden_functions_more"])

    def listings(self, recording):
        """[(function, self in %, the sum over its instructions)] of every listing."""
        text = self.profc("annotate", "-i", recording.path, "--asm", "-n", "20", "--context",
                          "100000", "--module", "/").stdout
        found = []
        for listing in text.split("\n\n")[1:]:
            heading = re.match(r"(.*) in /.*: [0-9.]+ \S+ self \(([0-9.]+)%\)\n", listing)
            if not heading:
                continue
            costs = re.findall(r"(?m)^ *[0-9.]+ +([0-9.]+) +[0-9a-f]+  \S", listing)
            found.append((heading[1], float(heading[2]), sum(map(float, costs))))
        return found

    def assert_shown(self, recording, functions):
        listings = [one for one in self.listings(recording) if one[1] >= 1]
        for function, share, shown in listings:
            self.assertGreater(shown, 0.8 * share, function)
        for function in functions:
            self.assertIn(function, [name for name, _, _ in listings])
        return listings

    def profc(self, *arguments):
        done = profc(*arguments)
        self.assertNotIn("showing addresses only", done.stderr)
        return done

    def test_static_unnamed_lambda_and_cold_code(self):
        recording = self.record(self.program())
        listings = self.assert_shown(recording, self.MADE)
        self.assertEqual([name for name, _, _ in listings].count("same_name"), 2)
        self.assertTrue([name for name, _, _ in listings if "memset" in name])

    def test_debug_information_beside_the_program(self):
        """Whose names are looked for when the first address needs them."""
        recording = self.record(self.program("-O2", "-g", "-gsplit-dwarf"))
        self.assert_shown(recording, ("same_name", "with_cold_part"))

    def test_parts_of_one_function(self):
        program = self.program()
        symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True)
        if "with_cold_partjj.cold" not in symbols.stdout:
            self.skipTest("this compiler puts no cold part apart")
        recording = self.record(program)
        text = self.profc("annotate", "-i", recording.path, "--asm", "with_cold_part").stdout
        self.assertRegex(text, r"(?m)^ +<_Z14with_cold_partjj(\.cold)?>:$")
        self.assertIn("with_cold_partjj.cold>:", text)
        self.assertRegex(text, r"<_Z14with_cold_partjj>:")

    def test_without_lines_the_reason_is_the_true_one(self):
        plain = self.program("-O2")
        data = self.record(plain).path
        # The libraries may have lines, which have called it.
        done = profc("annotate", data, "--module", "hidden_functions", status=None)
        self.assertNotIn("--no-symbols", done.stderr)
        self.assertRegex(done.stderr, "most of it is in hidden_functions: .*-g")
        # Its symbol table knows the file, and no line of it.
        done = profc("annotate", data, "hidden_functions.cpp", status=1)
        self.assertIn("the line numbers of 'hidden_functions.cpp' are unknown", done.stderr)
        unnamed = record(self.directory, [plain, "300"], "--no-symbols").path
        done = profc("annotate", unnamed, status=1)
        self.assertIn("recorded with --no-symbols", done.stderr)
        # Its instructions are shown all the same.
        done = profc("annotate", unnamed, "--asm", "--module", "hidden_functions")
        self.assertRegex(done.stdout, r"code without symbols in /.*hidden_functions: ")
        self.assertRegex(done.stdout, r"(?m)^ +[0-9.]+ +[0-9.]+ +[0-9a-f]+  (imul|add) ")

    def test_without_symbols(self):
        stripped = os.path.join(self.directory, "stripped")
        subprocess.run([need("strip"), "-o", stripped, self.program()], check=True)
        listings = self.assert_shown(self.record(stripped), [])
        self.assertGreaterEqual(len([one for one in listings if one[0].startswith("[stripped+")]),
                                5)


class Kept(LiveCase):
    """--with-source: what was compiled is in the recording."""

    def build(self):
        """A program and its source in a directory that can go away."""
        self.source = os.path.join(self.directory, "inlined_hot.c")
        self.program = os.path.join(self.directory, "program")
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(
                "static unsigned mix(unsigned x) { return x * 1664525u + 1013904223u; }\n"
                "__attribute__((noinline)) unsigned hot(unsigned x)\n"
                "{\n"
                "\tfor (int i = 0; i < 100000; i++)\n"
                "\t\tx = mix(x); /* Kept: \u00e9 */\n"
                "\treturn x;\n"
                "}\n"
                "int main(void) { unsigned x = 0; for (int i = 0; i < 5000; i++) x += hot(x);"
                " return x == 1; }\n"
            )
        subprocess.run([need("gcc"), "-g", "-O2", "-o", self.program, self.source], check=True)

    def record(self, *options):
        self.build()
        return record(self.directory, [self.program], *options)

    def forget(self):
        os.remove(self.source)
        os.remove(self.program)

    def lines(self, path):
        page = json.loads(profc("annotate", "-i", path, "--json", "inlined_hot.c").stdout)
        return {line["line"]: line["text"] for line in page["lines"]}

    def assert_all_there(self, path):
        done = profc("annotate", "-i", path)
        self.assertIn("x = mix(x); /* Kept: \u00e9 */", done.stdout)
        # Some samples may be of the beginning, in code without lines.
        self.assertNotRegex(done.stderr, "source|cannot|missing")
        done = profc("annotate", "-i", path, "--asm", "hot")
        self.assertNotRegex(done.stderr, "source|cannot|missing")
        self.assertRegex(done.stdout, r"(?m)^ +inlined_hot.c:1  static unsigned mix")
        self.assertRegex(done.stdout, r"(?m)^ +[0-9.]+ +[0-9.]+ +[0-9a-f]+  (imul|add|sub) ")

    def test_source_and_instructions_are_shown_without_the_files(self):
        need("objdump")
        recording = self.record("--with-source")
        self.assertRegex(recording.stderr, "kept the text of [1-9][0-9]* of [0-9]+ source files, "
                                           "and the instructions of [1-9]")
        self.forget()
        self.assert_all_there(recording.path)
        said = " ".join(recording.info().split())
        self.assertRegex(said, "the text of [0-9]+ source files?, the instructions of [0-9]+ part")
        page = os.path.join(self.directory, "page.html")
        profc("export", "-i", recording.path, "--html", "--asm", "-o", page)
        with open(page, encoding="utf-8") as html:
            tables = Page(html.read()).tables
        self.assertTrue([one for one in tables["sources"] if "/* Kept" in one.get("text", "")])
        self.assertTrue(tables["code"])

    def test_what_was_compiled_is_shown_though_the_file_has_changed(self):
        recording = self.record("--with-source")
        with open(self.source, "w", encoding="utf-8") as file:
            file.write("/* another */\n")
        self.assertEqual(self.lines(recording.path)[6], "\treturn x;")
        self.assertEqual(profc("annotate", "-i", recording.path).stderr, "")

    def test_a_directory_that_is_named_goes_before(self):
        recording = self.record("--with-source")
        moved = os.path.join(self.directory, "moved")
        os.mkdir(moved)
        with open(os.path.join(moved, "inlined_hot.c"), "w", encoding="utf-8") as file:
            file.write("\n" * 5 + "/* mine */\n\n\n")
        done = profc("annotate", "-i", recording.path, "--source-path",
                     f"{self.directory}={moved}", "inlined_hot.c")
        self.assertIn("/* mine */", done.stdout)
        self.assertIn("when recorded: lines may have moved", done.stderr)

    def test_it_stays_in_what_is_made_of_the_recording(self):
        need("objdump")
        recording = self.record("--with-source")
        self.forget()
        merged = os.path.join(self.directory, "merged.data")
        profc("merge", "-o", merged, recording.path, recording.path)
        self.assert_all_there(merged)

    def test_symbolize_keeps_it_as_well(self):
        need("objdump")
        recording = self.record("--no-symbols")
        profc("symbolize", recording.path, "--with-source")
        self.forget()
        self.assert_all_there(recording.path)

    def test_what_cannot_keep_it_says_so(self):
        self.build()
        for options, said in (
            (("--no-symbols",), "--with-source finds sources by symbols"),
            (("-o", "-"), "--with-source needs a profile in a file"),
        ):
            done = profc("record", "--with-source", *options, "--", self.program, status=None)
            self.assertIn(said, done.stderr)
            self.assertEqual((done.returncode, done.stdout), (2, ""), said)
        done = profc("record", "--with-source", "-o", "/dev/null", "--", self.program, status=125)
        self.assertIn("no source is kept in a recording that goes to /dev/null", done.stderr)
