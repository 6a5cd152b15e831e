# SPDX-License-Identifier: GPL-2.0-or-later
"""What functions are called: as callers call them, and told apart where they have no names."""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

from profc import profc, record
from targets import build, marked_line, need, source_path

IN_COMPANY = True
NAMELESS = re.compile(r"^\[four_functions\+0x[0-9a-f]+\]$")


class NamesCase(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def output(self, *command):
        """Its lines."""
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.splitlines()


class Names(NamesCase):
    def test_functions_go_by_the_name_that_callers_use(self):
        recording = record(self.directory, [build("internal_alias"), "300"])
        names = {row["function"] for row in recording.rows()}
        self.assertIn("spin", names)
        self.assertNotIn("__GI___libc_spin", names)
        # It is found by what it was called inside, too.
        inside = recording.rows("--function", "^__GI___libc_spin$")
        self.assertGreater(max(row["self_ns"] for row in inside if row["function"] == "spin"), 0)
        text = profc("report", "-i", recording.path, "--callers", "__GI___libc_spin").stdout
        self.assertRegex(text, r"(?m) spin$")

    def test_names_of_the_c_library_are_those_of_its_manual(self):
        recording = record(self.directory, ["sleep", "0.3"])
        names = {row["function"] for row in recording.rows("-m", "blocked")}
        self.assertEqual([name for name in names if "@" in name or name.startswith("__GI_")], [])
        self.assertIn("clock_nanosleep", names)

    @unittest.skipUnless(platform.machine() == "x86_64", "its assembly is for x86-64")
    def test_functions_in_assembly_have_the_file_they_are_in(self):
        source = source_path("assembly_loop.S")
        with open(source, encoding="utf-8") as text:
            lines = [line.strip() for line in text]
        program = build("spins_in_assembly", more=["assembly_loop.S"])
        recording = record(self.directory, [program, "300"])
        for name in ("assembly_loop", "loop_inside"):
            row = recording.function(name)
            self.assertGreater(row["self_pct"], 10)
            self.assertEqual(os.path.basename(row["file"]), "assembly_loop.S")
            self.assertEqual(row["line"], lines.index(f"{name}:") + 2)

    @unittest.skipUnless(platform.machine() == "x86_64", "its assembly is for x86-64")
    def test_without_debug_information_the_symbol_table_says_the_file(self):
        program = build("spins_in_assembly", "-O2", "-g0", more=["assembly_loop.S"])
        recording = record(self.directory, [program, "300"])
        self.assertEqual(recording.function("loop_inside")["file"], "assembly_loop.S")

    def test_each_function_is_one_row(self):
        recording = record(self.directory, [build("four_functions", "-O2", "-s"), "400"])
        rows = [row for row in recording.rows() if row["module"] and
                row["module"].endswith("/four_functions")]
        # The ELF header names one.
        self.assertIn("_start", [row["function"] for row in rows])
        rows = [row for row in rows if row["function"] != "_start"]
        self.assertTrue(all(NAMELESS.match(row["function"]) for row in rows), rows)
        # The four hot ones, those that call them, and what the C library puts around main().
        self.assertLessEqual(len(rows), 12, [row["function"] for row in rows])
        hot = sorted((row["self_pct"] for row in rows), reverse=True)[:4]
        self.assertGreater(sum(hot), 80)

    @unittest.skipUnless(platform.machine() == "x86_64", "the code of x86-64 is read for it")
    def test_functions_without_unwind_information_are_one_row_each(self):
        flags = ("-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
        whole = build("four_functions", *flags)
        recording = record(self.directory, [build("four_functions", *flags, "-s"), "400"])
        rows = [row for row in recording.rows() if NAMELESS.match(row["function"])]
        starts = {int(line.split()[0], 16): line.split()[2]
                  for line in self.output("nm", "--defined-only", whole)}
        for row in sorted(rows, key=lambda row: -row["self_pct"])[:4]:
            start = int(row["function"].split("+")[1].rstrip("]"), 16)
            self.assertRegex(starts.get(start, "nothing begins there"), "^four_", row)
        self.assertLessEqual(len(rows), 12, [row["function"] for row in rows])
        text = profc("annotate", "-i", recording.path, "--asm", rows[0]["function"]).stdout
        self.assertIn("%", text)


class Closures(NamesCase):
    """Each is a row of its own, though all of a function have one name in most symbols."""

    def shares(self, program, loops, pattern):
        """The shares of those whose names match, in order of the names."""
        recording = record(self.directory, [program, str(loops)])
        rows = [row for row in recording.rows() if re.search(pattern, row["function"])]
        return {row["function"].split("<")[0]: row["self_pct"] for row in rows
                if row["self_pct"] > 1}

    def test_lambdas(self):
        name = "cpp_lambdas"
        lines = {mark: marked_line(name, mark) for mark in ("generic", "plain", "both")}
        found = self.shares(build(name), 4000000, "lambda")
        expected = {f"main::{{lambda:{lines['generic']}}}::operator()": 40,
                    f"main::{{lambda:{lines['plain']}}}::operator()": 20}
        for function, share in expected.items():
            self.assertAlmostEqual(found[function], share, delta=10, msg=found)
        both = sorted(share for function, share in found.items()
                      if f"lambda:{lines['both']}:" in function)
        self.assertEqual(len(both), 2, found)
        self.assertGreater(both[1], 1.5 * both[0], found)

    def test_closures_of_rust(self):
        need("rustc")
        for flags, pattern in (("-O", "-g"), r"\{closure#\d+\}$"), (("-O",), r"\{closure#h\w+\}$"):
            with self.subTest(flags=flags):
                found = self.shares(build("rust_closures", *flags), 6000000, pattern)
                self.assertEqual(len(found), 2, found)
                light, heavy = sorted(found.values())
                self.assertGreater(heavy, 1.5 * light, found)


class Asked(NamesCase):
    """Functions are found and shown by the names that are asked for."""

    def folded(self, linker):
        if not shutil.which(f"ld.{linker}"):
            self.skipTest(f"no ld.{linker}")
        return build("folded_functions", "-g", "-O1", "-fno-ipa-icf", "-ffunction-sections",
                     f"-fuse-ld={linker}", "-Wl,--icf=all")

    def check_folded(self, program, calls):
        recording = record(self.directory, [program], "--count", "^count_apples$")
        counted = {row["function"]: row["calls"] for row in recording.rows("-m", "calls")
                   if row["calls"]}
        self.assertEqual(counted, {"count_apples": calls})
        text = profc("report", "-m", "calls", "-i", recording.path).stdout
        self.assertRegex(" ".join(text.split()),
                         "count_apples shares its code with .*count_p")
        for other in "count_pears", "count_plums":
            rows = recording.rows("-m", "calls", "--function", f"^{other}$")
            self.assertEqual({row["function"]: row["calls"] for row in rows if row["calls"]},
                             {other: calls})
        done = profc("annotate", "-i", recording.path, "count_pears")
        self.assertRegex(" ".join(done.stderr.split()), "count_pears shares its code with")

    def test_code_that_a_linker_has_folded(self):
        for linker in "gold", "lld":
            with self.subTest(linker=linker):
                self.check_folded(self.folded(linker), 600)

    def test_instances_of_templates(self):
        recording = record(self.directory, [build("folded_functions", "-g", "-O1")],
                           "--count", "^twice<int>")
        self.assertEqual([row["calls"] for row in recording.rows("-m", "calls") if row["calls"]],
                         [300])
        rows = recording.rows("-m", "calls", "--function", r"^twice<int>\(")
        self.assertEqual([row["calls"] for row in rows if row["calls"]], [300])

    def test_parts_belong_to_their_function(self):
        """Of one that is there only as a part it is said why its calls are not counted."""
        program = build("inlined_beginning")
        names = [line.split()[-1] for line in self.output("nm", program)]
        if "step.part.0" not in names:
            self.skipTest("this compiler makes no part of it")
        recording = record(self.directory, [program], "--no-cpu", "--count", "^(step|a)$")
        refused = json.loads(recording.info("--json"))["probes"]["refused"]
        self.assertEqual([(row["function"], "step.part.0" in row["reason"]) for row in refused],
                         [("step", True)])


if __name__ == "__main__":
    unittest.main()
