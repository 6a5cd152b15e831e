# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks against the truth: programs run one instruction at a time, see tests/oracle."""

import os
import subprocess
import unittest

from paths import BUILD
from targets import build, need

ORACLE = os.path.join(BUILD, "tests", "oracle", "single_step")
LAZY = "-Wl,-z,lazy"
NO_CFI = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")


@unittest.skipUnless(os.uname().machine == "x86_64", "the oracle reads x86-64 instructions")
class SingleStep(unittest.TestCase):
    def check(self, program, *options, arguments=()):
        command = [ORACLE, *options, program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def check_c(self, *flags):
        """Without the loader, whose 100,000 instructions flatter the share."""
        self.check(build("frames_of_all_kinds", *flags), "-s")

    def test_with_the_loader(self):
        self.check(build("frames_of_all_kinds", "-O2", LAZY), "-e", "17")

    def test_optimised(self):
        self.check_c("-O2", LAZY)

    def test_not_optimised(self):
        self.check_c("-O0")

    def test_static(self):
        self.check_c("-O2", "-static")

    def test_libunwind_alone_without_a_search_table(self):
        """The linker makes none for static programs. libunwind knows less of code without CFI."""
        program = build("frames_of_all_kinds", "-O2", "-static")
        self.check(program, "-s", "-u", "libunwind", "-l", "99.5")

    def test_libunwind_alone_with_debug_frame_alone(self):
        """It reads none itself."""
        program = build("frames_of_all_kinds", "-O2", "-g", "-fno-asynchronous-unwind-tables")
        self.check(program, "-s", "-u", "libunwind", "-l", "99.5")

    def test_static_pie(self):
        self.check_c("-O2", "-static-pie")

    def test_linked_by_gold(self):
        self.check_c("-O2", LAZY, "-fuse-ld=gold")

    def test_linked_by_lld(self):
        need("ld.lld")
        self.check_c("-O2", LAZY, "-fuse-ld=lld")

    def test_debug_frame_alone(self):
        self.check_c("-O2", "-g", "-gz", "-fno-asynchronous-unwind-tables")

    def test_no_cfi_and_no_frame_pointers(self):
        self.check_c("-O2", "-fomit-frame-pointer", *NO_CFI)

    def test_no_cfi_but_frame_pointers(self):
        self.check_c("-O2", "-fno-omit-frame-pointer", *NO_CFI)

    def test_musl_which_has_no_cfi(self):
        compiler = need("musl-gcc")
        program = os.path.join(BUILD, "tests", "targets", "frames_of_all_kinds.musl")
        source = os.path.join(os.path.dirname(__file__), "..", "targets", "frames_of_all_kinds.c")
        os.makedirs(os.path.dirname(program), exist_ok=True)
        command = [compiler, "-O2", "-g", "-D_GNU_SOURCE", "-static", "-o", program, source]
        subprocess.run(command, check=True)
        self.check(program)

    def check_exceptions(self, *flags):
        program = build("frames_of_exceptions", *flags)
        self.check(program, "-s")
        self.check(program, "-s", "-e", "13", arguments=["dense"])

    def test_exceptions(self):
        self.check(build("frames_of_exceptions", "-O2", LAZY), "-e", "101")
        self.check_exceptions("-O2", LAZY)

    def test_exceptions_through_frame_pointers(self):
        self.check_exceptions("-O0")

    def test_exceptions_in_a_static_program(self):
        self.check_exceptions("-O1", "-static-pie")

    def check_throws(self, *flags, arguments=()):
        """One landing in some thousand instructions, most of them in try blocks of several calls."""
        program = build("frames_of_throws", "-g", *flags)
        self.check(program, "-s", "-e", "3", arguments=("1", *arguments))

    def test_little_but_exceptions_of_a_library(self):
        flags = ("-O2", "-g", "-shared", "-fPIC")
        plugin = build("throwing_plugin", *flags, called="throwing_plugin.so")
        self.check_throws("-Os", arguments=(plugin,))

    def test_little_but_exceptions_through_frame_pointers(self):
        self.check_throws("-O0")

    def test_realigned_for_vectors(self):
        with open("/proc/cpuinfo", encoding="ascii") as cpus:
            if "avx2" not in cpus.read():
                self.skipTest("this CPU has no AVX2")
        self.check_c("-O3", "-mavx2", "-fno-plt", "-fomit-frame-pointer")
