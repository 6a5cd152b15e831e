# SPDX-License-Identifier: GPL-2.0-or-later
"""Every instruction of programs in C, by all kinds of compilers, linkers and libraries."""

import os
import subprocess

from paths import BUILD
from stepped import LAZY, SteppedCase
from targets import build, need

NO_CFI = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")


class SingleStep(SteppedCase):
    def check_c(self, *flags, rules=()):
        """Without the loader, whose 100,000 instructions flatter the share."""
        self.check(build("frames_of_all_kinds", *flags), "-s", rules=("signal frame", *rules))

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
        rules = ("path to a return", "path from a symbol")
        self.check_c("-O2", "-fomit-frame-pointer", *NO_CFI, rules=rules)

    def test_no_cfi_but_frame_pointers(self):
        self.check_c("-O2", "-fno-omit-frame-pointer", *NO_CFI)

    def test_musl_which_has_no_cfi(self):
        compiler = need("musl-gcc")
        program = os.path.join(BUILD, "tests", "targets", "frames_of_all_kinds.musl")
        source = os.path.join(os.path.dirname(__file__), "..", "targets", "frames_of_all_kinds.c")
        os.makedirs(os.path.dirname(program), exist_ok=True)
        command = [compiler, "-O2", "-g", "-D_GNU_SOURCE", "-static", "-o", program, source]
        subprocess.run(command, check=True)
        self.check(program, rules=("entry function", "path to a return", "path from a symbol"))

    def test_realigned_for_vectors(self):
        with open("/proc/cpuinfo", encoding="ascii") as cpus:
            if "avx2" not in cpus.read():
                self.skipTest("this CPU has no AVX2")
        self.check_c("-O3", "-mavx2", "-fno-plt", "-fomit-frame-pointer")
