# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of flight recorders share: the files that one leaves, and a program that does as it is told."""

import json
import os
import re
import subprocess

from live import LiveCase
from profc import Recorder, Recording
from targets import build

NAME = re.compile(r"\w+\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.(.+)\.data")


def files(path):
    """For a moment, a file that is complete has another name. The socket of profc ctl is none."""
    names = os.listdir(path) if os.path.isdir(path) else []
    return sorted(name for name in names if not re.search(r"\.data\.|^\.control$", name))


def words(path):
    """What has triggered the files of a directory."""
    return [NAME.fullmatch(name).group(1) for name in files(path)]


class RecorderCase(LiveCase):
    PROGRAM = "does_on_request"

    def record(self, *options, keep="4s", **popen):
        return Recorder(
            self.directory, "record", "--keep", keep, *options, "--", build(self.PROGRAM),
            stdin=subprocess.PIPE, **popen,
        )

    def tell(self, recorder, *lines):
        for line in lines:
            recorder.process.stdin.write(line + "\n")
        recorder.process.stdin.flush()

    def file_of(self, recorder, word):
        """The profile that a trigger has left."""
        self.eventually(lambda: word in words(recorder.path), f"a file of {word}", patience=60)
        (name,) = [name for name in files(recorder.path) if f".{word}.data" in name]
        return Recording(os.path.join(recorder.path, name))

    def info(self, recording):
        return json.loads(recording.info("--json"))

    def assertTriggered(self, recording, text):
        """The file says what triggered it, and when."""
        info = self.info(recording)
        self.assertIn("trigger:" + text, [mark["text"] for mark in info["marks"]])
        line = next(line for line in recording.info().splitlines() if line.startswith("trigger "))
        self.assertTrue(line.split(None, 1)[1].startswith(text + ", at "), line)
        self.assertEqual(os.stat(recording.path).st_mode & 0o777, 0o600)
        self.assertTrue(info["complete"])
        return info

    def assertMostly(self, recording, function, metric="cpu"):
        """It has most of the time of those functions that do as they are told."""
        of_all = {
            row["function"]: row["total_ns"]
            for row in recording.rows("-m", metric)
            if row["function"].endswith("_on_request")
        }
        self.assertGreater(of_all.get(function, 0), 0.5 * sum(of_all.values()), of_all)

    def end(self, recorder, status=0):
        recorder.process.stdin.close()
        recorder.process.wait(timeout=60)
        self.assertEqual(recorder.process.returncode, status)
