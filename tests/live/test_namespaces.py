# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets in namespaces of their own, as in containers: other ids, other files."""

import os
import subprocess

import procfs
from live import LiveCase
from paths import PROFC
from profc import attach, record
from targets import Running, build, need

IN_COMPANY = True
FAST = ("-F", "1000", "--max-overhead", "0")  # in an emulated machine a stop takes milliseconds


class Namespaces(LiveCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can make namespaces")

    def in_namespaces(self, prepare, program, *options):
        """A shell in namespaces of its own that prepares and becomes the program."""
        script = f"set -e; {prepare}; exec {program} 20000"
        return Running([need("unshare"), "-pf", "--kill-child", *options, "sh", "-c", script])

    def inner_pid(self, target):
        """The program's id out here: it is the child of unshare."""
        found = []

        def appeared():
            with open(f"/proc/{target.pid}/task/{target.pid}/children", encoding="ascii") as file:
                found[:] = [int(word) for word in file.read().split()]
            if not found:
                return False
            return os.readlink(f"/proc/{found[0]}/exe").split()[0].endswith("spin_leaf")

        self.eventually(appeared, "start of the program in the namespaces")
        return found[0]

    def check(self, target):
        pid = self.inner_pid(target)
        self.assertTrue(procfs.status(pid)["NSpid"].endswith("\t1"))
        recording = attach(self.directory, pid, "-d", "700ms", *FAST)
        self.assertUntouched(pid)
        row = recording.function("spin_leaf")
        self.assertMostlyIn(recording, "spin_leaf", 0.9)
        self.assertEqual(row["file"].rsplit("/", 1)[-1], "spin_leaf.c")
        self.assertComplete(recording, 0.97)

    def test_other_ids(self):
        with self.in_namespaces("true", build("spin_leaf"), "--mount-proc") as target:
            self.check(target)

    def test_program_that_only_its_mount_namespace_has(self):
        prepare = (
            "mount -t tmpfs none /mnt; "
            f"cp {build('spin_leaf')} /mnt/spin_leaf"
        )
        with self.in_namespaces(prepare, "/mnt/spin_leaf", "-m") as target:
            self.check(target)

    def test_program_with_another_root(self):
        root = self.path("root")
        os.mkdir(root)
        libraries = subprocess.run(
            ["ldd", build("spin_leaf")], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        files = [word for word in libraries.split() if word.startswith("/")]
        prepare = (
            f"cp --parents -L {' '.join(files)} {root}; cp {build('spin_leaf')} {root}/spin_leaf"
        )
        with self.in_namespaces(prepare, f"chroot {root} /spin_leaf", "-m") as target:
            self.check(target)

    def test_program_deleted_while_it_runs(self):
        program = self.path("spin_leaf")
        with self.in_namespaces(
            f"cp {build('spin_leaf')} {program}", f"{program}", "--mount-proc"
        ) as target:
            self.inner_pid(target)
            os.unlink(program)
            self.check(target)

    def test_proc_that_shows_other_processes_or_none(self):
        """Under the ids of this namespace it shows the wrong ones: nothing of it may be used."""
        hide = ["-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        for options in (["-pf"], hide):
            for command in (
                ["record", "-o", self.path("x"), build("spin_leaf"), "50"],
                ["attach", "-p", "1", "-d", "50ms", "-o", self.path("x")],
                ["dump", "-p", "1"],
                ["doctor"],
            ):
                done = subprocess.run(
                    [need("unshare"), *options, PROFC, *command],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                )
                self.assertIn("another PID namespace", done.stdout)
                self.assertIn("mount -t proc", done.stdout)
                self.assertEqual(done.returncode, 125 if command[0] == "record" else 1)
                self.assertFalse(os.path.exists(self.path("x")))

    def test_recorded_command_makes_its_own(self):
        recording = record(
            self.directory,
            [need("unshare"), "-pf", "--mount-proc", build("spin_leaf"), "500"],
        )
        self.assertGreater(recording.function("spin_leaf")["total_ns"], 450e6)
