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
            profc("attach", "-q", "-F", "1000", "--max-overhead", "0", "-d", "600ms", "-p",
                  target.pid, "-o", data, *options)
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


class Sources(HostileCase):
    def hidden(self):
        """What the user may not read, by every way to name it."""
        closed = self.made_directory("closed", 0o700)
        paths = [
            self.made_file("only-root", 0o600),
            self.made_file("closed/others-may-read", 0o644),
            f"{closed}/../closed/./others-may-read",
        ]
        for name, target in ("link-to-file", paths[0]), ("link-to-directory", closed):
            os.symlink(target, f"{self.home}/{name}")
            os.chown(f"{self.home}/{name}", NOBODY, NOBODY, follow_symlinks=False)
        return paths + [f"{self.home}/link-to-file",
                        f"{self.home}/link-to-directory/others-may-read"]

    def assertNothingOf(self, data):
        self.assertHidden(data, ["only-root", "others-may-read"])

    def test_root_shows_none_that_the_user_may_not_read(self):
        program = self.program("program", self.hidden())
        for options in ["--with-source"], []:
            data = self.attach([program], *options)
            self.assertNothingOf(data)
        done = profc("annotate", "-i", data, self.path("only-root"))
        self.assertIn("is not shown: it is named by a program or recording of a user who may not "
                      "read it", done.stderr)
        # What root names, root allows.
        done = profc("annotate", "-i", data, "--source-path", f"{self.directory}={self.directory}",
                     self.path("only-root"))
        self.assertIn(f"{SECRET} of only-root", done.stdout)
        # But not where that leads elsewhere.
        done = profc("annotate", "-i", data, "--source-path", f"{self.directory}/closed=/var",
                     "others-may-read")
        self.assertNotIn(SECRET, done.stdout)

    def test_root_shows_what_the_user_may_read(self):
        paths = [self.made_file("public", 0o644), self.made_file("home/own", 0o600, NOBODY)]
        self.assertShown(self.attach([self.program("program", paths)]), paths)

    def test_a_relative_path_is_none_that_the_user_may_not_reach(self):
        self.made_directory("closed", 0o700)
        self.made_directory("closed/here", 0o755)
        self.made_file("closed/here/relative", 0o644)
        data = self.attach([self.program("program", ["relative"])])
        done = profc("annotate", "-i", data, cwd=self.path("closed/here"))
        self.assertNotIn(SECRET, done.stdout)

    def test_nothing_waits_for_a_fifo_or_reads_a_device_or_a_file_without_end(self):
        fifo, large = f"{self.home}/fifo", self.made_file("home/large", 0o644, NOBODY)
        os.mkfifo(fifo, 0o666)
        os.truncate(large, 1 << 40)
        paths = [fifo, "/dev/zero", "/dev/tty", "/proc/kmsg", large]
        data = self.attach([self.program("program", paths)], "--with-source")
        self.outputs(data)
        self.assertHidden(data, [large])

    def test_a_recording_of_the_user_has_no_more_rights_than_the_user(self):
        """Whatever it says of itself: here of a program of root's."""
        program = self.program("program", self.hidden(), owner=0)
        data = f"{self.home}/data"
        profc("record", "-q", "-o", data, "--", program, "until", cwd=self.home, **self.user)
        self.assertNothingOf(data)
        with open(data, "rb") as pipe:
            done = profc("annotate", "-i", "-", "-n", "100", stdin=pipe)
        self.assertNotIn(SECRET, done.stdout)
        # What root makes of it is no more trusted.
        os.unlink(program)
        profc("symbolize", "-i", data, "-o", self.path("named.data"))
        self.assertNothingOf(self.path("named.data"))
        profc("merge", data, data, "-o", self.path("merged.data"))
        self.assertNothingOf(self.path("merged.data"))

    def test_roots_own_programs_show_what_root_may_read(self):
        self.made_directory("closed", 0o700)
        paths = [self.made_file("only-root", 0o600), self.made_file("closed/others-may-read", 0o644)]
        data = self.attach([self.program("program", paths, owner=0)], user={})
        self.assertShown(data, paths)

    def test_a_user_sees_what_the_user_may_read(self):
        paths = [self.made_file("home/own", 0o600, NOBODY)]
        for owner in NOBODY, 0:
            program = self.program("program", paths, owner)
            data = f"{self.home}/data"
            profc("record", "-q", "-F", "1000", "--max-overhead", "0", "-o", data, "--", program,
                  "until", cwd=self.home, **self.user)
            done = profc("annotate", "-i", data, "-n", "100", cwd=self.home, **self.user)
            self.assertIn(f"{SECRET} of own", done.stdout)

    def test_top_has_names_of_programs_that_only_their_user_may_reach(self):
        program = self.program("home/program", [self.made_file("home/own", 0o600, NOBODY)])
        with Running([program], **self.user) as target:
            target.wait_ready()
            for user in self.user, {}:
                done = profc("top", "--times", "6", "--interval", "300ms", "-p", target.pid,
                             cwd="/", **user)
                self.assertIn("f0", done.stdout)

    def test_a_link_of_a_user_on_the_way_of_roots_own_program(self):
        """In a directory where it was built, and that a user has made again."""
        secret = self.made_file("only-root", 0o600)
        os.symlink(secret, f"{self.home}/built.c")
        os.chown(f"{self.home}/built.c", NOBODY, NOBODY, follow_symlinks=False)
        data = self.attach([self.program("program", [f"{self.home}/built.c"], owner=0)], user={})
        self.assertHidden(data, [secret])

    def test_a_program_of_root_that_others_may_write_to_is_not_roots_own(self):
        program = self.program("program", self.hidden(), owner=0)
        os.chmod(program, 0o777)
        self.assertNothingOf(self.attach([program]))

    def test_a_debug_file_of_the_user_beside_a_program_of_roots(self):
        program = self.program("program", self.hidden(), owner=0)
        os.mkdir(f"{self.home}/.debug")
        debug = f"{self.home}/.debug/names"
        for command in (
            ["objcopy", "--only-keep-debug", program, debug],
            ["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program,
             f"{self.home}/program"],
        ):
            subprocess.run([need(command[0]), *command[1:]], check=True)
        os.chown(debug, NOBODY, NOBODY)
        data = self.attach([f"{self.home}/program"])
        self.assertEqual(Recording(data).function("f0")["function"], "f0")
        self.assertNothingOf(data)

    def test_a_file_of_root_in_a_container_is_not_roots(self):
        paths = [self.made_file("only-root", 0o600)]
        program = self.program("program", paths, owner=0)
        inside = f"mount -t tmpfs none {self.home} && cp {program} {self.home} && exec {self.home}/program"
        data = self.attach([need("unshare"), "--mount", "sh", "-c", inside], user={})
        self.assertEqual(Recording(data).function("f0")["function"], "f0")
        self.assertHidden(data, paths)


