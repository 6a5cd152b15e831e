# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs and --control: nothing is lost, and nobody else is let in."""

import json
import os
import resource
import signal
import subprocess

import procfs
from live import LiveCase
from paths import PROFC
from profc import Recorder, Recording, profc
from targets import Running, build

IN_COMPANY = True
NOBODY = 65534
FAST = ("-F", "1000", "--max-overhead", "0")  # of short programs, or they may have no sample


def samples(path):
    return Recording(path).report("-m", "samples")["samples"]


class Recordings(LiveCase):
    def record(self, *options, command=None, **popen):
        command = command or [build("spin_leaf"), "100"]
        return profc("record", *options, "--", *command, cwd=self.directory, **popen)

    def test_one_without_samples_displaces_none_that_has_some(self):
        self.record()
        before = os.stat(self.path("profc.data"))
        for command in (
            ["record", "--paused", "--", build("spin_leaf"), "50"],
            ["attach", "--paused", "-d", "50ms", "-p", os.getpid()],
        ):
            done = profc(*command, status=None, cwd=self.directory)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("profc.data is left as it was", done.stderr)
            self.assertEqual(os.listdir(self.directory), ["profc.data"])
            self.assertEqual(os.stat(self.path("profc.data")).st_ino, before.st_ino)

    def test_page_is_written_beside_the_profile(self):
        done = self.record("--html", "-o", "first.profc")
        self.assertIn("profc: wrote first.html\n", done.stderr)
        self.assertEqual(os.stat(self.path("first.html")).st_mode & 0o777, 0o600)
        with open(self.path("first.html"), encoding="utf-8") as page:
            self.assertIn("spin_leaf", page.read())
        done = self.record("-q", "--html=named.html", "--no-symbols",
                           command=["sh", "-c", f"{build('spin_leaf')} 100; exit 7"], status=7)
        self.assertEqual(done.stderr, "")
        self.assertEqual(sorted(os.listdir(self.directory)),
                         ["first.html", "first.profc", "named.html", "profc.data"])
        # What is not written is told by the status; the profile is whole.
        done = self.record("--html=missing/page.html", status=125)
        self.assertIn("cannot write missing/page.html", done.stderr)
        self.assertGreater(samples(self.path("profc.data")), 0)
        self.record("--html", "-o", "-", status=2)
        done = self.record("--html", "-o", "/dev/null", status=125)
        self.assertIn("there is no page of a recording that goes to /dev/null", done.stderr)
        done = self.record("--html", command=["page.html", build("spin_leaf")], status=127)
        self.assertIn("hint: the name of the page is written so: --html=page.html", done.stderr)

    def test_page_is_opened(self):
        browser = self.path("browser")
        with open(browser, "w", encoding="utf-8") as script:
            script.write(f"#!/bin/sh\necho $1 >{self.path('seen')}\n")
        os.chmod(browser, 0o755)
        environment = {**os.environ, "BROWSER": browser, "TMPDIR": self.directory}
        environment.pop("XDG_RUNTIME_DIR", None)
        # Of memory alone, too.
        self.record("--open", "--mem", "--no-cpu", command=[build("malloc_pairs"), "1000", "10000", "1"],
                    env=environment)
        with open(self.path("seen"), encoding="utf-8") as file:
            page = file.read().strip().removeprefix("file://")
        self.assertGreater(os.path.getsize(page), 1000)
        done = profc("attach", "--html", "--open", "-p", os.getpid(), "-d", "200ms",
                     cwd=self.directory, env=environment)
        self.assertIn("opened profc.html", done.stderr)

    def inodes(self):
        return {entry.name: entry.inode() for entry in os.scandir(self.directory)}

    def test_one_without_samples_is_not_kept_in_the_place_of_one_that_has_some(self):
        """Nor one that was killed before it had any, which nobody could put right."""
        self.record()
        self.record()
        kept = os.stat(self.path("profc.data")).st_ino
        with Running(["sleep", "1000"]) as target:
            command = [PROFC, "attach", "--paused", "-p", str(target.pid)]
            with subprocess.Popen(command, cwd=self.directory) as killed:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                self.eventually(lambda: self.inodes().get("profc.data", kept) != kept,
                                "another file in the place of the former")
                killed.kill()
        self.record()
        self.assertEqual(os.stat(self.path("profc.data.old")).st_ino, kept)
        self.assertEqual(sorted(os.listdir(self.directory)), ["profc.data", "profc.data.old"])

    def start_four(self, *options):
        """Four at once, each of a program of its own; none ends before all have begun."""
        script = "touch began-$0; until [ $(ls began-* | wc -l) = 4 ]; do sleep 0.01; done; exec $1 200"
        return [
            subprocess.Popen(
                [PROFC, "record", *options, "--", "sh", "-c", script, str(nr), build("spin_leaf")],
                cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for nr in range(4)
        ]

    def test_four_at_once_lose_none(self):
        ended = [(process.communicate(timeout=60)[1], process) for process in self.start_four()]
        self.assertEqual([process.returncode for _, process in ended], [0] * 4)
        written = sorted(name for name in os.listdir(self.directory) if "profc" in name)
        self.assertEqual(written, ["profc.data", *(f"profc.data.{nr}" for nr in (2, 3, 4))])
        infos = [json.loads(Recording(self.path(name)).info("--json")) for name in written]
        self.assertEqual(len({tuple(info["command"]) for info in infos}), 4)
        warnings = [words for words, _ in ended if "is being written by another profc" in words]
        self.assertEqual(len(warnings), 3)
        for words in warnings:
            self.assertRegex(words, r"this recording goes to (profc\.data\.[234])\n(?s:.*)wrote \1")

    def test_file_that_another_records_to_is_refused(self):
        """It was asked for by name: neither is written under another, nor is any command run."""
        with Recorder(self.directory, "record", "--", build("spin_leaf"), "20000") as recorder:
            self.wait_until_recorded(recorder.path)
            done = profc("record", "-o", recorder.path, "--", "echo", "ran", status=125)
            self.assertEqual(done.stdout, "")
            self.assertIn("another profc is recording to it", done.stderr)
            for command in (["symbolize", "-i", recorder.path], ["merge", "-o", recorder.path]):
                profc("record", "-o", self.path("other"), "--", build("spin_leaf"), "50")
                done = profc(*command, *[self.path("other")] * (command[0] == "merge"), status=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("a recording is being written to it", done.stderr)
            whole = recorder.interrupt()
        self.assertGreater(samples(whole.path), 0)

    def test_file_that_is_gone_at_the_end_is_said(self):
        for what, words in (("rm", "removed"), ("mv -t elsewhere", "renamed")):
            os.makedirs(self.path("elsewhere"), exist_ok=True)
            script = f"{build('spin_leaf')} 100; {what} mine"
            done = self.record("-o", "mine", command=["sh", "-c", script], status=125)
            self.assertIn(f"profc: mine was {words} while it was written: what was recorded ", done.stderr)
            self.assertNotIn("wrote", done.stderr)
        self.assertGreater(samples(self.path("elsewhere/mine")), 0)

    def test_fifo_under_the_default_name_is_refused(self):
        """Somebody else may read it; and if nobody does profc hung, without a word."""
        os.mkfifo(self.path("profc.data"))
        done = self.record(status=125, timeout=20)
        self.assertIn("cannot write profc.data: it is not a regular file", done.stderr)
        self.assertIn("-o FILE", done.stderr)

    def test_profiles_are_their_owner_s_alone(self):
        """They may tell of processes of others, whatever the umask."""
        fifo = self.path("control")
        for umask in (0o000, 0o777):
            with Running(["sleep", "1000"]) as target:
                with Recorder(
                    self.directory, "attach", "--control", f"fifo:{fifo}", "-p", target.pid,
                    preexec_fn=lambda: os.umask(umask),
                ) as recorder:
                    self.eventually(lambda: procfs.observer(target.pid), "attaching")
                    self.eventually(lambda: os.path.exists(fifo), "the fifo")
                    os.chmod(fifo, 0o600)
                    with open(fifo, "w", encoding="utf-8") as control:
                        control.write(f"snapshot {self.path('part')}\n")
                    self.eventually(lambda: os.path.exists(self.path("part")), "the snapshot")
                    whole = recorder.interrupt()
                merge = ["merge", "-o", self.path("merged"), whole.path, whole.path]
                profc(*merge, preexec_fn=lambda: os.umask(umask))
            for path in (whole.path, self.path("part"), self.path("merged")):
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o600, path)
                os.unlink(path)

    def test_too_little_memory_is_named(self):
        """Whatever it is that finds no room: how much is too little differs between machines."""
        nr_named = 0
        for kilobytes in range(4000, 48000, 4000):
            limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (kilobytes << 10, kilobytes << 10))
            done = self.record(status=None, preexec_fn=limit, timeout=30)
            if done.returncode and "while loading shared libraries" not in done.stderr:
                self.assertEqual(done.returncode, 125)
                self.assertIn("ulimit -v", done.stderr)
                nr_named += 1
        self.assertGreater(nr_named, 0)


