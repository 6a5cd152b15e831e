# SPDX-License-Identifier: GPL-2.0-or-later
"""How often a test does what it does again and again: `make check-long` does it more often."""

import os

USUAL = 4
CYCLES = int(os.environ.get("PROFC_TEST_CYCLES", USUAL))


def rounds(nr):
    """So many in `make check`."""
    return max(1, nr * CYCLES // USUAL)
