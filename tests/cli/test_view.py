# SPDX-License-Identifier: GPL-2.0-or-later
"""profc view: the page of a profile in a file, and the browser that opens it."""

import os
import stat
import time
import unittest
import urllib.parse
import urllib.request

from made import MadeCase
from profc import profc

NO_DISPLAY = {name: value for name, value in os.environ.items()
              if name not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME",
                              "SSH_CONNECTION", "XDG_RUNTIME_DIR", "TMPDIR")}


class View(MadeCase):
    SIZE = (2000, 300, 3)

    def setUp(self):
        super().setUp()
        self.private = self.path("private")
        os.makedirs(self.private, exist_ok=True)
        for name in os.listdir(self.private):
            os.unlink(os.path.join(self.private, name))

    def script(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def view(self, *options, status=0, **environment):
        return profc("view", self.data, *options, status=status,
                     env={**NO_DISPLAY, "TMPDIR": self.private, **environment})

    def pages(self):
        return [os.path.join(self.private, name) for name in os.listdir(self.private)]

    def assertIsPage(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.lower().startswith("<!doctype html>"))
        self.assertIn("</html>", text.lower())

    def test_page_is_for_its_owner_and_its_name_cannot_be_foreseen(self):
        self.view()
        self.view()
        first, second = self.pages()
        for page in (first, second):
            self.assertEqual(stat.S_IMODE(os.stat(page).st_mode), 0o600)
            self.assertRegex(os.path.basename(page), r"^profc-\w{6}\.html$")
            self.assertIsPage(page)
        self.assertNotEqual(first, second)

    def test_without_a_browser_it_is_said_where_the_page_is(self):
        done = self.view()
        self.assertEqual(done.stdout, "")
        self.assertIn(f"wrote {self.pages()[0]}, but did not open it: there is no display",
                      done.stderr)
        self.assertIn("hint: open it in a browser", done.stderr)
        done = self.view(SSH_CONNECTION="192.0.2.1 1 192.0.2.2 22")
        self.assertRegex(done.stderr, rf"hint: .*scp {os.uname().nodename}:{self.private}/profc-")
        done = self.view(DISPLAY=":7", PATH="/nonexistent")
        self.assertIn("did not open it: there is no browser\n", done.stderr)

    def test_browser_gets_the_url(self):
        seen = self.path("seen")
        browser = self.script("a browser", f"printf '%s\\n' \"$@\" >{seen}\n")
        os.rename(browser, self.path("browser"))
        done = self.view(BROWSER=f"{self.path('browser')} --new %s -x")
        self.assertIn(f"opened {self.pages()[0]}\n", done.stderr)
        with open(seen, encoding="utf-8") as file:
            words = file.read().splitlines()
        self.assertEqual(words[::2], ["--new", "-x"])
        path = urllib.request.url2pathname(urllib.parse.urlsplit(words[1]).path)
        self.assertIsPage(path)
        self.assertTrue(words[1].startswith("file:///"), words)

    def test_browser_that_fails_makes_room_for_the_next(self):
        seen = self.path("seen_second")
        good = self.script("good", f"echo $1 >{seen}\n")
        self.view(BROWSER=f"false:/nonexistent/browser:{good}")
        self.assertTrue(os.path.getsize(seen))
        done = self.view(BROWSER="false:/nonexistent/browser")
        self.assertIn("false did not open it, /nonexistent/browser did not open it", done.stderr)

    def test_browser_of_the_desktop(self):
        seen = self.path("seen_desktop")
        bin_directory = self.path("bin")
        os.makedirs(bin_directory)
        os.rename(self.script("xdg-open", "exit 3\n"), f"{bin_directory}/xdg-open")
        os.rename(self.script("firefox", f"echo $1 >{seen}\n"), f"{bin_directory}/firefox")
        done = self.view(PATH=bin_directory, WAYLAND_DISPLAY="wayland-0")
        self.assertIn("opened ", done.stderr)
        self.assertTrue(os.path.getsize(seen))

    def test_browser_runs_on_without_the_terminal(self):
        """In a session of its own; nobody waits for its end."""
        pid_file = self.path("pid")
        browser = self.script("stays", f"ps -o sid= -p $$ >{pid_file}.sid\n"
                                       f"readlink /proc/$$/fd/2 >{pid_file}.fd\n"
                                       f"echo $$ >{pid_file}\nexec sleep 300\n")
        self.view(BROWSER=browser)
        with open(pid_file, encoding="utf-8") as file:
            pid = int(file.read())
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                self.assertEqual(file.read(), "sleep\n")
            with open(f"{pid_file}.sid", encoding="utf-8") as file:
                self.assertEqual(int(file.read()), pid)
            with open(f"{pid_file}.fd", encoding="utf-8") as file:
                self.assertEqual(file.read(), "/dev/null\n")
        finally:
            os.kill(pid, 9)

    def test_named_page_stays(self):
        out = self.path("named.html")
        done = self.view("--no-open", "-o", out, "-m", "wall", "--thread", ".")
        self.assertIn(f"wrote {out}\n", done.stderr)
        self.assertIsPage(out)
        self.assertEqual(self.pages(), [])

    def test_old_pages_are_removed_and_nothing_else(self):
        names = ("profc-abcdef.html", "profc-abcdef.data", "mine.html")
        for name in names:
            with open(os.path.join(self.private, name), "w", encoding="utf-8"):
                pass
            os.utime(os.path.join(self.private, name), (0, time.time() - 2 * 24 * 3600))
        self.view()
        self.assertEqual(len(self.pages()), 3)
        self.assertFalse(os.path.exists(os.path.join(self.private, names[0])))

    def test_runtime_directory_is_used_if_it_is_the_users(self):
        runtime = self.path("runtime")
        os.makedirs(runtime)
        self.view(XDG_RUNTIME_DIR=runtime)
        self.assertEqual(len(os.listdir(runtime)), 1)
        self.view(XDG_RUNTIME_DIR="/nonexistent")
        self.assertEqual(len(self.pages()), 1)
        self.assertIn("cannot write a file in /nonexistent",
                      self.view(TMPDIR="/nonexistent", status=1).stderr)

    def test_what_cannot_be_shown_leaves_no_page(self):
        self.assertIn("no samples are left", self.view("--thread", "nobody", status=1).stderr)
        self.view("--function", "(", status=2)
        self.view("-o", "-", status=2)
        self.view("other.data", status=2)
        self.view("-m", "live", status=1)
        self.assertEqual(self.pages(), [])


if __name__ == "__main__":
    unittest.main()
