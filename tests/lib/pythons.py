# SPDX-License-Identifier: GPL-2.0-or-later
"""The interpreters of Python on this machine whose functions profc reads, one of each version."""

import glob
import os
import shutil

VERSIONS = ("3.11", "3.12", "3.13")


def is_program(path):
    """A manager of versions puts scripts in their place."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def candidates(name):
    own = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    yield from ("/usr/bin/" + name, shutil.which(name))
    yield from sorted(glob.glob(f"{own}/versions/{name.removeprefix('python')}.*/bin/{name}"))


def pythons(versions=VERSIONS):
    """[(version, path)]"""
    found = []
    for version in versions:
        paths = [path for path in candidates("python" + version) if path and os.path.exists(path)]
        found += [(version, path) for path in paths if is_program(path)][:1]
    return found
