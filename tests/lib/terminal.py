# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a program on a terminal of its own."""

import os
import pty
import select
import subprocess
import time


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


class Terminal:
    """A bash that believes somebody types."""

    PROMPT = "<ready>"

    def __init__(self, argv, directory, user=None):
        self.process_id, self.end = pty.fork()
        if self.process_id == 0:
            if user is not None:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            os.environ.update(PS1=self.PROMPT, TERM="dumb", HISTFILE="/dev/null")
            os.chdir(directory)
            os.execvp(argv[0], argv)
        self.text = ""

    def read_until(self, wanted, patience=20):
        deadline = time.monotonic() + patience
        start = len(self.text)
        while wanted not in self.text[start:]:
            if not select.select([self.end], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{wanted!r} did not come: {self.text!r}")
            try:
                self.text += os.read(self.end, 65536).decode()
            except OSError:  # EIO: the end of the last one who has it open
                return

    def type(self, text, wanted=PROMPT):
        os.write(self.end, text.encode())
        self.read_until(wanted)

    def close(self):
        self.type("exit 3\n", "nothing like this")
        os.close(self.end)
        return os.waitstatus_to_exitcode(os.waitpid(self.process_id, 0)[1])
