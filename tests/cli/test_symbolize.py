# SPDX-License-Identifier: GPL-2.0-or-later
"""profc symbolize: addresses to functions and lines, against addr2line and llvm's."""

import bz2
import contextlib
import ctypes
import functools
import glob
import gzip
import http.server
import json
import lzma
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

import symbol_agreement
import symbolizers
from paths import PROFC
from profc import profc, record
from symbolizers import address_of, addresses_in, functions, profc_says
from targets import build, marked_line, need, source_path
from terminal import on_terminal


def pythons():
    """Every python there may be, under the names distributions and pyenv give it."""
    names = ["python3"] + [f"python3.{minor}" for minor in range(12, 20)]
    yield from filter(None, map(shutil.which, names))
    yield from glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))


def remove_map(pid):
    """What a runtime leaves behind that has named its code for profilers."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(f"/tmp/perf-{pid}.map")


def writes_perf_map(python):
    program = "import sys; sys.exit(not sys.is_stack_trampoline_active())"
    argv = [python, "-X", "perf", "-c", program]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as process:
        status = process.wait()
    remove_map(process.pid)
    return status == 0


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_tool(self, *argv):
        need(argv[0])
        subprocess.run(list(map(str, argv)), check=True, stderr=subprocess.DEVNULL)

    def compile(self, compiler, name, *flags):
        """A target built by another compiler than the usual one, in the test's directory."""
        program = self.path(f"{os.path.basename(compiler)}.{name}")
        self.run_tool(compiler, "-O2", "-g", *flags, "-o", program, source_path(name))
        return program

    def copy(self, program, name):
        return shutil.copy(program, self.path(name))

    def assert_agrees(self, mine, other, share=0.995):
        equal, different = symbolizers.share_equal(mine, other)
        self.assertGreater(len(other), 0)
        self.assertGreaterEqual(equal, share, "\n".join(different))

    def assert_says_the_same(self, elf, reference, addresses=None):
        """All answers about one file are those about another with the same code."""
        addresses = addresses or addresses_in(reference, 1500)
        self.assertEqual(profc_says(elf, addresses), profc_says(reference, addresses))


class Agreement(Case):
    """What other tools say about the output of each compiler."""

    def assert_agrees_with(self, says, elf, nr):
        """Every level is equal, but for which of its names the outermost function has."""
        addresses = addresses_in(elf, nr)
        table = symbol_agreement.SymbolTable(elf)
        comparison = symbol_agreement.Comparison(
            profc_says(elf, addresses), says(elf, addresses), [], table
        )
        self.assertGreater(comparison.nr, 0)
        self.assertGreaterEqual(comparison.share_equal(), 0.995, comparison.examples)

    def assert_agrees_with_llvm(self, elf):
        self.assert_agrees_with(symbolizers.llvm_says, elf, 3000)


    def test_gcc_c_is_exactly_what_addr2line_says(self):
        elf = build("inlined_hot_line")
        addresses = addresses_in(elf, 1500)
        self.assertEqual(
            profc_says(elf, addresses), symbolizers.addr2line_says(elf, addresses)
        )

    def test_gcc_cpp_agrees_with_llvm(self):
        self.assert_agrees_with_llvm(build("symbol_traps"))

    def test_gcc_cpp_agrees_with_elfutils(self):
        need("eu-addr2line")
        self.assert_agrees_with(symbolizers.elfutils_says, build("symbol_traps"), 1000)

    def test_gcc_dwarf_4_says_what_dwarf_5_says(self):
        five = build("symbol_traps", "-O2", "-gdwarf-5")
        four = build("symbol_traps", "-O2", "-gdwarf-4")
        self.assert_says_the_same(four, five)

    def test_clang_without_aranges_and_siblings_agrees_with_llvm(self):
        elf = self.compile("clang++", "symbol_traps.cpp", "-std=c++17")
        sections = symbolizers.run(["readelf", "-SW", elf])
        self.assertNotIn(".debug_aranges", sections)
        abbreviations = symbolizers.run(["readelf", "--debug-dump=abbrev", elf])
        self.assertIn("DW_AT_low_pc", abbreviations)
        self.assertNotIn("DW_AT_sibling", abbreviations)
        self.assert_agrees_with_llvm(elf)

    def test_rust_agrees_with_llvm(self):
        self.assert_agrees_with_llvm(build("rust_program"))

    def test_one_round_and_many_give_the_same(self):
        elf = build("symbol_traps")
        addresses = addresses_in(elf, 40)
        together = profc_says(elf, addresses)
        for address in addresses:
            self.assertEqual(profc_says(elf, [address])[address], together[address])

    def test_several_threads_say_what_one_says(self):
        """Of a file that is large enough to be parted among them."""
        need("taskset")
        need("addr2line")
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("there is one CPU")
        source = self.path("large.c")
        with open(source, "w", encoding="ascii") as file:
            # Each takes 13 bytes of .debug_info, as its value takes eight.
            file.write("volatile int sink;\nenum large {\nNUMBER = 0x7fffffffff,\n")
            file.writelines(f"N{i},\n" for i in range(680000))
            file.write("};\nstatic inline int inner(int a)\n{\n\treturn sink + a;\n}\n")
            for i in range(100):
                file.write(f"int f{i}(int a)\n{{\n\tsink = a * {i};\n\treturn inner(a);\n}}\n")
            file.write("int main(void)\n{\n\treturn sink + (int)N5;\n}\n")
        elf = self.path("large")
        self.run_tool("gcc", "-O2", "-g", "-fno-eliminate-unused-debug-types", "-o", elf, source)
        self.assertGreater(symbolizers.section_bytes(elf, ".debug_info"), 8 << 20)
        addresses = addresses_in(elf, 2000)
        self.assertGreater(len(addresses), 2 * 256)
        program = [PROFC, "symbolize", "-e", elf, "-afi"]
        together = symbolizers.ask(program, addresses)
        alone = symbolizers.ask(["taskset", "-c", str(cpus[0]), *program], addresses)
        self.assertEqual(together, alone)
        self.assertEqual(together, symbolizers.addr2line_says(elf, addresses))

    def test_every_linker_gives_the_same_names(self):
        reference = None
        for linker in ("bfd", "gold", "lld"):
            if not shutil.which({"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld"}[linker]):
                continue
            elf = build("inlined_hot_line", "-O2", "-g", f"-fuse-ld={linker}")
            start, size, _ = next(row for row in functions(elf) if row[2] == "not_inlined")
            answers = profc_says(elf, range(start, start + size))
            levels = [answers[start + offset] for offset in range(size)]
            reference = reference or levels
            self.assertEqual(levels, reference, linker)
        self.assertIsNotNone(reference)


