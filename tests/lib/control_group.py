# SPDX-License-Identifier: GPL-2.0-or-later
"""Control groups that hold processes still, of both versions."""

import os


class Group:
    """A group of its own below one of TOPS; removed at the end of the test, frozen or not."""

    TOPS: tuple = ()
    FILE = ""

    @classmethod
    def _make(cls):
        for top in cls.TOPS:
            path = os.path.join(top, f"profc-test-{os.getpid()}")
            try:
                os.mkdir(path)
            except OSError:
                continue
            if os.path.exists(os.path.join(path, cls.FILE)):
                return path
            os.rmdir(path)
        return None

    @classmethod
    def is_there(cls):
        path = cls._make()
        if path:
            os.rmdir(path)
        return bool(path)

    def __init__(self, case):
        self.case = case
        self.path = self._make()
        case.addCleanup(self._remove)

    def _remove(self):
        self.case.eventually(lambda: not self._read("cgroup.procs"), "the end of the processes")
        os.rmdir(self.path)

    def _read(self, name):
        with open(os.path.join(self.path, name), encoding="ascii") as file:
            return file.read()

    def _write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)

    def take(self, pid):
        # Before the test ends the process, as its later cleanups come first.
        self.case.addCleanup(self._set_frozen, False)
        self._write("cgroup.procs", str(pid))

    def freeze(self, frozen):
        self._set_frozen(frozen)
        self.case.eventually(lambda: self.is_frozen() == frozen, "the change of the group")

    def is_frozen(self):
        raise NotImplementedError

    def _set_frozen(self, frozen):
        raise NotImplementedError


class UnifiedGroup(Group):
    """Version 2: frozen threads can still be killed and traced."""

    TOPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
    FILE = "cgroup.freeze"

    def is_frozen(self):
        return "frozen 1" in self._read("cgroup.events")

    def _set_frozen(self, frozen):
        self._write(self.FILE, str(int(frozen)))


class FreezerGroup(Group):
    """Version 1: frozen threads cannot be interrupted."""

    TOPS = ("/sys/fs/cgroup/freezer",)
    FILE = "freezer.state"

    def is_frozen(self):
        return self._read(self.FILE).strip() == "FROZEN"

    def _set_frozen(self, frozen):
        self._write(self.FILE, "FROZEN" if frozen else "THAWED")
