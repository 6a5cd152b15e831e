# SPDX-License-Identifier: GPL-2.0-or-later
"""A directory in place of a profile: the newest one there is shown, if it can be trusted."""

import json
import os
import re
import unittest

from live import LiveCase
from made import make_profile
from profc import profc

VIEWS = (("report",), ("info",), ("annotate",), ("explain",), ("export", "--folded"))


class Directory(LiveCase):
    def setUp(self):
        super().setUp()
        self.dumps = self.path("dumps")
        os.mkdir(self.dumps)
        for age, samples in ((3, 100), (2, 300), (1, 200)):
            self.make(f"{samples}.data", age, samples)

    def make(self, name, age, samples=500):
        path = make_profile(os.path.join(self.dumps, name), samples, 50, 2)
        os.utime(path, (10**9 - age, 10**9 - age))
        return path

    def assertShown(self, name):
        for view in VIEWS:
            for words in (["-i", self.dumps], [self.dumps + "/"]):
                done = profc(*view, *words)
                self.assertIn(f"is {name}\n", done.stderr, view)
                alone = profc(*view, "-i", os.path.join(self.dumps, name))
                self.assertEqual(*(re.sub(f"{self.dumps}/?({name})?", "INPUT", each.stdout)
                                   for each in (done, alone)))

    def test_every_view_shows_the_newest(self):
        self.assertShown("200.data")

    def test_each_side_of_a_diff_may_be_one(self):
        diff = json.loads(profc("diff", "--json", os.path.join(self.dumps, "100.data"),
                                self.dumps).stdout)
        self.assertLess(diff["old"]["samples"] * 1.5, diff["new"]["samples"])

    def test_what_is_no_profile_is_passed_over(self):
        for name, text in (("empty.data", ""), ("text.data", "no profile\n" * 100),
                           ("notes.txt", "x")):
            with open(os.path.join(self.dumps, name), "w", encoding="ascii") as file:
                file.write(text)
        os.mkfifo(os.path.join(self.dumps, "fifo.data"))
        os.mkdir(os.path.join(self.dumps, "directory.data"))
        os.symlink(make_profile(self.path("other"), 500, 50, 2),
                   os.path.join(self.dumps, "link.data"))
        self.assertShown("200.data")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to give files away")
    def test_others_cannot_have_theirs_shown(self):
        os.chmod(self.dumps, 0o1777)
        path = self.make("foreign.data", 0)
        os.chown(path, 65534, 65534)
        self.assertShown("200.data")
        # The files of whoever has the directory are what was asked for.
        os.chown(self.dumps, 65534, 65534)
        self.assertShown("foreign.data")


if __name__ == "__main__":
    unittest.main()
