# SPDX-License-Identifier: GPL-2.0-or-later
"""The few facts of /proc that tests ask for. Threads may be gone at any time."""

import contextlib
import os

CAP_SYS_ADMIN = 21


def threads(pid):
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except FileNotFoundError:
        return []


def status(pid, tid=None):
    """The fields of status as a dictionary of texts; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/task/{tid or pid}/status", encoding="utf-8") as file:
            return dict(
                (key, value.strip())
                for key, _, value in (line.partition(":") for line in file)
            )
    except (FileNotFoundError, ProcessLookupError):
        return {}


def reads_filters():
    """Does the kernel show filters of system calls (seccomp) to us?"""
    return bool(int(status(os.getpid())["CapEff"], 16) >> CAP_SYS_ADMIN & 1)


def state(pid, tid=None):
    """The state letter of a thread, or "gone"."""
    return status(pid, tid).get("State", "gone").split()[0]


def children(pid):
    """
    Of all its threads: profc's commands are not of the first. Without those that are profc yet, or
    that it forks to measure what a stop costs.
    """
    found = []
    for tid in threads(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    if status(pid).get("Name") == "profc":
        found = [child for child in found if status(child).get("Name", "profc") != "profc"]
    return found


def of_session(session):
    """All processes of a session."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[3]) == session:
                    found.append(int(entry))
    return found


def open_files(pid):
    """Their paths."""
    files = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            files.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
    return files


def tracer(pid, tid=None):
    return int(status(pid, tid).get("TracerPid", "0"))


def observer(pid):
    """The profc that records a process, by the file of its clocks that it keeps open; or 0."""
    wanted = f"/proc/{pid}/task/"
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().strip() != "profc":
                    continue
            for fd in os.listdir(f"/proc/{entry}/fd"):
                if os.readlink(f"/proc/{entry}/fd/{fd}").startswith(wanted):
                    return int(entry)
        except OSError:
            continue
    return 0


def nr_scheduled(pid, tid):
    """How often a thread has got a CPU."""
    with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[2])


def cpu_ns(pid):
    """CPU time of all live threads as the scheduler accounts it."""
    total = 0
    for tid in threads(pid):
        try:
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


SYSTEM_CALLS = {
    "x86_64": {59: "execve", 101: "ptrace"},
    "aarch64": {221: "execve", 117: "ptrace"},
}[os.uname().machine]


def system_calls(pid):
    """The names of those that its threads are in, as far as tests ask for them."""
    names = set()
    for tid in threads(pid):
        try:
            with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
                number = file.read().split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if number.isdigit():
            names.add(SYSTEM_CALLS.get(int(number)))
    return names


def written_bytes(pid):
    """Bytes that a process has written so far, whatever to: proc_pid_io(5)."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(dict(line.split(": ") for line in file)["wchar"])


def pending(pid):
    """The signals that wait for a process, as the mask of /proc."""
    return int(status(pid)["ShdPnd"], 16)


def nr_born():
    """Processes and threads that the machine has made since it was started: proc_stat(5)."""
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("processes "))


def stolen_ns():
    """What the host of a virtual machine has taken from all its CPUs: proc_stat(5), "steal"."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 1e9 / os.sysconf("SC_CLK_TCK")
