# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose hot function exists at several speeds: what profc predicts, and what is true."""

import contextlib
import json
import os
import statistics
import subprocess
import time

import procfs
from profc import profc
from targets import Running, build, need, run

KINDS = ("single", "pipeline", "convoy", "join", "server", "spin", "memory", "pipe",
         "short_convoy", "short_spin")
SPEEDS = (25, 50)


def idle_part(seconds=0.5):
    """How many CPUs are idle: proc_stat(5)."""

    def idle():
        with open("/proc/stat", encoding="ascii") as file:
            return int(file.readline().split()[4]) / os.sysconf("SC_CLK_TCK")

    before, begin = idle(), time.monotonic()
    time.sleep(seconds)
    return (idle() - before) / (time.monotonic() - begin)


class Speeds:
    """A program whose function `hot` there is at several speeds."""

    def truth(self, seconds, rounds=2):
        """{speed: gain in percent}, by programs that really are faster, in turn."""
        rates = {percent: [] for percent in (100, *(100 - speed for speed in SPEEDS))}
        for _ in range(rounds):
            for percent, found in rates.items():
                found.append(self.rate(percent, seconds))
        gains_of = {
            speed: [100 * (fast / slow - 1) for fast, slow in zip(rates[100 - speed], rates[100])]
            for speed in SPEEDS
        }
        return {speed: statistics.median(found) for speed, found in gains_of.items()}

    def predicted_for(self, pid, seconds, *options):
        """The rows of `profc whatif`, by function."""
        done = profc("whatif", "--json", "-p", pid, "-d", f"{seconds}s", "-n", "2", *options)
        told = json.loads(done.stderr.splitlines()[-1])
        return told, {row["function"]: row for row in told["functions"]}


class Compressor(Speeds):
    """pigz, two threads of which compress; its checksums are computed as often as is asked for."""

    hot = "crc32_z"
    TIMES = 60

    def __init__(self, before=()):
        self.before = list(before)
        self.pigz = need("pigz")
        self.library = build("checks_again", "-O2", "-shared", "-fPIC")

    @contextlib.contextmanager
    def running(self, percent=100):
        environ = dict(os.environ, LD_PRELOAD=self.library,
                       CHECKS_AGAIN=str(self.TIMES * percent // 100))
        with open(self.pigz, "rb") as file:
            text = file.read() * 64
        with (subprocess.Popen([*self.before, self.pigz, "-1", "-p", "2", "-c"], env=environ,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as running,
              subprocess.Popen(["python3", "-c", FEEDER], stdin=subprocess.PIPE,
                               stdout=running.stdin) as feeder):
            feeder.stdin.write(text)
            feeder.stdin.close()
            time.sleep(0.5)
            yield running
            feeder.kill()
            running.kill()

    def rate(self, percent, seconds):
        with self.running(percent) as running:
            begun, begun_s = procfs.written_bytes(running.pid), time.monotonic()
            time.sleep(seconds)
            return (procfs.written_bytes(running.pid) - begun) / (time.monotonic() - begun_s)

    def predicted(self, seconds, *options):
        with self.running() as running:
            return self.predicted_for(running.pid, seconds, *options)


# Writes its input over and over.
FEEDER = """
import sys
text = sys.stdin.buffer.read()
while True:
    sys.stdout.buffer.write(text)
"""


class TwoSpeeds(Speeds):
    """One kind of program (tests/targets/works_at_two_speeds.c)."""

    def __init__(self, kind, before=()):
        self.kind, self.before = kind, list(before)
        self.program = build("works_at_two_speeds", "-O2", "-g", "-pthread")
        self.hot = "hot_in_memory" if kind == "memory" else "hot"
        steps = statistics.median(
            run([self.program, "measure"])[0]["steps_per_ms"] for _ in range(3))
        self.steps = f"{steps:.0f}"

    def running(self, percent=100):
        return Running([*self.before, self.program, self.kind, str(percent), self.steps])

    def rate(self, percent, seconds):
        with self.running(percent) as target:
            target.wait_ready()
            time.sleep(seconds)
            return target.finish()[0]["items_per_s"]

    def predicted(self, seconds, *options):
        with self.running() as target:
            target.wait_ready()
            found = self.predicted_for(target.pid, seconds, "--progress", "finish_item", *options)
            target.finish()
        return found


class Requests(Speeds):
    """A server with a queue (tests/targets/serves_requests.c): its rate is 1 / mean time."""

    hot = "hot"
    PAIR = "begin_request:end_request"

    def __init__(self, servers=1, pause_us=1700, before=(), more=()):
        self.program = build("serves_requests", "-O2", "-g", "-pthread",
                             libraries=["-lm"])
        self.options = [TwoSpeeds("single").steps, str(servers), str(pause_us), *more]
        self.before = list(before)

    def argv(self, percent=100):
        return [*self.before, self.program, str(percent), *self.options]

    def running(self, percent=100):
        return Running(self.argv(percent))

    def mean_us(self, percent, seconds):
        with self.running(percent) as target:
            target.wait_ready()
            time.sleep(seconds)
            return target.finish()[0]["mean_us"]

    def truth(self, seconds, rounds=2):
        """{speed: by how many percent the mean time falls}, by the fastest of the rounds."""
        times = {percent: [] for percent in (100, *(100 - speed for speed in SPEEDS))}
        for _ in range(rounds):
            for percent, found in times.items():
                found.append(self.mean_us(percent, seconds))
        return {speed: 100 * (1 - min(times[100 - speed]) / min(times[100])) for speed in SPEEDS}

    def predicted(self, seconds, *options):
        with self.running() as target:
            target.wait_ready()
            found = self.predicted_for(target.pid, seconds, "--latency", self.PAIR, *options)
            target.finish()
        return found


def gains(row):
    """{speed: (gain, ±)} of a row, where it is known."""
    return {at["faster_pct"]: (at["gain_pct"], at["ci_pct"]) for at in row["speeds"]
            if at["gain_pct"] is not None}
