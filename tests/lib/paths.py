# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are: the source tree, the build directory, the profc under test."""

import os

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
TARGETS = os.path.join(TESTS, "targets")
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
PROFC = os.path.abspath(os.environ.get("PROFC", os.path.join(BUILD, "profc")))
