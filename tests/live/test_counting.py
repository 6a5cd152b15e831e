# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact counts: each compared with that of the program itself, or of another counter."""

import collections
import csv
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from live import LiveCase
from paths import TARGETS
from profc import Recorder, profc, record
from targets import PROTECTED, UNPROTECTED, WIDEST_VECTORS, Running, build, marked_line, need, source_path

IN_COMPANY = True


def own_counts(said):
    """{function: calls}, of what a program prints; functions of one name together."""
    counts = collections.Counter()
    for line in said:
        if "function" in line:
            counts[line["function"]] += line["calls"]
    return counts


class CountingCase(LiveCase):
    def record(self, argv, *options, **popen):
        """In a place of its own: where a recording fails no former one is to be taken for it."""
        return record(tempfile.mkdtemp(dir=self.directory), argv, *options, **popen)

    def library(self):
        return build("counted_plugin", "-O2", "-g", "-shared", "-fPIC", called="libcounted.so")

    def counted(self, recording, *options):
        """{function: calls} of a report; functions of one name together."""
        counts = collections.Counter()
        for row in recording.rows(*options):
            if row["calls"] is not None:
                counts[row["function"]] += row["calls"]
        return counts

    def probes(self, recording):
        return json.loads(recording.info("--json"))["probes"]

    def refused(self, recording):
        """{function: reasons}; None stands for a whole process."""
        reasons = collections.defaultdict(set)
        for refusal in self.probes(recording)["refused"]:
            reasons[refusal["function"]].add(refusal["reason"])
        return reasons

    def assertExact(self, recording, said=None, may_refuse=()):
        """What the program says it has counted, and nothing refused but what may be."""
        expected = own_counts(recording.said if said is None else said)
        self.assertTrue(expected, "the program has counted nothing")
        counted, refused = self.counted(recording), self.refused(recording)
        self.assertNotIn(None, refused)
        for function, calls in expected.items():
            if function in refused and function in may_refuse:
                self.assertNotIn(function, counted, refused[function])
            else:
                self.assertEqual(
                    counted.get(function), calls, f"{function}, {dict(refused)}"
                )
        self.assertEqual(self.probes(recording)["dropped"], 0)


# By those who call them, however short, and in whatever they begin.
HARD = {f"short_{nr}_close" for nr in (1, 2, 3, 4)} | {
    "loops_to_entry", "loops_to_second", "loops_far_to_second",
}


class Beginning(CountingCase):
    def test_time_begins_with_the_command(self):
        """Not with the search for names and the probes, which take seconds."""
        work = "import time; end = time.time() + 0.4\nwhile time.time() < end: pass"
        for options in (("--count", "^main$"), ("--mem=64K",)):
            with self.subTest(options=options):
                recording = self.record([sys.executable, "-c", work], *options)
                info = json.loads(recording.info("--json"))
                started_ns = info["processes"][0]["start_ns"]
                self.assertLess(started_ns, 0.2 * info["duration_ns"])
                self.assertGreater(info["duration_ns"], 400e6)


class Kinds(CountingCase):
    PATTERN = "^(kind|short|loops|begins|falls|chosen)_"

    def check(self, *flags):
        program = build("calls_of_all_kinds", "-g", *flags, more=["calls_of_all_kinds_more"])
        # In a directory of its own, where -pg leaves a file.
        recording = self.record([program], "--count", self.PATTERN, cwd=self.directory)
        self.assertExact(recording, may_refuse=HARD)
        self.assertTrue(self.probes(recording)["from_start"])
        return recording

    def test_optimizing(self):
        for flags in ("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-Os",):
            with self.subTest(flags=flags):
                self.check("-DIFUNC", *flags)

    def test_linking(self):
        for flags in (
            ("-O2", "-static"), ("-O2", "-static-pie"), ("-O2", "-no-pie"),
            ("-O2", "-fno-plt", "-Wl,-z,now"), ("-O2", "-Wl,-z,lazy", "-fPIC"),
        ):
            with self.subTest(flags=flags):
                self.check("-DIFUNC", *flags)

    def test_code_generation(self):
        for flags in (
            ("-O2", PROTECTED), ("-O2", UNPROTECTED),
            ("-O2", "-fstack-protector-all", "-fno-omit-frame-pointer"),
            ("-O2", WIDEST_VECTORS), ("-O2", "-ffunction-sections", "-falign-functions=1"),
            ("-O2", "-fpatchable-function-entry=5"),
            ("-O1", "-pg"),
        ):
            if "-fpatchable-function-entry=5" in flags and platform.machine() == "aarch64":
                continue  # debug information of gcc 12 has functions begin after it there
            with self.subTest(flags=flags):
                self.check(*flags)