class Traps(Case):
    """Answers that a reader gets wrong who takes the short way."""

    def levels_of(self, elf, symbol, *options):
        address = address_of(elf, symbol)
        return profc_says(elf, [address], *options)[address]

    def names_in(self, elf, *options):
        answers = profc_says(elf, addresses_in(elf, 100000), *options)
        return {name for levels in answers.values() for name, _ in levels}

    def test_lambda_nested_in_an_abstract_function(self):
        elf = build("symbol_traps")
        lambdas = [row for row in functions(elf) if "ENKUl" in row[2] or "{lambda" in row[2]]
        self.assertTrue(lambdas, "the compiler inlined every lambda")
        for address, _, name in lambdas:
            (function, (path, line)), *_ = profc_says(elf, [address])[address]
            self.assertEqual(function, name)
            self.assertTrue(path.endswith("symbol_traps.cpp"), path)
            self.assertGreater(line, 0)

    def test_call_lines_are_those_of_the_calls(self):
        elf = build("inlined_hot_line")
        hot = marked_line("inlined_hot_line", "hot line")
        start, size, _ = next(row for row in functions(elf) if row[2] == "not_inlined")
        answers = profc_says(elf, range(start, start + size))
        chains = {tuple(name for name, _ in levels) for levels in answers.values()}
        self.assertIn(
            ("inlined_inner", "inlined_middle", "inlined_outer", "not_inlined"), chains
        )
        lines = {levels[0][1][1] for levels in answers.values() if len(levels) == 4}
        self.assertIn(hot, lines)

    def test_line_zero_is_said_as_the_table_says_it(self):
        elf = build("rust_program")
        addresses = addresses_in(elf, 3000)
        text = symbolizers.run([PROFC, "symbolize", "-e", elf, *map(hex, addresses)])
        self.assertRegex(text, r"\.rs:\?\n")

    def test_compressed_sections(self):
        elf = build("symbol_traps")
        for kind in ("zlib", "zlib-gnu"):
            packed = self.path(kind)
            self.run_tool("objcopy", f"--compress-debug-sections={kind}", elf, packed)
            self.assert_says_the_same(packed, elf)

    def test_sections_compressed_with_zstd(self):
        elf, packed = build("symbol_traps"), self.path("zstd")
        if "zstd" not in symbolizers.run(["objcopy", "--help"]):
            self.skipTest("this objcopy knows no zstd")
        self.run_tool("objcopy", "--compress-debug-sections=zstd", elf, packed)
        self.assertIn("ZSTD", symbolizers.run(["readelf", "-tW", packed]).upper())
        self.assert_says_the_same(packed, elf)

    def test_a_section_that_claims_to_inflate_to_gigabytes(self):
        elf = build("symbol_traps")
        for kind in (1, 2):  # ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD
            bomb = self.path(f"bomb-{kind}")
            self.run_tool("objcopy", "--compress-debug-sections=zlib", elf, bomb)
            with open(bomb, "r+b") as file:
                contents = file.read()
                # Each compressed section begins with its type, then its size.
                at = contents.find(struct.pack("<IIQ", 1, 0, self.info_bytes(elf)))
                self.assertGreater(at, 0)
                file.seek(at)
                file.write(struct.pack("<IIQ", kind, 0, 12 << 30))
            done = subprocess.run(
                [PROFC, "symbolize", "-fe", bomb, hex(address_of(elf, "main"))],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("main\n"), done.stdout)

    def info_bytes(self, elf):
        for line in symbolizers.run(["readelf", "-SW", elf]).splitlines():
            if " .debug_info " in line:
                return int(line.split("PROGBITS")[1].split()[2], 16)
        raise AssertionError(f"no .debug_info in {elf}")

    def test_symbol_sizes_are_honoured(self):
        elf = build("symbol_plain", "-O2", "-g0")
        sized = address_of(elf, "asm_with_size")
        self.assertEqual(self.levels_of(elf, "asm_with_size")[0][0], "asm_with_size")
        answers = profc_says(elf, [sized + 1, sized + 2, sized + 40])
        self.assertEqual(answers[sized + 1][0][0], "asm_with_size")
        self.assertEqual(answers[sized + 2][0][0], "??")
        self.assertEqual(answers[sized + 40][0][0], "??")

    def test_a_label_without_size_reaches_to_the_next_symbol(self):
        elf = build("symbol_plain", "-O2", "-g0")
        label, sized = address_of(elf, "asm_without_size"), address_of(elf, "asm_with_size")
        answers = profc_says(elf, [label + 1, sized - 1])
        self.assertEqual(answers[label + 1][0][0], "asm_without_size")
        self.assertEqual(answers[sized - 1][0][0], "asm_without_size")

    def test_of_several_names_the_one_people_use(self):
        with open(self.path("aliases.s"), "w", encoding="ascii") as file:
            file.write(".text\nnop\n.L_mark: local_name: _start_of_it: __GI___thing: __thing: "
                       "thing64: thing: nop\nret\n.globl __GI___thing, __thing\n"
                       ".weak thing, thing64\n")
            for name in ("local_name", "_start_of_it", "__GI___thing", "__thing", "thing64", "thing"):
                file.write(f".type {name}, @function\n.size {name}, 2\n")
        elf = self.path("aliases.so")
        self.run_tool("gcc", "-shared", "-nostdlib", "-o", elf, self.path("aliases.s"))
        address = address_of(elf, "thing") + 1
        self.assertEqual(profc_says(elf, [address])[address][0][0], "thing")

    def test_plt_stubs_are_named(self):
        for flags in ((), ("-Wl,-z,lazy",), ("-Wl,-z,now", "-fcf-protection=full")):
            elf = build("symbol_plain", "-O2", "-g", *flags)
            stubs = [
                int(line.split()[0], 16)
                for line in symbolizers.run(["objdump", "-d", "-j", ".plt", "-j", ".plt.sec", elf])
                .splitlines()
                if line.endswith("<printf@plt>:")
            ]
            self.assertTrue(stubs, f"objdump names no stub with {flags}")
            for stub in stubs:
                self.assertEqual(profc_says(elf, [stub + 4])[stub + 4][0][0], "printf@plt")

    def test_stubs_of_static_programs_are_named(self):
        for flag in ("-static", "-static-pie"):
            elf = build("symbol_plain", "-O2", "-g", flag)
            start, size = 0, 0
            for line in symbolizers.run(["readelf", "-SW", elf]).splitlines():
                if " .plt " in line:
                    start, _, size = (int(word, 16) for word in line.split("PROGBITS")[1].split()[:3])
            self.assertGreater(size, 0, "no .plt")
            stubs = range(start, start + size, 16)
            names = [profc_says(elf, [stub + 2])[stub + 2][0][0] for stub in stubs]
            named = [name for name in names if name.endswith("@plt")]
            self.assertGreaterEqual(len(named), len(names) - 1, names)
            self.assertTrue({"strlen@plt", "memcpy@plt", "strchr@plt"} & set(named), named)

    def test_aarch64_plt_stubs_are_named(self):
        elf = self.compile("aarch64-linux-gnu-gcc", "symbol_aarch64.c")
        text = symbolizers.run(["aarch64-linux-gnu-objdump", "-d", "-j", ".plt", elf])
        stubs = [int(line.split()[0], 16) for line in text.splitlines() if "<puts@plt>:" in line]
        self.assertTrue(stubs)
        self.assertEqual(profc_says(elf, [stubs[0] + 8])[stubs[0] + 8][0][0], "puts@plt")

    def test_an_object_file_before_linking(self):
        elf = self.path("before.o")
        self.run_tool("gcc", "-O2", "-g", "-c", "-o", elf, source_path("inlined_hot_line"))
        addresses = range(0, 0x40, 4)
        self.assertEqual(
            profc_says(elf, addresses), symbolizers.addr2line_says(elf, addresses)
        )

    def test_a_stripped_program_knows_its_dynamic_symbols(self):
        elf = build("symbol_plain", "-O2", "-g", "-rdynamic")
        main = address_of(elf, "main")
        stripped = self.copy(elf, "stripped")
        self.run_tool("strip", stripped)
        self.assertEqual(profc_says(stripped, [main])[main], [("main", ("??", 0))])


