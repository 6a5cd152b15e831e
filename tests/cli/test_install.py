# SPDX-License-Identifier: GPL-2.0-or-later
"""make install puts everything where a distribution looks for it, uninstall takes it away."""

import os
import shutil
import subprocess
import tempfile
import unittest

from paths import BUILD, ROOT
from profc import profc


class Install(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def make(self, target):
        subprocess.run(
            ["make", "-s", target, f"DESTDIR={self.directory}", "PREFIX=/usr", f"BUILD={BUILD}"],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )

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


if __name__ == "__main__":
    unittest.main()