class Programs(CountingCase):
    def check(self, program, *options, may_refuse=()):
        options = options or ("--count", os.path.basename(program) + "!.")
        recording = self.record([program], *options)
        self.assertExact(recording, may_refuse=may_refuse)
        return recording

    def test_clang(self):
        need("clang")
        for flags in ("-O0",), ("-O2",), ("-O3", PROTECTED, "-fno-plt"):
            with self.subTest(flags=flags):
                self.check(
                    self.by_compiler("clang", *flags), "--count", Kinds.PATTERN, may_refuse=HARD
                )

    def test_musl(self):
        need("musl-gcc")
        for flags in ("-O2",), ("-O2", "-static"):
            with self.subTest(flags=flags):
                self.check(
                    self.by_compiler("musl-gcc", *flags), "--count", Kinds.PATTERN, may_refuse=HARD
                )

    def test_what_cannot_be_counted_in_is_told(self):
        """A static program of musl without handlers of signals: no code ends a call of ours."""
        need("musl-gcc")
        program = self.path("plain")
        subprocess.run(
            ["musl-gcc", "-std=gnu11", "-static", "-o", program,
             source_path("calls_of_a_library"), source_path("counted_plugin")],
            check=True,
        )
        recording = self.record([program], "--count", "^plugin_")
        words = r"process \d+ has no code by which it could make system calls for profc"
        self.assertRegex(recording.stderr, words)
        self.assertEqual(self.counted(recording), {})
        (reason,) = self.refused(recording)[None]
        self.assertRegex(reason, words)

    def by_compiler(self, compiler, *flags):
        program = self.path("calls")
        sources = [source_path(name) for name in ("calls_of_all_kinds", "calls_of_all_kinds_more")]
        subprocess.run(
            [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-g", *flags, "-o", program, *sources],
            check=True,
        )
        return program

    def test_threads_signals_and_contexts(self):
        for flags in ("-O2", "-g"), ("-O2", "-g", "-static"), ("-O0", "-g"):
            with self.subTest(flags=flags):
                self.check(build("calls_in_threads", *flags))

    def test_cpp(self):
        own = "-fno-devirtualize-speculatively"
        for flags in ("-O0", "-g", own), ("-O2", "-g", own), ("-O2", "-g", "-static", own):
            with self.subTest(flags=flags):
                self.check(build("calls_of_cpp", *flags))

    def test_cpp_by_clang(self):
        need("clang++")
        program = self.path("calls")
        subprocess.run(
            ["clang++", "-std=c++17", "-O2", "-g", "-o", program, source_path("calls_of_cpp")],
            check=True,
        )
        self.check(program)

    def test_children(self):
        program = build("calls_in_children")
        for mode in "fork", "orphan", "vfork", "spawn", "exec":
            with self.subTest(mode=mode):
                recording = self.record([program, mode], "--count", "called_in_all")
                # Of another program what it did before it was found is not counted.
                is_one = mode in ("fork", "orphan")
                self.assertExact(recording)
                self.assertEqual(self.probes(recording)["from_start"], is_one)
                if mode != "exec":  # it may end before the recording has learned of that
                    self.assertEqual(self.probes(recording)["processes"], 1 if is_one else 2)

    def test_threads_and_processes_at_once(self):
        """Each may have a copy of the counters, or share one where no copy is left."""
        program = build("calls_at_once")
        for mode, threads, calls in (
            ("threads", 1, 5000000), ("threads", 2, 5000000), ("threads", 8, 2000000),
            ("threads", 600, 10000), ("births", 8, 500000), ("births", 40, 10000),
            ("forks", 8, 500000), ("forks", 60, 2000), ("vforks", 8, 500000),
            ("clones", 8, 5000000), ("signals", 4, 20000000),
        ):
            with self.subTest(mode=mode, threads=threads):
                self.assertExact(
                    self.record([program, mode, str(threads), str(calls)],
                                "--count", "called_at_once")
                )

    def test_threads_and_processes_at_once_by_call_site(self):
        program = build("calls_at_once")
        for mode in "threads", "births", "forks", "vforks", "signals":
            with self.subTest(mode=mode):
                recording = self.record([program, mode, "8", "500000"],
                                        "--count-calls-in=call", "--count-calls-in=on_signal")
                nodes = recording.report("--tree", "--counts")["nodes"]
                counted = sum(
                    node["calls"] or 0 for node in nodes if node["function"] == "called_at_once"
                )
                self.assertEqual(own_counts(recording.said)["called_at_once"], counted)

    def test_threads_of_musl_at_once(self):
        need("musl-gcc")
        program = self.path("calls_of_musl")
        for flags in (), ("-static",):
            subprocess.run(
                ["musl-gcc", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-O2", "-g", *flags,
                 "-o", program, source_path("calls_at_once")],
                check=True,
            )
            for mode in "threads", "births", "forks", "vforks":
                with self.subTest(flags=flags, mode=mode):
                    self.assertExact(
                        self.record([program, mode, "8", "200000"], "--count", "called_at_once")
                    )

    def test_library_called_through_the_plt(self):
        for flags in ("-Wl,-z,lazy",), ("-Wl,-z,now",), ("-fno-plt",), ("-Wl,-z,lazy", "-no-pie"):
            library = self.library()
            where = os.path.dirname(library)
            program = build(
                "calls_of_a_library", "-O2", "-g", *flags,
                libraries=(library, f"-Wl,-rpath,{where}"),
            )
            with self.subTest(flags=flags):
                self.check(
                    program, "--count", "libcounted.so!^plugin_", may_refuse={"plugin_other"}
                )

    def test_rust(self):
        need("rustc")
        self.check(build("calls_of_rust"), "--count", "counted_")

    def test_go(self):
        """A function that grows its stack goes back to its entry: it is refused, or exact."""
        need("go")
        program = self.path("calls_of_go")
        subprocess.run(
            ["go", "build", "-o", program, os.path.join(TARGETS, "calls_of_go.go")],
            check=True, env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"},
        )
        recording = self.record([program], "--count", r"^main\.")
        refusable = {"main.counted_deep", "main.counted_boxed"}
        self.assertExact(recording, may_refuse=refusable)
        for function in set(self.refused(recording)) & refusable:
            self.assertEqual(
                self.refused(recording)[function], {"a loop in it leads to its first instruction"}
            )


class Plugins(CountingCase):
    def plugin(self, called):
        """A copy of its own: an inode of its own."""
        library = self.library()
        return shutil.copy(library, self.path(called))

    def check(self, *libraries):
        recording = self.record(
            [build("calls_of_plugins"), *libraries], "--count", "^plugin_"
        )
        self.assertExact(recording, may_refuse={"plugin_other"})
        self.assertFalse(self.probes(recording)["from_start"])
        return recording

    def test_loaded_unloaded_and_loaded_again(self):
        """It stands where it stood, without the probes."""
        library = self.plugin("libfirst.so")
        recording = self.check(library, library, library)
        refusals = self.probes(recording)["refused"]
        self.assertEqual(len(refusals), len({json.dumps(one) for one in refusals}), refusals)

    def test_loaded_by_a_child_and_by_its_parent(self):
        """In the same place, but each for itself."""
        self.check("fork", self.plugin("libfirst.so"))

    def test_another_in_the_same_place(self):
        first, second = self.plugin("libfirst.so"), self.plugin("libsecond.so")
        recording = self.check(first, second, first)
        by_module = collections.Counter()
        for row in recording.rows():
            if row["function"] == "plugin_function":
                by_module[os.path.basename(row["module"])] += row["calls"]
        self.assertEqual(by_module, {"libfirst.so": 1001 + 1003, "libsecond.so": 1002})


class Requests(CountingCase):
    """Calls while the test knows whether they are counted."""

    def ask(self, target, times):
        """Four threads call so often; what the target says then."""
        target.process.stdin.write(f"{times}\n")
        target.process.stdin.flush()
        return json.loads(target.process.stdout.readline())

    def request(self, target, times):
        """The same; whether there was a probe then."""
        return self.ask(target, times)["probed"]

    def begin(self, target, *options):
        control = self.path("control")
        recorder = Recorder(
            self.directory, "attach", "-p", target.pid, "--count", "requested",
            "--control", f"fifo:{control}", *options,
        )
        self.eventually(lambda: os.path.exists(control), "the recording")
        return recorder, control

    def test_attached_counts_are_of_the_recording_alone(self):
        with Running([build("calls_on_request")]) as target:
            target.wait_ready()
            self.assertFalse(self.request(target, 1001))
            for round_ in range(2):
                recorder, control = self.begin(target)
                with recorder:
                    self.until_done(control, "")
                    self.assertTrue(self.request(target, 100003))
                    part = self.until_done(control, "")
                    self.assertEqual(self.counted(part)["requested"], 4 * 100003)
                    self.assertTrue(self.request(target, round_))
                    recording = recorder.interrupt()
                self.assertEqual(recording.status, 0, recording.stderr)
                self.assertFalse(self.request(target, 5001))
                self.assertEqual(self.counted(recording)["requested"], 4 * (100003 + round_))
                self.assertFalse(self.probes(recording)["from_start"])
                self.assertEqual(dict(self.refused(recording)), {})
                with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
                    self.assertNotIn("profc", maps.read())
            self.assertUntouched(target.pid)

    def test_who_calls_all_the_time_is_counted_from_the_one_moment_to_the_other(self):
        """Put in and taken away while it runs there; its own counts are the bounds."""
        with Running([build("calls_on_request")]) as target:
            target.wait_ready()
            for _ in range(2):
                before = self.ask(target, 0)["unrequested"]
                recorder, control = self.begin(target, "-F", "2000")
                with recorder:
                    self.until_done(control, "")
                    begun = self.ask(target, 0)["unrequested"]
                    self.eventually(
                        lambda: self.ask(target, 0)["unrequested"] > begun + 100000, "calls"
                    )
                    ending = self.ask(target, 0)["unrequested"]
                    recording = recorder.interrupt()
                after = self.ask(target, 0)["unrequested"]
                calls = self.counted(recording)["unrequested"]
                self.assertGreaterEqual(calls, ending - begun)
                self.assertLessEqual(calls, after - before)
                for frames, _ in recording.folded():
                    self.assertNotIn("profc", " ".join(frames))

    def test_what_comes_before_the_delay_is_over_is_not_counted(self):
        with Running([build("calls_on_request")]) as target:
            target.wait_ready()
            recorder, _ = self.begin(target, "--delay", "1s")
            with recorder:
                self.eventually(lambda: self.request(target, 1000), "probes")
                self.wait_until_recorded(recorder.path, cpu_ns=1)
                self.request(target, 5003)
                recording = recorder.interrupt()
        self.assertEqual(self.counted(recording)["requested"], 4 * 5003)

    def test_only_what_is_between_resume_and_pause_is_counted(self):
        with Running([build("calls_on_request")]) as target:
            target.wait_ready()
            recorder, control = self.begin(target, "--paused")
            with recorder:
                expected = 0
                for round_ in range(3):
                    self.until_done(control, "")
                    self.request(target, 7000)
                    self.until_done(control, "resume\n")
                    self.request(target, 100 + round_)
                    expected += 4 * (100 + round_)
                    self.until_done(control, "pause\n")
                    self.request(target, 9000)
                recording = recorder.interrupt()
        self.assertEqual(self.counted(recording)["requested"], expected)


class Copies(CountingCase):
    def test_inlined_copies_are_told(self):
        """Its calls are counted, its copies are named, and one that is only copied is refused."""
        recording = self.record(
            [build("calls_by_line", "-O2", "-g")], "--count", "^inlined$", "--count", "^caller$",
        )
        self.assertEqual(self.counted(recording)["caller"], 3)
        (reason,) = self.refused(recording)["inlined"]
        self.assertEqual(reason, "it is inlined everywhere, in 2 places")

    def test_one_module_alone(self):
        """A function of the same name in two modules."""
        library = self.library()
        where = os.path.dirname(library)
        program = build("calls_of_a_library", libraries=(library, f"-Wl,-rpath,{where}"))
        recording = self.record(
            [program], "--count", "libcounted!^plugin_f", "--count", "library!^main$"
        )
        self.assertEqual(self.counted(recording), {"plugin_function": 1009 + 11, "main": 1})

    def test_names_that_are_not_there(self):
        done = self.record([build("calls_by_line")], "--count", "^calle_one$")
        self.assertIn("no function matches '^calle_one$'", done.stderr)
        self.assertIn("did you mean 'callee_one'?", done.stderr)
        self.assertEqual(done.status, 0)


class Starts(CountingCase):
    def test_no_beginning_is_missed(self):
        """Its exec came before it stood, now and then, and nothing was counted."""
        program = build("calls_of_a_library", "-O2", "-g", more=["counted_plugin"])
        for _ in range(8):
            recording = self.record([program], "--count", "^plugin_")
            self.assertExact(recording, may_refuse={"plugin_other"})
            self.assertTrue(self.probes(recording)["from_start"])
            self.assertNotIn("warning", recording.stderr)

    def test_counts_without_samples_are_a_recording(self):
        """They were thrown away where there was a recording of that name before."""
        program = build("calls_of_a_library", "-O2", "-g", more=["counted_plugin"])
        path = self.path("profc.data")
        record(self.directory, [program], "--count", "^plugin_f", "-F", "1")
        second = record(self.directory, [program], "--count", "^plugin_h", "-F", "1")
        self.assertIn(f"wrote {path}", second.stderr)
        self.assertEqual(set(self.counted(second)), {"plugin_helper"})


class OtherCounters(CountingCase):
    """The same run, or the same program, counted by others."""

    def test_gcov_of_the_same_run(self):
        need("gcov")
        for source, flags in (
            ("calls_of_cpp", ("-O0",)), ("calls_of_cpp", ("-O2",)), ("cpp_templates", ("-O1",)),
        ):
            with self.subTest(source=source, flags=flags):
                self.check_gcov(source, *flags)

    def check_gcov(self, source, *flags):
        directory = self.path(source + "".join(flags))
        os.mkdir(directory)
        program = os.path.join(directory, "covered")
        subprocess.run(
            ["g++", "-std=c++17", "-g", "--coverage", *flags, "-o", program, source_path(source)],
            check=True, cwd=directory,
        )
        recording = record(directory, [program], "--count", "covered!.")
        (notes,) = (name for name in os.listdir(directory) if name.endswith(".gcda"))
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", notes],
            check=True, cwd=directory, stdout=subprocess.PIPE, text=True,
        )
        covered = collections.Counter()
        for file in json.loads(done.stdout)["files"]:
            for function in file["functions"]:
                covered[function["demangled_name"]] += function["execution_count"]
        counted, refused = self.counted(recording), self.refused(recording)
        # What is inlined somewhere is executed there, but not called.
        compared = {
            name: calls for name, calls in covered.items()
            if name in counted and name not in refused
        }
        self.assertGreater(len(compared), 5, (covered, counted, refused))
        self.assertEqual({name: counted[name] for name in compared}, compared)

    def test_callgrind_of_the_same_program(self):
        need("valgrind")
        program = build(
            "calls_of_all_kinds", "-O2", "-g", "-fno-optimize-sibling-calls",
            more=["calls_of_all_kinds_more"],
        )
        out = self.path("callgrind.out")
        subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", program],
            check=True, stdout=subprocess.DEVNULL,
        )
        with open(out, encoding="utf-8") as text:
            grinded = self.calls_of_callgrind(text)
        recording = self.record(
            [program], "--count", "calls_of_all_kinds!^(kind_|call_|short_|begins_)"
        )
        counted = self.counted(recording)
        grinded["kind_aliased"] += grinded["kind_alias"]
        compared = 0
        for name, calls in counted.items():
            if "vector" in name:  # valgrind has no AVX-512
                continue
            self.assertEqual(calls, grinded[name], name)
            compared += calls > 0
        self.assertGreater(compared, 20)

    @staticmethod
    def calls_of_callgrind(lines, by_caller=False):
        """{function: calls} from calls= lines; names are given in full once."""
        names, calls, caller, callee = {}, collections.Counter(), None, None
        for line in lines:
            found = re.match(r"(c?fn)=(\(\d+\))(?: (.*))?", line)
            if found:
                name = re.sub(r"'\d+$", "", names.setdefault(found[2], found[3]))
                caller, callee = (caller, name) if found[1] == "cfn" else (name, callee)
            elif line.startswith("calls="):
                key = (caller, callee) if by_caller else callee
                calls[key] += int(line[len("calls="):].split()[0])
        return calls


