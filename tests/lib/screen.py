# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on a terminal whose screen can be read."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1b(?:\[([?>]?)([0-9;]*)([@-~])|[()][0-9A-Za-z]|[=>78]|(M))")
KEYS = {"up": "\x1bOA", "down": "\x1bOB", "right": "\x1bOC", "left": "\x1bOD", "home": "\x1bOH",
        "end": "\x1bOF", "page up": "\x1b[5~", "page down": "\x1b[6~", "escape": "\x1b",
        "enter": "\r"}


class Grid:
    """What has become of the bytes that a program has sent: the part of xterm that curses uses."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.unread = ""
        self.is_alternate = False
        self.has_cursor = True

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.reversed = [[False] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.top, self.bottom = 0, rows  # of the region that scrolls
        self.is_reversed = False
        self.last = " "

    def feed(self, text):
        text, self.unread = self.unread + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if not match:
                    if len(text) - at > 40:
                        raise AssertionError(f"not understood: {text[at:at + 40]!r}")
                    self.unread = text[at:]
                    return
                if match[3]:
                    self.control(match[1], match[2], match[3])
                elif match[4] and self.row == self.top:
                    self.scroll(self.top, -1)
                elif match[4]:
                    self.row = max(0, self.row - 1)
                at = match.end()
                continue
            self.put(text[at])
            at += 1

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n" and self.row == self.bottom - 1:
            self.scroll(self.top, 1)
        elif character == "\n":
            self.row = min(self.row + 1, self.rows - 1)
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character >= " ":
            if self.column == self.columns:
                self.column, self.row = 0, min(self.row + 1, self.rows - 1)
            self.cells[self.row][self.column] = character
            self.reversed[self.row][self.column] = self.is_reversed
            self.column += 1
            self.last = character

    def scroll(self, top, count):
        """Lines go up between there and the end of the region; down, if count is negative."""
        for cells, blank in ((self.cells, " "), (self.reversed, False)):
            for _ in range(abs(count)):
                del cells[top if count > 0 else self.bottom - 1]
                cells.insert(self.bottom - 1 if count > 0 else top, [blank] * self.columns)

    def erase(self, row, begin, end):
        for column in range(begin, min(end, self.columns)):
            self.cells[row][column] = " "
            self.reversed[row][column] = False

    def control(self, private, parameters, final):
        numbers = [int(number or 0) for number in parameters.split(";")]
        count = numbers[0] or 1
        if private:
            if 1049 in numbers:
                self.is_alternate = final == "h"
            if 25 in numbers:
                self.has_cursor = final == "h"
        elif final == "H":
            column = (numbers[1] if len(numbers) > 1 else 1) or 1
            self.row, self.column = min(count, self.rows) - 1, min(column, self.columns) - 1
        elif final in "ABCDGd":
            self.go(final, count)
        elif final == "J":
            self.erase(self.row, 0 if numbers[0] else self.column, self.columns)
            for row in range(0 if numbers[0] else self.row + 1, self.rows):
                self.erase(row, 0, self.columns)
        elif final == "K":
            self.erase(self.row, 0 if numbers[0] else self.column,
                       self.column + 1 if numbers[0] == 1 else self.columns)
        elif final == "X":
            self.erase(self.row, self.column, self.column + count)
        elif final == "b":
            for _ in range(count):
                self.put(self.last)
        elif final in "LM":
            self.scroll(self.row, count if final == "M" else -count)
        elif final in "ST":
            self.scroll(self.top, count if final == "S" else -count)
        elif final == "r":
            self.top, self.bottom = count - 1, numbers[1] if len(numbers) > 1 else self.rows
            self.row = self.column = 0
        elif final in "P@":
            self.shift(final, count)
        elif final == "m":
            for number in numbers:
                self.is_reversed = number == 7 or (self.is_reversed and number not in (0, 27))
        elif final not in "hlt":
            raise AssertionError(f"not understood: CSI {parameters}{final}")

    def go(self, final, count):
        if final == "A":
            self.row = max(0, self.row - count)
        elif final == "B":
            self.row = min(self.rows - 1, self.row + count)
        elif final == "C":
            self.column = min(self.columns - 1, self.column + count)
        elif final == "D":
            self.column = max(0, self.column - count)
        elif final == "G":
            self.column = min(self.columns, count) - 1
        else:
            self.row = min(self.rows, count) - 1

    def shift(self, final, count):
        for cells, blank in ((self.cells, " "), (self.reversed, False)):
            line = cells[self.row]
            if final == "P":
                del line[self.column:self.column + count]
                line.extend([blank] * (self.columns - len(line)))
            else:
                line[self.column:self.column] = [blank] * count
                del line[self.columns:]

    def lines(self):
        return ["".join(cells).rstrip() for cells in self.cells]

    def selected(self):
        """The line that is reversed from one side to the other, or None."""
        for cells, is_reversed in zip(self.lines(), self.reversed):
            if all(is_reversed):
                return cells
        return None


class Screen:
    """A program on a terminal of its own, and what is on that."""

    def __init__(self, argv, size=(24, 80), **environment):
        self.grid = Grid(*size)
        self.ours, self.theirs = pty.openpty()
        self.set_size(size)
        self.before = termios.tcgetattr(self.theirs)
        unset = {name: value for name, value in os.environ.items()
                 if name not in ("NO_COLOR", "PAGER", "PROFC_PAGER", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            list(map(str, argv)), stdin=self.theirs, stdout=self.theirs, stderr=self.theirs,
            env={**unset, "TERM": "xterm", **environment}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(self.theirs, termios.TIOCSCTTY, 0),
        )
        self.seen = b""
        self.undecoded = b""

    def set_size(self, size):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def resize(self, *size):
        """As a terminal emulator does: the kernel tells the program."""
        self.grid.resize(*size)
        self.set_size(size)

    def read(self, patience):
        if not select.select([self.ours], [], [], patience)[0]:
            return False
        part = os.read(self.ours, 65536)
        self.seen += part
        # Characters that are not complete stay for the next time.
        text, self.undecoded = decode(self.undecoded + part)
        self.grid.feed(text)
        return True

    def press(self, *keys):
        for key in keys:
            os.write(self.ours, KEYS.get(key, key).encode())

    def wait_for(self, *texts, selected=None, patience=20):
        """Until all of them are on the screen; the selected line has another."""
        deadline = time.monotonic() + patience
        while not self.shows(texts, selected):
            if time.monotonic() > deadline or (self.process.poll() is not None and not self.read(0)):
                raise AssertionError(f"{texts!r}, {selected!r} is not in " + self.text())
            self.read(0.1)
        return self.text()

    def text(self):
        return "\n".join(self.grid.lines())

    def shows(self, texts, selected):
        text = self.text()
        if selected is not None and selected not in (self.grid.selected() or ""):
            return False
        return all(wanted in text for wanted in texts)

    def finish(self, patience=20):
        """The status it ends with; all that it has sent is read."""
        deadline = time.monotonic() + patience
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read(0.05)
        while self.read(0):
            pass
        return self.process.wait(0)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


def decode(part):
    """(text, bytes of a character that is not complete)"""
    for cut in range(4):
        try:
            end = len(part) - cut
            return part[:end].decode(), part[end:]
        except UnicodeDecodeError:
            continue
    raise AssertionError(f"not UTF-8: {part!r}")
