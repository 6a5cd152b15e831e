# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time: the shares and totals that programs measured of themselves."""

import contextlib
import json
import math
import os
import shutil
import subprocess

from live import LiveCase
from profc import Recording, profc, record
from targets import Running, build, need

FAST = ("-F", "1000", "--max-overhead", "0")
FOUR = ("four_integer", "four_float", "four_memory", "four_division")


class FourFunctions(LiveCase):
    """Four functions of known shares, in programs built in many ways."""

    def check(self, *flags, cpu_ms=1500, options=FAST):
        recording = record(
            self.directory, [build("four_functions", *flags), str(cpu_ms)], *options
        )
        (said,) = recording.said
        report = recording.report()
        self.assertRatio(report["total_ns"], said["cpu_ns"], 0.02, "total CPU")
        for function in FOUR:
            share = 100 * said[function] / said["cpu_ns"]
            row = recording.function(function)
            self.assertShare(row, "self_pct", share, function)
            self.assertShare(row, "total_pct", share, function)
        return recording

    def test_default_options_give_true_shares(self):
        self.check(cpu_ms=2500, options=())

    def test_unoptimised_code(self):
        self.check("-O0", "-g")

    def test_without_frame_pointers(self):
        self.check("-O3", "-g", "-fomit-frame-pointer")

    def test_static_program(self):
        self.check("-O2", "-g", "-static")

    def test_position_dependent_program(self):
        self.check("-O2", "-g", "-no-pie")

    def test_without_debug_information_the_symbol_table_serves(self):
        recording = self.check("-O2")
        row = recording.function("four_integer")
        self.assertIsNone(row["line"])


