# SPDX-License-Identifier: GPL-2.0-or-later
"""What shells offer. That bash has the commands and options, scripts/check-docs says."""

import os
import re
import shutil
import subprocess
import unittest

from paths import BUILD, ROOT
from profc import profc

ENVIRONMENT = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}
TIMES = {"cpu", "wall", "runq", "blocked", "samples"}
MEMORY = {"alloc", "allocs", "live", "peak", "leaked", "temporary", "freed"}
METRICS = {"report": TIMES | MEMORY | {"calls"}, "annotate": TIMES | MEMORY,
           "export": TIMES | MEMORY, "diff": TIMES | MEMORY, "top": TIMES | MEMORY}
TAKES_VALUE = re.compile(r"^ +(?:(-\w), |    )(--[a-z-]+) [A-Z]", re.M)


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=ENVIRONMENT, check=True, text=True).stdout


def bash(words, call):
    quoted = " ".join(f"'{word}'" for word in words)
    return output("bash", "--norc", "-c", f"""
        source {ROOT}/completions/profc.bash
        COMP_WORDS=({quoted})
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        {call}""")


def bash_offers(*words):
    return bash(words, "_profc; printf '%s\\n' \"${COMPREPLY[@]}\"").split()


def zsh_offers(*words):
    """Without the completion system of zsh, of which it calls a few functions."""
    quoted = " ".join(f"'{word}'" for word in words)
    return output("zsh", "-f", "-c", f"""
        compadd() {{ [[ $1 == -a ]] && print -l ${{(P)2}} || print -l -- "$@" }}
        _files() {{ print -- FILES }}
        _command_names() {{ print -- COMMANDS }}
        _pids() {{ print -- PIDS }}
        words=({quoted})
        CURRENT=$#words
        source {ROOT}/completions/profc.zsh""").split()


def fish_offers(*words):
    line = " ".join(words)
    offered = output("fish", "--no-config", "-c",
                     f"source {ROOT}/completions/profc.fish; complete -C '{line}'")
    return [row.split("\t")[0] for row in offered.splitlines()]


class Completions(unittest.TestCase):
    def expect(self, wanted, *words):
        for shell, offers in (("bash", bash_offers), ("zsh", zsh_offers), ("fish", fish_offers)):
            with self.subTest(words=words, shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"there is no {shell}")
                self.assertEqual(set(offers(*words)), wanted)

    def test_metrics_are_those_that_the_command_takes(self):
        for command, metrics in METRICS.items():
            done = profc(command, "-m", "beauty", status=2)
            taken = done.stderr.partition("must be one of ")[2].splitlines()[0]
            self.assertEqual(set(taken.split(", ")), metrics)
            self.expect(metrics, "profc", command, "-m", "")

    def test_dimensions_are_those_that_the_command_takes(self):
        for command in ("report", "top"):
            done = profc(command, "--by", "beauty", status=2)
            taken = done.stderr.partition("must be one of ")[2].splitlines()[0]
            self.expect(set(taken.split(", ")), "profc", command, "--by", "")

    def test_of_functions_nothing_is_offered(self):
        for option in ("--within", "--count", "--mem-functions"):
            self.expect(set(), "profc", "record", option, "")

    def test_values_of_options_are_not_taken_for_the_command(self):
        for command in ("record", "top"):
            options = TAKES_VALUE.findall(profc(command, "--help").stdout)
            self.assertGreater(len(options), 15)
            for option in [name for pair in options for name in pair if name]:
                with self.subTest(command=command, option=option):
                    words = ("profc", command, option, "value", "./prog", "")
                    self.assertEqual(bash(words, "_profc_command_at").strip(), "4")


if __name__ == "__main__":
    unittest.main()
