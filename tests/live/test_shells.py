# SPDX-License-Identifier: GPL-2.0-or-later
"""Shells, make and their jobs under profc: the same output, order and statuses as without it."""

import os
import re
import subprocess

from live import LiveCase
from paths import PROFC
from targets import need
from terminal import Terminal

IN_COMPANY = True

FAST = ("-F", "1000", "--max-overhead", "0")

UNTIL_STOPPED = "until [[ $(jobs) == *Stopped* ]]; do sleep 0.02; done"

SCRIPTS = {
    "exit statuses": """
        for i in $(seq 0 255); do (exit $i); echo $?; done
        for i in $(seq 0 15 255); do sh -c "exit $i"; echo $?; done""",
    "deaths": """
        ulimit -c 0
        for s in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 24 25 26 27 29 30 31 34 50 64; do
            bash -c "kill -$s \\$\\$; sleep 1"; echo $s $?
            case $s in 2|3) continue; esac # which are ignored in the background
            sleep 20 & kill -$s $!; wait $!; echo $s $?
        done 2>/dev/null""",
    "broken pipes": """
        set -o pipefail
        for i in $(seq 20); do yes | head -n 1; echo ${PIPESTATUS[*]} $?; done
        seq 100000 | sort -n | sed -n 5000p | cat; echo ${PIPESTATUS[*]}
        (trap "" PIPE; yes 2>/dev/null; echo $? >n) | head -n 1; cat n""",
    # bash 5.2 waits for ever for a job that has ended before `wait -n` begins.
    "wait -n": """
        for i in 3 1 2; do mkfifo $i; (read -r x <$i; sleep 0.1; exit $i) & done
        for i in 1 2 3; do echo >$i; wait -n; echo $?; done; wait -n; echo $?""",
    "time": """
        TIMEFORMAT=%U; time (i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done) 2>/dev/null
        time sleep 0.05; times >/dev/null; echo $?""",
    "daemons": """
        nohup sh -c 'sleep 0.2; echo nohup' >n 2>/dev/null </dev/null &
        setsid -f sh -c 'sleep 0.2; ps -o sid= -p $$ | tr -d " " | grep -c "^$$\\$"' >s </dev/null
        (sh -c 'sleep 0.3; echo orphan' >o &)
        wait; until [ -s n ] && [ -s s ] && [ -s o ]; do sleep 0.05; done; cat n s o""",
    "traps": """
        trap 'echo usr1' USR1; trap 'echo term' TERM; trap 'echo exit' EXIT
        for i in $(seq 20); do kill -USR1 $$; done; kill -TERM $$
        (trap 'echo int; exit 7' INT; kill -INT $BASHPID; echo no); echo $?""",
    "a stopped member of a pipeline": """
        set -m
        mkfifo go
        { seq 3; sleep 0.3; read -r x <go; seq 4 6; } | { exec tee out; } &
        until [ "$(wc -l <out)" = 3 ]; do sleep 0.02; done 2>/dev/null
        kill -STOP %1; until [[ $(jobs) == *Stopped* ]]; do sleep 0.02; done; echo stopped
        kill -CONT %1; echo >go
        wait %1; echo $?
        sleep 30 & kill -STOP $!; sleep 0.1; kill -TERM $!; kill -CONT $!; sleep 0.3; wait $!; echo $?""",
    "timeouts": """
        timeout 0.1 sleep 20; echo $?
        timeout -s INT 0.1 sleep 20; echo $?
        timeout -k 0.1 20 sh -c 'trap "" TERM; sleep 0.2; kill $PPID; while :; do sleep 0.05; done'; echo $?
        timeout 20 sh -c 'exit 9'; echo $?
        mkfifo in; exec 3<>in; read -t 0.1 x <&3; echo $?""",
    "co-processes": """
        coproc cat; echo hello >&${COPROC[1]}; read -r x <&${COPROC[0]}; echo $x
        eval "exec ${COPROC[1]}>&-"; wait $COPROC_PID; echo $?
        diff <(seq 100) <(seq 100); echo $?""",
}

MAKEFILE = """
all: $(addprefix job,$(shell seq 300))
job%:
	@sh -c 'echo $* > $@.out; exit 0'
fail: $(addprefix bad,$(shell seq 5))
bad%:
	@sh -c 'kill -KILL $$$$'
"""


