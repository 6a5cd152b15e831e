# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose hot function exists at several speeds: what profc predicts, and what is true."""

import json
import statistics
import time

from profc import profc
from targets import Running, build, run

KINDS = ("single", "pipeline", "convoy", "join", "server", "spin", "memory")
SPEEDS = (25, 50)


class TwoSpeeds:
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

    def truth(self, seconds, rounds=2):
        """{speed: gain in percent}, by programs that really are faster, in turn."""
        rates = {percent: [] for percent in (100, *(100 - speed for speed in SPEEDS))}
        for _ in range(rounds):
            for percent, found in rates.items():
                found.append(self.rate(percent, seconds))
        gains = {
            speed: [100 * (fast / slow - 1) for fast, slow in zip(rates[100 - speed], rates[100])]
            for speed in SPEEDS
        }
        return {speed: statistics.median(found) for speed, found in gains.items()}

    def predicted(self, seconds, *options):
        """The rows of `profc whatif`, by function."""
        with self.running() as target:
            target.wait_ready()
            done = profc("whatif", "--json", "--progress", "finish_item", "-p", target.pid,
                         "-d", f"{seconds}s", "-n", "2", *options)
            target.finish()
        told = json.loads(done.stderr.splitlines()[-1])
        return told, {row["function"]: row for row in told["functions"]}


def gains(row):
    """{speed: (gain, ±)} of a row, where it is known."""
    return {at["faster_pct"]: (at["gain_pct"], at["ci_pct"]) for at in row["speeds"]
            if at["gain_pct"] is not None}
