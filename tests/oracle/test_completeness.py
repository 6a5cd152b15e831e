# SPDX-License-Identifier: GPL-2.0-or-later
"""What profc calls complete begins where threads do: compiled programs of all kinds."""

from completeness import CompletenessCase, add_tests
from programs import COMPILED


class Compiled(CompletenessCase):
    """A test for each program of the table."""


add_tests(Compiled, COMPILED)