class SeparateFiles(Case):
    """Debug information that is not in the file itself."""

    def setUp(self):
        super().setUp()
        self.whole = build("symbol_traps", "-O2", "-g", "-Wl,--build-id")
        self.elf = self.copy(self.whole, "program")
        self.debug = self.path("program.debug")
        self.run_tool("objcopy", "--only-keep-debug", self.whole, self.debug)

    def strip(self, *link):
        self.run_tool("strip", self.elf)
        if link:
            self.run_tool("objcopy", f"--add-gnu-debuglink={link[0]}", self.elf)

    def build_id(self):
        text = symbolizers.run(["readelf", "-n", self.whole])
        return text.partition("Build ID: ")[2].split()[0]

    def place_by_build_id(self, root):
        build_id = self.build_id()
        directory = self.path(os.path.join(root, ".build-id", build_id[:2]))
        os.makedirs(directory)
        shutil.move(self.debug, os.path.join(directory, build_id[2:] + ".debug"))

    def assert_found(self, *options):
        addresses = addresses_in(self.whole, 500)
        self.assertEqual(
            profc_says(self.elf, addresses, *options), profc_says(self.whole, addresses)
        )

    def assert_not_found(self, *options):
        addresses = addresses_in(self.whole, 500)
        answers = profc_says(self.elf, addresses, *options)
        self.assertEqual({levels[0][1] for levels in answers.values()}, {("??", 0)})

    def assert_refusal_is_said(self):
        self.assert_not_found()
        said = profc("symbolize", "-e", self.elf, "0").stderr
        self.assertIn(f"{self.debug} is from another build", said)

    def test_by_build_id_below_a_debug_root(self):
        self.strip()
        self.place_by_build_id("debug")
        self.assert_not_found()
        self.assert_found("--debug-dir", self.path("debug"))

    def test_by_build_id_in_the_sysroot(self):
        self.strip()
        self.place_by_build_id("rootfs/usr/lib/debug")
        shutil.move(self.elf, self.path("rootfs/program"))
        self.elf = "/program"
        self.assert_found("--sysroot", self.path("rootfs"))

    def test_by_link_beside_the_file(self):
        self.strip(self.debug)
        self.assert_found()

    def test_by_link_in_the_debug_directory(self):
        self.strip(self.debug)
        os.mkdir(self.path(".debug"))
        shutil.move(self.debug, self.path(".debug/program.debug"))
        self.assert_found()

    def test_by_link_below_a_debug_root(self):
        self.strip(self.debug)
        directory = self.path("root" + self.directory)
        os.makedirs(directory)
        shutil.move(self.debug, directory)
        self.assert_found("--debug-dir", self.path("root"))

    def test_a_link_to_a_file_of_another_build_is_refused(self):
        self.strip(self.debug)
        other = build("symbol_traps", "-O1", "-g", "-Wl,--build-id")
        self.run_tool("objcopy", "--only-keep-debug", other, self.debug)
        self.assert_refusal_is_said()

    def test_without_build_id_the_checksum_decides(self):
        self.whole = build("symbol_traps", "-O2", "-g", "-Wl,--build-id=none")
        self.elf = self.copy(self.whole, "program")
        self.run_tool("objcopy", "--only-keep-debug", self.whole, self.debug)
        self.strip(self.debug)
        self.assert_found()
        with open(self.debug, "ab") as file:
            file.write(b"\0")
        self.assert_refusal_is_said()

    def test_a_checksum_with_holes(self):
        self.whole = build("symbol_traps", "-O2", "-g", "-Wl,--build-id=none")
        self.elf = self.copy(self.whole, "program")
        self.run_tool("objcopy", "--only-keep-debug", self.whole, self.debug)
        end = os.path.getsize(self.debug) + 12345678
        with open(self.debug, "r+b") as file:
            file.seek(end)
            file.write(b"behind a hole")
        os.truncate(self.debug, 2 * end)
        self.strip(self.debug)
        self.assert_found()

    def test_a_link_to_a_file_of_a_terabyte(self):
        """That has no other contents than holes, or such behind debug information."""
        self.whole = build("symbol_traps", "-O2", "-g", "-Wl,--build-id=none")
        for contents in ("--only-keep-debug", None):
            with self.subTest(contents=contents):
                self.elf = self.copy(self.whole, "program")
                self.run_tool("objcopy", "--only-keep-debug", self.whole, self.debug)
                self.strip(self.debug)
                if not contents:
                    os.truncate(self.debug, 0)
                try:
                    os.truncate(self.debug, 1 << 40)
                except OSError as error:
                    self.skipTest(f"no sparse files here: {error}")
                self.assert_refusal_is_said()

    def test_the_package_with_debug_information_is_named(self):
        self.run_tool("strip", self.elf)
        library = self.copy(self.elf, "libjvm.so")
        said = profc("symbolize", "-e", library, "0").stderr
        self.assertIn("(Debian: install openjdk-17-dbg)", said)

    def test_a_link_with_directories_is_refused(self):
        self.strip(self.debug)
        os.mkdir(self.path("sub"))
        moved = shutil.move(self.elf, self.path("sub/program"))
        with open(moved, "rb") as file:
            contents = file.read()
        # As long as the name it replaces, which keeps the section's layout.
        name, evil = b"program.debug\0", b"../prog.debug\0"
        self.assertEqual(contents.count(name), 1)
        with open(moved, "wb") as file:
            file.write(contents.replace(name, evil))
        os.rename(self.debug, self.path("prog.debug"))
        self.elf = moved
        self.assert_not_found()

    def test_compressed_debug_file(self):
        self.run_tool("objcopy", "--compress-debug-sections", self.debug)
        self.strip(self.debug)
        self.assert_found()

    def test_minidebuginfo(self):
        need("xz")
        self.strip()
        mini = self.path("mini")
        self.run_tool("objcopy", "-S", "--keep-symbol=main", self.whole, mini)
        subprocess.run(
            ["objcopy", "--only-keep-debug", "--remove-section=.debug_*", self.whole, mini],
            check=True,
        )
        self.run_tool("xz", "-f", mini)
        self.run_tool("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", self.elf)
        hidden = next(row for row in functions(self.whole) if "hidden" in row[2])
        answers = profc_says(self.elf, [hidden[0]])
        self.assertEqual(answers[hidden[0]][0][0], hidden[2])

    def test_minidebuginfo_that_unpacks_to_gigabytes(self):
        need("xz")
        self.strip()
        with open(self.path("bomb.xz"), "wb") as bomb:
            with subprocess.Popen(["xz", "-0"], stdin=subprocess.PIPE, stdout=bomb) as packer:
                for _ in range(300):
                    packer.stdin.write(bytes(1 << 20))
        self.run_tool("objcopy", f"--add-section=.gnu_debugdata={self.path('bomb.xz')}", self.elf)
        with open(self.path("answer"), "w+", encoding="ascii") as answer:
            process = subprocess.Popen(
                [PROFC, "symbolize", "-fe", self.elf, hex(address_of(self.whole, "main"))],
                stdout=answer, stderr=subprocess.DEVNULL,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            answer.seek(0)
            self.assertEqual((process.returncode, answer.read()), (0, "??\n??:0\n"))
        self.assertLess(usage.ru_maxrss, 150 << 10, "KiB of memory")

    def test_dwz_with_a_common_file(self):
        need("dwz")
        first, second = self.copy(self.whole, "first"), self.copy(self.whole, "second")
        self.run_tool("dwz", "-m", self.path("common.debug"), first, second)
        self.assertIn(".gnu_debugaltlink", symbolizers.run(["readelf", "-SW", first]))
        self.assert_says_the_same(first, self.whole)

    def with_common_file(self, name):
        """The program after dwz, with a common file that it looks for under another name."""
        need("dwz")
        second = self.copy(self.whole, "second")
        common = self.path("common.debug")
        self.run_tool("dwz", "-m", common, "-M", name, self.elf, second)
        return common

    def test_dwz_by_its_name_below_another_debug_root(self):
        common = self.with_common_file("/usr/lib/debug/.dwz/profc-test.debug")
        os.mkdir(self.path(".dwz"))
        os.rename(common, self.path(".dwz/profc-test.debug"))
        self.assert_found("--debug-dir", self.directory)

    def test_dwz_by_a_name_that_counts_from_where_a_link_leads(self):
        common = self.with_common_file("common.debug")
        self.assertTrue(os.path.exists(common))
        os.mkdir(self.path("elsewhere"))
        link = self.path("elsewhere/program")
        os.symlink(self.elf, link)
        self.elf = link
        self.assert_found()

    def test_dwz_without_its_common_file(self):
        os.remove(self.with_common_file("/nonexistent/common.debug"))
        addresses = addresses_in(self.whole, 500)
        done = profc("symbolize", "-e", self.elf, "-fi", *map(hex, addresses))
        self.assertIn("dwz file that is missing: /nonexistent/common.debug", done.stderr)
        answers = profc_says(self.elf, addresses)
        for address, levels in profc_says(self.whole, addresses).items():
            self.assertEqual(len(answers[address]), len(levels))
            outermost = answers[address][-1][0].partition(".")[0]  # no .isra, .part or .cold
            self.assertIn(outermost, (levels[-1][0].partition(".")[0], "??"))

    def test_split_dwarf(self):
        for compiler in ("g++", "clang++"):
            for version in ("-gdwarf-4", "-gdwarf-5"):
                with self.subTest(compiler=compiler, version=version):
                    self.check_split(compiler, version)

    def check_split(self, compiler, version):
        need(compiler)
        directory = tempfile.mkdtemp(dir=self.directory)
        program = os.path.join(directory, "program")
        command = [compiler, "-std=c++17", "-O2", version]
        source = source_path("symbol_traps")
        for more, name in ((["-gsplit-dwarf"], program), ([], program + ".whole")):
            subprocess.run(
                [*command, *more, "-c", "-o", name + ".o", source], cwd=directory, check=True
            )
            subprocess.run([compiler, "-o", name, name + ".o"], cwd=directory, check=True)
        addresses = addresses_in(program, 500)
        loose = profc_says(program, addresses)
        whole = profc_says(program + ".whole", addresses)
        self.assert_agrees(loose, whole)
        packer = shutil.which("llvm-dwp") or shutil.which("llvm-dwp-14")
        if packer:
            subprocess.run([packer, "-e", program, "-o", program + ".dwp"], check=True)
            for name in os.listdir(directory):
                if name.endswith(".dwo"):
                    os.remove(os.path.join(directory, name))
            self.assertEqual(profc_says(program, addresses), loose)
            root = tempfile.mkdtemp(dir=self.directory)
            shutil.move(program + ".dwp", root)
            self.assertEqual(profc_says(program, addresses, "--debug-dir", root), loose)
            done = profc("symbolize", "-e", program, "-f", hex(address_of(program, "main")))
            self.assertIn(".dwo", done.stderr)
            self.assertTrue(done.stdout.startswith("main\n"), done.stdout)


class Debuginfod(Case):
    """Servers of debug information: asked when the user names them, never waited for long."""

    def setUp(self):
        super().setUp()
        try:
            ctypes.CDLL("libdebuginfod.so.1")
        except OSError:
            self.skipTest("libdebuginfod is not installed")
        whole = build("inlined_hot_line", "-O2", "-g", "-Wl,--build-id")
        self.elf = self.copy(whole, "program")
        text = symbolizers.run(["readelf", "-n", whole])
        build_id = text.partition("Build ID: ")[2].split()[0]
        directory = self.path(os.path.join("served", "buildid", build_id))
        os.makedirs(directory)
        self.run_tool(
            "objcopy", "--only-keep-debug", whole, os.path.join(directory, "debuginfo")
        )
        self.run_tool("strip", self.elf)
        self.address = address_of(whole, "main")

    def names(self, url, *options):
        environment = {
            **os.environ,
            "DEBUGINFOD_URLS": url,
            "DEBUGINFOD_CACHE_PATH": self.path("cache"),
        }
        self.done = profc(
            "symbolize", "-e", self.elf, "-f", *options, hex(self.address), env=environment
        )
        return self.done.stdout.splitlines()[0]

    def serve(self, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_a_server_has_it(self):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        handler = functools.partial(Quiet, directory=self.path("served"))
        url = self.serve(handler)
        self.assertEqual(self.names(""), "??")
        self.assertIn("or set DEBUGINFOD_URLS", self.done.stderr)
        self.assertEqual(self.names(url, "--debuginfod-timeout", "0"), "??")
        self.assertEqual(self.names(url, "--debuginfod-timeout", "60s"), "main")

    def test_a_server_that_has_nothing_is_not_asked_for_again(self):
        asked = []

        class Empty(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                asked.append(self.path)
                self.send_error(404)

        url = self.serve(Empty)
        for _ in range(2):
            self.assertEqual(self.names(url), "??")
            self.assertIn("none on the servers of DEBUGINFOD_URLS", self.done.stderr)
            self.assertNotIn("set DEBUGINFOD_URLS", self.done.stderr)
        self.assertTrue(asked)
        self.assertEqual(len(asked), len(set(asked)), asked)

    def test_a_server_that_never_answers_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            self.assertEqual(self.names(url, "--debuginfod-timeout", "100ms"), "??")

    def test_who_is_waited_for_is_said_on_a_terminal(self):
        recording = record(self.directory, [self.elf, "200"], "--no-symbols")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            environment = {
                **os.environ,
                "DEBUGINFOD_URLS": url,
                "DEBUGINFOD_CACHE_PATH": self.path("cache"),
            }
            wait = ("--debuginfod-timeout", "200ms")
            status, seen = on_terminal(
                [PROFC, "symbolize", "-i", recording.path, *wait], env=environment
            )
        self.assertEqual(status, 0)
        lines = re.split(r"\r\x1b\[K", seen)
        self.assertIn("profc: symbols: querying DEBUGINFOD_URLS for program", lines)
        self.assertRegex(lines[-1], r"\d+ of \d+ addresses have symbols")


class Recordings(Case):
    """profc symbolize -i: a recording gets its names later, or elsewhere."""

    def record(self, program, *options):
        return record(self.directory, [program, "200"], "--no-symbols", *options)

    def functions(self, path, *options):
        text = profc("report", "-i", path, "--json", "-n", "1000", *options).stdout
        return {row["function"]: row for row in json.loads(text)["rows"]}

    def test_names_come_later(self):
        program = build("inlined_hot_line")
        recording = self.record(program)
        self.assertNotIn("inlined_inner", self.functions(recording.path))
        done = profc("symbolize", "-i", recording.path)
        self.assertRegex(done.stderr, r"\d+ of \d+ addresses have symbols")
        row = self.functions(recording.path)["inlined_inner"]
        self.assertTrue(row["inlined"])
        self.assertTrue(row["file"].endswith("inlined_hot_line.c"))
        self.assertEqual(marked_line("inlined_hot_line", "hot line") - 3, row["line"])

    def test_a_lambda_is_where_the_source_has_it(self):
        source = self.path("lambda.cpp")
        with open(source, "w", encoding="ascii") as file:
            file.write(
                "volatile unsigned sink;\n"
                "template <class F> __attribute__((noinline)) void many(F f)\n"
                "{\n\tfor (unsigned i = 0; i < 100000000u; i++)\n\t\tf(i);\n}\n"
                "int main(int argc, char **)\n{\n"
                "\tmany([=](unsigned i) __attribute__((noinline)) { sink = i * argc; });\n}\n"
            )
        program = self.path("lambda")
        self.run_tool("g++", "-O2", "-g", "-o", program, source)
        recording = self.record(program)
        profc("symbolize", "-i", recording.path)
        rows = self.functions(recording.path)
        found = [row for name, row in rows.items() if "operator()" in name]
        self.assertEqual([(source, 9)], [(row["file"], row["line"]) for row in found], rows)

    def test_places_without_names_are_not_counted(self):
        program = self.copy(build("inlined_hot_line"), "program")
        self.run_tool("strip", program)
        recording = self.record(program)
        done = profc("symbolize", "-i", recording.path)
        said = re.search(r"(\d+) of (\d+) addresses have symbols", done.stderr)
        rows = self.functions(recording.path)
        self.assertTrue(any(name.startswith("[program+0x") for name in rows), rows)
        self.assertLess(int(said[1]), int(said[2]))

    def test_output_goes_elsewhere(self):
        recording = self.record(build("inlined_hot_line"))
        profc("symbolize", "-i", recording.path, "-o", self.path("named.data"))
        self.assertNotIn("inlined_inner", self.functions(recording.path))
        self.assertIn("inlined_inner", self.functions(self.path("named.data")))

    def test_a_rebuilt_program_is_noticed(self):
        program = self.copy(build("inlined_hot_line", "-O2", "-g", "-Wl,--build-id"), "program")
        recording = self.record(program)
        other = build("inlined_hot_line", "-O1", "-g", "-Wl,--build-id")
        os.remove(program)
        shutil.copy(other, program)
        done = profc("symbolize", "-i", recording.path)
        self.assertIn("program: the file was rebuilt or replaced", done.stderr)
        self.assertNotIn("inlined_inner", self.functions(recording.path))
        self.assertIn("rebuilt", profc("info", "-i", recording.path).stdout)

    def test_a_program_that_became_a_script_is_noticed(self):
        program = self.copy(build("inlined_hot_line", "-O2", "-g", "-Wl,--build-id"), "program")
        recording = self.record(program)
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n")
        self.assert_replaced(recording, "inlined_inner", "not a readable ELF file")

    def assert_replaced(self, recording, name, why):
        done = profc("symbolize", "-i", recording.path)
        self.assertRegex(done.stderr, f"program: the file was rebuilt or replaced .*{why}")
        self.assertNotIn(name, self.functions(recording.path))
        self.assertRegex(profc("info", "-i", recording.path, "--width", "500").stdout, why)
        self.assertIn("the file was rebuilt or replaced",
                      profc("report", "-i", recording.path, "--width", "500").stdout)

    def record_without_build_id(self):
        whole = build("inlined_hot_line", "-O2", "-g", "-Wl,--build-id=none")
        program = self.copy(whole, "program")
        recording = self.record(program)
        return program, recording

    def test_a_program_without_build_id_of_another_size_is_noticed(self):
        program, recording = self.record_without_build_id()
        os.remove(program)
        shutil.copy(build("spin_leaf", "-O2", "-g", "-Wl,--build-id=none"), program)
        self.assert_replaced(recording, "inlined_inner", "bytes, recorded")

    def test_a_program_without_build_id_written_at_another_time_is_noticed(self):
        program, recording = self.record_without_build_id()
        os.utime(program, (10**9, 10**9))
        self.assert_replaced(recording, "inlined_inner", "modified on 2001-09-09 .*, recorded 20")

    def test_a_program_without_build_id_of_one_size_and_time_is_noticed(self):
        program, recording = self.record_without_build_id()
        before = os.stat(program)
        with open(program, "rb") as file:
            content = file.read()
        with open(program, "wb") as file:
            file.write(content.replace(b"inlined_inner", b"another_inner"))
        os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assert_replaced(recording, "another_inner", "headers, code or symbols")

    def test_a_program_without_build_id_that_was_moved_is_the_same(self):
        program, recording = self.record_without_build_id()
        shutil.copy2(program, self.path("copy"))
        os.replace(self.path("copy"), program)
        profc("symbolize", "-i", recording.path)
        self.assertIn("inlined_inner", self.functions(recording.path))

    def test_a_go_program_that_was_rebuilt_is_noticed(self):
        need("go")
        program = self.path("program")
        environment = {**os.environ, "GOCACHE": self.path("cache"), "GO111MODULE": "off"}

        def rebuild(first, second):
            with open(self.path("main.go"), "w", encoding="ascii") as source:
                source.write(
                    "package main\n"
                    f"//go:noinline\nfunc {first}(n int) int {{ s := 1\n"
                    "for i := 0; i < n; i++ { s = s*31 + i }; return s }\n"
                    f"//go:noinline\nfunc {second}(n int) int {{ s := 1\n"
                    "for i := 0; i < n; i++ { s = s*37 + i }; return s }\n"
                    "func main() { if parse(300000000) == 1 { println(hash1(10)) } }\n"
                )
            subprocess.run(["go", "build", "-o", program, self.path("main.go")], check=True,
                           env=environment)

        rebuild("parse", "hash1")
        recording = self.record(program)
        profc("symbolize", "-i", recording.path, "-o", self.path("named.data"))
        self.assertIn("main.parse", self.functions(self.path("named.data")))
        rebuild("hash1", "parse")
        self.assert_replaced(recording, "main.hash1", "another Go build id")

    def test_a_program_that_is_gone_resolves_by_its_debug_file(self):
        whole = build("inlined_hot_line", "-O2", "-g", "-Wl,--build-id")
        program = self.copy(whole, "program")
        recording = self.record(program)
        os.remove(program)
        text = symbolizers.run(["readelf", "-n", whole])
        build_id = text.partition("Build ID: ")[2].split()[0]
        directory = self.path(f"debug/.build-id/{build_id[:2]}")
        os.makedirs(directory)
        self.run_tool(
            "objcopy", "--only-keep-debug", whole, f"{directory}/{build_id[2:]}.debug"
        )
        profc("symbolize", "-i", recording.path, "--debug-dir", self.path("debug"))
        self.assertIn("inlined_inner", self.functions(recording.path))

    def test_names_are_not_lost_when_the_program_is_gone(self):
        program = self.copy(build("inlined_hot_line"), "program")
        recording = record(self.directory, [program, "200"])
        os.remove(program)
        profc("symbolize", "-i", recording.path)
        self.assertIn("inlined_inner", self.functions(recording.path))

    def record_with_map(self, *argv):
        """Record a runtime, and remove the map that it writes, even if that fails."""
        to_tell = ["sh", "-c", 'echo $$ >pid && exec "$@"', "sh"]
        self.addCleanup(self.remove_told_map)
        return record(self.directory, [*to_tell, *argv], cwd=self.directory)

    def remove_told_map(self):
        with open(self.path("pid"), encoding="ascii") as file:
            remove_map(int(file.read()))

    def test_jit_code_is_named_by_its_map(self):
        need("node")
        script = self.path("spin.js")
        with open(script, "w", encoding="ascii") as file:
            file.write(
                "function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }\n"
                "while (process.cpuUsage().user < 1e6) fibonacci(22);\n"
            )
        # When it compiles is for node to say: once in some rounds on a busy machine not at all.
        for _ in range(3):
            # node leaves a log behind where it runs.
            recording = self.record_with_map("node", "--perf-basic-prof", script)
            # profc itself knows the functions of some versions: the native frames have the map's names.
            found = self.functions(recording.path, "--native")
            names = [name for name in found if "fibonacci" in name and "spin.js" in name]
            if names:
                break
        self.assertTrue(names, sorted(found)[:40])

    def test_python_functions_are_named_by_the_map_of_x_perf(self):
        python = next((path for path in pythons() if writes_perf_map(path)), None)
        if python is None:
            self.skipTest("no python here knows -X perf (3.12 and later)")
        script = self.path("spin.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(
                "import time\n"
                "def spin_here():\n"
                "    return sum(number * number % 7 for number in range(2000))\n"
                "end = time.monotonic() + 0.6\n"
                "while time.monotonic() < end:\n"
                "    spin_here()\n"
            )
        recording = self.record_with_map(python, "-X", "perf", script)
        native = self.functions(recording.path, "--native")
        self.assertTrue([name for name in native if name.startswith("py::spin_here")], native)
        found = self.functions(recording.path)
        if "spin_here" in found:  # it is read without the map: then once, with the same sums
            stubs = sum(row["total_ns"] for name, row in found.items() if name.startswith("py::spin"))
            self.assertLess(stubs, 0.2 * found["spin_here"]["total_ns"])
            sums = [sum(row["self_ns"] for row in recording.rows(*options))
                    for options in ((), ("--native",))]
            self.assertEqual(sums[0], sums[1])

    def test_code_of_the_vdso_has_names(self):
        recording = record(self.directory, [build("clock_reader"), "300"])
        self.assertIn("[vdso]", profc("info", "-i", recording.path).stdout)
        unnamed = [name for name in self.functions(recording.path) if name.startswith("[vdso+")]
        self.assertEqual(unnamed, [])


class Go(Case):
    def test_the_table_of_the_runtime_says_what_the_dwarf_says(self):
        need("go")
        source = source_path("go_program.go")
        whole, stripped = self.path("whole"), self.path("stripped")
        environment = {**os.environ, "GOCACHE": self.path("cache"), "GO111MODULE": "off"}
        for flags, out in (("", whole), ("-s -w", stripped)):
            subprocess.run(
                ["go", "build", "-ldflags", flags, "-o", out, source],
                check=True,
                env=environment,
            )
        addresses = addresses_in(whole, 1000)
        mine, dwarf = profc_says(stripped, addresses), profc_says(whole, addresses)
        same = sum(
            mine[address][0][1][1] == dwarf[address][0][1][1]
            and mine[address][-1][0] == dwarf[address][-1][0]
            for address in addresses
        )
        self.assertGreaterEqual(same / len(addresses), 0.99)


class Ada(Case):
    """GNAT's names look like any in C: the language of their unit tells them apart."""

    def setUp(self):
        super().setUp()
        need("gnatmake")
        self.program = self.path("ada_program")
        subprocess.run(
            ["gnatmake", "-q", "-g", "-O0", "-D", self.directory, "-o", self.program]
            + [source_path("ada_program.adb")],
            check=True,
            cwd=self.directory,
        )

    def names(self, *letters):
        command = ["symbolize", "-e", self.program, "-f", *letters]
        addresses = symbolizers.addresses_in(self.program, 3000)
        lines = profc(*command, *map(hex, addresses)).stdout.splitlines()
        return {name for name in lines[::2] if name.startswith("ada_program")}

    def test_names_are_those_of_the_source(self):
        self.assertLessEqual(
            {
                "ada_program",
                'ada_program.shapes."+"',
                "ada_program.shapes.grow",
                "ada_program.shapes.grow.twice",
                "ada_program.shapes.worker",
            },
            self.names("-C"),
        )

    def test_without_demangling_they_are_those_of_the_object_file(self):
        self.assertIn("ada_program__shapes__grow__2", self.names())


class Letters(Case):
    """The same letters print the same bytes as addr2line."""

    def setUp(self):
        super().setUp()
        need("addr2line")
        self.elf = build("inlined_hot_line")
        self.addresses = [hex(address) for address in addresses_in(self.elf, 200)] + ["0", "xyz"]

    def assert_same_text(self, *letters):
        mine = symbolizers.run([PROFC, "symbolize", *letters, self.elf, *self.addresses])
        reference = symbolizers.run(["addr2line", *letters, self.elf, *self.addresses])
        self.assertEqual(mine, reference)

    def test_each_letter(self):
        for letters in ("-e", "-ae", "-fe", "-ie", "-afie", "-afiCe", "-se", "-pe", "-pafie", "-pfse"):
            with self.subTest(letters=letters):
                self.assert_same_text(letters)

    def test_letters_that_change_little(self):
        for letters in (("-b", "elf64-x86-64", "-afe"), ("-r", "-afe"), ("-Rafie",), ("-arfe",)):
            with self.subTest(letters=letters):
                self.assert_same_text(*letters)

    def test_styles_of_demangling(self):
        self.elf = build("cpp_templates")
        starts = [start for start, _, name in functions(self.elf) if name.startswith("_ZN6shapes")]
        self.addresses = [hex(start) for start in starts]
        self.assertTrue(self.addresses)
        for style in ("", "=auto", "=none", "=gnu-v3", "=dlang"):
            with self.subTest(style=style):
                self.assert_same_text("--demangle" + style, "-afe")
        done = profc("symbolize", "--demangle=nosuch", "-e", self.elf, "0", status=2)
        self.assertIn("unknown demangling style nosuch", done.stderr)

    def test_words_from_a_file(self):
        path = self.path("words")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"-f -e '{self.elf}'\n {self.addresses[0]}\t\\{self.addresses[3]}\n")
        self.elf = self.addresses[5]
        self.assert_same_text("-a", "@" + path)
        self.assert_same_text("-a", "@" + path, "@nosuch")

    def test_a_format_that_is_not_elf(self):
        done = profc("symbolize", "-b", "srec", "-e", self.elf, "0", status=1)
        self.assertIn("no format srec", done.stderr)

    def test_addresses_from_standard_input(self):
        text = "\n".join(self.addresses)
        mine = symbolizers.run([PROFC, "symbolize", "-afie", self.elf], input=text)
        reference = symbolizers.run(["addr2line", "-afie", self.elf], input=text)
        self.assertEqual(mine, reference)

    def test_odd_addresses(self):
        main = f"{address_of(self.elf, 'main'):x}"
        text = "\n".join([
            "0X" + main, "  " + main, main + " ", main + ";", main + "xyz", f"{main} 0x1", "*" + main,
            "", " ", "0x", "-1", "+16", "f" * 16, "1" + "f" * 16, "nosuch", "nosuch+3", "main-4",
            "deadbeef", ".text+4",
        ])
        mine = symbolizers.run([PROFC, "symbolize", "-afie", self.elf], input=text)
        self.assertEqual(mine, symbolizers.run(["addr2line", "-afie", self.elf], input=text))

    def test_names_of_functions_as_addresses(self):
        text = "main\nmain+4\nmain + 0x4\nnot_inlined+2\n"
        reference = symbolizers.run(["addr2line", "-afe", self.elf], input=text)
        if "main" not in reference:
            self.skipTest("this addr2line takes no names (binutils before 2.39)")
        mine = symbolizers.run([PROFC, "symbolize", "-afe", self.elf], input=text)
        self.assertEqual(mine, reference)

    def test_addresses_in_a_section(self):
        self.addresses = ["0", "4", "8"]
        self.assert_same_text("-j", ".text", "-afie")
        self.elf = self.path("sections.o")
        self.run_tool("gcc", "-O2", "-g", "-ffunction-sections", "-c", "-o", self.elf,
                      source_path("inlined_hot_line"))
        for section in (".text.not_inlined", ".text.startup.main"):
            self.assert_same_text("-j", section, "-afie")
        done = profc("symbolize", "-j", ".none", "-e", self.elf, "0x1", status=1)
        self.assertIn("no section .none", done.stderr)

    def test_a_program_of_32_bits(self):
        with open(self.path("narrow.c"), "w", encoding="ascii") as file:
            file.write("volatile int sink;\nint add(int a)\n{\n\treturn sink + a;\n}\n")
        self.elf = self.path("narrow.o")
        done = subprocess.run(
            ["gcc", "-m32", "-g", "-ffreestanding", "-c", "-o", self.elf, self.path("narrow.c")],
            stderr=subprocess.DEVNULL, check=False,
        )
        if done.returncode:
            self.skipTest("this gcc makes no programs of 32 bits")
        self.addresses = ["0", "4", "add+1"]
        self.assert_same_text("-afie")

    def test_a_question_at_a_time_is_answered_at_once(self):
        process = subprocess.Popen(
            [PROFC, "symbolize", "-fe", self.elf],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        main = address_of(self.elf, "main")
        for _ in range(3):
            process.stdin.write(f"{main:x}\n")
            self.assertEqual(process.stdout.readline(), "main\n")
            self.assertIn("inlined_hot_line.c:", process.stdout.readline())
        process.stdin.close()
        self.assertEqual(process.stdout.read(), "")
        process.stdout.close()
        self.assertEqual(process.wait(), 0)


class CutFiles(Case):
    """Program files that somebody writes anew in place while they are read."""

    def ask_after_cutting_to(self, size):
        elf = self.copy(build("symbol_traps"), f"cut-{size}")
        process = subprocess.Popen(
            [PROFC, "symbolize", "-fe", elf],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        addresses = addresses_in(elf, 500)
        process.stdin.write(f"{addresses[0]:x}\n")
        self.assertNotEqual(process.stdout.readline(), "")
        process.stdout.readline()
        os.truncate(elf, size)
        output, messages = process.communicate("".join(f"{one:x}\n" for one in addresses))
        return process.returncode, output.splitlines(), messages

    def test_every_question_is_answered_and_the_damage_said(self):
        for size in (0, 4096, 12288):
            with self.subTest(size=size):
                status, lines, messages = self.ask_after_cutting_to(size)
                self.assertEqual(status, 0)
                self.assertEqual(len(lines), 1000)
                self.assertIn("was truncated while it was read", messages)


class Refusals(Case):
    def test_no_file(self):
        done = profc("symbolize", "-e", self.path("none"), "0x1", status=1)
        self.assertRegex(done.stderr, r"^profc: .*none: No such file or directory\n")

    def test_no_elf_file(self):
        for name, contents in (("empty", b""), ("text", b"#!/bin/sh\n"), ("short", b"\x7fELF")):
            with open(self.path(name), "wb") as file:
                file.write(contents)
            done = profc("symbolize", "-e", self.path(name), "0x1", status=1)
            self.assertRegex(done.stderr, r"^profc: ")

    def test_no_file_that_is_compressed_as_a_whole(self):
        """It may unpack to thousands of times its size; what is executed is never so."""
        with open(build("symbol_plain"), "rb") as program:
            contents = program.read()
        for module in (bz2, gzip, lzma):
            with open(self.path("packed"), "wb") as file:
                file.write(module.compress(contents))
            done = profc("symbolize", "-e", self.path("packed"), "0x1", status=1)
            self.assertRegex(done.stderr, r"^profc: .*packed: not a readable ELF file\n")

    def test_no_regular_file(self):
        os.mkfifo(self.path("fifo"))
        for path in (self.path("fifo"), self.directory, "/dev/zero"):
            profc("symbolize", "-e", path, "0x1", status=1)

    def test_addresses_without_a_file(self):
        done = profc("symbolize", "0x1234", status=2)
        self.assertIn("-e FILE", done.stderr)