class Totals(LiveCase):
    def test_threads_get_the_time_they_used(self):
        recording = record(self.directory, [build("threads_named"), "1200"], *FAST)
        rows = {row["name"]: row for row in recording.rows("--by", "thread")}
        used_ns = sum(worker["cpu_ns"] for worker in recording.said)
        self.assertRatio(recording.report()["total_ns"], used_ns, 0.03, "CPU of all threads")
        for worker in recording.said:
            row = rows[worker["name"]]
            self.assertEqual(row["tid"], worker["tid"])
            # What a thread runs after its last reading is known of its process alone: a part of a
            # gap, of which two in a thousand are longer than six.
            gap_ns = row["self_ns"] / row["self_samples"]
            self.assertLessEqual(row["self_ns"], 1.03 * worker["cpu_ns"])
            self.assertGreaterEqual(row["self_ns"] + 6 * gap_ns, 0.97 * worker["cpu_ns"])

    def test_names_that_threads_take_are_met_at_once(self):
        """Threads of some 10 ms and more, which name themselves as the first thing."""
        nr_looked_at = 0

        def are_enough():
            nonlocal nr_looked_at
            recording = record(self.directory, [build("threads_named"), "60"], *FAST)
            # Where CPUs are busy the program may be over before a first look.
            done = profc("report", "-i", recording.path, "--by", "thread", "--json", status=None)
            rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
            said_names = {said["tid"]: said["name"] for said in recording.said}
            for row in rows:
                # One look may come before the name; where CPUs are busy most come to no other.
                if row["self_samples"] > 2 and row["tid"] in said_names:
                    self.assertEqual(row["name"], said_names[row["tid"]])
                    nr_looked_at += 1
            return nr_looked_at > 5

        self.eventually(are_enough, "threads that were looked at", patience=60)

    def test_threads_option_records_only_those(self):
        recording = record(
            self.directory, [build("threads_named"), "1200"], "--threads", "^worker-[23]$"
        )
        rows = {row["name"]: row for row in recording.rows("--by", "thread") if row["self_ns"]}
        said = {worker["name"]: worker["cpu_ns"] for worker in recording.said}
        self.assertEqual(sorted(rows), ["worker-2", "worker-3"])
        for name, row in rows.items():
            # The time before its name was read is not its own.
            self.assertRatio(row["self_ns"], said[name], 0.05 + recording.missed_share(), name)

    def test_cpu_time_is_exact_at_a_low_rate(self):
        recording = record(self.directory, [build("spin_leaf"), "1500"], "-F", "20")
        (said,) = recording.said
        self.assertRatio(recording.report()["total_ns"], said["cpu_ns"], 0.02, "total CPU")

    def test_what_runs_after_its_last_look_is_where_that_found_it(self):
        """Looks are 10 ms apart, and 54 at most: the time before an end is no time unknown."""
        whole = unknown = 0
        for _ in range(20):
            recording = record(self.directory, [build("spin_leaf"), "40"], "-F", "100")
            rows = {row["function"]: row["self_ns"] for row in recording.rows()}
            if "spin_leaf" in rows and recording.was_in_time():
                whole += sum(rows.values())
                unknown += rows.get("[unattributed]", 0)
        if not whole:
            self.skipTest("the machine was too busy to look at any of them in time")
        # Unknown ends would be a quarter of it: a look is 10 ms before them in the mean.
        self.assertLess(unknown, 0.1 * whole, "of that the time unknown")

    def test_wall_is_the_sum_of_its_parts(self):
        recording = record(self.directory, [build("sleeping"), "1000"])
        totals = {
            metric: recording.report("-m", metric)["total_ns"]
            for metric in ("wall", "cpu", "runq", "blocked")
        }
        self.assertEqual(
            totals["wall"], totals["cpu"] + totals["runq"] + totals["blocked"], totals
        )

    def test_programs_that_had_the_cpus_are_named(self):
        hog, recorded = self.path("hog-beside"), self.path("recorded-leaf")
        shutil.copy(build("spin_leaf"), hog)
        shutil.copy(build("spin_leaf"), recorded)
        os.chmod(self.directory, 0o777)
        for user in (False, True):
            with self.subTest(ordinary_user=user), contextlib.ExitStack() as stack:
                for _ in range(2 * len(os.sched_getaffinity(0))):
                    stack.enter_context(Running([hog, "20000"]))
                directory = os.path.join(self.directory, str(user))
                os.mkdir(directory)
                os.chmod(directory, 0o777)
                recording = record(
                    directory, [recorded, "1500"],
                    **self.ordinary_user() if user else {},
                )
                machine = recording.report("-m", "runq")["machine"]
                self.assertEqual(machine, json.loads(recording.info("--json"))["machine"])
                self.assertGreater(machine["busy_pct"] + machine["stolen_pct"], 80, machine)
                shares = {
                    (one["name"], one["children"]): one["pct"] for one in machine["programs"]
                }
                self.assertGreater(shares["hog-beside", False], 15, machine)
                self.assertNotIn(("recorded-leaf", False), shares)
                self.assertLess(machine["own_pct"], 60, machine)
                self.assertLessEqual(
                    sum(shares.values()) + machine["own_pct"], machine["busy_pct"] + 10, machine
                )
                text = profc("report", "-i", recording.path, "-m", "runq", "--width", "200").stdout
                self.assertRegex(text, r"\nnote: .*CPUs \d+% busy, .*hog-beside \d+%")

    def test_waiting_for_a_cpu_is_neither_cpu_nor_blocked(self):
        recording = record(self.directory, [build("oversubscribed"), "4", "1000"])
        (said,) = recording.said
        cpu = recording.report()["total_ns"]
        runq = recording.report("-m", "runq")["total_ns"]
        blocked = [
            row["total_ns"]
            for row in recording.rows("-m", "blocked")
            if row["function"] == "crowded_work"
        ]
        self.assertRatio(cpu, said["cpu_ns"], 0.02, "CPU of four threads on one CPU")
        # Each of the four runs a quarter of the time and waits for the rest.
        self.assertRatio(runq, said["threads"] * said["elapsed_ns"] - said["cpu_ns"], 0.1, "runq")
        seen = recording.function("crowded_work", "-m", "runq")["total_ns"]
        self.assertGreater(seen, 0.7 * runq)  # what no sample of a busy machine has is of no function
        self.assertLess(sum(blocked), 0.05 * runq)


