# SPDX-License-Identifier: GPL-2.0-or-later
"""
make install puts everything where a distribution looks for it, uninstall takes it away; the
build says one line a file, and is the same from wherever it is started.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

from paths import BUILD, ROOT
from profc import profc


def make(*arguments, cwd=ROOT):
    """What make prints; knobs of the make that runs the tests are not for this one."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")
    }
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=cwd,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    return done.stdout


class Install(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def make(self, target, *which, cwd=ROOT):
        where = (f"DESTDIR={self.directory}", "PREFIX=/usr", f"BUILD={BUILD}")
        make("-s", *which, target, *where, cwd=cwd)

    def installed(self):
        found = set()
        for directory, _, names in os.walk(self.directory):
            found.update(
                os.path.relpath(os.path.join(directory, name), self.directory) for name in names
            )
        return found

    def test_everything_is_there_and_goes_again(self):
        self.make("install")
        expected = {
            "usr/bin/profc",
            "usr/share/man/man1/profc.1",
            "usr/share/man/man5/profc-agent.5",
            "usr/share/man/man5/profc-data.5",
            "usr/share/bash-completion/completions/profc",
            "usr/share/zsh/site-functions/_profc",
            "usr/share/fish/vendor_completions.d/profc.fish",
        }
        for command in profc("--list-commands").stdout.split():
            expected.add(f"usr/share/man/man1/profc-{command}.1")
        self.assertEqual(self.installed(), expected)
        program = os.path.join(self.directory, "usr/bin/profc")
        done = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, profc("--version").stdout)

        self.make("uninstall")
        self.assertEqual(self.installed(), set())

    def test_it_does_not_matter_where_make_is_started(self):
        self.make("install", "-f", os.path.join(ROOT, "Makefile"), cwd=self.directory)
        self.assertIn("usr/bin/profc", self.installed())
        self.make("uninstall", "-C", ROOT, cwd=self.directory)
        self.assertEqual(self.installed(), set())


class Build(unittest.TestCase):
    def build(self, *flags):
        with tempfile.TemporaryDirectory(prefix="profc-test-") as directory:
            return make(*flags, f"BUILD={directory}", f"{directory}/lib/stack/stack_end.o")

    def test_it_says_one_line_a_file(self):
        self.assertEqual(self.build(), "  CC  lib/stack/stack_end.o\n")

    def test_the_commands_are_shown_where_asked_for(self):
        self.assertRegex(self.build("V=1"), r"\A\S.* -c -o \S*stack_end\.o lib/\S*stack_end\.c .*\n\Z")

    def test_it_can_be_silent(self):
        self.assertEqual(self.build("-s"), "")


if __name__ == "__main__":
    unittest.main()
