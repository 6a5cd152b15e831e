# SPDX-License-Identifier: GPL-2.0-or-later
"""The recipe of profc-ci(7), run as CI would run it, with its services replaced."""

import os
import re
import shutil
import subprocess
import unittest

from live import LiveCase
from paths import BUILD, ROOT

PROGRAM = """
#include <stdlib.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void parse(void) { for (long i = 0; i < %d; i++) sum += i; }
__attribute__((noinline)) static void render(void) { for (long i = 0; i < 150000000; i++) sum += i; }
int main(void)
{
	parse();
	render();
	for (int i = 0; i < %d; i++) {
		char *volatile p = malloc(1 << 20);
		free(p);
	}
	return 0;
}
"""
FAKE = '#!/bin/sh\nprintf "%s\\n" "$0" "$@" >>"$SAID"\n'


def blocks():
    """The literal blocks of the page: the script, GitHub's job, GitLab's."""
    with open(os.path.join(ROOT, "man", "profc-ci.7"), encoding="utf-8") as file:
        found = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed$", file.read(), re.M | re.S)
    return [block.replace("\\e", "\\") for block in found]


def lines_of_shell(job, head):
    """What a job has a shell run, below a line that ends with `head`."""
    found = re.search(rf"^( *)[^\n]*{re.escape(head)}\n((?:\1  +[^\n]*\n)+)", job, re.M)
    return found.group(2)


@unittest.skipUnless(shutil.which("git") and shutil.which("cc"), "git and a compiler are needed")
class Recipe(LiveCase):
    def setUp(self):
        super().setUp()
        self.environment = {
            **os.environ, "PATH": f"{self.path('bin')}:{BUILD}:{os.environ['PATH']}",
            "BUILD": "cc -g -O1 -o program program.c", "RUN": "./program",
            "SAID": self.path("said"), "HOME": self.directory, "GIT_CONFIG_GLOBAL": os.devnull,
        }
        os.mkdir(self.path("bin"))
        for name in ("gh", "curl"):
            self.write(f"bin/{name}", FAKE)
            os.chmod(self.path(f"bin/{name}"), 0o755)
        self.script, self.github, self.gitlab = blocks()
        self.write("profile.sh", self.script)
        self.run_shell("git init -q")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_shell(self, text, **environment):
        return subprocess.run(["sh", "-e", "-c", text], cwd=self.directory, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**self.environment, **environment})

    def commit(self, loops, blocks_of_memory):
        self.write("program.c", PROGRAM % (loops, blocks_of_memory))
        done = self.run_shell("git add program.c; git -c user.name=a -c user.email=a@b commit -qm x")
        self.assertEqual(done.returncode, 0, done.stderr)

    def compare(self):
        return self.run_shell("sh profile.sh HEAD~1")

    def test_change_that_is_slower_fails_with_a_comment(self):
        self.commit(150000000, 20)
        self.commit(600000000, 40)
        done = self.compare()
        self.assertEqual(done.returncode, 3, done.stderr)
        comment = self.read("profc.md")
        self.assertTrue(comment.startswith("<!-- profc diff -->\n### profc (cpu): total: +"), comment)
        self.assertRegex(comment, r"\*\*Limit exceeded\*\*: [^\n]*alloc")
        self.assertRegex(comment, r"(?m)^\| \*\*\+[\d.]+\*\* \| [\d.]+ \|.*\| `parse` \| `program` \|$")
        self.assertNotRegex(comment, r"(?m)^\| \*\*[^\n]*`render`")
        self.assertEqual(comment.count("<details>"), comment.count("</details>"))
        # All rows of tables have as many cells.
        rows = [line for line in comment.splitlines() if line.startswith("|")]
        self.assertEqual({row.count("|") for row in rows}, {8})
        self.assertNotIn("worktree", self.run_shell("git worktree list").stdout)
        self.services(comment)

    def services(self, comment):
        done = self.run_shell(lines_of_shell(self.github, "run: |"), PR="7",
                              GITHUB_STEP_SUMMARY=self.path("summary"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("summary"), comment)
        done = self.run_shell(lines_of_shell(self.gitlab, "- |"), PROFC_TOKEN="secret",
                              CI_API_V4_URL="https://gitlab/api/v4", CI_PROJECT_ID="5",
                              CI_MERGE_REQUEST_IID="9")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = self.read("said").splitlines()
        self.assertEqual(said[:4], [self.path("bin/gh"), "pr", "comment", "7"])
        self.assertIn("profc.md", said)
        self.assertEqual(said[-2:], ["body@profc.md", "https://gitlab/api/v4/projects/5/merge_requests/9/notes"])

    def test_change_without_effect_passes(self):
        self.commit(150000000, 20)
        self.write("README", "x")
        self.run_shell("git add README; git -c user.name=a -c user.email=a@b commit -qm y")
        done = self.compare()
        # On a machine that others use time may differ by more than its limit: memory does not.
        self.assertNotIn("alloc", self.read("profc.md").split("<details>")[0])
        self.assertIn(done.returncode, (0, 3), done.stderr)

    def test_jobs_call_the_script(self):
        for job in (self.github, self.gitlab):
            self.assertRegex(job, r'sh ci/profile\.sh "\$[A-Z_]+"')