class NamesOfCode(HostileCase):
    """Perf maps and jitdumps."""

    SECRET_MAP = f"1000 7ffffffff000 {SECRET}\n"

    def setUp(self):
        super().setUp()
        self.program_path = self.public(build("names_own_code"))
        self.secret = self.made_file("secret.map", 0o600, 0, self.SECRET_MAP)

    def record(self, before, *wrapper):
        """Before the program gets the same pid, `before` puts something where its map would be."""
        data = self.path("map.data")
        script = f"map=/tmp/perf-$$.map; {before}; exec {self.program_path} silent 300 f"
        if not wrapper:
            wrapper = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        done = profc("record", "-q", "-o", data, "--", *wrapper, "sh", "-c", script,
                     cwd=self.home)
        for left in os.listdir("/tmp"):
            if left.startswith("perf-") and os.stat(f"/tmp/{left}", follow_symlinks=False).st_uid \
                    == NOBODY:
                os.unlink(f"/tmp/{left}")
        texts = [self.report(data), profc("info", "-i", data).stdout]
        return "\n".join(texts)

    @staticmethod
    def report(data):
        return json.dumps(Recording(data).rows())

    def test_a_fifo_is_not_waited_for(self):
        self.assertIn("is not a regular file", self.record("mkfifo $map"))

    def test_a_link_is_not_followed(self):
        said = self.record(f"ln -s {self.secret} $map")
        self.assertNotIn(SECRET, said)
        self.assertIn("is a symbolic link", said)

    def test_a_map_of_the_user_is_read(self):
        self.assertIn("own_name", self.record('echo "1000 7ffffffff000 own_name" >$map'))

    def user_namespace(self):
        reason = subprocess.run(
            ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
             need("unshare"), "--user", "--map-root-user", "--mount", "true"],
            check=False, capture_output=True, text=True).stderr
        if reason:
            self.skipTest(f"no user namespaces here: {reason}")
        return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                need("unshare"), "--user", "--map-root-user", "--mount"]

    def test_a_file_of_root_that_is_mounted_there_is_not_read(self):
        said = self.record(f": >$map; mount --bind {self.secret} $map || exit",
                           *self.user_namespace())
        self.assertNotIn(SECRET, said)

    def test_a_tmp_that_leads_out_of_the_root_of_the_process(self):
        """By a link, which is followed as the process would, and so within its root."""
        outside = self.made_directory("outside", 0o777)
        inside = " && ".join([
            f"mount -t tmpfs none {self.home}",
            f"cd {self.home}",
            "mkdir lib lib64 bin usr proc old",
            "for d in lib lib64 bin usr; do mount --rbind /$d $d; done",
            f"cp {self.program_path} program",
            f"ln -s {outside} tmp",
            f"ln -s /proc/1/root{outside} magic",
            "mount --rbind /proc proc",
            f'echo "1000 7ffffffff000 {SECRET}" >{outside}/perf-$$.map',
            "exec chroot . /program silent 300 f",
        ])
        data = self.path("chroot.data")
        profc("record", "-q", "-o", data, "--", *self.user_namespace(), "sh", "-c", inside)
        self.assertNotIn(SECRET, self.report(data))

    def test_a_jitdump_that_becomes_a_link(self):
        data = self.path("dump.data")
        script = f"""{self.program_path} dump 400 f & sleep 0.1
            ln -sf {self.secret} jit-$!.dump; wait"""
        profc("record", "-q", "-o", data, "--", "setpriv", "--reuid", str(NOBODY), "--regid",
              str(NOBODY), "--clear-groups", "sh", "-c", script, cwd=self.home)
        said = self.report(data)
        self.assertNotIn(SECRET, said)
        self.assertIn("f", said)


