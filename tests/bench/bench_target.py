# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 3: what the target notices. A thread in each of 83 blocking calls, two seconds."""

import bench
from targets import build

MORE = ("blocking_waits", "blocking_transfers", "blocking_locks")


def harm(argv, tool=None):
    cases = bench.run_beside(argv, tool).said
    return {
        what: sum(case[what] for case in cases) for what in ("eintr", "shorts", "wrong")
    } | {"stretched": sum(stretched(case) for case in cases)}


def stretched(case):
    """A timeout of 120 ms that took more than half as long again."""
    return case["expects"] == "timeout" and case["name"] != "sleep" and case["longest_ns"] > 180e6


def main():
    argv = [build("blocking_calls", more=MORE), "2000"]
    fast = bench.profc_attach("-F", "1000", "--max-overhead", "0")
    runs = bench.rounds(
        {
            "plain": lambda: harm(argv),
            "profc": lambda: harm(argv, fast),
            "eu_stack": lambda: harm(argv, bench.polling(*bench.EU_STACK)),
            "gdb": lambda: harm(argv, bench.polling(*bench.GDB)),
        },
        count=2,
    )
    for what in ("eintr", "shorts", "wrong", "stretched"):
        bench.show(
            3, f"{what} seen by the target in 2 s",
            **{name: max(run[what] for run in results) for name, results in runs.items()},
        )


if __name__ == "__main__":
    main()
