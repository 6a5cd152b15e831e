# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of allocators that cannot be watched: the program is as without profc, and it is said."""

import json

from live import LiveCase
from profc import profc, record
from targets import build, run

IN_COMPANY = True

IN_LIBRARY = ("-O1", "-g", "-fPIC", "-shared")
THROWS = "it may throw an exception, and its blocks are not known to be malloc()'s"


class UnwatchedCase(LiveCase):
    def refused(self, recording):
        """{function: (module, reason)}"""
        rows = json.loads(recording.info("--json"))["probes"]["refused"]
        return {row["function"]: (row["module"], row["reason"]) for row in rows}


class OperatorNew(UnwatchedCase):
    def test_that_is_not_like_malloc_is_called_once_each(self):
        library = build("own_allocator", *IN_LIBRARY, called="libown.so")
        program = build("asks_new_handler", libraries=(library,))
        alone = run([program])
        self.assertEqual(
            alone, [{"handled": 60, "caught": 20, "news": 220, "others": 0}], "without profc"
        )
        for rate in ("all", "1", "512K"):
            with self.subTest(rate=rate):
                recording = record(self.directory, [program], f"--mem={rate}", timeout=60)
                self.assertEqual(recording.said, alone)
                refused = self.refused(recording)
                self.assertEqual(refused["operator new(unsigned long)"], (library, THROWS))
                self.assertEqual(refused["operator new[](unsigned long)"], (library, THROWS))
                self.assertIn("operator new(unsigned long) (libown.so)", recording.info())

    def test_of_a_program_of_its_own_is_told(self):
        program = build("own_new")
        recording = record(self.directory, [program], "--mem=all")
        self.assertEqual(recording.said, [{"news": 150, "deletes": 50}])
        self.assertEqual(
            self.refused(recording), {"operator new(unsigned long)": (program, THROWS)}
        )

    def test_that_asks_malloc_is_known_by_that(self):
        program = build("own_new", "-O1", "-g", "-DASKS_MALLOC")
        recording = record(self.directory, [program, "malloc"], "--mem=all")
        self.assertEqual(recording.said, [{"news": 150, "deletes": 50}])
        self.assertEqual(self.refused(recording), {})
        text = profc("report", "-i", recording.path, "--leaks", "-n", "0", "--json").stdout
        leaks = json.loads(text)["leaks"]
        self.assertEqual(sum(leak["blocks"] for leak in leaks if leak["bytes"] >= 100000), 100)


class Free(UnwatchedCase):
    def test_that_is_shorter_than_a_jump(self):
        """Its blocks would pass for leaks."""
        library = build("own_allocator", *IN_LIBRARY, "-DSHORT_FREE", called="libshort.so")
        program = build("allocates", libraries=("-Wl,--no-as-needed", library), called="short_free")
        recording = record(self.directory, [program, "leaks:10:100"], "--mem=all")
        refused = self.refused(recording)
        self.assertEqual(refused["free"], (library, "it is shorter than a jump"))
        for name in ("malloc", "calloc", "realloc"):
            self.assertEqual(
                refused[name], (library, "the function that frees its blocks cannot be watched")
            )
        self.assertIn("free (libshort.so)", recording.info())


class Plugins(UnwatchedCase):
    def test_that_come_and_go_are_told(self):
        """Between two looks at what is mapped: samples have met them, and what is in their files."""
        library = build("dlopen_plugin", *IN_LIBRARY, called="plugin.so")
        recording = record(
            self.directory, [build("loads_briefly"), library, "1", "80"], "-F", "1000",
            "--count", "^plugin_(inner|work)$",
        )
        refused = self.refused(recording)
        for name in ("plugin_inner", "plugin_work"):
            if name not in refused:  # it was mapped as profc looked, perhaps after its last call
                done = profc("report", "-i", recording.path, "-m", "calls", status=None)
                self.assertRegex(done.stdout + done.stderr, rf"{name}|no calls were counted")
                continue
            self.assertEqual(refused[name][0], library)
            self.assertRegex(refused[name][1], "too briefly|unloaded before")