class TimePerCall(CountingCase):
    @classmethod
    def timed(cls):
        # Who leaves by a jump to another function has left the stack.
        return build("calls_that_take_time", "-O2", "-g", "-fno-optimize-sibling-calls")

    def test_within_its_own_error_of_the_truth(self):
        recording = self.record([self.timed()], "--count", "^takes_")
        self.assertExact(recording)
        for metric, sleepers_only in ("cpu", False), ("wall", False), ("blocked", True):
            for said in recording.said:
                if sleepers_only and said["function"] in ("takes_little", "takes_long"):
                    continue
                taken_ns = {
                    "cpu": said["cpu_ns"],
                    "wall": said["wall_ns"],
                    "blocked": said["wall_ns"] - said["cpu_ns"] - said["runq_ns"],
                }[metric]
                row = recording.function(said["function"], "-m", metric)
                truth = taken_ns / said["measured"]
                # Twice the interval, as there are ten; and what profc itself takes of the time.
                self.assertWithin(
                    row["per_call_ns"], truth, 2 * row["per_call_ci_ns"] + 0.03 * truth,
                    f"{metric} per call of {said['function']}",
                )


class Views(CountingCase):
    def test_all_views_and_exports_say_the_same(self):
        program = TimePerCall.timed()
        recording = self.record(
            [program], "--count", "^takes_", "--count-calls-in", "takes_all",
            "--count-lines", "calls_that_take_time.c",
        )
        self.assertExact(recording)
        calls = own_counts(recording.said)
        rows = csv.DictReader(io.StringIO(profc("report", "-i", recording.path, "--csv").stdout))
        self.assertEqual(
            {row["function"]: int(row["calls"]) for row in rows if row["function"] in calls}, calls
        )
        text = profc("report", "-i", recording.path, "-m", "calls", "-n", "0").stdout
        for function, nr in calls.items():
            self.assertRegex(text, rf"(?m)\s{nr:,}\s.*{function}\b")
        self.check_edges(recording, calls)
        self.check_lines(recording, calls)
        self.check_callgrind(recording, calls)

    def edges(self, recording, *options):
        """{(function, its parent in the tree): (calls, is it shared)}."""
        nodes = recording.report(*options)["nodes"]
        return {
            (node["function"], nodes[node["parent"]]["function"]): (
                node["calls"], node["calls_shared"]
            )
            for node in nodes if node["parent"] is not None
        }

    def check_edges(self, recording, calls):
        of_all = calls["takes_all"]
        callees = self.edges(recording, "--callees", "takes_all")
        self.assertEqual(callees[("takes_long", "takes_all")], (of_all, False))
        self.assertEqual(callees[("takes_sleep", "takes_all")], (of_all, False))
        callers = self.edges(recording, "--callers", "takes_long")
        self.assertEqual(callers[("takes_all", "takes_long")], (of_all, False))
        spin = self.edges(recording, "--callers", "spin")
        self.assertEqual(spin[("takes_little", "spin")], (calls["takes_little"], False))
        self.assertEqual(spin[("takes_long", "spin")], (calls["takes_long"], False))
        tree = self.edges(recording, "--tree", "--counts")
        self.assertEqual(tree[("takes_long", "takes_all")], (of_all, False))

    def check_lines(self, recording, calls):
        lines = recording.annotate("calls_that_take_time.c")["lines"]
        by_text = {line["text"].strip(): line["calls"] for line in lines}
        self.assertEqual(by_text["spin(20000);"], calls["takes_little"])
        self.assertEqual(by_text["spin(6000000);"], calls["takes_long"])
        self.assertEqual(by_text["takes_long();"], calls["takes_all"])
        self.assertEqual(by_text["takes_sleep();"], calls["takes_all"])

    def check_callgrind(self, recording, calls):
        text = profc("export", "-i", recording.path, "--callgrind", "--metric", "wall").stdout
        found = OtherCounters.calls_of_callgrind(text.splitlines(), by_caller=True)
        self.assertEqual(found[("takes_all", "takes_long")], calls["takes_all"])
        self.assertEqual(found[("takes_all", "takes_sleep")], calls["takes_all"])
        self.assertEqual(found[("takes_little", "spin")], calls["takes_little"])


