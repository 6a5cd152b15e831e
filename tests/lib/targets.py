# SPDX-License-Identifier: GPL-2.0-or-later
"""Build the programs of tests/targets and run them with a handshake.

A program is built once per (sources, flags, compiler) and kept in the build
directory, so that repeated runs cost nothing and `make clean` removes it.
"""

import functools
import glob
import hashlib
import json
import os
import platform
import select
import shutil
import subprocess
import tempfile
import unittest

from paths import BUILD, TARGETS

COMPILERS = {
    ".c": [os.environ.get("CC", "gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-pthread"],
    ".cpp": [os.environ.get("CXX", "g++"), "-std=c++17", "-pthread"],
    ".rs": ["rustc"],
    ".S": [os.environ.get("CC", "gcc")],
}
# The protection of branches that compilers offer on this machine, and what is special to each.
PROTECTED, UNPROTECTED, WIDEST_VECTORS = {
    "aarch64": ("-mbranch-protection=standard", "-mbranch-protection=none", "-march=armv8.5-a+sve2"),
}.get(platform.machine(), ("-fcf-protection=full", "-fcf-protection=none", "-mavx512f"))

DEFAULT_FLAGS = {".c": ("-O2", "-g"), ".cpp": ("-O2", "-g"), ".rs": ("-O", "-g"), ".S": ("-g",)}


def source_path(name):
    """The source file of a target: `name` with or without its extension."""
    for extension in ("", *COMPILERS):
        path = os.path.join(TARGETS, name + extension)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"no target {name} in {TARGETS}")


def marked_line(name, mark):
    """Number of the one source line of a target that carries the comment /* mark */."""
    with open(source_path(name), encoding="utf-8") as source:
        lines = [number for number, text in enumerate(source, 1) if f"/* {mark} */" in text]
    if len(lines) != 1:
        raise ValueError(f"{name}: {len(lines)} lines are marked {mark!r}, not one")
    return lines[0]


@functools.lru_cache(maxsize=None)
def why_no_namespaces(unshare):
    """What unshare(1) says where it makes no namespaces: in a chroot, in many containers."""
    done = subprocess.run(
        [unshare, "-pf", "--mount-proc", "true"],
        check=False, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else None


def need(program):
    """The path of a program, or a skip that names it; of unshare also where it does not work."""
    path = shutil.which(program)
    if path is None:
        raise unittest.SkipTest(f"{program} is not installed")
    if program == "unshare" and (reason := why_no_namespaces(path)):
        raise unittest.SkipTest(f"no namespaces here: {reason}")
    return path


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def pythons(*versions):
    """
    The path of each interpreter of these versions, such as "3.12", under the names that
    distributions and pyenv give it.
    """
    home = os.path.expanduser("~/.pyenv/versions")
    for version in versions:
        for path in [shutil.which(f"python{version}"),
                     *glob.glob(os.path.join(home, f"{version}.*", "bin", f"python{version}"))]:
            if path and is_elf(path):  # not a script that looks for one
                yield path


def build(name, *flags, called=None, more=(), libraries=()):
    """Build a target and return the path of the program.

    flags replace the defaults (-O2 -g). `called` is the file name of the
    program where it matters, as it does for the name a process gets; `more`
    names further sources to compile in, `libraries` are flags that must come last.
    """
    source = source_path(name)
    sources = [source] + [source_path(one) for one in more]
    extension = os.path.splitext(source)[1]
    command = COMPILERS[extension] + list(flags or DEFAULT_FLAGS[extension])
    need(command[0])
    libraries = list(libraries)
    called = called or os.path.splitext(os.path.basename(source))[0]
    key = hashlib.sha256(repr(command + libraries).encode())
    for path in sources + sorted(
        os.path.join(TARGETS, header) for header in os.listdir(TARGETS) if header.endswith(".h")
    ):
        with open(path, "rb") as contents:
            key.update(contents.read())
    directory = os.path.join(BUILD, "tests", "targets", key.hexdigest()[:16])
    program = os.path.join(directory, called)
    if not os.path.exists(program):
        os.makedirs(directory, exist_ok=True)
        # A name of its own first: two tests may build the same target at once.
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            fresh = os.path.join(scratch, called)
            subprocess.run(command + ["-o", fresh, *sources, *libraries], check=True)
            os.replace(fresh, program)
    return program


def parse_json_lines(text):
    """The JSON objects among the lines of a target's output, in order."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Running:
    """A target that runs beside the test: started, ready, and surely ended.

    Targets say "ready" on their standard output once their threads are where
    the test wants them. They end when their standard input is closed.
    """

    def __init__(self, argv, **popen):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **popen
        )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def wait_ready(self, timeout=20, nr=1):
        """Wait until it has said so, or nr of its processes have: several lines may come at once."""
        readable, _, _ = select.select([self.process.stdout], [], [], timeout)
        for _ in range(nr):
            line = self.process.stdout.readline() if readable else "(nothing)"
            if line.strip() != "ready":
                raise AssertionError(f"the target said {line!r} instead of 'ready'")
        return self

    def finish(self, timeout=30):
        """Ask the target to end; returns the JSON objects it printed."""
        output, _ = self.process.communicate(timeout=timeout)
        return parse_json_lines(output)

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if not stream.closed:
                stream.close()
        self.process.wait()


def run(argv, **options):
    """Run a target to its end; returns the JSON objects it printed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, **options)
    return parse_json_lines(done.stdout)