class Stacks(LiveCase):
    def shapes(self, argv, pattern, *options):
        """Weight of the stacks that contain `pattern` as a run of frames, and of all."""
        recording = record(self.directory, argv, *options)
        found = whole = 0
        for frames, weight in recording.folded():
            whole += weight
            if any(frames[i : i + len(pattern)] == pattern for i in range(len(frames))):
                found += weight
        return found, whole

    def test_leaf_to_root(self):
        recording = record(self.directory, [build("spin_leaf"), "2500"], *FAST)
        whole = found = elsewhere = 0
        for frames, weight in recording.folded():
            whole += weight
            if frames[-4:] == ["main", "spin_outer", "spin_middle", "spin_leaf"]:
                found += weight
            elif frames[1] == "_start" and "spin_leaf" not in frames[1:]:
                elsewhere += weight  # in the loader, and reading the clock
        self.assertShareAtLeast(found, whole - elsewhere, 0.98, "main to spin_leaf")
        # On a busy machine a single look may stand for 100 ms.
        self.assertShareAtLeast(found, whole, 0.9, "spin_leaf")

    def test_the_root_is_the_start_of_the_program(self):
        recording = record(self.directory, [build("spin_leaf"), "1500"], *FAST)
        rooted = sum(weight for frames, weight in recording.folded() if frames[1] == "_start")
        self.assertShareAtLeast(rooted, self.known_ns(recording), 0.97, "stacks from _start")

    def test_recursion_is_whole(self):
        found, whole = self.shapes(
            [build("recursion_deep"), "1000", "500"],
            ["main"] + ["recursion_level"] * 1000 + ["recursion_bottom"],
            "--max-depth",
            "4000",
            *FAST,
        )
        self.assertShareAtLeast(found, whole, 0.97, "a thousand levels")

    def test_recursion_counts_once_in_the_total(self):
        recording = record(self.directory, [build("recursion_deep"), "200", "500"], *FAST)
        row = recording.function("recursion_level")
        # A busy machine may take some percent of the time to start the program.
        self.assertRatio(row["total_ns"], recording.function("main")["total_ns"], 0.02, "total")
        self.assertLessEqual(row["total_pct"], 100)
        self.assertWithin(row["self_pct"], 0, 1, "self of a recursive function")

    def test_frames_of_hundreds_of_kilobytes(self):
        found, whole = self.shapes(
            [build("big_frames"), "3000"], ["main"] + ["big_frame"] * 6 + ["big_bottom"]
        )
        # The first looks find out how deep it is; one that copies so much may be had every 40 ms.
        self.assertShareAtLeast(found, whole, 0.95, "through 1.2 MB of stack")

    def test_handler_on_an_alternate_stack(self):
        recording = record(self.directory, [build("altstack_handler"), "600"], *FAST)
        (said,) = recording.said
        row = recording.function("handler_work")
        self.assertShare(row, "self_pct", 100 * said["handler_ns"] / said["cpu_ns"])
        through = whole = 0
        for frames, weight in recording.folded():
            if frames[-1] != "handler_work":
                continue
            whole += weight
            if "main" in frames and "on_timer" in frames:
                through += weight
        self.assertShareAtLeast(through, whole, 0.95, "handler stacks that reach main")

    def test_library_loaded_and_unloaded_midway(self):
        plugin = build("dlopen_plugin", "-O2", "-g", "-shared", "-fPIC", called="dlopen_plugin.so")
        recording = record(self.directory, [build("dlopen_late"), plugin, "900"], *FAST)
        for function in ("before_dlopen", "plugin_work", "after_dlclose"):
            row = recording.function(function)
            self.assertShare(row, "total_pct", 100 / 3, function)
        inner = recording.function("plugin_inner")
        self.assertEqual(os.path.basename(inner["module"]), "dlopen_plugin.so")

    def test_library_loaded_late_and_soon_gone(self):
        """Its stacks are walked when it is gone, if nothing has its map read before."""
        plugin = build("dlopen_plugin", "-O2", "-g", "-shared", "-fPIC", called="dlopen_plugin.so")
        recording = record(self.directory, [build("dlopen_apart"), plugin, "40", "12"])
        if recording.said[0]["distinct"] < 12:
            self.skipTest("the libraries stand in the place of one another")
        self.assertShareAtLeast(
            recording.function("plugin_work")["total_ns"], recording.said[0]["work_ns"], 0.6,
            "in the library",
        )

    def record_libraries_that_change_places(self, *options, before=(), **popen):
        """15 ms in the first, 5 in the second, and so on."""
        flags = ("-O2", "-g", "-shared", "-fPIC")
        first = build("dlopen_plugin", *flags, "-Dplugin_inner=in_first", called="first.so")
        second = build(
            "dlopen_plugin", *flags, "-Dplugin_inner=in_second", "-falign-functions=128",
            called="second.so",
        )
        command = [*before, build("dlopen_changes"), first, second, "100"]
        recording = record(self.directory, command, *options, **popen)
        if not recording.said[0]["same_place"]:
            self.skipTest("the libraries stand side by side")
        self.assertComplete(recording, 0.9)
        return recording

    def test_libraries_that_change_places_all_the_time(self):
        """Each look has to be told with the library that was there, by its own names."""
        recording = self.record_libraries_that_change_places()
        rows = {
            (row["function"], os.path.basename(row["module"] or "")): row
            for row in recording.rows()
        }
        shares = {code: row["self_pct"] for code, row in rows.items()}
        for code, share in ((("in_first", "first.so"), 75), (("in_second", "second.so"), 25)):
            self.assertIn(code, shares)
            delta = max(8, 1.5 * rows[code]["ci_pct"])
            self.assertAlmostEqual(shares[code], share, delta=delta, msg=shares)

    def test_libraries_that_change_places_before_their_stacks_are_walked(self):
        """What walks them is kept from the CPUs, while the program is not."""
        if os.geteuid() != 0:
            self.skipTest("only root may put a program before others")
        for _ in os.sched_getaffinity(0):
            hog = subprocess.Popen([build("spin_leaf"), "10000"], stdout=subprocess.DEVNULL)
            self.addCleanup(hog.wait)
            self.addCleanup(hog.kill)
        recording = self.record_libraries_that_change_places(
            "--no-symbols", before=("nice", "-n", "-19"), preexec_fn=lambda: os.nice(19)
        )
        rows = {os.path.basename(row["module"] or ""): row for row in recording.rows("--by", "module")}
        expected = {"first.so": 75, "second.so": 25}
        # To load them takes some percent of so short a program's time.
        of_both = sum(rows[module]["self_pct"] for module in expected)
        self.assertGreater(of_both, 70)
        shares = {module: 100 * rows[module]["self_pct"] / of_both for module in expected}
        for module, share in expected.items():
            delta = max(8, 1.5 * rows[module]["ci_pct"])
            self.assertAlmostEqual(shares[module], share, delta=delta, msg=shares)

    def test_library_in_the_place_of_another(self):
        flags = ("-O2", "-g", "-shared", "-fPIC")
        plugins = [
            build("dlopen_plugin", *flags, f"-DTURN={turn}", called=f"{turn}_plugin.so")
            for turn in ("first", "second")
        ]
        recording = record(self.directory, [build("dlopen_in_turns"), *plugins, "2000"], *FAST)
        (said,) = recording.said
        if not said["same_place"]:
            self.skipTest("the second library stands elsewhere")
        rows = recording.rows("--by", "module")
        shares = {os.path.basename(row["module"] or ""): row["self_pct"] for row in rows}
        for plugin in plugins:
            self.assertAlmostEqual(shares.get(os.path.basename(plugin), 0), 50, delta=15)


