# SPDX-License-Identifier: GPL-2.0-or-later
"""Run profc as a user does and read its results back as JSON."""

import collections
import json
import math
import os
import re
import signal
import subprocess
import tempfile

import procfs
from paths import PROFC
from targets import parse_json_lines


# Standard error of a test's last recordings: shown if it fails.
heard = collections.deque(maxlen=4)


class Failure(AssertionError):
    """profc ended with another status than the test wanted."""


def profc(*arguments, status=0, timeout=120, **popen):
    """Run profc to its end; `status` is what it must exit with (None: anything)."""
    popen.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(
        [PROFC, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        timeout=timeout,
        check=False,
        **popen,
    )
    if status is not None and done.returncode != status:
        raise Failure(
            f"profc {' '.join(map(str, arguments))}: status {done.returncode}, wanted {status}\n"
            f"stdout: {done.stdout[-2000:]}\nstderr: {done.stderr[-2000:]}"
        )
    return done


class Recording:
    """A profile on disk and what was seen while it was made."""

    def __init__(self, path, done=None):
        self.path = path
        self.status = done.returncode if done else None
        self.stdout = done.stdout if done else ""
        self.stderr = done.stderr if done else ""
        if self.stderr:
            heard.append(self.stderr)

    @property
    def said(self):
        """The JSON objects the profiled program printed about itself."""
        return parse_json_lines(self.stdout)

    def report(self, *options):
        """The parsed `report --json`, with all rows unless -n says otherwise."""
        return json.loads(profc("report", "-i", self.path, "--json", *options).stdout)

    def rows(self, *options):
        return self.report(*options)["rows"]

    def function(self, name, *options):
        """The row of a function, or an assertion that names the functions there are."""
        rows = self.rows(*options)
        found = [row for row in rows if row["function"] == name]
        if not found:
            names = [row["function"] for row in rows[:20]]
            raise AssertionError(f"no function {name!r} in the report, which has {names}")
        return found[0]

    def self_pct(self, name, *options):
        return sum(row["self_pct"] for row in self.rows(*options) if row["function"] == name)

    def missed_share(self):
        """
        Of the ticks that were asked for, those that did not come: profc had no CPU in time, or no
        CPU was idle and more of them would have cost more than --max-overhead.
        """
        info = json.loads(self.info("--json"))
        ticks, missed = (info["counters"][name] for name in ("ticks", "missed_ticks"))
        # They come at random: as many as these, or two standard deviations more.
        most = 1 + 2 / math.sqrt(max(1, ticks))
        came = most * info["counters"]["frequency_hz_effective"] / 1000 / info["frequency_hz"]
        return max(missed / max(1, ticks + missed), 1 - came)

    def was_in_time(self):
        """Was no look missed, or late by much?"""
        counters = json.loads(self.info("--json"))["counters"]
        return not counters["missed_ticks"] and not counters["late_ticks"]

    def annotate(self, what, *options):
        return json.loads(profc("annotate", "-i", self.path, "--json", *options, what).stdout)

    def folded(self, *options):
        """[(frames root first, weight)] of the folded export, functions of scripts by name alone."""
        text = profc("export", "-i", self.path, "--folded", *options).stdout
        stacks = []
        for line in text.splitlines():
            stack, _, weight = line.rpartition(" ")
            frames = [re.sub(r" \([^()]+:\d+\)$", "", frame) for frame in stack.split(";")]
            stacks.append((frames, int(weight)))
        return stacks

    def speedscope(self, *options):
        return json.loads(profc("export", "-i", self.path, "--speedscope", *options).stdout)

    def info(self, *options):
        return profc("info", "-i", self.path, *options).stdout

    def explain(self):
        return json.loads(profc("explain", "-i", self.path, "--json").stdout)


def record(directory, argv, *options, status=0, **popen):
    """profc record [options] -- argv, into a file of `directory`."""
    path = os.path.join(directory, "profc.data")
    done = profc("record", "-o", path, *options, "--", *argv, status=status, **popen)
    return Recording(path, done)


def attach(directory, pid, *options, status=0, **popen):
    """profc attach -p pid [options], into a file of `directory`."""
    path = os.path.join(directory, "attached.data")
    done = profc("attach", "-p", pid, "-o", path, *options, status=status, **popen)
    return Recording(path, done)


def attach_to_count(directory, pid, *options, **popen):
    """
    The same with --count or --mem. On busy CPUs a thread may have none to come to its stop in time:
    then the target is let go, and asked again.
    """
    for status in (None, None, None, 0):
        recording = attach(directory, pid, *options, status=status, **popen)
        if recording.status == 0:
            return recording
        if "one of its threads does not stop" not in recording.stderr:
            break
    raise Failure(f"profc attach: status {recording.status}\nstderr: {recording.stderr[-2000:]}")


class Recorder:
    """profc at work beside the test, to be interrupted or killed by it."""

    def __init__(self, directory, *arguments, **popen):
        # A file of its own: a test that waits for it must not see one made before.
        self.path = os.path.join(tempfile.mkdtemp(dir=directory), "beside.data")
        popen.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [PROFC, arguments[0], "-o", self.path, *map(str, arguments[1:])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, _, failure, __):
        if failure and hasattr(failure, "add_note"):
            failure.add_note(self.account(failure))
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        self.process.wait()

    def account(self, failure):
        """For a failure amid the recording: who was at what then, and what profc has said."""
        if self.process.poll() is None:
            pids = [self.pid, *procfs.children(self.pid)]
            states = [f"{pid} {procfs.status(pid).get('Name')} {procfs.state(pid)}" for pid in pids]
        else:
            states = [f"profc has ended with {self.process.returncode}"]
        said = getattr(failure, "stderr", None) or ""
        if not self.process.stderr.closed:
            os.set_blocking(self.process.stderr.fileno(), False)
            said = said or self.process.stderr.buffer.read() or ""
        return f"{', '.join(states)}; standard error: {said!r}"

    def interrupt(self, number=signal.SIGINT, timeout=60):
        """Send a signal, wait for the end, return the Recording."""
        self.process.send_signal(number)
        return self.finish(timeout)

    def finish(self, timeout=60):
        stdout, stderr = self.process.communicate(timeout=timeout)
        done = subprocess.CompletedProcess([], self.process.returncode, stdout, stderr)
        return Recording(self.path, done)
