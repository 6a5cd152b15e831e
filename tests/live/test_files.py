# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file code is of: written anew in place, inside another, copied, or oddly named."""

import os
import shutil
import subprocess
import unittest

from live import LiveCase
from profc import attach, profc, record
from targets import Running, build, need

PLUGIN_FLAGS = ("-O2", "-g", "-shared", "-fPIC")


class Files(LiveCase):
    def shares(self, recording):
        shares = {}
        for row in recording.rows():
            shares[row["function"]] = shares.get(row["function"], 0) + row["self_pct"]
        return shares

    def record_reload(self, *flags):
        plugins = [
            build("dlopen_plugin", *PLUGIN_FLAGS, *flags, f"-Dplugin_inner=inner_of_{turn}",
                  called=f"{turn}.so")
            for turn in ("first", "other")
        ]
        place = self.path("plugin.so")
        recording = record(self.directory,
                           [build("reloads_in_place"), place, *plugins, "1000"])
        self.assertTrue(recording.said[0]["same_inode"])
        return plugins, recording

    def check_reload(self, *flags):
        """Of one size, and loaded at one address: all that differs is what the file holds."""
        plugins, recording = self.record_reload(*flags)
        self.assertEqual(*map(os.path.getsize, plugins))
        if not recording.said[0]["same_place"]:
            self.skipTest("the second plugin stands elsewhere")
        shares = self.shares(recording)
        self.known_ns(recording)
        # Where the CPUs are busy more may be unknown of one than of the other.
        unknown = shares.get("[unattributed]", 0)
        for name in ("inner_of_first", "inner_of_other"):
            self.assertLess(shares.get(name, 0), 50 + 12, shares)
            self.assertGreater(shares.get(name, 0) + unknown, 50 - 12, shares)
        stacks = [stack for stack, _ in recording.folded() if "inner_of" in stack[-1]]
        self.assertTrue(all("plugin_work" in stack and "main" in stack for stack in stacks), stacks)

    def test_plugin_written_anew_in_place(self):
        self.check_reload("-Wl,--build-id")

    def test_plugin_without_build_id_written_anew_in_place(self):
        self.check_reload("-Wl,--build-id=none")

    def test_old_plugin_written_anew_in_place_lends_no_names(self):
        """Of a file that was not worked on there is no copy: then it has no names, and that is said."""
        flags = (*PLUGIN_FLAGS, "-Wl,--build-id=none")
        place = self.path("plugin.so")
        shutil.copy(build("dlopen_plugin", *flags, "-Dplugin_inner=inner_of_first"), place)
        os.utime(place, (10**9, 10**9))
        program = build("dlopen_late")
        recording = record(self.directory, [program, place, "600"], "--no-symbols")
        with open(build("dlopen_plugin", *flags, "-Dplugin_inner=inner_of_other"), "rb") as other, \
                open(place, "wb") as file:
            file.write(other.read())
        done = profc("symbolize", "-i", recording.path)
        self.assertIn("plugin.so: the file was rebuilt or replaced", done.stderr)
        self.assertFalse([name for name in self.shares(recording) if "inner_of" in name])

    def test_library_inside_an_archive(self):
        library = build("archived_library", "-O2", "-g", "-shared", "-fPIC", "-nostdlib",
                        "-Wl,-z,norelro", "-Wl,--build-id=none", called="archived.so")
        symbols = subprocess.run([need("nm"), library], stdout=subprocess.PIPE, text=True, check=True)
        (entry,) = [line.split()[0] for line in symbols.stdout.splitlines()
                    if line.endswith(" archived_entry")]
        with open(library, "rb") as file, open(self.path("base.apk"), "wb") as archive:
            archive.write(b"PK\3\4".ljust(8192, b"\0") + file.read() + bytes(100))
        argv = [build("maps_from_archive"), self.path("base.apk"), "8192", entry]
        recording = record(self.directory, argv)
        row = recording.function("archived_leaf")
        self.assertMostlyIn(recording, "archived_leaf", 0.8, column="self_ns")
        self.assertTrue(row["module"].endswith("base.apk"), row)
        self.assertTrue(row["file"].endswith("archived_library.c"), row)
        stacks = [stack for stack, _ in recording.folded() if stack[-1] == "archived_leaf"]
        self.assertTrue(all(stack[-2] == "archived_entry" and "main" in stack for stack in stacks))
        self.check_archive_written_anew(argv)

    def check_archive_written_anew(self, argv):
        recording = record(self.directory, argv, "--no-symbols")
        with open(argv[1], "wb") as archive:
            archive.write(b"PK\3\4".ljust(16384, b"\0"))
        done = profc("symbolize", "-i", recording.path)
        self.assertRegex(done.stderr, "base.apk: the file was rebuilt or replaced .*no ELF file begins")
        self.assertFalse([name for name in self.shares(recording) if "archived" in name])

    def check_copied(self, recording):
        row = recording.function("copied_leaf")
        self.assertMostlyIn(recording, "copied_leaf", 0.8, column="self_ns")
        self.assertTrue(row["module"].endswith("copies_own_text"), row)
        stacks = [stack for stack, _ in recording.folded() if stack[-1] == "copied_leaf"]
        whole = [stack for stack in stacks if stack[-3:-1] == ["main", "copied_middle"]]
        self.assertEqual(stacks, whole)

    def test_text_copied_to_memory_without_a_file(self):
        for how in ("all", "tail"):
            with self.subTest(how=how):
                self.check_copied(record(self.directory, [build("copies_own_text"), how]))

    def test_text_that_was_copied_before_the_recording(self):
        for how in ("wait-all", "wait-tail"):
            with self.subTest(how=how), Running([build("copies_own_text"), how]) as running:
                running.wait_ready()
                self.check_copied(attach(self.directory, running.pid, "-d", "1"))

    def test_copied_text_that_is_not_the_files_is_not_named_by_it(self):
        recording = record(self.directory, [build("copies_own_text"), "patched"])
        self.assertNotIn("copied_leaf", self.shares(recording))

    def test_names_that_look_as_the_kernel_writes_others(self):
        for name in ("r (deleted)", "a\\012b", "a\nb", "a\\040b", "both\\012 (deleted)"):
            with self.subTest(name=name):
                program = self.path(name)
                shutil.copy(build("spin_leaf"), program)
                recording = record(self.directory, [program, "300"])
                row = recording.function("spin_leaf")
                self.assertMostlyIn(recording, "spin_leaf", 0.8, column="self_ns")
                self.assertEqual(os.path.basename(row["module"]), name)


if __name__ == "__main__":
    unittest.main()
