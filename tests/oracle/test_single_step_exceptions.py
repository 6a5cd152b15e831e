# SPDX-License-Identifier: GPL-2.0-or-later
"""Every instruction of programs in C++ that throw."""

import glob
import os

from stepped import LAZY, SteppedCase
from targets import build

LLVMS_UNWINDER = "/usr/lib/llvm-*/lib/libunwind.so.1"
LANDING = ("before a handler", "at a handler")


class SingleStep(SteppedCase):
    def check_exceptions(self, *flags):
        program = build("frames_of_exceptions", *flags)
        rules = (*LANDING, "handler's frame")
        self.check(program, "-s", "-e", "6", arguments=["dense"], rules=rules)

    def test_exceptions(self):
        self.check(build("frames_of_exceptions", "-O2", LAZY), "-i")
        self.check_exceptions("-O2", LAZY)

    def test_exceptions_through_frame_pointers(self):
        self.check_exceptions("-O0")

    def test_exceptions_in_a_static_program(self):
        self.check_exceptions("-O1", "-static-pie")

    def check_throws(self, *flags, arguments=(), libraries=(), rules=LANDING, every="7"):
        """One landing in some thousand instructions, most of them in try blocks of several calls."""
        program = build("frames_of_throws", "-g", *flags, libraries=libraries)
        self.check(program, "-s", "-e", every, arguments=("1", *arguments), rules=rules)

    def test_little_but_exceptions_of_a_library(self):
        flags = ("-O2", "-g", "-shared", "-fPIC")
        plugin = build("throwing_plugin", *flags, called="throwing_plugin.so")
        self.check_throws("-Os", arguments=(plugin,))

    def test_little_but_exceptions_by_llvms_unwinder(self):
        """Its code that enters handlers has neither CFI nor a symbol, and never returns."""
        found = sorted(glob.glob(LLVMS_UNWINDER))
        if not found:
            self.skipTest("LLVM's libunwind is not installed")
        libraries = ("-Wl,--no-as-needed", found[-1], f"-Wl,-rpath,{os.path.dirname(found[-1])}")
        rules = ("path from the end of CFI",)
        self.check_throws("-O2", libraries=libraries, rules=rules, every="29")

    def test_little_but_exceptions_through_frame_pointers(self):
        self.check_throws("-O0")
