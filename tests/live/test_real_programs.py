# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that people run: the top of the table is what is known to be true of them."""

import os
import subprocess
import sys

from live import LiveCase
from profc import record
from targets import build, need


class RealProgram(LiveCase):
    def check(self, argv, complete=0.9, **popen):
        """Record, compare the total with what the kernel charged the children."""
        before = os.times()
        recording = record(self.directory, argv, **popen)
        after = os.times()
        charged = 1e9 * (
            after.children_user + after.children_system
            - before.children_user - before.children_system
        )
        report = recording.report()
        # profc and its own time are among what was charged: an upper bound.
        self.assertLess(report["total_ns"], 1.02 * charged)
        self.assertComplete(recording, complete)
        return recording

    def total_of(self, recording, part):
        """
        The largest total share of a function whose name contains `part`, of what is known; or what
        it may be, by its interval, where so few samples say little.
        """
        rows = [row for row in recording.rows() if part in row["function"]]
        self.assertTrue(rows, part)
        row = max(rows, key=lambda row: row["total_ns"])
        known_ns = self.known_ns(recording)
        return 100 * row["total_ns"] / known_ns + 1.5 * row["total_ci_pct"]


class Programs(RealProgram):
    def test_python(self):
        script = "x = 0\nfor i in range(6000000):\n    x += i % 7\nprint(x)"
        recording = self.check([sys.executable, "-c", script])
        self.assertEqual(recording.stdout.strip(), str(sum(i % 7 for i in range(6000000))))
        # The time of its own lines is that of the script, which has no file here.
        report = recording.report("--by", "module")
        top = {os.path.basename(row["module"]) for row in report["rows"][:2]}
        self.assertTrue([name for name in top if "python" in name or name == "<string>"], top)

    def test_sqlite(self):
        sqlite = need("sqlite3")
        query = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000) "
            "SELECT count(*), sum(i % 7) FROM n;"
        )
        recording = self.check([sqlite, ":memory:", query])
        plain = subprocess.run(
            [sqlite, ":memory:", query], stdout=subprocess.PIPE, text=True, check=True
        )
        self.assertEqual(recording.stdout, plain.stdout)
        self.assertGreaterEqual(self.total_of(recording, "sqlite3_step"), 50)

    def test_gcc_and_its_processes(self):
        need("gcc")
        source = self.path("large.c")
        with open(source, "w", encoding="utf-8") as file:
            for i in range(1500):
                file.write(f"int f{i}(int a, int b) {{ int s = 0;\n")
                file.write(f"for (int i = a; i < b; i++) s += i * {i} ^ (s >> 3); return s; }}\n")
        recording = self.check(
            ["gcc", "-O2", "-c", source, "-o", self.path("large.o")], complete=0.85
        )
        self.assertTrue(os.path.exists(self.path("large.o")))
        # Before it executes the compiler, the child may pass by its name for a moment, too.
        rows = recording.rows("--by", "process")
        compiling = sum(row["self_pct"] for row in rows if row["name"] == "cc1")
        self.assertGreaterEqual(compiling, 60, rows)
        self.assertIn("as", [row["name"] for row in rows])

    def test_make_with_many_short_processes(self):
        need("make")
        with open(self.path("Makefile"), "w", encoding="utf-8") as file:
            file.write("all: " + " ".join(f"t{i}" for i in range(60)) + "\n")
            file.write("t%:\n\t@expr $* + 1 >> out.$*; true | cat\n")
        recording = record(
            self.directory, ["make", "-s", "-j4"], cwd=self.directory, status=0
        )
        for i in range(60):
            with open(self.path(f"out.{i}"), encoding="utf-8") as file:
                self.assertEqual(file.read(), f"{i + 1}\n")
        names = {row["name"] for row in recording.rows("--by", "process")}
        self.assertIn("make", names)

    def test_zstd_with_two_threads(self):
        zstd = need("zstd")
        with open(self.path("input"), "wb") as file:
            text = b"".join(b"line %d of the input %d\n" % (i, i * i) for i in range(400000))
            file.write(text)
        recording = self.check(
            [zstd, "-q", "-T2", "-12", "-f", self.path("input"), "-o", self.path("input.zst")]
        )
        plain = subprocess.run(
            [zstd, "-q", "-dc", self.path("input.zst")], stdout=subprocess.PIPE, check=True
        )
        self.assertEqual(plain.stdout, text)
        threads = recording.rows("--by", "thread")
        self.assertGreaterEqual(len([row for row in threads if row["self_pct"] > 5]), 1)
        modules = recording.rows("--by", "module")
        self.assertIn("zstd", os.path.basename(modules[0]["module"]))

    def test_cpp_names_are_demangled(self):
        recording = self.check([build("cpp_templates"), "600"])
        names = [row["function"] for row in recording.rows()]
        (mix,) = [name for name in names if "Mixer" in name and "mix" in name]
        self.assertMostlyIn(recording, mix, 0.9, "self_ns")
        self.assertTrue(any("MixingWorker" in name and "work" in name for name in names))
        self.assertFalse([name for name in names if name.startswith("_ZN")])

    def test_cpp_exceptions(self):
        recording = self.check([build("cpp_exceptions"), "600"])
        self.assertGreaterEqual(self.total_of(recording, "thrower"), 50)
        self.assertGreaterEqual(self.total_of(recording, "catcher"), 60)

    def test_rust(self):
        recording = self.check([build("rust_program"), "700"])
        names = {row["function"]: row for row in recording.rows()}
        self.assertGreaterEqual(self.total_of(recording, "fold_bytes"), 80)
        self.assertGreaterEqual(self.total_of(recording, "count_words"), 85)
        mangled = [name for name in names if name.startswith(("_ZN", "_R"))]
        self.assertEqual(mangled, [])
        hashes = [name for name in names if "17h" in name and name.endswith("E")]
        self.assertEqual(hashes, [])


LUA = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for _ = 1, 4 do
    fib(30)
    for j = 1, 300000 do t[j] = math.sin(j) * j end
    table.sort(t)
end
"""

JAVA = """
public class Calls {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] arguments) {
        java.util.HashMap<String, Integer> map = new java.util.HashMap<>();
        int sum = 0;
        for (int i = 0; i < 60; i++) {
            sum += fib(28);
            for (int j = 0; j < 20000; j++)
                map.merge("x" + j, 1, Integer::sum);
        }
        System.out.println(sum + map.size());
    }
}
"""

LISP = """
(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(dotimes (i 15)
  (print (fib 32))
  (let ((h (make-hash-table :test 'equal)))
    (dotimes (k 60000) (setf (gethash (format nil "k~d" (mod (* k 7919) 60000)) h) k))
    (sort (loop for k being the hash-keys of h collect k) #'string<)))
"""


class CompiledAtRunTime(RealProgram):
    """Code without unwind information that keeps no frame pointers, either."""

    def write(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def test_luajit(self):
        recording = self.check([need("luajit"), self.write("calls.lua", LUA)], complete=0.97)
        self.assertGreaterEqual(self.total_of(recording, "main"), 95)

    def test_sbcl(self):
        """Two stacks: Lisp's, and the one that the program began on."""
        recording = self.check([need("sbcl"), "--script", self.write("fib.lisp", LISP)], 0.97)
        self.assertGreaterEqual(self.total_of(recording, "__libc_start_main"), 85)

    def test_java(self):
        java, javac = need("java"), need("javac")
        subprocess.run([javac, self.write("Calls.java", JAVA)], check=True)
        self.check([java, "-XX:+UseSerialGC", "-cp", self.directory, "Calls"], complete=0.95)
