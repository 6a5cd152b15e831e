# SPDX-License-Identifier: GPL-2.0-or-later
"""System calls that fail in a process and its children, as a security module or an older kernel has it."""

import ctypes
import errno
import platform
import struct

ALLOW, FAIL = 0x7FFF0000, 0x00050000  # SECCOMP_RET_
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
# The newer ones have the same number on all processors.
NUMBERS = {
    "kill": {"x86_64": 62, "aarch64": 129},
    "ptrace": {"x86_64": 101, "aarch64": 117},
    "pidfd_open": 434, "clone3": 435, "close_range": 436, "openat2": 437, "pidfd_getfd": 438,
}
SINCE_5_6 = ("openat2", "pidfd_getfd")
SINCE_5_3 = ("pidfd_open", "clone3", "close_range", *SINCE_5_6)


def without(*calls, error=errno.EPERM):
    """For preexec_fn: they fail, and privileges stay as they are."""

    def number(call):
        found = NUMBERS[call]
        return found if isinstance(found, int) else found[platform.machine()]

    def forbid():
        # Load the number of the call, and compare it.
        steps = [(LOAD, 0, 0, 0)]
        for call in calls:
            steps += [(EQUAL, 0, 1, number(call)), (RETURN, 0, 0, FAIL | error)]
        steps.append((RETURN, 0, 0, ALLOW))
        held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
        program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(held))
        libc = ctypes.CDLL(None)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        if libc.prctl(22, 2, ctypes.c_char_p(program)):  # PR_SET_SECCOMP
            raise OSError("no seccomp filter")

    return forbid