class ShortLives(LiveCase):
    """Processes that live for about a tick, by their own clocks and what wait4(2) says of them."""

    def test_shares_of_functions_and_programs_are_true(self):
        programs = [build("known_shares", called=name) for name in ("lives_short", "lives_long")]
        recording = record(self.directory, [build("known_shares"), "lives", "1500", *programs],
                           "--max-overhead", "0")
        report = recording.report()
        truth = {said.get("function") or said["program"]: said for said in recording.said}
        self.assertRatio(report["total_ns"], truth["lives_long"]["all_ns"], 0.02, "total CPU")
        for function in ("live_a", "live_b"):
            # A row for each of the two programs.
            rows = [row for row in report["rows"] if row["function"] == function]
            both = {"total_pct": sum(row["total_pct"] for row in rows),
                    "total_ci_pct": math.hypot(*(row["total_ci_pct"] for row in rows))}
            self.assertShare(both, "total_pct", truth[function]["pct"], function)
        rows = {row["name"]: row for row in recording.rows("--by", "process")}
        for program in programs:
            said = truth[os.path.basename(program)]
            share = 100 * said["cpu_ns"] / said["all_ns"]
            row = rows[os.path.basename(program)]
            # Before their exec, children have the name of their parent.
            tolerance = max(2, 1.5 * row["ci_pct"]) + 5
            self.assertWithin(row["self_pct"], share, tolerance, f"share of {program}")
        self.assertNotIn("[short-lived]", rows)

    def test_shares_of_functions_of_short_threads_are_true(self):
        recording = record(self.directory, [build("known_shares"), "threads", "1500"],
                           "--max-overhead", "0")
        report = recording.report()
        for said in recording.said:
            self.assertRatio(report["total_ns"], said["all_ns"], 0.02, "total CPU")
            row = recording.function(said["function"])
            self.assertShare(row, "total_pct", said["pct"], said["function"])
        # Most were never found, and no sample is of what they were named.
        rows = {row["name"]: row for row in recording.rows("--by", "thread")}
        self.assertGreater(rows["[short-lived]"]["self_pct"], 20)
        self.assertEqual(rows["[short-lived]"]["tid"], 0)
        without = [row for row in report["rows"] if row["function"] == "[unattributed]"]
        self.assertLess(sum(row["self_pct"] for row in without), 5)

    def test_what_comes_late_in_short_threads_has_its_share(self):
        """A stop comes some 50 us after a thread was found: what it did first has too few samples,
        and that is left without a stack."""
        recording = record(self.directory, [build("known_shares"), "brief", "2500"],
                           "--max-overhead", "0")
        rows = {row["function"]: row for row in recording.report()["rows"]}
        begin, end = recording.said
        self.assertShare(rows["end_life"], "total_pct", end["pct"], "end_life")
        unknown = rows["[unattributed]"]["total_pct"]
        row, tolerance = rows["begin_life"], 1.5 * rows["begin_life"]["total_ci_pct"]
        self.assertLess(row["total_pct"] - tolerance, begin["pct"])
        self.assertGreater(row["total_pct"] + unknown + tolerance, begin["pct"])
        self.assertLess(unknown, 60)

    def test_a_recorder_has_the_time_of_short_threads_when_it_passes(self):
        """Of its last two seconds, not what its threads used before."""
        directory = self.path("kept")
        profc("record", "--keep", "2s", "--trigger", "exit", "-o", f"{directory}/", "--",
              build("known_shares"), "threads", "4000")
        (name,) = os.listdir(directory)
        report = Recording(os.path.join(directory, name)).report()
        # A second may have begun before.
        self.assertLess(report["total_ns"], 3.3e9)
        without = [row for row in report["rows"] if row["function"] == "[unattributed]"]
        self.assertLess(sum(row["self_pct"] for row in without), 10)

    def test_the_tick_that_finds_a_process_samples_it(self):
        """Of processes of 3 ms few are alive at two ticks that are 33 ms apart."""
        programs = [build("known_shares", called=name) for name in ("lives_short", "lives_long")]
        recording = record(
            self.directory, [build("known_shares"), "lives", "1500", *programs],
            "-F", "30", "--max-overhead", "0",
        )
        rows = {row["name"]: row for row in recording.rows("--by", "process")}
        found = sum(row["self_samples"] for name, row in rows.items() if name.startswith("lives_"))
        self.assertGreaterEqual(found, 1.5 * 30 / 3)

    def test_the_end_of_a_process_is_in_the_kernel(self):
        program = 'import os; kept = b"x" * (300 << 20); os._exit(0)'
        recording = record(
            self.directory, ["sh", "-c", f"for i in 1 2 3 4 5; do python3 -c '{program}'; done"],
            *FAST,
        )
        row = recording.function("[k] do_exit")
        self.assertEqual(os.path.basename(row["module"]), "[kernel]")
        self.assertGreater(row["self_samples"], 0)
        # The kernel says how much system time a process had; that of its end cannot be read.
        self.assertGreater(row["system_ns"], 0.15 * row["self_ns"])

    def test_scripts_beside_each_other_have_the_time_of_their_own_children(self):
        families = (("long_odd", "long_even"), ("brief_odd", "brief_even"))
        programs = [build("known_shares", called=name) for names in families for name in names]
        script = '"$0" lives 1200 "$1" "$2" & "$0" lives 400 "$3" "$4" & wait'
        # Of each a third of the processes is found, and some dozen samples are all there are.
        recording = record(
            self.directory, ["sh", "-c", script, build("known_shares"), *programs], "-F", "30"
        )
        said_ns = {said["program"]: said["cpu_ns"] for said in recording.said if "program" in said}
        rows = {row["name"]: row for row in recording.rows("--by", "process")}
        whole_ns = recording.report()["total_ns"]
        for names in families:
            share = 100 * sum(said_ns[name] for name in names) / whole_ns
            found = sum(rows[name]["self_pct"] for name in names if name in rows)
            # Samples do not say this sum, but the kernel; only its ends are not read in time.
            self.assertWithin(found, share, 8, f"share of {names}")

    def check_has_stacks(self, command):
        recording = record(self.directory, command, timeout=300)
        rows = recording.rows("--by", "process")
        whole = sum(row["self_ns"] for row in rows)
        functions = recording.rows()
        unknown = sum(row["self_ns"] for row in functions if row["function"] == "[unattributed]")
        unseen = sum(row["self_ns"] for row in rows if row["name"] == "[short-lived]")
        # Of a program of so little time that it has no sample, nothing is known.
        gap = whole / max(1, sum(row["self_samples"] for row in rows))
        few = sum(row["self_ns"] for row in rows if row["self_ns"] < 3 * gap)
        self.assertLessEqual(unknown, 0.1 * whole + few, "time without a stack")
        self.assertLessEqual(unseen, 0.02 * whole, "time without a program")
        return recording

    def test_loop_of_a_shell_has_stacks(self):
        self.check_has_stacks(["sh", "-c", "for i in $(seq 400); do /bin/true; done"])

    def test_script_like_configure_has_stacks(self):
        script = """
        for i in $(seq 60); do
            echo "#define HAVE_$i 1" >>confdefs.h
            x=$(echo "checking $i" | sed 's/check/test/')
            expr "$i" : '.*[05]$' >/dev/null || grep -q "HAVE_$i " confdefs.h
            cat confdefs.h | tr A-Z a-z | awk '{ n++ } END { print n }' >count
            rm -f count
        done"""
        self.check_has_stacks(["sh", "-c", f"cd {self.directory} && {script}"])

    def test_commands_of_git_have_stacks(self):
        need("git")
        script = """
        git init -q . && git config user.email a@b && git config user.name a
        for i in $(seq 25); do
            echo $i >file$i && git add . && git commit -q -m $i && git status >/dev/null &&
            git log -1 --format=%H >/dev/null && git diff HEAD~1 >/dev/null 2>&1
        done"""
        os.mkdir(self.path("repository"))
        self.check_has_stacks(["sh", "-c", f"cd {self.path('repository')} && {script}"])