class CallsIn(CountingCase):
    def edges(self, recording, said):
        """{caller: {callee: calls}}, without what is inlined."""
        found = {}
        for caller in {edge["caller"] for edge in said}:
            done = profc(
                "report", "-i", recording.path, "--json", "--no-inline", "--callees", caller,
                status=None,
            )
            nodes = json.loads(done.stdout)["nodes"] if done.returncode == 0 else []
            # What is bound at its first call is still called by its entry in the PLT.
            found[caller] = {
                node["function"].removesuffix("@plt").lstrip("_"): node["calls"]
                for node in nodes if node["parent"] == 0
            }
        return found

    def check(self, *flags, calls_in=("caller", "callee_two", "compare")):
        program = build("calls_by_line", "-g", *flags)
        recording = self.record(
            [program], *(f"--count-calls-in={name}" for name in calls_in)
        )
        edges = self.edges(recording, recording.said)
        refused = self.refused(recording)
        self.assertIn("a call in it goes through a register or pointer", refused["caller"])
        for said in recording.said:
            got = edges[said["caller"]].get(said["callee"])
            if got is None and any("tail call" in reason for reason in refused[said["caller"]]):
                continue
            self.assertEqual(got, said["calls"], (flags, said, edges, dict(refused)))
        return recording

    def test_each_callee_by_its_callers(self):
        for flags in (
            ("-O0",), ("-O2",), ("-O2", "-fno-optimize-sibling-calls"),
            ("-O2", "-fno-plt", "-fno-optimize-sibling-calls"), ("-O1", "-static"),
            ("-O2", PROTECTED, "-Wl,-z,now", "-fno-optimize-sibling-calls"),
        ):
            if "-fno-plt" in flags and platform.machine() == "aarch64":
                continue  # such calls go through a register there
            with self.subTest(flags=flags):
                self.check(*flags)

    def test_a_tail_call_is_said_not_to_be_counted(self):
        recording = self.check("-O2")
        self.assertIn(
            "a call in it is a jump, which ends the function (a tail call)",
            self.refused(recording)["callee_two"],
        )

    def test_no_time_per_call_where_a_function_is_not_in_the_stack_of_what_it_calls(self):
        for flag in "-foptimize-sibling-calls", "-fno-optimize-sibling-calls":
            with self.subTest(flag=flag):
                program = build("ends_in_a_call", "-O2", "-g", flag)
                # On busy CPUs the bound of overhead leaves a time per call of a few samples.
                recording = self.record(
                    [program], "--count", "^(outer|work)$", "-F", "1000", "--max-overhead", "0"
                )
                outer, work = recording.function("outer"), recording.function("work")
                self.assertEqual((outer["calls"], work["calls"]), (2000, 2000))
                self.assertGreater(work["per_call_ns"], 10000)
                # Few samples, if any, are of the instructions before the jump.
                if flag == "-foptimize-sibling-calls" and outer["total_ns"] == 0:
                    self.assertIsNone(outer["per_call_ns"])
                    self.assertIsNone(outer["per_call_ci_ns"])
                elif flag != "-foptimize-sibling-calls":
                    self.assertWithin(
                        outer["per_call_ns"] / work["per_call_ns"], 1, 0.1, "time per call"
                    )

    def test_lines(self):
        program = build("calls_by_line", "-O2", "-g", "-fno-optimize-sibling-calls")
        recording = self.record([program], "--count-lines", "calls_by_line.c")
        said = {(edge["caller"], edge["callee"]): edge["calls"] for edge in recording.said}
        lines = {
            line["line"]: line["calls"] for line in recording.annotate("calls_by_line.c")["lines"]
        }
        for mark, edge in (
            ("one of two", ("callee_two", "callee_one")),
            ("two of inlined", ("caller", "callee_two")),
            ("one of compare", ("compare", "callee_one")),
            ("one of caller", ("caller", "callee_one")),
        ):
            self.assertEqual(lines[marked_line("calls_by_line", mark)], said[edge], mark)
        self.assertIsNone(lines[marked_line("calls_by_line", "unknown")])

    def test_some_lines_only(self):
        line = marked_line("calls_by_line", "one of caller")
        recording = self.record(
            [build("calls_by_line")],
            f"--count-calls-in=calls_by_line.c:{line}-{line}",
        )
        counted = {
            line["line"]: line["calls"]
            for line in recording.annotate("calls_by_line.c")["lines"] if line["calls"] is not None
        }
        self.assertEqual(counted, {line: 3 * 1009})
        self.assertEqual(self.probes(recording)["call_sites"], 1)


