# SPDX-License-Identifier: GPL-2.0-or-later
"""
make install puts everything where a distribution looks for it, uninstall takes it away; the
build says one line a file, and is the same from wherever it is started.
"""

import fnmatch
import os
import shutil
import subprocess
import tempfile
import unittest

from paths import BUILD, ROOT
from profc import profc

PACKAGING = os.path.join(ROOT, "scripts", "packaging")


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


TOPICS = ("ci", "compare", "containers", "count", "memory", "waits")


class Installing(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="profc-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def make(self, target, *which, cwd=ROOT, prefix="/usr"):
        where = (f"DESTDIR={self.directory}", f"PREFIX={prefix}", f"BUILD={BUILD}")
        make("-s", *which, target, *where, cwd=cwd)

    def installed(self):
        found = set()
        for directory, _, names in os.walk(self.directory):
            found.update(
                os.path.relpath(os.path.join(directory, name), self.directory) for name in names
            )
        return found


class Install(Installing):
    def test_everything_is_there_and_goes_again(self):
        self.make("install")
        expected = {
            "usr/bin/profc",
            "usr/share/man/man1/profc.1",
            "usr/share/man/man5/profc-agent.5",
            "usr/share/man/man5/profc-data.5",
            *(f"usr/share/man/man7/profc-{topic}.7" for topic in TOPICS),
            "usr/share/bash-completion/completions/profc",
            "usr/share/zsh/site-functions/_profc",
            "usr/share/fish/vendor_completions.d/profc.fish",
            "usr/share/applications/profc.desktop",
            "usr/share/mime/packages/profc.xml",
            "usr/lib/systemd/system/profc@.service",
        }
        for command in profc("--list-commands").stdout.split():
            expected.add(f"usr/share/man/man1/profc-{command}.1")
        self.assertEqual(self.installed(), expected)
        program = os.path.join(self.directory, "usr/bin/profc")
        done = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, profc("--version").stdout)

        self.make("uninstall")
        self.assertEqual(self.installed(), set())

    def test_the_service_runs_the_program_that_is_installed(self):
        self.make("install", prefix="/opt")
        path = os.path.join(self.directory, "opt/lib/systemd/system/profc@.service")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("\nExecStart=/opt/bin/profc attach --keep 60s --unit %i.service ", text)
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        # It looks whether there is such a program.
        program = os.path.join(self.directory, "opt/bin/profc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("/opt/bin/profc", program))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", path],
            check=False, capture_output=True, text=True,
        )
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_it_does_not_matter_where_make_is_started(self):
        self.make("install", "-f", os.path.join(ROOT, "Makefile"), cwd=self.directory)
        self.assertIn("usr/bin/profc", self.installed())
        self.make("uninstall", "-C", ROOT, cwd=self.directory)
        self.assertEqual(self.installed(), set())


class Packages(Installing):
    def test_the_spec_names_all_that_is_installed(self):
        self.make("install")
        with open(os.path.join(PACKAGING, "profc.spec"), encoding="utf-8") as file:
            text = file.read()
        macros = {"%{_bindir}": "usr/bin", "%{_mandir}": "usr/share/man",
                  "%{_datadir}": "usr/share", "%{_prefix}": "usr"}
        patterns = []
        for line in text.split("%files\n")[1].splitlines():
            if line.startswith("%{"):
                macro, rest = line.split("/", 1)
                patterns.append(f"{macros[macro]}/{rest}")
        installed = self.installed()
        for path in installed:
            self.assertTrue([one for one in patterns if fnmatch.fnmatch(path, one)], path)
        for pattern in patterns:
            self.assertTrue(fnmatch.filter(installed, pattern), pattern)

    def test_a_desktop_knows_a_profile_whatever_its_name(self):
        for program in "update-mime-database", "gio", "desktop-file-validate":
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")
        self.make("install")
        share = os.path.join(self.directory, "usr/share")
        subprocess.run(["update-mime-database", os.path.join(share, "mime")], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = os.path.join(self.directory, "any.name")
        shutil.copy(os.path.join(ROOT, "tests/outputs/recordings/sampled.profc"), path)
        done = subprocess.run(["gio", "info", "-a", "standard::content-type", path], check=True,
                              stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "XDG_DATA_DIRS": share, "XDG_DATA_HOME": share})
        self.assertIn("content-type: application/x-profc\n", done.stdout)
        entry = os.path.join(share, "applications/profc.desktop")
        subprocess.run(["desktop-file-validate", entry], check=True)
        with open(entry, encoding="utf-8") as file:
            self.assertIn("\nMimeType=application/x-profc;\n", file.read())


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