class Shells(LiveCase):
    def run_one(self, argv, directory):
        os.mkdir(self.path(directory))
        done = subprocess.run(
            argv, cwd=self.path(directory), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )
        return done.stdout, done.returncode

    def recorded(self, argv):
        return [PROFC, "record", "-q", "--no-symbols", *FAST, "-o", self.path("x"), "--", *argv]

    def test_scripts(self):
        bash = need("bash")
        for number, (name, script) in enumerate(SCRIPTS.items()):
            with self.subTest(script=name):
                argv = [bash, "-c", script]
                plain = self.run_one(argv, f"plain{number}")
                self.assertGreater(len(plain[0]), 1)
                self.assertEqual(self.run_one(self.recorded(argv), f"recorded{number}"), plain)

    def test_make_with_jobs(self):
        make = need("make")
        file = self.path("Makefile")
        with open(file, "w", encoding="utf-8") as out:
            out.write(MAKEFILE)
        for goal in ("all", "fail"):
            for jobs in ("-j8", "-j2"):
                argv = [make, "-k", "-f", file, jobs, goal]
                plain = self.run_one(argv, f"plain-{goal}{jobs}")
                recorded = self.run_one(self.recorded(argv), f"recorded-{goal}{jobs}")
                self.assertEqual(recorded, plain)
                made = [sorted(os.listdir(self.path(f"{how}-{goal}{jobs}")))
                        for how in ("plain", "recorded")]
                self.assertEqual(*made)
                self.assertEqual(len(made[0]), 300 if goal == "all" else 0)


class JobControl(LiveCase):
    """What a person at a terminal sees of Ctrl-Z, Ctrl-C, fg, bg, jobs and kill."""

    def session(self, argv):
        shell = Terminal(argv, self.directory)
        shell.read_until(shell.PROMPT)
        shell.type("stty -echo\n")
        for _ in range(3):
            shell.type("cat\n", "")
            shell.type("one\n", "one")
            shell.type("\x1a")
            shell.type("jobs\n")
            shell.type("fg\n", "cat")
            shell.type("two\n", "two")
            shell.type("\x04")
            shell.type("echo $?\n")
        shell.type("sleep 100\n", "")
        self.wait_for_job(shell, "sleep")
        shell.type("\x1a")
        shell.type("echo $?\n")
        shell.type("bg\n")
        shell.type("jobs\n")
        shell.type("kill %1; wait %1; echo $?\n")
        shell.type("sleep 100 | cat &\n")
        shell.type(f"kill -STOP %1; {UNTIL_STOPPED}; jobs\n")
        shell.type("kill -CONT %1; kill -KILL %1; wait %1; echo $?\n")
        shell.type("sleep 100\n", "")
        self.wait_for_job(shell, "sleep")
        shell.type("\x03")
        shell.type("echo $?\n")
        shell.type(f"cat & {UNTIL_STOPPED}\n")
        shell.type("jobs\n")
        shell.type("kill -KILL %1; sleep 0.3\n")
        status = shell.close()
        # bash may learn of a stop while it waits for input, and begins a line for it then.
        text = re.sub(r"(?<=<ready>)\r\n(?=\[1\]\+  Stopped)", "", shell.text)
        return status, re.sub(r"\b\d{3,}\b", "N", text)

    def wait_for_job(self, shell, name):
        """Its group has the terminal."""

        def has_terminal():
            try:
                group = os.tcgetpgrp(shell.end)
                with open(f"/proc/{group}/comm", encoding="utf-8") as file:
                    return file.read().strip() == name
            except OSError:
                return False

        self.eventually(has_terminal, f"{name} in the foreground")

    def test_interactive_shell(self):
        bash = [need("bash"), "--norc", "--noprofile", "-i"]
        plain = self.session(bash)
        recorded = self.session(
            [PROFC, "record", "-q", "--no-symbols", *FAST, "-o", self.path("x"), "--", *bash]
        )
        self.assertEqual(recorded, plain)
        self.assertEqual(plain[0], 3)
        self.assertIn("Stopped", plain[1])
