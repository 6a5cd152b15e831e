# SPDX-License-Identifier: GPL-2.0-or-later
"""What profc calls complete begins where threads do: interpreters, and code made at run time."""

from completeness import CompletenessCase, add_tests
from programs import RUNTIMES


class Runtimes(CompletenessCase):
    """A test for each program of the table."""


add_tests(Runtimes, RUNTIMES)