class Shared(LiveCase):
    """A directory as /tmp is: anybody may make files there, and only remove their own."""

    def setUp(self):
        super().setUp()
        self.user = self.ordinary_user()
        os.chmod(self.directory, 0o755)
        self.profiler, self.program = self.public(PROFC), self.public(build("spin_leaf"))
        self.shared = self.path("shared")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o1777)
        self.victim = self.path("victim")
        with open(self.victim, "w", encoding="utf-8") as file:
            file.write("of root")

    def by_nobody(self, *command):
        subprocess.run(command, check=True, cwd=self.shared, **self.user)

    def snapshot(self, path):
        """What a recording by root says of a snapshot there."""
        with Recorder(
            self.directory, "record", "--control", f"fifo:{self.path('control')}", "--",
            build("spin_leaf"), "30000",
        ) as recorder:
            self.wait_until_recorded(recorder.path, 20e6)
            self.eventually(lambda: procfs.children(recorder.pid), "the command")
            (command,) = procfs.children(recorder.pid)
            with open(self.path("control"), "w", encoding="utf-8") as control:
                control.write(f"snapshot {path}\nstop\n")
            self.eventually(lambda: not procfs.observer(command), "the end of the recording")
            os.kill(command, signal.SIGTERM)
            return recorder.finish().stderr

    def test_snapshot_follows_no_link(self):
        path = os.path.join(self.shared, "snapshot")
        self.by_nobody("ln", "-s", self.victim, path)
        said = self.snapshot(path)
        self.assertIn(f"cannot write {path}: it is a symbolic link", said)
        with open(self.victim, encoding="utf-8") as file:
            self.assertEqual(file.read(), "of root")

    def test_snapshot_leaves_files_and_fifos_of_others_alone(self):
        for make in ("touch", "mkfifo"):
            path = os.path.join(self.shared, make)
            self.by_nobody(make, path)
            before = os.stat(path)
            self.assertIn(f"cannot write {path}: it belongs to another user", self.snapshot(path))
            self.assertEqual(os.stat(path).st_ino, before.st_ino)
            self.assertFalse(os.path.exists(path + ".old"))

    def test_snapshot_keeps_the_one_before(self):
        """As -o does; not so of one that would be written over the recording itself."""
        path = self.path("snapshot")
        for text in ("first", "second"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertNotIn("cannot", self.snapshot(path))
            with open(path + ".old", encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
            self.assertGreater(samples(path), 0)

    def test_snapshot_is_not_written_over_the_recording(self):
        with Recorder(
            self.directory, "record", "--control", f"fifo:{self.path('control')}", "--",
            build("spin_leaf"), "1000",
        ) as recorder:
            self.wait_until_recorded(recorder.path, 20e6)
            with open(self.path("control"), "w", encoding="utf-8") as control:
                control.write(f"snapshot {recorder.path}\n")
            whole = recorder.finish()
        self.assertIn("a recording is being written to it", whole.stderr)
        self.assertEqual(whole.status, 0, whole.stderr)
        self.assertGreaterEqual(whole.report()["total_ns"], 900e6)

    def test_recording_goes_into_no_fifo_of_another(self):
        path = os.path.join(self.shared, "profc.data")
        self.by_nobody("mkfifo", path)
        for options in ((), ("-o", path)):
            done = profc("record", *options, "--", "true", status=125, cwd=self.shared, timeout=20)
            self.assertIn("cannot write", done.stderr)

    def control(self, path, user, status):
        done = subprocess.run(
            [self.profiler, "record", *FAST, "--control", f"fifo:{path}", "-o", "/dev/null", "--",
             self.program, "100"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=30,
            **user,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_control_obeys_no_fifo_of_another(self):
        path = os.path.join(self.shared, "control")
        self.by_nobody("mkfifo", "-m", "600", path)
        said = self.control(path, {}, 125)
        self.assertIn(f"the FIFO {path} is not obeyed: it belongs to another user (uid {NOBODY})", said)
        self.control(path, self.user, 0)

    def test_control_obeys_no_fifo_that_others_may_write_to(self):
        for owner, user, modes in (
            (0, {}, {0o600: 0, 0o644: 0, 0o660: 0, 0o602: 125, 0o666: 125}),
            (0, self.user, {0o644: 0, 0o664: 0, 0o666: 125}),
            (NOBODY, self.user, {0o600: 0, 0o644: 0, 0o620: 125, 0o602: 125}),
        ):
            for mode, status in modes.items():
                path = os.path.join(self.shared, f"{owner}-{mode:o}-{len(user)}")
                os.mkfifo(path)
                os.chmod(path, mode)
                os.chown(path, owner, owner)
                with self.subTest(owner=owner, mode=oct(mode), by_root=not user):
                    said = self.control(path, user, status)
                    self.assertEqual("other users may write to it" in said, status != 0, said)
