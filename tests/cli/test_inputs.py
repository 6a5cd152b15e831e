# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are no recordings: a clear message and status 1, never a crash."""

import gzip
import os
import shutil
import subprocess

from live import LiveCase
from paths import PROFC
from profc import profc, record
from targets import build

READERS = (("report",), ("annotate",), ("info",), ("export", "--folded"))


class BadInput(LiveCase):
    def refused(self, path, *words):
        for reader in READERS:
            with self.subTest(reader=reader, path=path):
                done = profc(*reader, "-i", path, status=1, timeout=30)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("profc: "), done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_missing_file(self):
        self.refused(self.path("missing"), "missing", "No such file")

    def test_missing_default_file_hints_at_record(self):
        for reader in READERS:
            done = profc(*reader, status=1, cwd=self.directory)
            self.assertIn("profc.data", done.stderr)
            self.assertRegex(done.stderr, "hint: .*profc record")

    def test_empty_file(self):
        with open(self.path("empty"), "wb"):
            pass
        self.refused(self.path("empty"), "empty")

    def test_directory(self):
        self.refused(self.directory, self.directory)

    def test_text_file(self):
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("this is no recording\n" * 100)
        self.refused(self.path("text"), "text")

    def test_output_of_a_command_before_the_profile_is_guessed_at(self):
        with open(self.path("mixed"), "wb") as file:
            file.write(b"what the command printed\n" * 100)
        with open(self.path("mixed"), "rb") as file:
            done = profc("report", "-i", "-", status=1, stdin=file)
        self.assertIn("hint: with 'profc record -o - COMMAND'", done.stderr)

    def test_zstd_file_of_something_else(self):
        with open(self.path("other.zst"), "wb") as file:
            subprocess.run(["zstd", "-qc"], input=b"other" * 1000, stdout=file, check=True)
        self.refused(self.path("other.zst"), "other.zst")

    def test_pprof_files_are_known_by_name_and_by_content(self):
        os.mkdir(self.path("out"))
        pprof, other = self.path("out/app.host.cpu.pb.gz"), self.path("other")
        with open(pprof, "wb") as file:
            file.write(gzip.compress(b"pprof"))
        shutil.copy(pprof, other)
        self.refused(pprof, "not a profc profile", f"hint: it is a pprof file: go tool pprof -top {pprof}\n")
        self.refused(other, "not a profc profile", "hint: it is a gzip file, ", "go tool pprof")
        self.refused(self.path("out"), "is a directory, not a profile",
                     f"hint: it has pprof files: go tool pprof -top {pprof}\n")
        os.rename(pprof, self.path("out/$(x);.pb.gz"))
        self.refused(self.path("out"), f"-top '{self.path('out')}/$(x);.pb.gz'\n")

    def test_unreadable_file(self):
        with open(self.path("secret"), "wb") as file:
            file.write(b"x")
        os.chmod(self.path("secret"), 0)
        done = subprocess.run(
            [self.public(PROFC), "report", "-i", self.path("secret")],
            stderr=subprocess.PIPE, text=True, check=False, **self.ordinary_user(),
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("Permission denied", done.stderr)


class CutShort(LiveCase):
    def test_recordings_cut_anywhere_are_salvaged_or_refused(self):
        recording = record(self.directory, [build("spin_leaf"), "300"])
        with open(recording.path, "rb") as file:
            contents = file.read()
        for part in range(1, 20):
            with open(self.path("cut"), "wb") as file:
                file.write(contents[: len(contents) * part // 20])
            done = profc("report", "-i", self.path("cut"), "--json", status=None)
            self.assertIn(done.returncode, (0, 1), f"cut at {part}/20: {done.stderr}")
            self.assertTrue(done.stderr.startswith("profc: "), f"cut at {part}/20 says nothing")
