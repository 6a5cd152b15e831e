# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the unittest cases of one file and print TAP, as the C unit programs do.

	python3 tests/lib/tap.py FILE [NAME...]

A NAME selects the cases whose "Class.test" contains it.
"""

import importlib.util
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from host import HostWatch  # noqa: E402  (needs the line above)
from profc import heard  # noqa: E402


class TapResult(unittest.TestResult):
    """Prints one line a case as soon as it ends, so that a crash loses only the rest."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.number = 0
        self.host = HostWatch()

    def line(self, ok, test, directive="", output=""):
        self.number += 1
        name = test.id().partition(".")[2] or test.id()
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name}{directive}", file=self.out)
        for text in output.rstrip("\n").split("\n") if output else ():
            print(f"# {text}", file=self.out)
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        heard.clear()
        self.host = HostWatch()

    def account(self, err, test):
        """Why it failed; how often profc sampled and what stops took, as it said; and the host."""
        said = "".join(f"profc said: {text[-1000:]}\n" for text in heard)
        return self._exc_info_to_string(err, test) + said + self.host.in_words()

    def addSuccess(self, test):
        self.line(True, test)

    def addSkip(self, test, reason):
        self.line(True, test, f" # SKIP {reason}")

    def addFailure(self, test, err):
        self.line(False, test, output=self.account(err, test))

    addError = addFailure

    def addExpectedFailure(self, test, err):
        self.line(False, test, output="expected failures are not used here")

    def addUnexpectedSuccess(self, test):
        self.line(False, test, output="expected failures are not used here")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.line(False, subtest, output=self.account(err, test))


def load(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def cases(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from cases(entry)
        else:
            yield entry


def main(path, *names):
    # nohup(1) and shells without job control (cmd &) ignore them in all that they start: the
    # tests begin as from a terminal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)  # what a test prints goes with the diagnostics, not into the TAP
    found = list(cases(unittest.defaultTestLoader.loadTestsFromModule(load(path))))
    wanted = [test for test in found if not names or any(name in test.id() for name in names)]
    print(f"1..{len(wanted)}", file=out, flush=True)
    unittest.TestSuite(wanted).run(TapResult(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
