# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line before any command runs: help, version, slips, standard output."""

import os
import re
import subprocess
import tempfile
import unittest

from paths import PROFC, ROOT
from profc import profc
from terminal import on_terminal

COMMANDS = profc("--list-commands").stdout.split()


class Help(unittest.TestCase):
    def test_every_way_to_ask_gives_the_same(self):
        text = profc("--help").stdout
        self.assertTrue(text.startswith("usage: profc COMMAND"))
        for command in COMMANDS:
            self.assertRegex(text, rf"\n  {command} +[A-Za-z]")
        for words in ([], ["-h"], ["help"], ["help", "help"]):
            self.assertEqual(profc(*words).stdout, text)

    def test_the_first_screen_fits_and_has_the_first_steps(self):
        lines = profc().stdout.splitlines()
        self.assertLessEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 79)
        steps = "\n".join(lines[-4:])
        for command in ("record ./program", "report", "attach -p PID -d", "--keep 60s", "ctl "):
            self.assertIn(command, steps)

    def test_every_command_explains_itself(self):
        self.assertIn("export", COMMANDS)
        for command in COMMANDS:
            text = profc(command, "--help").stdout
            self.assertTrue(text.startswith(f"usage: profc {command} "), text)
            self.assertEqual(profc("help", command).stdout, text)
            self.assertEqual(profc(command, "-h").stdout, text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, f"{command}: {line}")

    def test_every_listed_option_is_in_the_help(self):
        for command in COMMANDS:
            text = profc(command, "--help").stdout
            for option in profc(command, "--list-options").stdout.split():
                self.assertRegex(text, rf"(?m)^  .*{option}\b", f"{command} {option}")

    def test_version_is_one_line(self):
        self.assertRegex(profc("--version").stdout, r"\Aprofc \d+\.\d+\.\d+\n\Z")

    def test_version_says_on_demand_what_was_built(self):
        text = profc("--version", "-v").stdout
        version, *lines = text.splitlines()
        said = dict(re.split(r": +", line, maxsplit=1) for line in lines)
        self.assertEqual(version + "\n", profc("--version").stdout)
        self.assertRegex(said["commit"], r"\A(unknown|\S*[0-9a-f]{7,}(-dirty)?|v\S+)\Z")
        self.assertRegex(
            said["libraries"], r"\Alibunwind [\d.]+, elfutils 0\.\d+.*, zstd [\d.]+.*, zlib [\d.]+, ncurses [\d.]+"
        )
        self.assertRegex(said["compiler"], r"(gcc|Clang) \d+\.")
        self.assertIn("-std=gnu11", said["flags"])
        for words in (["-v", "--version"], ["-V", "-v"], ["--version", "--verbose"]):
            self.assertEqual(profc(*words).stdout, text)


class Slips(unittest.TestCase):
    def assertSuggests(self, words, what, hint):
        done = profc(*words, status=2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, f"profc: {what}\nhint: {hint}\n")

    def test_a_command_is_suggested(self):
        self.assertSuggests(["exprot"], "unknown command 'exprot'", "did you mean 'export'?")
        self.assertSuggests(["help", "expor"], "unknown command 'expor'", "did you mean 'export'?")

    def test_an_option_is_suggested(self):
        self.assertSuggests(["--verison"], "unknown option '--verison'", "did you mean '--version'?")
        self.assertSuggests(
            ["export", "--fodled"], "unknown option '--fodled'", "did you mean '--folded'?"
        )

    def test_words_of_other_profilers_are_known(self):
        self.assertSuggests(
            ["record", "-g", "ls"], "unknown option '-g'", "stacks are always recorded; omit this option"
        )
        self.assertSuggests(
            ["record", "--call-graph", "dwarf", "ls"],
            "unknown option '--call-graph'",
            "stacks are always recorded; omit this option",
        )
        self.assertSuggests(
            ["script"], "unknown command 'script'", "profc export --perf-script prints it"
        )
        for words in ("trace", "strace", "probe"):
            self.assertSuggests(
                [words],
                f"unknown command '{words}'",
                "profc record --count FUNC counts calls, --spans FUNC times each, "
                "--count-syscalls counts system calls",
            )

    def test_hints_name_commands_and_options_that_there_are(self):
        """Each word that is a command of ours by now has no hint any more."""
        with open(os.path.join(ROOT, "cmd", "foreign.c"), encoding="utf-8") as file:
            source = file.read()
        words = re.findall(r'^\t\{"([a-z-]+)",', source, re.M)
        self.assertGreater(len(words), 30)
        for word in words:
            with self.subTest(word=word):
                self.assertNotIn(word, COMMANDS)
                if word.startswith("-"):
                    continue
                hint = profc(word, status=2).stderr.splitlines()[1]
                for command in re.findall(r"profc ([a-z]+)", hint):
                    self.assertIn(command, COMMANDS)
                    text = profc(command, "--list-options").stdout.split()
                    of_command = re.search(rf"profc {command}((?: -\S+| [A-Z]+)*)", hint).group(1)
                    for option in re.findall(r"(--[a-z-]+)", of_command):
                        self.assertIn(option, text)

    def test_nothing_near(self):
        self.assertSuggests(
            ["quicksort"], "unknown command 'quicksort'", "'profc --help' lists the commands"
        )
        self.assertSuggests(
            ["export", "--zzzzzzz"],
            "unknown option '--zzzzzzz'",
            "'profc export --help' lists the options",
        )

    def test_a_hostile_word_is_escaped(self):
        done = profc("a\x1b]0;b\x07\nc", status=2)
        self.assertEqual(done.stderr.splitlines()[0], r"profc: unknown command 'a\x1b]0;b\x07\nc'")

    def test_the_journal_has_a_priority_instead_of_the_name(self):
        with tempfile.TemporaryFile("w+") as journal:
            of_journal = os.fstat(journal.fileno())
            for stream in (f"{of_journal.st_dev}:{of_journal.st_ino}", "8:1", ""):
                subprocess.run([PROFC, "reprot"], stderr=journal, check=False,
                               env={**os.environ, "JOURNAL_STREAM": stream})
            journal.seek(0)
            lines = journal.read().splitlines()
        self.assertEqual(lines[0], "<3>unknown command 'reprot'")
        self.assertRegex(lines[1], "^<5>hint: ")
        self.assertEqual(lines[2], "profc: unknown command 'reprot'")
        self.assertEqual(lines[2:4], lines[4:6])


class StandardOutput(unittest.TestCase):
    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [PROFC, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr, "profc: cannot write standard output: No space left on device\n"
        )

    def test_a_closed_one_is_no_success(self):
        done = subprocess.run(
            ["sh", "-c", f"'{PROFC}' --help >&-"], stderr=subprocess.PIPE, text=True, check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write standard output", done.stderr)

    def test_a_reader_that_left_is_no_news(self):
        for inherited in ("", "trap '' PIPE; "):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run(
                ["sh", "-c", f"{inherited}exec '{PROFC}' --help"],
                stdout=writer,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            os.close(writer)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stderr, "")


def profc_on_terminal(*arguments, **environment):
    """What a person would see: profc's output on a terminal of its own."""
    return on_terminal([PROFC, *arguments], env={**os.environ, "TERM": "xterm", **environment})


class Pager(unittest.TestCase):
    def test_help_is_never_paged(self):
        _, seen = profc_on_terminal("--help", PROFC_PAGER="sed 's/^/paged: /'")
        self.assertTrue(seen.startswith("usage: "), seen)


if __name__ == "__main__":
    unittest.main()
