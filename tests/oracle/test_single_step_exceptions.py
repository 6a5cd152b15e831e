# SPDX-License-Identifier: GPL-2.0-or-later
"""Every instruction of programs in C++ that throw."""

from stepped import LAZY, SteppedCase
from targets import build


class SingleStep(SteppedCase):
    def check_exceptions(self, *flags):
        program = build("frames_of_exceptions", *flags)
        self.check(program, "-s", "-e", "13", arguments=["dense"])

    def test_exceptions(self):
        self.check(build("frames_of_exceptions", "-O2", LAZY), "-i")
        self.check_exceptions("-O2", LAZY)

    def test_exceptions_through_frame_pointers(self):
        self.check_exceptions("-O0")

    def test_exceptions_in_a_static_program(self):
        self.check_exceptions("-O1", "-static-pie")

    def check_throws(self, *flags, arguments=()):
        """One landing in some thousand instructions, most of them in try blocks of several calls."""
        program = build("frames_of_throws", "-g", *flags)
        self.check(program, "-s", "-e", "7", arguments=("1", *arguments))

    def test_little_but_exceptions_of_a_library(self):
        flags = ("-O2", "-g", "-shared", "-fPIC")
        plugin = build("throwing_plugin", *flags, called="throwing_plugin.so")
        self.check_throws("-Os", arguments=(plugin,))

    def test_little_but_exceptions_through_frame_pointers(self):
        self.check_throws("-O0")
