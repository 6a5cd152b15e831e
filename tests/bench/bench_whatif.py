# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 26: what `profc whatif` predicts, and what a faster function really gains."""

import os

import bench
from two_speeds import KINDS, SPEEDS, Compressor, Requests, TwoSpeeds, gains

SECONDS = int(os.environ.get("BENCH_SECONDS", "40"))
BEFORE = os.environ.get("BENCH_BEFORE", "").split()  # such as nice, for the programs
WANTED = os.environ.get("BENCH_KINDS", "").split() or (*KINDS, "pigz", "requests", "requests_of_two")


def speeds_of(kind):
    if kind == "pigz":
        return Compressor(BEFORE)
    if kind.startswith("requests"):
        return Requests(1 + (kind != "requests"), before=BEFORE)
    return TwoSpeeds(kind, BEFORE)


def show(kind):
    """The hot function of one kind of program, and the other one, which has no faster version.

    Of requests it is by how much their time falls.
    """
    speeds = speeds_of(kind)
    truth = speeds.truth(2 if kind in KINDS else 5)
    told, rows = speeds.predicted(SECONDS)
    for name, row in rows.items():
        found = gains(row)
        for speed in SPEEDS:
            gain, half = found.get(speed, (float("nan"), float("nan")))
            bench.show(26, f"{kind}, {name} {speed}% faster", predicted=f"{gain:+6.1f} ± {half:4.1f} %",
                       truth=f"{truth[speed]:+6.1f} %" if name == speeds.hot else "-",
                       at=f"{told['rate_per_s']:.0f}/s, held {told['held_pct']:.0f} %")


for one in WANTED:
    show(one)
