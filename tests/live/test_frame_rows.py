# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiled rows against readelf's, row by row: real files, and every form that CFI comes in."""

import functools
import glob
import os
import subprocess
import tempfile
import unittest

from frame_rows import compare
from targets import build, need

IN_COMPANY = True
LIBRARIES = ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libcrypto.so.3")
DIRECTORIES = ("/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64", "/usr/aarch64-linux-gnu/lib")
ONLY_DEBUG_FRAME = ("-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-exceptions")
MANY = 120000


def function(number):
    """Assembly of one of many functions, of a length that aligns nothing."""
    lines = [f"f{number}:", ".cfi_startproc", "nop", ".cfi_def_cfa_offset 16", "nop"]
    if number % 3 == 0:
        lines += [".cfi_offset 6, -16", ".byte 0x90, 0x90", ".cfi_def_cfa_register 6", "nop"]
    if number % 7 == 0:
        lines += [".cfi_remember_state", ".cfi_def_cfa 7, 8", "ret", ".cfi_restore_state", "nop"]
    if number % 11 == 0:  # DW_CFA_def_cfa_expression: breg6 -8, deref
        lines += [".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06", "nop"]
    if number % 13 == 0:  # DW_CFA_expression: rbp at breg6 0
        lines += [".cfi_escape 0x10, 6, 2, 0x76, 0", "nop"]
    if number % 17 == 0:  # DW_CFA_def_cfa_expression that no row holds: breg7 8, breg3 0, plus
        lines += [".cfi_escape 0x0f, 5, 0x77, 8, 0x73, 0, 0x22", "nop"]
    if number % 19 == 0:
        lines += [".cfi_undefined 6", "nop", ".cfi_same_value 6", "nop", ".cfi_restore 6", "nop"]
    if number % 23 == 0:
        lines += [".cfi_undefined 16", "nop"]
    if number % 29 == 0 and number % 11 and number % 17:  # an offset of an expression is none
        lines += [".cfi_adjust_cfa_offset 1048576", f".skip {number % 300 + 1}, 0x90"]
    return "\n".join(lines + [".cfi_endproc", ""])


class FrameRows(unittest.TestCase):
    def check(self, path, least=30):
        counts, examples = compare(path)
        self.assertEqual(examples, {}, path)
        self.assertGreater(counts["equal"], least, path)
        return counts

    def test_libraries(self):
        found = set()
        for directory in DIRECTORIES:
            for name in LIBRARIES + ("ld-linux-*.so.?",):
                found.update(map(os.path.realpath, glob.glob(os.path.join(directory, name))))
        self.assertGreater(len(found), 2)
        for path in sorted(found):
            with self.subTest(path):
                self.check(path)

    def test_debug_frame_plain_and_compressed(self):
        for how in ("none", "zlib", "zlib-gabi", "zstd"):
            program = build("cpp_templates", *ONLY_DEBUG_FRAME, called=f"debug_frame_{how}")
            with self.subTest(how), tempfile.TemporaryDirectory() as scratch:
                path = os.path.join(scratch, how)
                need("objcopy")
                command = ["objcopy", f"--compress-debug-sections={how}", program, path]
                done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
                if "does not support" in done.stderr or "not supported" in done.stderr:
                    self.skipTest(done.stderr)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check(path)

    def test_split_dwarf(self):
        self.check(build("cpp_templates", *ONLY_DEBUG_FRAME, "-gsplit-dwarf"))

    def test_no_search_table(self):
        self.check(build("cpp_templates", "-O2", "-Wl,--no-eh-frame-hdr"))

    @functools.lru_cache(maxsize=None)
    def assembly(self, nr, sections):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        path = os.path.join(scratch.name, "many.s")
        with open(path, "w", encoding="ascii") as file:
            file.write(f".cfi_sections {sections}\n.text\n.globl _start\n_start:\n")
            file.writelines(function(number) for number in range(nr))
        subprocess.run([need("as"), "-o", path + ".o", path], check=True)
        return path + ".o"

    def link(self, assembled, *flags):
        program = assembled + "".join(flags).replace("/", "")
        subprocess.run([need("ld"), *flags, "-o", program, assembled], check=True)
        return program

    @unittest.skipUnless(os.uname().machine == "x86_64", "the assembly names x86-64's registers")
    def test_functions_of_every_form(self):
        for sections in (".eh_frame", ".debug_frame"):
            # gas gives .eh_frame a search table; far addresses need 64 bits of them
            for flags in (("--eh-frame-hdr",), ("--no-eh-frame-hdr",), ("-Ttext=0x7f1234567000",)):
                with self.subTest(sections, flags=flags):
                    counts = self.check(self.link(self.assembly(3000, sections), *flags), 3000)
                    self.assertGreater(counts["left to libunwind"], 100)

    @unittest.skipUnless(os.uname().machine == "x86_64", "the assembly names x86-64's registers")
    def test_very_many_functions(self):
        program = self.link(self.assembly(MANY, ".eh_frame"), "--eh-frame-hdr")
        self.check(program, 2 * MANY)
