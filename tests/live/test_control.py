# SPDX-License-Identifier: GPL-2.0-or-later
"""Steering a recording while it runs: --control, --paused."""

import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import termios
import time
import unittest

from live import LiveCase
from paths import PROFC
from profc import Recorder, Recording, profc
from targets import build
import procfs

IN_COMPANY = True


class Control(LiveCase):
    def test_only_the_region_between_resume_and_pause_is_recorded(self):
        fifo, path, snapshot = self.path("control"), self.path("data"), self.path("snapshot")
        command = [PROFC, "record", "--paused", "--control", f"fifo:{fifo}", "-o", path]
        with subprocess.Popen(
            [*command, "--", build("spin_leaf"), "3000"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        ) as recorder:
            self.eventually(lambda: os.path.exists(path) and os.path.exists(fifo), "the start")
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("mark here\nresume\n")
                control.flush()
                self.wait_until_recorded(path)
                control.write(f"snapshot {snapshot}\n")
                control.flush()
                self.eventually(lambda: os.path.exists(snapshot), "the snapshot")
                control.write("pause\nnonsense\nmark\n")
            stderr = recorder.communicate(timeout=60)[1]
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertIn("unknown word 'nonsense'", stderr)
        self.assertIn("'mark' needs an argument", stderr)
        self.assertFalse(os.path.exists(fifo), "the FIFO it made is left behind")
        self.assertEqual(self.refused(path), 2)
        whole, part = Recording(path).report(), Recording(snapshot).report()
        self.assertGreater(part["total_ns"], 0)
        self.assertGreaterEqual(whole["total_ns"], part["total_ns"])
        self.assertLess(whole["total_ns"], 2700e6, "what was paused is recorded")
        self.assertGreater(Recording(snapshot).function("spin_leaf")["total_pct"], 50)

    def test_what_runs_unseen_after_a_pause_is_not_where_it_was_before(self):
        """Two looks a second: mostly none comes in the 50 ms that it runs on."""
        known = []
        while 0 not in known and len(known) < 5:
            known.append(self.known_after_pause())
        self.assertIn(0, known)

    def known_after_pause(self):
        """CPU time of known stacks of what is ended soon after the recording is resumed."""
        fifo = self.path("control")
        with Recorder(
            self.directory, "record", "-F", "2", "--control", f"fifo:{fifo}", "--",
            build("spin_leaf"), "20000",
        ) as recorder:
            self.wait_until_recorded(recorder.path)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("pause\n")
                control.flush()
                time.sleep(0.2)  # what is resumed at once is no pause
                control.write("mark resumed\nresume\n")
                control.flush()
                time.sleep(0.05)
                recording = recorder.interrupt(signal.SIGTERM)
        rows = recording.rows("--time", "mark:resumed..")
        return sum(row["self_ns"] for row in rows if row["function"] != "[unattributed]")

    def refused(self, path):
        """How many lines profc info says were not obeyed."""
        counters = json.loads(Recording(path).info("--json"))["counters"]
        return counters.get("control_refused", 0)

    def test_where_that_is_no_fifo_is_wrong_usage(self):
        """It was taken for a failure of profc: 125."""
        for where in ("foo", "fifo:", "/tmp/fifo", ""):
            for mode in (["record", "--", "true"], ["record", "-p", "1"], ["attach", "-p", "1"]):
                done = profc(mode[0], "--control", where, *mode[1:], status=2)
                self.assertEqual(
                    done.stderr.splitlines()[0], f"profc: --control needs fifo:PATH, not '{where}'"
                )

    def test_path_that_is_no_fifo_cannot_be_used(self):
        path = self.path("file")
        with open(path, "w", encoding="utf-8"):
            pass
        done = profc("record", "--control", f"fifo:{path}", "--", "true", status=125)
        self.assertIn("no FIFO", done.stderr)

    def test_last_word_needs_no_newline(self):
        """It waited for one that never came, or for another writer's."""
        fifo = self.path("control")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", "cat",
            stdin=subprocess.PIPE,
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo) and procfs.children(recorder.pid), "a start")
            (command,) = procfs.children(recorder.pid)
            for words in ("mark here\n", "stop"):
                with open(fifo, "w", encoding="utf-8") as control:
                    control.write(words)
            self.eventually(lambda: not procfs.observer(command), "the end of the recording")
            whole = recorder.finish()
        self.assertEqual(whole.status, 0, whole.stderr)
        self.assertEqual(self.marks(whole.path), ["here"])

    def marks(self, path):
        return [mark["text"] for mark in json.loads(Recording(path).info("--json"))["marks"]]

    def pipe(self, name):
        """A FIFO as a snapshot's file: it cannot be written before the test reads it."""
        os.mkfifo(self.path(name))
        return self.path(name)

    def nr_unread(self, pipe):
        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)

    def save(self, pipe):
        """What comes out of the FIFO, as a file."""
        with open(f"{pipe}.data", "wb") as file:
            subprocess.run(["cat", pipe], stdout=file, check=True, timeout=60)
        return file.name

    def test_exports_show_marks(self):
        """Where their formats can; a time range leaves out those outside of it."""
        fifo = self.path("control")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", build("spin_leaf"), "500",
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo), "the start")
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("mark a \"mark\"\n")
            whole = recorder.finish()
        (mark,) = json.loads(whole.info("--json"))["marks"]

        def export(*options):
            return profc("export", "-i", whole.path, *options).stdout

        events = json.loads(export("--chrome"))["traceEvents"]
        (event,) = [event for event in events if event["ph"] == "i"]
        self.assertEqual((event["name"], event["s"]), (mark["text"], "g"))
        self.assertAlmostEqual(event["ts"] * 1000, mark["time_ns"], delta=2000)
        self.assertIn((event["pid"], event["tid"]), {(e["pid"], e["tid"]) for e in events if e["ph"] == "B"})
        firefox = json.loads(export("--firefox"))
        (name,) = {schema["name"] for schema in firefox["meta"]["markerSchema"]}
        marked = [thread["markers"] for thread in firefox["threads"] if thread["markers"]["length"]]
        self.assertEqual([markers["data"] for markers in marked], [[{"type": name, "text": mark["text"]}]])
        self.assertGreaterEqual(marked[0]["startTime"][0], firefox["meta"]["profilingStartTime"])
        self.assertEqual(json.loads(export("--json"))["marks"], [mark])
        self.assertRegex(export("--callgrind"), r"\ndesc: mark at [0-9.]+s: a \"mark\"\n")
        late = json.loads(export("--json", "--time", f"{mark['time_ns'] + 1000000}ns.."))
        self.assertEqual(late["marks"], [])

    def test_time_ranges_begin_and_end_at_marks(self):
        """In all commands that take --time."""
        fifo = self.path("control")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", build("spin_leaf"), "1500",
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo), "the start")
            for word in ("mark begin", "mark the end", "mark the end"):
                time.sleep(0.15)
                with open(fifo, "w", encoding="utf-8") as control:
                    control.write(word + "\n")
            whole = recorder.finish()
        times = [f"{mark['time_ns']}ns" for mark in json.loads(whole.info("--json"))["marks"]]
        between = ("--time", "mark:begin..mark:the end")
        part = whole.report(*between)
        self.assertGreater(part["total_ns"], 0)
        self.assertEqual(part, whole.report("--time", f"{times[0]}..{times[1]}"))
        self.assertEqual(
            whole.report("--time", "mark:the end..mark:the end"),
            whole.report("--time", f"{times[1]}..{times[2]}"),
        )
        for command in (["export", "--folded"], ["annotate", "spin_leaf"]):
            done = profc(*command, "-i", whole.path, *between)
            self.assertEqual(
                done.stdout,
                profc(*command, "-i", whole.path, "--time", f"{times[0]}..{times[1]}").stdout,
            )
        profc("diff", whole.path, whole.path, *between)
        phases = whole.rows("--by", "mark", "-m", "wall")
        self.assertEqual([row["mark"] for row in phases], [None, "begin", "the end", "the end"])
        self.assertEqual(sum(row["self_ns"] for row in phases),
                         whole.report("-m", "wall")["total_ns"])
        # On either side a cut sample, and what is known of its sleep, are rounded down.
        self.assertAlmostEqual(phases[1]["self_ns"],
                               whole.report("-m", "wall", *between)["total_ns"], delta=4)
        self.assertEqual(phases[1]["begin_ns"], phases[0]["end_ns"])
        compared = json.loads(
            profc("diff", "--json", "--by", "mark", whole.path, whole.path).stdout)
        self.assertEqual(len(compared["rows"]), 3, "phases of one mark are one")
        for command in (["report"], ["export", "--folded"], ["annotate"]):
            done = profc(*command, "-i", whole.path, "--time", "mark:middle..", status=1)
            self.assertIn("no mark 'middle' in the recording", done.stderr)
            self.assertIn("profc info", done.stderr)

    def test_words_are_heeded_while_a_snapshot_is_written(self):
        """Even if nobody reads it yet: profc waits. It holds what was recorded before its word."""
        fifo, pipe = self.path("control"), self.pipe("pipe")
        with Recorder(
            self.directory, "record", "--paused", "--control", f"fifo:{fifo}", "--",
            build("spin_leaf"), "30000",
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo) and procfs.children(recorder.pid), "a start")
            (command,) = procfs.children(recorder.pid)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write(f"mark before\nsnapshot {pipe}\nmark after\nresume\n")
                control.flush()
                self.wait_until_recorded(recorder.path)
                control.write("stop\n")
            self.eventually(lambda: not procfs.observer(command), "the end of the recording")
            self.assertIsNone(recorder.process.poll())
            part = self.save(pipe)
            os.kill(command, signal.SIGTERM)
            whole = recorder.finish()
        self.assertEqual(whole.status, -signal.SIGTERM, whole.stderr)
        self.assertEqual(self.marks(part), ["before"])
        self.assertEqual(self.marks(whole.path), ["before", "after"])
        self.assertGreater(whole.function("spin_leaf")["total_ns"], 0)
        self.assertIn("no samples", profc("report", "-i", part, status=None).stderr)

    def test_snapshots_are_written_in_their_order(self):
        """Each of what was recorded up to its word; one that fails is said."""
        fifo, pipe, second = self.path("control"), self.pipe("pipe"), self.path("second")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", "cat",
            stdin=subprocess.PIPE,
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo) and procfs.children(recorder.pid), "a start")
            with open(fifo, "w", encoding="utf-8") as control:
                control.write(
                    f"mark 1\nsnapshot {pipe}\nmark 2\nsnapshot {self.path('none')}/x\n"
                    f"snapshot {second}\nmark 3\n"
                )
                control.flush()
                self.eventually(lambda: self.nr_unread(control) == 0, "the reading of words")
            self.assertFalse(os.path.exists(second))
            first = self.save(pipe)
            whole = recorder.finish()
        self.assertEqual(whole.status, 0, whole.stderr)
        self.assertIn("cannot write", whole.stderr)
        for path, marks in ((first, "1"), (second, "12"), (whole.path, "123")):
            self.assertEqual(self.marks(path), list(marks))

    # They make a snapshot larger than a pipe of 4096 bytes, however few samples it has.
    LONG_MARKS = [secrets.token_hex(500) for _ in range(20)]

    def words_of(self, marks):
        return "".join(f"mark {text}\n" for text in marks)

    def end_with_unread_snapshot(self, end, *command, marks=("before",)):
        """The recording, two snapshots of which go to a FIFO that nobody reads to its end."""
        fifo, pipe = self.path("control"), self.path("pipe")
        if not os.path.exists(pipe):
            self.pipe("pipe")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", *command,
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo) and procfs.children(recorder.pid), "a start")
            with open(fifo, "w", encoding="utf-8") as control:
                control.write(f"{self.words_of(marks)}snapshot {pipe}\nsnapshot {pipe}\n")
                control.flush()
                self.eventually(lambda: self.nr_unread(control) == 0, "the reading of words")
                end(recorder, control)
            return pipe, recorder.finish()

    def assert_ended_without(self, pipe, whole, status, words, marks=("before",)):
        self.assertEqual(whole.status, status, whole.stderr)
        self.assertEqual(whole.stderr.count(words.format(pipe)), 2, whole.stderr)
        self.assertEqual(self.marks(whole.path), list(marks))
        found = [row["total_ns"] for row in whole.rows() if row["function"] == "spin_leaf"]
        self.assertGreater(sum(found), 0)

    UNREAD = "snapshot to {} not written: it has no reader\n"

    def test_snapshot_that_nobody_reads_does_not_outlive_the_command(self):
        done = self.end_with_unread_snapshot(lambda *_: None, build("spin_leaf"), "500")
        self.assert_ended_without(*done, 0, self.UNREAD)

    def test_snapshot_that_nobody_reads_does_not_outlive_a_stop(self):
        """
        Nor does it for a signal, which the command gets, too; by then profc waits already. It has
        the names all the same.
        """

        def stop(recorder, control):
            (command,) = procfs.children(recorder.pid)
            self.wait_until_recorded(recorder.path)
            control.write("stop\n")
            control.flush()
            self.eventually(lambda: not procfs.observer(command), "the end of the recording")
            os.kill(command, signal.SIGTERM)
            # It tells so before it asks for more patience than anybody has.
            self.assertIn("Ctrl-C gives it up", recorder.process.stderr.readline())
            recorder.process.send_signal(signal.SIGINT)

        done = self.end_with_unread_snapshot(stop, build("spin_leaf"), "30000")
        self.assert_ended_without(*done, -signal.SIGTERM, self.UNREAD)

    def test_snapshot_behind_one_that_nobody_reads_is_read_whole(self):
        fifo, unread, pipe = self.path("control"), self.pipe("unread"), self.pipe("pipe")
        with Recorder(
            self.directory, "record", "--control", f"fifo:{fifo}", "--", build("spin_leaf"), "60000",
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo) and procfs.children(recorder.pid), "a start")
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, reader)
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
            with open(fifo, "w", encoding="utf-8") as control:
                words = self.words_of(self.LONG_MARKS)
                control.write(f"{words}snapshot {unread}\nsnapshot {pipe}\n")
                control.flush()
                self.eventually(lambda: self.nr_unread(control) == 0, "the reading of words")
            os.kill(*procfs.children(recorder.pid), signal.SIGTERM)
            self.eventually(lambda: self.nr_unread(reader) == 4096, "its beginning")
            os.set_blocking(reader, True)
            with open(self.path("copy"), "wb") as copy:
                while block := os.read(reader, 4096):
                    copy.write(block)
                    time.sleep(0.01)
            recorder.finish()
        self.assertEqual(self.marks(self.path("copy")), self.LONG_MARKS)

    def test_snapshot_that_is_not_read_to_its_end_is_given_up(self):
        reader = os.open(self.pipe("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)

        def end(recorder, _):
            self.eventually(lambda: self.nr_unread(reader) == 4096, "its beginning")
            self.wait_until_recorded(recorder.path)
            os.kill(*procfs.children(recorder.pid), signal.SIGTERM)

        done = self.end_with_unread_snapshot(
            end, build("spin_leaf"), "60000", marks=self.LONG_MARKS
        )
        self.assert_ended_without(
            *done, -signal.SIGTERM, "snapshot to {} is incomplete: its reader stopped reading\n",
            self.LONG_MARKS,
        )

    def test_sleep_after_a_pause_is_not_recorded(self):
        fifo, path = self.path("control"), self.path("data")
        command = [PROFC, "record", "-q", "--control", f"fifo:{fifo}", "-o", path]
        started = time.monotonic()
        # It sleeps until its input ends, and is let go before.
        with subprocess.Popen([*command, "--", "cat"], stdin=subprocess.PIPE) as recorder:
            self.eventually(lambda: os.path.exists(path) and os.path.exists(fifo), "the start")
            time.sleep(0.5)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("pause\n")
            counted = time.monotonic() - started
            time.sleep(2)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("stop\n")
            self.eventually(
                lambda: [procfs.observer(pid) for pid in procfs.children(recorder.pid)] == [0],
                "the end of the recording",
            )
            recorder.stdin.close()
        self.assertEqual(recorder.returncode, 0)
        blocked = Recording(path).report("-m", "blocked")["total_ns"]
        self.assertGreater(blocked, 300e6)
        self.assertLess(blocked, 1e9 * (counted + 1), "what was paused is recorded")

    def test_thread_that_is_not_wanted_is_not_counted_before_a_pause(self):
        fifo = self.path("control")
        with Recorder(
            self.directory, "record", "--threads", "^threads_idle", "--control", f"fifo:{fifo}",
            "--", "sh", "-c", "sleep 3",
        ) as recorder:
            self.eventually(lambda: os.path.exists(fifo), "the start")
            time.sleep(0.5)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("pause\n")
            time.sleep(0.5)
            with open(fifo, "w", encoding="utf-8") as control:
                control.write("stop\n")
            whole = recorder.finish()
        self.assertIn("no samples in", profc("report", "-i", whole.path, status=None).stderr)

    def test_recording_that_was_never_resumed_says_so(self):
        done = profc("record", "--paused", "-o", self.path("data"), build("spin_leaf"), "100", status=125)
        self.assertIn("no samples were taken: the recording was paused\n", done.stderr)
        self.assertIn("hint: SIGUSR1", done.stderr)


if __name__ == "__main__":
    unittest.main()
