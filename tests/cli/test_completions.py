# SPDX-License-Identifier: GPL-2.0-or-later
"""What shells offer: candidates, and what they make of keys that are typed."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from made import MadeCase, make_profile
from paths import BUILD, ROOT
from profc import profc
from targets import build

ENVIRONMENT = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "TERM": "xterm"}
TIMES = {"cpu", "wall", "runq", "blocked", "elapsed", "samples"}
MEMORY = {"alloc", "allocs", "live", "peak", "leaked", "temporary", "freed"}
COUNTERS = {"faults", "switches", "read-bytes", "written-bytes", "instructions", "cycles",
            "cache-misses", "branch-misses", "migrations"}
ALL = TIMES | MEMORY | COUNTERS
METRICS = {"report": ALL | {"calls"}, "annotate": ALL, "view": ALL, "export": ALL, "diff": ALL,
           "top": ALL}
TAKES_VALUE = re.compile(r"^ +(?:(-\w), |    )(--[a-z-]+) [A-Z]", re.M)


def output(*command, **popen):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=ENVIRONMENT, check=True, text=True, **popen).stdout


def quoted(words):
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def asked(*words):
    """What the program itself answers, without its descriptions."""
    answers = profc("--complete", *words, env=ENVIRONMENT).stdout.splitlines()
    return [answer.split("\t")[0] for answer in answers]


def bash_offers(*words, before="", **popen):
    """Words as bash splits them; what readline would put in place of the last one."""
    return output("bash", "--norc", "-c", f"""
        {before}
        source {ROOT}/completions/profc.bash
        COMP_WORDS=({quoted(words)})
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _profc; printf '%s\\n' "${{COMPREPLY[@]}}" """, **popen).splitlines()


def zsh_offers(*words, **popen):
    """Without the completion system of zsh, of which it calls a few functions."""
    return output("zsh", "-f", "-c", f"""
        compadd() {{ shift ${{@[(i)--]}}; print -l -- "$@" }}
        _files() {{ print -- FILES }}
        _command_names() {{ print -- COMMANDS }}
        _normal() {{ print -l -- NORMAL $CURRENT $words }}
        compset() {{ }}
        words=({quoted(words)})
        CURRENT=$#words
        PREFIX=$words[-1]
        source {ROOT}/completions/profc.zsh || true""", **popen).splitlines()


def fish_offers(*words, **popen):
    line = " ".join(words)
    offered = output("fish", "--no-config", "-c",
                     f"source {ROOT}/completions/profc.fish; complete -C '{line}'", **popen)
    return [row.split("\t")[0] for row in offered.splitlines()]


OFFERS = {"bash": bash_offers, "zsh": zsh_offers, "fish": fish_offers}


class Completions(unittest.TestCase):
    def expect(self, wanted, *words):
        self.assertEqual(set(asked(*words[1:])), wanted)
        for shell, offers in OFFERS.items():
            with self.subTest(words=words, shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"there is no {shell}")
                self.assertEqual({offer for offer in offers(*words) if offer}, wanted)

    def test_commands_have_descriptions(self):
        answers = profc("--complete", "").stdout.splitlines()
        self.assertIn("view\tshow a profile in the browser", answers)
        self.assertTrue(all(answer.split("\t")[1] for answer in answers))
        commands = set(profc("--list-commands").stdout.split())
        self.expect(commands | {"help", "--help", "--version"}, "profc", "")
        self.expect(commands, "profc", "help", "")
        self.expect({"-v"}, "profc", "--version", "")

    def test_options_have_descriptions(self):
        for command in profc("--list-commands").stdout.split():
            answers = profc("--complete", command, "-").stdout.splitlines()
            self.assertEqual({answer.split("\t")[0] for answer in answers},
                             set(profc(command, "--list-options").stdout.split()))
            for answer in answers:
                self.assertRegex(answer, r"^--?[A-Za-z][a-z-]*\t[^\t]+$")

    def test_metrics_are_those_that_the_command_takes(self):
        for command, metrics in METRICS.items():
            done = profc(command, "-m", "beauty", status=2)
            taken = done.stderr.partition("must be one of ")[2].splitlines()[0]
            self.assertEqual(set(taken.split(", ")), metrics)
            self.expect(metrics, "profc", command, "-m", "")

    def test_values_behind_an_equals_sign(self):
        self.assertEqual(asked("report", "--metric=al"), ["--metric=alloc", "--metric=allocs"])
        self.assertEqual(asked("report", "--met=wa"), ["--met=wall"])
        # bash parts words there, and replaces only what is behind.
        self.assertEqual(bash_offers("profc", "report", "--metric", "=", "al"), ["alloc", "allocs"])
        self.assertEqual(set(bash_offers("profc", "export", "--metric", "=")), ALL)
        for shell in ("zsh", "fish"):
            if shutil.which(shell):
                self.assertEqual(OFFERS[shell]("profc", "report", "--metric=al"),
                                 ["--metric=alloc", "--metric=allocs"])

    def test_dimensions_are_those_that_the_command_takes(self):
        for command in ("report", "top"):
            done = profc(command, "--by", "beauty", status=2)
            taken = done.stderr.partition("must be one of ")[2].splitlines()[0]
            wanted = set(taken.replace("label:KEY", "label:").split(", "))  # KEY is to be typed
            self.expect(wanted, "profc", command, "--by", "")

    def test_what_a_recorder_is_told_comes_after_its_directory(self):
        self.assertEqual(asked("ctl", "dumps", ""), ["list", "dump", "stop"])
        self.assertEqual(asked("ctl", "dumps", "d"), ["dump"])
        self.assertEqual(asked("ctl", ""), [":directories"])
        self.assertEqual(asked("ctl", "dumps", "dump", ""), [])

    def test_keys_to_sort_by_are_those_that_report_takes(self):
        keys = asked("report", "--sort", "")
        self.assertGreater(len(keys), 5)
        self.assertEqual(asked("report", "--sort", "self,t"), ["self,total"])
        for key in keys:
            said = profc("report", "-i", "/nonexistent", "--sort", key, status=1).stderr
            self.assertIn("/nonexistent", said)

    def test_processes_have_names(self):
        with subprocess.Popen(["sleep", "60"]) as target:
            answers = profc("--complete", "attach", "-p", "").stdout.splitlines()
            self.assertIn(f"{target.pid}\tsleep", answers)
            self.assertIn(f"1,{target.pid}", asked("dump", "-p", "1,"))
            target.kill()

    def test_threads_of_the_kernel_are_no_processes(self):
        offered = asked("attach", "-p", "")
        self.assertIn(str(os.getpid()), offered)
        of_kernel = output("ps", "--ppid", "2", "-p", "2", "-o", "pid=").split()
        self.assertFalse(set(of_kernel).intersection(offered) - {"1"})

    def test_of_functions_nothing_is_offered_without_a_program(self):
        for option in ("--within", "--count", "--spans", "--mem-functions"):
            self.expect(set(), "profc", "record", option, "")
        self.assertEqual(asked("attach", "-p", "1234567", "--count", ""), [])

    def test_functions_are_those_of_the_program(self):
        program = build("four_functions")
        functions = set(asked("3", "record", "--count", "", "--", program))
        self.assertIn("main", functions)
        self.assertTrue(all("(" not in name for name in functions))
        for option in ("--within", "--spans", "--count-calls-in"):
            self.assertEqual(asked("3", "record", option, "mai", program), ["main"])
            self.assertEqual(asked("2", "record", f"{option}=mai", "--", program),
                             [f"{option}=main"])
        self.assertEqual(asked("3", "whatif", "--progress", "mai", "--", program), ["main"])
        self.assertEqual(asked("3", "record", "--count", "^mai", "--", program), ["^main"])
        self.assertEqual(asked("3", "record", "--count", "ma(", "--", program), [])
        # A program in PATH, and one that runs.
        self.assertIn("main", asked("3", "record", "--count", "mai", "--", "profc"))
        with subprocess.Popen([program, "60000"], stdout=subprocess.DEVNULL) as target:
            self.assertEqual(asked("attach", "-p", str(target.pid), "--count", "mai"), ["main"])
            target.kill()

    def test_shells_tell_what_follows_the_cursor(self):
        program = build("four_functions")
        offered = output("bash", "--norc", "-c", f"""
            source {ROOT}/completions/profc.bash
            COMP_WORDS=(profc record --count = mai -- {program})
            COMP_CWORD=4
            _profc; printf '%s\\n' "${{COMPREPLY[@]}}" """).split()
        self.assertEqual(offered, ["main"])
        if shutil.which("zsh"):
            offered = output("zsh", "-f", "-c", f"""
                compadd() {{ shift ${{@[(i)--]}}; print -l -- "$@" }}
                words=(profc record --count mai -- {program})
                CURRENT=4
                PREFIX=mai
                source {ROOT}/completions/profc.zsh || true""").split()
            self.assertEqual(offered, ["main"])

    def test_profiles_are_offered_where_a_profile_is_wanted(self):
        with tempfile.TemporaryDirectory() as directory:
            for name in ("a run.data", "sub/b.data"):
                os.makedirs(os.path.dirname(os.path.join(directory, name)), exist_ok=True)
                make_profile(os.path.join(directory, name), 100, 10, 1)
            with open(os.path.join(directory, "a run.txt"), "w", encoding="ascii") as file:
                file.write("text")
            os.mkfifo(os.path.join(directory, "a.fifo"))
            inside = {"cwd": directory, "env": ENVIRONMENT}
            for words in (("report",), ("report", "-i"), ("diff",), ("diff", "x", "--"), ("merge",),
                          ("info",), ("explain",), ("view",), ("export",), ("symbolize", "-i")):
                answer = profc("--complete", *words, "", **inside).stdout
                self.assertEqual(answer, ":paths\na run.data\t\nsub/\t\n", words)
            answer = profc("--complete", "report", "--input=sub/", **inside).stdout
            self.assertEqual(answer, ":paths\n--input=sub/b.data\t\n")
            self.assertEqual(profc("--complete", "report", "a run.data", "", **inside).stdout,
                             ":files\n")
            for shell, offers in OFFERS.items():
                if shutil.which(shell):
                    offered = offers("profc", "report", "-i", "", cwd=directory)
                    self.assertEqual(set(offered), {"a run.data", "sub/"}, shell)

    def test_files_and_directories(self):
        self.assertEqual(asked("record", "--html="), [":files"])
        self.assertEqual(asked("annotate", "--", "-"), [":files"])
        self.assertEqual(asked("report", "-i", "~/x"), [":files"])  # the shell knows where
        self.assertEqual(asked("symbolize", "--debug-dir", ""), [":directories"])
        self.assertEqual(asked("export", "--push", ""),
                         ["pyroscope+https:", "parca+https:", ":directories"])
        self.assertEqual(asked("record", "--agent", ""), [":programs"])
        directory = os.path.join(ROOT, "lib")
        self.assertEqual(bash_offers("profc", "report", "-i", "bas", cwd=directory), ["base/"])
        self.assertEqual(bash_offers("profc", "view", "--output", "=", "bas", cwd=directory), ["base"])
        # What is behind a colon is not a file of its own.
        self.assertEqual(bash_offers("profc", "annotate", "x", "::", "bas", cwd=directory), [""])
        if shutil.which("fish"):
            self.assertEqual(fish_offers("profc", "report", "-i", "bas", cwd=directory), ["base/"])
            self.assertEqual(fish_offers("profc", "view", "--output=bas", cwd=directory),
                             ["--output=base/"])

    def test_values_of_options_are_not_taken_for_the_command(self):
        for command in ("record", "top"):
            options = TAKES_VALUE.findall(profc(command, "--help").stdout)
            self.assertGreater(len(options), 15)
            for option in [name for pair in options for name in pair if name]:
                with self.subTest(command=command, option=option):
                    self.assertEqual(asked(command, option, "value", "./prog", ""), [":command 3"])
        self.assertEqual(asked("record", "-qv", "-F100", "--mem", "--html=x", "-o", "y", ""),
                         [":programs"])
        self.assertEqual(asked("record", "--", "-", ""), [":command 2"])

    def test_words_of_the_command_are_completed_by_its_own(self):
        own = "_git() { COMPREPLY=(own \"${COMP_WORDS[@]}\" $COMP_CWORD); }; complete -F _git git"
        for line in (("--", "git"), ("git",), ("-o", "x=y", "--", "git")):
            words = ("profc", "record", *line, "--metric", "")
            self.assertEqual(bash_offers(*words, before=own), ["own", "git", "--metric", "", "2"])
            if shutil.which("zsh"):
                self.assertEqual(zsh_offers(*words), ["NORMAL", "3", "git", "--metric"])
        self.assertIn("true", bash_offers("profc", "record", "--", "tru"))
        if shutil.which("fish"):
            own = "complete -c git -f -a 'commit clone'"
            line = "profc record -o x -- git c"
            offered = output("fish", "--no-config", "-c", f"{own}; source "
                             f"{ROOT}/completions/profc.fish; complete -C '{line}'")
            self.assertEqual(set(offered.split()), {"commit", "clone"})
            self.assertIn("true", fish_offers("profc", "record", "--", "tru"))


class OfAProfile(MadeCase):
    SIZE = (2000, 300, 3)

    def test_functions_are_those_of_the_profile(self):
        report = profc("report", "-i", self.data, "-n", "1", "--csv").stdout
        beginning = report.splitlines()[1].split(",")[0].strip('"').partition("(")[0]
        for words in (("report", "-i", self.data, "--callers"), ("report", self.data, "--function"),
                      ("export", f"--input={self.data}", "--function")):
            self.assertIn(beginning, asked(*words, beginning[:6]))
        self.assertIn(beginning, asked("annotate", "-i", self.data, beginning[:6]))
        self.assertEqual(asked("report", "-i", self.data, "--callers", "no such"), [])
        self.assertEqual(asked("report", "-i", "/nonexistent", "--callers", ""), [])
        for shell, offers in OFFERS.items():
            with self.subTest(shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"there is no {shell}")
                self.assertIn(beginning, offers("profc", "report", "-i", self.data, "--callers",
                                                beginning[:6]))

    def test_each_offered_name_means_something(self):
        for option in ("--thread", "--process", "--module"):
            offered = asked("report", "-i", self.data, option, "")
            self.assertGreater(len(offered), 0, option)
            profc("report", "-i", self.data, option, offered[0], "-m", "wall")


class Typed(MadeCase):
    """Shells on a terminal, and their Tab key."""

    SIZE = (2000, 300, 3)
    SHELLS = {
        "bash": (["bash", "--norc", "-i"], "source {}/completions/profc.bash"),
        "zsh": (["zsh", "-f", "-i"],
                "autoload -Uz compinit; compinit -D -u; fpath=(); "
                "_profc() {{ source {}/completions/profc.zsh }}; compdef _profc profc"),
        "fish": (["fish", "--no-config", "-i"], "source {}/completions/profc.fish"),
    }

    def typed(self, shell, *expected):
        """Of (keys, what is to be seen then), on one line after the other."""
        command, setup = self.SHELLS[shell]
        process_id, end = pty.fork()
        if process_id == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
            os.environ.update(ENVIRONMENT, PS1="$ ", HOME=self.directory)
            os.chdir(self.directory)
            os.execvp(command[0], command)
        try:
            os.write(end, (setup.format(ROOT) + "; echo re''ady\n").encode())
            self.read_until(end, "ready\r\n")
            for keys, wanted in expected:
                os.write(end, keys.encode())
                self.read_until(end, wanted)
                os.write(end, b"\x15")
        finally:
            os.kill(process_id, signal.SIGKILL)
            os.close(end)
            os.waitpid(process_id, 0)

    def read_until(self, end, wanted, patience=20):
        deadline = time.monotonic() + patience
        text = ""
        while wanted not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[>=(]B?|\x07", "", text):
            if not select.select([end], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{wanted!r} did not come: {text!r}")
            text += os.read(end, 65536).decode(errors="replace")

    def test_tab_completes_profiles(self):
        for name in ("a run.data", "sub/b.data"):
            os.makedirs(os.path.dirname(os.path.join(self.directory, name)), exist_ok=True)
            make_profile(os.path.join(self.directory, name), 100, 10, 1)
        with open(os.path.join(self.directory, "a run.txt"), "w", encoding="ascii") as file:
            file.write("text")
        for shell in self.SHELLS:
            with self.subTest(shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"there is no {shell}")
                self.typed(shell,
                           ("profc info a\t", "info a\\ run.data"),
                           ("profc info --input=s\t\t", "--input=sub/b.data"),
                           ("profc info su\t\t", "info sub/b.data"))

    def test_tab_completes_and_lists_with_descriptions(self):
        for shell in self.SHELLS:
            with self.subTest(shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"there is no {shell}")
                # What is typed is echoed: only the rest of the word shows that it was completed.
                self.typed(shell,
                           ("profc rep\t", "profc report"),
                           ("profc export --metric=wa\t", "--metric=wall"),
                           ("profc d\t" + "\t" * (shell != "fish"),
                            "show what changed between two profiles"))


if __name__ == "__main__":
    unittest.main()
