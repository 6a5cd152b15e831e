# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code that programs make: heard while they run, and kept as they were said."""

import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import procfs
from live import LiveCase
from profc import Recorder, attach, profc, record
from targets import Running, build, need

# A map is read some ten times a second: what changes in between is told from then on.
LAG_MS = 150
ODD_NAMES = (
    "py::<module>:/srv/my app (copy)/x.py",
    "RegExp:^a (b|c) d",
    "RegExp:^a (x|y) d",
    "function (anonymous) /x.js",
    "Lcom/foo/Bar;::m(I)V",
    "_ZN3foo3barEv",
    "foo<bar> baz",
)


class JitNames(LiveCase):
    def setUp(self):
        super().setUp()
        self.program = build("names_own_code")

    def record(self, how, *names, cpu_ms=250, options=()):
        recording = record(self.directory, [self.program, how, str(cpu_ms), *names],
                           *options, cwd=self.directory)
        self.forget_map(recording.said[0]["pid"])
        return recording

    @staticmethod
    def forget_map(pid):
        for path in glob.glob(f"/tmp/perf-{pid}.map*"):
            os.remove(path)

    def shares(self, recording, names):
        """Of the time in code that was made, what each name got; and what it should have."""
        rows = [row for row in recording.rows() if row["module"] == "[jit]"]
        whole = sum(row["self_ns"] for row in rows)
        found = {row["function"]: row["self_ns"] / whole for row in rows}
        self.assertLessEqual(set(found), set(names), found)
        said = [part["cpu_ms"] for part in recording.said]
        return found, {name: ms / sum(said) for name, ms in zip(names, said)}

    def assert_named(self, recording, *names, lag_ms=0):
        found, said = self.shares(recording, names)
        allowance = 0.08 + lag_ms / sum(part["cpu_ms"] for part in recording.said)
        for name in names:
            self.assertPart(recording, found.get(name, 0), said[name], name, allowance)

    def test_names_are_as_the_map_has_them(self):
        recording = self.record("map", *ODD_NAMES)
        self.assert_named(recording, *ODD_NAMES)
        leaves = {frames[-1] for frames, _ in recording.folded("--names", "short")}
        for name in ODD_NAMES:
            self.assertIn(name.replace(";", ":"), leaves)

    def test_functions_of_python_have_their_source(self):
        path = self.path("app.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import re\n\ndef clean(s):\n    return re.sub('x', '', s)\n\nclean('x')\n")
        gone = self.path("gone.py")
        recording = self.record("map", f"py::clean:{path}", f"py::lost:{gone}")
        rows = {row["function"]: row for row in recording.rows()}
        row = rows[f"py::clean:{path}"]
        self.assertEqual((row["file"], row["line"]), (path, 3))
        row = rows[f"py::lost:{gone}"]
        self.assertEqual((row["file"], row["line"]), (gone, None))
        done = profc("annotate", "-i", recording.path, "py::clean", "--json")
        (line,) = [line for line in json.loads(done.stdout)["lines"] if line["total_ns"]]
        self.assertEqual((line["line"], line["text"]), (3, "def clean(s):"))
        text = profc("annotate", "-i", recording.path, "py::clean", "--width", "200")
        self.assertIn("    return re.sub('x', '', s)\n", text.stdout)
        self.assertNotIn("import re", text.stdout)
        self.assertIn("names functions, not lines: the time of each is at its first line", text.stderr)
        done = profc("annotate", "-i", recording.path, "py::lost", status=1)
        self.assertIn(f"the source of 'py::lost' was not found in {gone}", done.stderr)
        self.assertIn("profc report --callees", done.stderr)

    def test_a_forked_child_runs_code_that_its_parent_has_named(self):
        for _ in range(3):
            recording = self.record("forked", "one", "two", cpu_ms=150)
            names = {row["function"] for row in recording.rows() if row["module"] == "[jit]"}
            self.assertEqual(names, {"one", "two"})
            of_both = [row for row in recording.rows("--by", "pid") if row["pid"]]
            self.assertEqual(len(of_both), 2, of_both)

    def test_a_map_that_its_program_removes(self):
        self.assert_named(self.record("removed", "one", "two"), "one", "two")

    def test_a_last_line_without_its_end(self):
        self.assert_named(self.record("unfinished", "one", "two"), "one", "two")

    def test_lines_as_of_dos(self):
        self.assert_named(self.record("crlf", "one", "two"), "one", "two")

    def test_other_code_in_the_same_place_renames_no_earlier_sample(self):
        for how in ("appended", "rewritten", "swapped"):
            with self.subTest(how):
                recording = self.record(how, "one", "two", "one", cpu_ms=800)
                rows = {row["function"]: row["self_ns"] for row in recording.rows()
                        if row["module"] == "[jit]"}
                said = [part["cpu_ms"] for part in recording.said]
                share = rows["one"] / sum(rows.values())
                # Twice it comes late, once for either.
                self.assertEqual(set(rows), {"one", "two"})
                self.assertPart(recording, share, (said[0] + said[2]) / sum(said), how,
                                0.08 + LAG_MS / sum(said))

    def test_names_of_a_container_that_is_gone(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a container")
        need("unshare")
        inside = 'mount -t tmpfs none /tmp && exec "$0" map 600 in_container'
        recording = record(
            self.directory,
            ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", inside,
             self.public_program()],
            cwd=self.directory,
        )
        self.assertFalse(os.path.exists(f"/tmp/perf-{recording.said[0]['pid']}.map"))
        self.assert_named(recording, "in_container")

    def public_program(self):
        """A copy that is not in /tmp, where the container has another."""
        directory = tempfile.mkdtemp(prefix="profc-test-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, directory)
        return shutil.copy(self.program, directory)

    def test_names_without_symbols_are_found_later(self):
        recording = self.record("removed", "one", "two", options=("--no-symbols",))
        self.assertNotIn("one", {row["function"] for row in recording.rows()})
        profc("symbolize", "-i", recording.path)
        self.assert_named(recording, "one", "two")

    def test_names_of_a_recording_that_was_killed(self):
        with Recorder(self.directory, "record", self.program, "map", "2500", "one") as recorder:
            pid = self.wait_for_map(recorder)
            recorder.process.send_signal(signal.SIGKILL)
            recording = recorder.finish()
        with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
            if comm.read().strip() == "names_own_code":
                os.kill(pid, signal.SIGKILL)
        self.forget_map(pid)
        profc("symbolize", "-i", recording.path)
        self.assertIn("one", {row["function"] for row in recording.rows()})

    def wait_for_map(self, recorder):
        """Until the recording holds a second of it."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for pid in procfs.children(recorder.pid):
                if os.path.exists(f"/tmp/perf-{pid}.map"):
                    time.sleep(2.2)
                    return pid
            time.sleep(0.02)
        self.fail("no map appears")

    def test_a_jitdump_is_read_with_its_lines(self):
        recording = self.record("dump", "one", "two(int)<x>")
        self.assert_named(recording, "one", "two(int)<x>")
        lines = {(row["function"], os.path.basename(row["file"] or ""), row["line"])
                 for row in recording.rows("--by", "line") if row["module"] == "[jit]"}
        self.assertIn(("one", "made_up.src", 11), lines)
        self.assertIn(("two(int)<x>", "made_up.src", 11), lines)
        names = {module["names_from"] for module in recording_modules(recording)
                 if module["path"] == "[jit]"}
        self.assertEqual(names, {"jitdump"})

    def test_reports_say_what_was_found(self):
        said = profc("report", "-i", self.record("silent", "one").path).stdout
        self.assertIn("no /tmp/perf-PID.map or jitdump", " ".join(said.split()))
        if os.geteuid() != 0:
            self.skipTest("only root can give a file away")
        said = profc("report", "-i", self.record("foreign", "one").path).stdout
        self.assertIn("is owned by user", " ".join(said.split()))


def recording_modules(recording):
    return json.loads(recording.info("--json"))["modules"]


class Interpreters(LiveCase):
    def test_functions_of_python_need_no_advice(self):
        end = "import time\nend = time.process_time() + .6\nwhile time.process_time() < end: pass"
        recording = record(self.directory, [need("/usr/bin/python3.11"), "-c", end])
        said = " ".join(profc("report", "-i", recording.path).stdout.split())
        self.assertIn("<module>", said)
        self.assertNotIn("python3 -X perf", said)

    def test_functions_of_node_need_no_advice(self):
        end = "while (process.cpuUsage().user < 8e5) JSON.parse('[1]')"
        recording = record(self.directory, [need("node"), "-e", end])
        said = " ".join(profc("report", "-n", "0", "-i", recording.path).stdout.split())
        if "Node.js" not in recording.info():
            self.assertIn("node --perf-basic-prof", said)
        else:
            self.assertIn("(anonymous) [eval]:1", said)
            self.assertNotIn("node --perf-basic-prof", said)

    def test_how_functions_of_a_running_java_get_names(self):
        java, javac, jcmd = map(need, ("java", "javac", "jcmd"))
        source = self.path("Busy.java")
        with open(source, "w", encoding="ascii") as file:
            file.write(
                "public class Busy {\n"
                "    static int hot(int x) {\n"
                "        for (int i = 0; i < 100000; i++)\n"
                "            x = x * 31 + i;\n"
                "        return x;\n"
                "    }\n"
                "    public static void main(String[] words) {\n"
                "        int x = 1;\n"
                "        for (int i = 0; ; i++) {\n"
                "            x = hot(x);\n"
                "            if (i == 1000)\n"
                "                System.out.println(\"ready\");\n"
                "        }\n"
                "    }\n"
                "}\n"
            )
        subprocess.run([javac, source], check=True)
        argv = [java, "-XX:+UseSerialGC", "-cp", self.directory, "Busy"]
        with Running(argv) as target:
            target.wait_ready()
            options = ("-d", "1", "-F", "1000", "--max-overhead", "0")
            nameless = attach(self.directory, target.pid, *options)
            said = " ".join(profc("report", "-i", nameless.path).stdout.split())
            command = f"jcmd {target.pid} Compiler.perfmap"
            self.assertIn(f"-XX:+DumpPerfMapAtExit, of 17 and later; if it runs: {command})", said)
            subprocess.run([jcmd, str(target.pid), "Compiler.perfmap"], check=True,
                           stdout=subprocess.DEVNULL)
            self.addCleanup(os.remove, f"/tmp/perf-{target.pid}.map")
            named = attach(self.directory, target.pid, *options)
        self.assertGreater(named.function("int Busy.hot(int)")["self_ns"],
                           (0.9 - named.missed_share()) * named.report()["total_ns"])

    def test_lines_of_node(self):
        """V8 tells lines of its jitdump 64 bytes off."""
        node = need("node")
        script = self.path("spin.js")
        with open(script, "w", encoding="ascii") as file:
            file.write(
                "function spin(n) {\n"
                "  let sum = 0;\n"
                "  for (let i = 0; i < n; i++)\n"
                "    sum += Math.sqrt(i);\n"
                "  return sum;\n"
                "}\n"
                "while (process.cpuUsage().user < 15e5)\n"
                "  spin(100000);\n"
            )
        for _ in range(8):
            recording = record(self.directory, [node, "--perf-prof", script], cwd=self.directory)
            (dump,) = glob.glob(self.path("jit-*.dump"))
            sound = functions_with_lines(dump, script)
            os.remove(dump)
            rows = [row for row in recording.rows("--by", "line")
                    if row["module"] == "[jit]" and row["function"] in sound]
            whole = sum(row["self_ns"] for row in rows)
            if whole > 200e6:
                break
        else:
            self.skipTest("this node writes bytes of freed memory for the files of hot lines")
        in_loop = sum(row["self_ns"] for row in rows if row["line"] in (3, 4))
        self.assertGreater(in_loop, 0.7 * whole, rows)


def functions_with_lines(path, script):
    """Names in a jitdump whose table of lines is of that file alone: V8's are often damaged."""
    with open(path, "rb") as file:
        data = file.read()
    sound, is_sound = set(), False
    at = struct.unpack_from("<I", data, 8)[0]
    while at + 16 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        record = data[at:at + size]
        if kind == 2: # debug info: code, number of rows, rows of (address, line, column, file)
            (nr,) = struct.unpack_from("<Q", record, 24)
            is_sound = nr > 0 and record.count(script.encode() + b"\0") == nr
        elif kind == 0: # load
            name = record[56:record.index(b"\0", 56)].decode(errors="replace")
            sound.discard(name)
            if is_sound:
                sound.add(name)
            is_sound = False
        at += max(size, 16)
    return sound


if __name__ == "__main__":
    unittest.main()
