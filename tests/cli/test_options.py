# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that make no sense are wrong usage: status 2, and nothing is run or written."""

import os

from live import LiveCase
from profc import profc


class Values(LiveCase):
    def test_bad_values_are_refused_by_name(self):
        ran = self.path("ran")
        for arguments, named in (
            (("record", "-F", "0"), "for -F:"),
            (("record", "-F", "fast"), "fast"),
            (("record", "-d", "10parsecs"), "10parsecs"),
            (("record", "--delay", "soon"), "soon"),
            (("record", "--unwinder", "magic"), "magic"),
            (("record", "--max-overhead", "-1"), "max-overhead"),
            (("record", "--mem="), "--mem: ''"),
            (("record", "--mem=0"), "--mem: '0'"),
            (("record", "--mem=2G"), "--mem: '2G'"),
            (("record", "--mem=often"), "--mem: 'often'"),
        ):
            with self.subTest(arguments=arguments):
                done = profc(*arguments, "--", "touch", ran, status=2, cwd=self.directory)
                self.assertTrue(done.stderr.startswith("profc: "), done.stderr)
                self.assertIn(named, done.stderr)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_rate_that_passes_for_a_command_is_named(self):
        for rate in ("64K", "all"):
            done = profc("record", "--mem", rate, "true", status=127, cwd=self.directory)
            self.assertIn(f"hint: a rate is written so: --mem={rate}", done.stderr)

    def test_bad_choices_of_the_views_are_refused(self):
        for arguments in (
            ("report", "-m", "beauty"),
            ("report", "--by", "mood"),
            ("report", "-n"),
            ("report", "--time", "yesterday"),
            ("annotate", "-m", "beauty"),
        ):
            with self.subTest(arguments=arguments):
                done = profc(*arguments, status=2, cwd=self.directory)
                self.assertTrue(done.stderr.startswith("profc: "), done.stderr)

    def test_attach_needs_a_pid(self):
        done = profc("attach", status=2, cwd=self.directory)
        self.assertIn("-p", done.stderr)

    def test_bad_values_are_refused_of_processes_that_run(self):
        """All that was read of the options is given back: sanitizers saw that pids were not."""
        for option, named in (
            ("--mem=2G", "--mem: '2G'"),
            ("--count=(", "--count"),
            ("--no-cpu", "--no-cpu leaves nothing to be recorded"),
        ):
            with self.subTest(option=option):
                done = profc("attach", "-p", os.getpid(), option, status=2, cwd=self.directory)
                self.assertIn(named, done.stderr)
        self.assertEqual(os.listdir(self.directory), [])

    def test_no_pid_at_all_is_refused(self):
        """As "$PID" of a variable that is not set; `profc doctor` said that all was well."""
        for command in ("attach", "record", "top", "dump", "doctor"):
            for pid in ("", ",", " "):
                with self.subTest(command=command, pid=pid):
                    done = profc(command, "-p", pid, status=2, cwd=self.directory)
                    self.assertIn(f"invalid process ID '{pid}'", done.stderr)
                    self.assertIn("pgrep", done.stderr)

    def test_directories_of_debug_information_are_to_be_there(self):
        """Names were missing without a word where one was mistyped."""
        file, ran = self.path("file"), self.path("ran")
        with open(file, "w", encoding="utf-8"):
            pass
        for option in ("--debug-dir", "--sysroot"):
            for where, reason in ((self.path("none"), "No such file"), (file, "Not a directory")):
                for command in (
                    ("record", option, where, "--", "touch", ran),
                    ("attach", option, where, "-p", os.getpid()),
                    ("top", option, where, "--", "touch", ran),
                    ("dump", option, where, "-p", os.getpid()),
                    ("symbolize", f"{option}={where}"),
                    ("symbolize", "-e", "/bin/true", option, where, "0"),
                ):
                    with self.subTest(command=command):
                        done = profc(*command, status=2, cwd=self.directory)
                        self.assertIn(f"profc: {option} '{where}': {reason}", done.stderr)
        self.assertEqual(os.listdir(self.directory), ["file"])

    def test_bounds_are_shown_as_they_are_typed(self):
        done = profc("record", "--max-depth", "0", "--", "true", status=2, cwd=self.directory)
        self.assertIn("between 1 and 10000000\n", done.stderr)

    def test_record_takes_a_command_or_a_pid_not_both(self):
        done = profc("record", "-p", os.getpid(), "--", "touch", "ran", status=2,
                     cwd=self.directory)
        self.assertIn("-p cannot be combined with a command", done.stderr)
        self.assertEqual(os.listdir(self.directory), [])
