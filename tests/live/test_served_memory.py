# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a program serves, which never answers, in the memory of a target."""

import os
import signal
import stat
import subprocess

import procfs
from live import LiveCase
from profc import Recorder, attach
from targets import Running, build, need

IN_COMPANY = True
NOBODY = 65534
SILENT_MS = "300000"
# Far more than profc takes on a busy machine, and far less than the file system.
PATIENCE = 120
FUSE = os.makedev(10, 229)


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


class ServedMemory(LiveCase):
    """Whoever waits for such a file cannot be killed: as root, and as a user against root."""

    def as_root(self, *arguments):
        return [build("fuse_silent"), *arguments], {}

    def as_user(self, *arguments):
        """In a namespace of the user's own, where all may mount."""
        self.ordinary_user()
        device = self.path("fuse")
        if not os.path.exists(device):
            os.mknod(device, 0o666 | stat.S_IFCHR, FUSE)
            os.chmod(device, 0o666)
            os.chmod(self.directory, 0o755)
        return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                need("unshare"), "--user", "--map-root-user", "--mount",
                build("fuse_silent"), *arguments], {"env": {**os.environ, "FUSE_DEVICE": device}}

    def silent(self, who, mode, *words):
        argv, options = who(mode, "1")
        if subprocess.run(argv, capture_output=True, check=False, **options).returncode == 77:
            self.skipTest("a file system of FUSE is not to be mounted")
        argv, options = who(mode, SILENT_MS, *words)
        return Running(argv, **options)

    def client(self, target):
        target.wait_ready()
        (client,) = [pid for pid in procfs.children(target.pid) if comm(pid) == "client"]
        return client

    def test_samples_and_counts_are_taken_all_the_same(self):
        for who, mode in (
            (self.as_root, "code"), (self.as_root, "beside"), (self.as_user, "overlay"),
        ):
            with self.subTest(who=who.__name__, mode=mode), self.silent(who, mode) as target:
                client = self.client(target)
                recording = attach(self.directory, client, "--count=count_on", "-d", "500ms",
                                   timeout=PATIENCE)
                self.assertIn("1 function", recording.stderr)
                self.assertGreater(recording.function("count_main")["total_ns"], 0)
                self.assertUntouched(client)

    def test_a_server_that_finds_names_and_is_silent_then(self):
        """Whoever looks a name up again, or opens what was found, waits for ever."""
        for who, mode in (self.as_root, "code"), (self.as_user, "overlay"):
            for lookups in "1", "2":
                with self.subTest(who=who.__name__, mode=mode, lookups=lookups), \
                        self.silent(who, mode, lookups) as target:
                    client = self.client(target)
                    recording = attach(self.directory, client, "--count=count_on", "-d", "300ms",
                                       timeout=PATIENCE)
                    self.assertGreater(recording.function("count_main")["total_ns"], 0)
                    self.assertUntouched(client)

    def test_a_descriptor_whose_name_is_that_of_probes(self):
        """As what a killed profc has left behind is looked for by name."""
        for who in self.as_root, self.as_user:
            with self.subTest(who=who.__name__), self.silent(who, "named", "0") as target:
                client = self.client(target)
                recording = attach(self.directory, client, "--count=count_on", "-d", "300ms",
                                   timeout=PATIENCE)
                self.assertGreater(recording.function("count_main")["total_ns"], 0)
                self.assertUntouched(client)

    def test_a_map_of_code_in_a_directory_that_does_not_answer(self):
        """At first it does: then the map is looked for again, as another one may have its name."""
        for who, lookups in (self.as_root, "0"), (self.as_root, "1"), (self.as_user, "1"):
            with self.subTest(who=who.__name__, lookups=lookups), \
                    self.silent(who, "tmp", lookups) as target:
                client = self.client(target)
                recording = attach(self.directory, client, "-d", "900ms", timeout=PATIENCE)
                self.assertGreater(sum(row["self_ns"] for row in recording.rows()), 0)
                self.assertUntouched(client)

    def test_blocks_are_recorded_all_the_same(self):
        with self.silent(self.as_root, "beside") as target:
            client = self.client(target)
            recording = attach(self.directory, client, "--mem", "-d", "300ms", timeout=PATIENCE)
            self.assertIn("blocks", recording.stderr)
            self.assertUntouched(client)

    def test_profc_ends_when_it_is_told_to(self):
        with self.silent(self.as_root, "code") as target:
            client = self.client(target)
            with Recorder(self.directory, "attach", "-p", client, "--count=count_on") as recorder:
                self.eventually(lambda: os.path.exists(recorder.path), "the recording")
                recorder.process.send_signal(signal.SIGTERM)
                recorder.process.wait(timeout=PATIENCE)
            self.assertUntouched(client)

