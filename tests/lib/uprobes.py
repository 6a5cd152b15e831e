# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes of the kernel's in a process, as perf, bpftrace and bcc set them."""

import ctypes
import os
import platform
import re
import struct
import subprocess
import unittest

TYPE = "/sys/bus/event_source/devices/uprobe/type"
SYS_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
PERF_FLAG_FD_CLOEXEC = 8
ATTRIBUTES = struct.Struct("=IIQQQQQIIQQ")  # up to config2: PERF_ATTR_SIZE_VER1


def need_uprobes():
    """Skips where there are none, or somebody else's rights are needed."""
    if not os.path.exists(TYPE):
        raise unittest.SkipTest("this kernel has no uprobes")
    if os.geteuid() != 0:
        raise unittest.SkipTest("only root can set uprobes")


def place(path, symbol):
    """The address of a function in its file, and its offset there."""
    listed = subprocess.run(
        ["readelf", "-W", "-l", "-s", path], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    (address,) = {
        int(found, 16)
        for found in re.findall(rf"^ *\d+: (\w+) .*FUNC .* {symbol}(?:@@?\S+)?$", listed, re.M)
    }
    for line in re.findall(r"^ *LOAD .*$", listed, re.M):
        offset, start, _, size = (int(text, 16) for text in line.split()[1:5])
        if start <= address < start + size:
            return address, address - start + offset
    raise AssertionError(f"{symbol} is in no segment of {path}")


class Uprobe:
    """One at an offset of a file, in one process, until it is closed."""

    def __init__(self, pid, path, offset):
        with open(TYPE, encoding="ascii") as file:
            type_ = int(file.read())
        name = ctypes.create_string_buffer(os.fsencode(path))
        attributes = ATTRIBUTES.pack(
            type_, ATTRIBUTES.size, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(name), offset
        )
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.syscall(
            SYS_PERF_EVENT_OPEN[platform.machine()], attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC
        )
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), f"perf_event_open of a uprobe: {path}")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        os.close(self.fd)