class Programs(HostileCase):
    """Files of programs, and what is run on them."""

    def test_debug_files_that_are_fifos_or_lead_elsewhere(self):
        """Beside the program, by a link out of its directory, and as the common file of dwz."""
        program = self.program("program", [self.made_file("public", 0o644)])
        os.mkfifo(f"{self.home}/fifo", 0o666)
        os.mkdir(f"{self.home}/.debug")
        os.mkfifo(f"{self.home}/.debug/names", 0o666)
        supplement = f"{self.home}/fifo".encode() + b"\0" + bytes(range(20))
        for link, name in ("names", "beside"), (f"../../..{self.home}/fifo", "outside"):
            with open(self.path("link"), "wb") as section:
                section.write(link.encode().ljust(len(link) // 4 * 4 + 4, b"\0") + b"1234")
            with open(self.path("supplement"), "wb") as section:
                section.write(supplement)
            odd = f"{self.home}/{name}"
            subprocess.run(
                [need("objcopy"), "--strip-debug", f"--add-section=.gnu_debuglink={self.path('link')}",
                 f"--add-section=.gnu_debugaltlink={self.path('supplement')}", program, odd],
                check=True)
            data = self.attach([odd])
            self.assertEqual(Recording(data).function("f0")["module"], odd)

    def test_split_debug_information_that_is_a_fifo(self):
        program = self.program("program", [self.made_file("public", 0o644)],
                               flags=["-gsplit-dwarf", "-dumpbase", "", "-dumpdir", f"{self.home}/"])
        for name in os.listdir(self.home):
            os.unlink(f"{self.home}/{name}")
            os.mkfifo(f"{self.home}/{name}", 0o666)
        os.mkfifo(program + ".dwp", 0o666)
        self.assertEqual(Recording(self.attach([program])).function("f0")["module"], program)

    def test_a_program_that_became_something_else_while_it_ran(self):
        """The file that is mapped is read, or none."""
        program = self.program("program", [self.made_file("public", 0o644)])
        secret = self.made_file("only-root", 0o600)
        for replace in (lambda: os.mkfifo(program, 0o666), lambda: os.symlink(secret, program)):
            shutil.copy(program, self.path("kept"))
            with Running([program], **self.user) as target:
                target.wait_ready()
                os.unlink(program)
                replace()
                data = self.path("replaced.data")
                profc("attach", "-q", "-d", "500ms", "--no-symbols", "-p", target.pid, "-o", data)
                profc("attach", "-q", "-d", "500ms", "-p", target.pid, "-o", self.path("named.data"))
            self.assertEqual(Recording(self.path("named.data")).function("f0")["function"], "f0")
            profc("symbolize", "-i", data, status=None)
            profc("annotate", "-i", self.path("named.data"), "--asm", "f0", status=None)
            os.unlink(program)
            shutil.move(self.path("kept"), program)

    def test_objdump_has_the_rights_of_the_owner(self):
        """And neither the environment, the directory, a terminal nor a descriptor of root's."""
        seen = self.made_directory("seen", 0o777)
        tools = self.made_directory("tools", 0o755)
        with open(f"{tools}/objdump", "w", encoding="utf-8") as script:
            script.write(f"""#!/bin/sh
                PATH={os.environ['PATH']}
                {{ id -u; id -g; id -G; pwd; env; ls /proc/self/fd; (: </dev/tty) && echo terminal
                }} >{seen}/$$ 2>&1; exec objdump "$@"\n""")
        os.chmod(f"{tools}/objdump", 0o755)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TOKEN": SECRET}
        need("objdump")
        for owner, ids in (NOBODY, "65534\n65534\n65534\n/\n"), (0, "0\n0\n"):
            program = self.program("program", [self.made_file("public", 0o644)], owner)
            data = self.attach([program])
            done = profc("annotate", "-i", data, "--asm", "f0", env=environment)
            self.assertIn("ret", done.stdout)
            for name in os.listdir(seen):
                with open(f"{seen}/{name}", encoding="utf-8") as file:
                    said = file.read()
                self.assertTrue(said.startswith(ids), said)
                self.assertNotIn("terminal\n", said)
                self.assertEqual(SECRET in said, owner == 0, said)
                os.unlink(f"{seen}/{name}")


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
