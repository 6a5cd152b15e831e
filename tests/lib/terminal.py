# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a program on a terminal of its own."""

import os
import pty
import subprocess


def on_terminal(argv, **popen):
    """(exit status, what a person would see); `popen` may send some streams elsewhere."""
    ours, theirs = pty.openpty()
    for stream in ("stdin", "stdout", "stderr"):
        popen.setdefault(stream, theirs)
    with subprocess.Popen(argv, **popen) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # EIO: the last writer is gone
                break
            if not part:
                break
            seen += part
        os.close(ours)
        return process.wait(), seen.decode().replace("\r\n", "\n")
