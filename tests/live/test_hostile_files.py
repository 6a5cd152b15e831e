# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths that an ordinary user chose, and profc as root: lib/decisions/014-hostile-targets.md."""

import json
import os
import shutil
import subprocess

from live import LiveCase
from page import Page
from paths import PROFC
from profc import Recording, profc
from targets import Running, build, need

IN_COMPANY = True
NOBODY = 65534
SECRET = "hidden-from-all-but-root"

FUNCTION = """
#line 1 "{path}"
__attribute__((noinline)) void f{nr}(void) {{
	for (long i = 0; i < 100000; i++) x = x * 3 + {nr}; }}
#line 1 "{main}"
"""
PROGRAM = """
#include <stdio.h>
#include <time.h>
volatile unsigned long x = 1;
{functions}
int main(int nr, char **words)
{{
	struct timespec now;
	(void)words;
	puts("ready");
	fflush(stdout);
	do {{
		{calls}
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	}} while (nr == 1 || now.tv_sec * 1000 + now.tv_nsec / 1000000 < 300);
	return 0;
}}
"""


class HostileCase(LiveCase):
    def setUp(self):
        super().setUp()
        self.user = self.ordinary_user()
        os.chmod(self.directory, 0o755)
        self.home = self.made_directory("home", 0o700, NOBODY)

    def made_directory(self, name, mode, owner=0):
        os.mkdir(self.path(name))
        os.chmod(self.path(name), mode)
        os.chown(self.path(name), owner, owner)
        return self.path(name)

    def made_file(self, name, mode, owner=0, text=None):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text or f"// {SECRET} of {os.path.basename(name)}\n" * 3)
        os.chmod(self.path(name), mode)
        os.chown(self.path(name), owner, owner)
        return self.path(name)

    def program(self, name, paths, owner=NOBODY, flags=()):
        """Each path is the source of a function."""
        own = self.path(name + ".c")
        functions = "".join(
            FUNCTION.format(nr=nr, path=path, main=own) for nr, path in enumerate(paths)
        )
        calls = " ".join(f"f{nr}();" for nr in range(len(paths)))
        self.made_file(name + ".c", 0o644, 0, PROGRAM.format(functions=functions, calls=calls))
        subprocess.run([need("gcc"), "-g", "-O1", "-w", *flags, own, "-o", self.path(name)],
                       check=True)
        os.chown(self.path(name), owner, owner)
        return self.path(name)

    def attach(self, argv, *options, user=None):
        """Root's recording of a program that runs as the user."""
        data = self.path("attached.data")
        with Running(argv, **(self.user if user is None else user)) as target:
            target.wait_ready()
            profc("attach", "-q", "-d", "600ms", "-p", target.pid, "-o", data, *options)
        return data

    def outputs(self, data, *options, **popen):
        """All that shows sources."""
        page = os.path.join(self.made_directory("pages", 0o777), "page.html")
        texts = [
            profc("annotate", "-i", data, "-n", "100", *options, **popen).stdout,
            profc("annotate", "-i", data, "-n", "100", "--json", *options, **popen).stdout,
        ]
        profc("export", "--html", "-i", data, "-o", page, **popen)
        self.assertEqual(os.stat(page).st_mode & 0o777, 0o600)
        with open(page, encoding="utf-8") as file:
            texts.append(json.dumps(Page(file.read()).tables["sources"]))
        shutil.rmtree(os.path.dirname(page))
        return texts

    def assertHidden(self, data, paths, *options):
        for text in self.outputs(data, *options):
            for path in paths:
                if f"{SECRET} of {os.path.basename(path)}" in text:
                    self.fail(f"{path} is shown in {text[:300]}")

    def assertShown(self, data, paths, **popen):
        for text in self.outputs(data, **popen):
            for path in paths:
                if f"{SECRET} of {os.path.basename(path)}" not in text:
                    self.fail(f"{path} is not shown in {text[:300]}")


class Outputs(HostileCase):
    """In a directory of the user's."""

    def setUp(self):
        super().setUp()
        os.chmod(self.home, 0o755)
        self.data = self.path("data")
        profc("record", "-q", "-o", self.data, "--", build("spin_leaf"), "50")

    def export(self, path, status=0):
        return profc("export", "--folded", "-i", self.data, "-o", path, status=status)

    def test_none_is_written_through_a_link_of_the_user(self):
        kept = self.made_file("kept", 0o644, 0, "kept")
        for target in kept, "/dev/full":
            os.symlink(target, f"{self.home}/out")
            self.assertIn("it is a symbolic link", self.export(f"{self.home}/out", 1).stderr)
            os.unlink(f"{self.home}/out")
        os.symlink(kept, f"{self.home}/profc.data")
        profc("record", "-q", "--", build("spin_leaf"), "50", cwd=self.home)
        self.assertFalse(os.path.islink(f"{self.home}/profc.data"))
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")

    def test_none_goes_into_a_fifo_of_the_user(self):
        os.mkfifo(f"{self.home}/out", 0o666)
        os.chown(f"{self.home}/out", NOBODY, NOBODY)
        self.assertIn("it belongs to another user", self.export(f"{self.home}/out", 1).stderr)
        profc("record", "-q", "-o", f"{self.home}/out", "--", build("spin_leaf"), "50", status=125)

    def test_rights_that_the_user_has_prepared_are_not_kept(self):
        out = self.made_file("home/out", 0o6666, NOBODY)
        os.chmod(out, 0o6666)
        self.export(out)
        self.assertEqual(os.stat(out).st_mode & 0o7777, 0o600)
        self.assertEqual(os.stat(out).st_uid, 0)

    def test_a_new_one_is_for_its_owner(self):
        for kind in "html", "folded", "speedscope":
            path = self.path(kind)
            profc("export", f"--{kind}", "-i", self.data, "-o", path)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
