# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that make no sense are wrong usage: status 2, and nothing is run or written."""

import os

from live import LiveCase
from profc import profc


class Values(LiveCase):
    def test_bad_values_are_refused_by_name(self):
        ran = self.path("ran")
        for arguments, named in (
            (("record", "-F", "0"), "-F 0"),
            (("record", "-F", "fast"), "fast"),
            (("record", "-d", "10parsecs"), "10parsecs"),
            (("record", "--delay", "soon"), "soon"),
            (("record", "--unwinder", "magic"), "magic"),
            (("record", "--max-overhead", "-1"), "max-overhead"),
        ):
            with self.subTest(arguments=arguments):
                done = profc(*arguments, "--", "touch", ran, status=2, cwd=self.directory)
                self.assertTrue(done.stderr.startswith("profc: "), done.stderr)
                self.assertIn(named, done.stderr)
        self.assertEqual(os.listdir(self.directory), [])

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

    def test_record_takes_a_command_or_a_pid_not_both(self):
        profc("record", "-p", os.getpid(), "--", "true", status=2, cwd=self.directory)