class SystemCalls(CountingCase):
    """The C library's functions that make a system call each, without naming them."""

    def test_calls_and_the_wall_time_of_those_that_block(self):
        program = (
            "import os, tempfile, time\n"
            "file = tempfile.TemporaryFile(buffering=0)\n"
            "for i in range(700):\n"
            "    os.pwrite(file.fileno(), b'x' * 100, 0)\n"
            "begin = time.monotonic_ns()\n"
            "for i in range(300):\n"
            "    os.sched_yield()\n"
            "    time.sleep(0.001)\n"
            "print(time.monotonic_ns() - begin)\n"
        )
        recording = self.record([sys.executable, "-S", "-c", program], "--count-syscalls")
        counted = self.counted(recording)
        self.assertIn(700, [counted.get("pwrite"), counted.get("pwrite64")])
        self.assertEqual(counted["sched_yield"], 300)
        sleep = recording.function("clock_nanosleep")
        self.assertGreaterEqual(sleep["calls"], 300)
        each_ns = int(recording.stdout) / sleep["calls"]
        self.assertWithin(sleep["wall_per_call_ns"] / each_ns, 1, 0.3, "time of a call")
        self.assertLess(sleep["per_call_ns"], 0.5 * each_ns)
        text = profc("report", "-i", recording.path, "-m", "calls", "--width", "140").stdout
        self.assertRegex(text, r"(?m)^self .* calls +calls/s +per call +± +of ")
        self.assertRegex(text, r"(?m) [0-9.]+ [mµ]s +[0-9.]+ wall .* clock_nanosleep ")

    def test_a_program_without_a_c_library_is_told_so(self):
        done = self.record([build("spin_leaf", "-O2", "-static", "-s"), "50"], "--count-syscalls")
        self.assertIn("--count-syscalls: there is no C library", done.stderr)
