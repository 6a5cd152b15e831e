# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads and processes that come, go and change under the profiler."""

import json
import os
import re
import subprocess

import procfs
from live import LiveCase
from paths import PROFC
from profc import Recorder, attach, record
from targets import Running, build, need, parse_json_lines

FAST = ("-F", "1000", "--max-overhead", "0")


class Threads(LiveCase):
    def test_short_threads_are_not_lost_from_the_total(self):
        recording = record(self.directory, [build("threads_churn"), "4000", "300"])
        (said,) = recording.said
        self.assertEqual(said["threads"], 4000)
        report = recording.report()
        self.assertRatio(report["total_ns"], said["cpu_ns"], 0.05, "CPU of short threads")

    def test_attach_amid_thread_churn(self):
        with Running([build("threads_churn"), "10000", "100"]) as target:
            target.wait_ready()
            recording = attach(self.directory, target.pid, *FAST, "-d", "500ms")
            self.assertUntouched(target.pid)
            (said,) = target.finish()
        self.assertEqual(said["threads"], 10000)
        self.assertGreater(recording.report()["total_ns"], 0)
        # Without that priority they are over, on busy CPUs, before profc comes to look.
        if json.loads(recording.info("--json"))["counters"].get("realtime"):
            self.assertGreater(recording.function("churn_work")["total_ns"], 0)

    def test_leader_that_ends_first(self):
        recording = record(self.directory, [build("zombie_leader"), "500"], status=7)
        self.assertRatio(recording.report()["total_ns"], 500e6, 0.05, "CPU")
        self.assertMostlyIn(recording, "leaderless_work", 0.75)

    def test_leader_that_waits_for_a_cpu_while_it_ends(self):
        """It cannot stop any more, and nothing is to wait for that."""
        recording = record(
            self.directory, [build("leader_ends_slowly"), "500"], "--no-children", status=7
        )
        self.assertMostlyIn(recording, "leaderless_work", 0.75)

    def test_thread_that_never_gets_a_cpu(self):
        """It is long in stopping, and the others are looked at meanwhile."""
        recording = record(self.directory, [build("starved_thread"), "500"], "--no-children")
        (said,) = recording.said
        found = recording.function("busy_with_calls")["total_ns"]
        self.assertShareAtLeast(found, said["cpu_ns"], 0.75, "time of the thread that runs")

    def test_attach_to_a_process_without_its_leader(self):
        with Running([build("zombie_leader"), "1500"]) as target:
            target.wait_ready()
            self.eventually(lambda: procfs.state(target.pid) == "Z", "end of the leader")
            recording = attach(self.directory, target.pid, "-d", "500ms")
            self.assertEqual(target.process.wait(timeout=20), 7)
        self.assertMostlyIn(recording, "leaderless_work", 0.9)


class FilledMemory(LiveCase):
    def test_memory_beside_a_stack_is_left_alone(self):
        """Reading it would be noticed, and wait for a thread that may wait for profc."""
        program = build("userfault_beside_stack")
        if subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("userfaultfd(2) is not to be had")
        recording = record(self.directory, [program, "1000"], *FAST, timeout=30)
        self.assertEqual(recording.said, [{"faults": 0}])
        # How much of all it is depends on who else gets a CPU.
        threads = recording.rows("--by", "thread")
        computer = max(threads, key=lambda row: row["self_ns"])["tid"]
        self.assertMostlyIn(recording, "compute_on", 0.9, options=("--thread", str(computer)))
        with Running([program, "2500"]) as target:
            target.wait_ready()
            attach(self.directory, target.pid, *FAST, "-d", "1", timeout=30)
            self.assertEqual(target.finish(), [{"faults": 0}])

    def test_stack_in_a_file_that_is_recorded_too(self):
        """Nor can who waits for a file system be killed before it answers."""
        program = build("fuse_stack")
        if subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("a file system of FUSE is not to be mounted")
        recording = record(self.directory, [program, "1500"], *FAST, timeout=60)
        client, server = recording.said
        self.assertGreater(client["calls"], 1)
        self.assertGreater(server["reads"], 50)
        self.assertIn("stack in a served file", recording.info())

    def test_thread_that_waits_for_a_file_system_holds_nobody(self):
        """It does not stop before it has its answer: to install probes is given up."""
        program = build("fuse_fault")
        if subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("a file system of FUSE is not to be mounted")
        for option in ("--mem", "--count=count_on"):
            with self.subTest(option=option), Running([program]) as target:
                target.wait_ready()
                (client,) = [pid for pid in procfs.children(target.pid)
                             if len(procfs.threads(pid)) == 2]
                done = attach(self.directory, client, option, "-d", "1", status=1)
                self.assertIn("it waits in the kernel", done.stderr)
                self.assertUntouched(client)
                client_said, server_said = target.finish()
                self.assertEqual(client_said["read"], 7)
                self.assertEqual(server_said, {"reads": 1})

    def test_program_in_a_file_system_that_is_recorded_too(self):
        """As AppImages are."""
        program = build("fuse_program")
        if subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("a file system of FUSE is not to be mounted")
        recording = record(self.directory, [program, "1500"], *FAST, timeout=60)
        # It hangs at the first one or goes on: a busy machine has time for some 30.
        self.assertGreater(sum(said.get("execs", 0) for said in recording.said), 5)

    def test_attach_to_a_server_and_who_executes_its_files(self):
        """To attach waits for the exec, that for its server, and that for who attaches."""
        program = build("fuse_program")
        if subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("a file system of FUSE is not to be mounted")
        # Where the CPUs are busy those two hardly run, and to attach takes most of a second.
        with (
            Running([program, "4000", "20", "1"]) as target,
            Running([build("spin_leaf"), "60000"]) as busy,
        ):
            target.wait_ready()
            pids = [target.pid, *procfs.children(target.pid), busy.pid]
            attach(self.directory, ",".join(map(str, pids)), *FAST, "-d", "2", timeout=60)
            said = target.finish()
        self.assertEqual(["execs" in one for one in said], [True, False])

    def test_stacks_in_files_of_the_kernel_s_own(self):
        program = build("stacks_in_files")
        recording = record(self.directory, [program, self.directory, "200"], *FAST)
        self.assertComplete(recording, 0.98)
        for name in ("on_shared_memory", "on_memfd", "on_disk", "on_shm"):
            self.assertRatio(recording.function(name)["total_ns"], 200e6, 0.1, name)

    def test_stack_that_the_target_fills_itself(self):
        """Whoever reads what is not there waits for a thread that may wait for profc."""
        program = build("userfault_stack")
        if subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest("userfaultfd(2) is not to be had")
        for options in (FAST, ("-F", "100")):
            (said,) = record(self.directory, [program, "1500"], *options, timeout=30).said
            self.assertGreater(said["filled"], 50)
        with Running([program, "2500"]) as target:
            target.wait_ready()
            attach(self.directory, target.pid, *FAST, "-d", "1", timeout=30)
            (said,) = target.finish()
            self.assertGreater(said["filled"], 50)


class ReusedIds(LiveCase):
    """Where ids are few, that of a thread may be another process' before it is seized."""

    FEW_IDS = 500
    PID_MAX = "/proc/sys/kernel/pid_max"

    def script(self, target, attaching):
        """In a namespace of ids of its own."""
        return (
            f"echo {self.FEW_IDS} > {self.PID_MAX}\n"
            f"{target} & target=$!\n"
            f"while kill -0 $target 2>/dev/null; do {attaching} -p $target 2>&1; s=$?\n"
            '[ $s -gt 1 ] && echo "{\\"failed\\": $s}"; done; wait'
        )

    def test_threads_under_used_ids_count_as_their_own(self):
        """Each id comes round some times within the recording."""
        self.need_few_ids()
        script = f"echo {self.FEW_IDS} > {self.PID_MAX}; exec {build('threads_churn')} 2000 1500"
        recording = record(
            self.directory, [need("unshare"), "-pf", "--mount-proc", "sh", "-c", script], *FAST
        )
        (said,) = recording.said
        self.assertEqual(said["threads"], 2000)
        self.assertRatio(
            recording.report("--process", "threads_churn")["total_ns"], said["cpu_ns"], 0.05,
            "CPU of short threads",
        )
        # The command of unshare has that name, too: it takes 10 ms to make the namespaces.
        threads = [row for row in recording.rows("--by", "thread", "--process", "threads_churn")
                   if row["name"] == "threads_churn" and row["tid"]]  # without those never found
        self.assertGreater(len(threads), self.FEW_IDS / 4)
        # All under one id would have four times that of one, or more.
        self.assertLess(max(row["self_ns"] for row in threads[1:]), 3 * 1.5e6, "of one thread")

    def need_few_ids(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a namespace of ids")
        if [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]] < [6, 14]:
            self.skipTest("before Linux 6.14 there is one limit of ids for all namespaces")

    def test_nobody_else_is_traced(self):
        self.need_few_ids()
        attaching = (
            f"{PROFC} attach -q --no-symbols --no-children -d 5ms -F 1000 --max-overhead 0 "
            f"-o {self.path('x.data')}"
        )
        done = subprocess.run(
            [need("unshare"), "-pf", "--mount-proc", "sh", "-c",
             self.script(f"{build('ids_churn')} 2000", attaching)],
            stdout=subprocess.PIPE, text=True, check=True, timeout=120,
        )
        said = parse_json_lines(done.stdout)
        self.assertEqual([one for one in said if "failed" in one], [])
        (counts,) = [one for one in said if "children" in one]
        self.assertEqual(counts, {"children": 2000, "traced": 0})


class Processes(LiveCase):
    def test_vfork_parents_do_not_hold_up_the_sampling(self):
        recording = record(self.directory, [build("vfork_slow"), "1000"], *FAST)
        (said,) = recording.said
        self.assertGreater(said["vforks"], 5)
        row = recording.function("beside_vfork")
        self.assertRatio(row["total_ns"], said["cpu_ns"], 0.1, "CPU beside the vforks")

    def test_a_thread_that_waits_in_vfork_is_known_to_its_root(self):
        """The GNU C library keeps where it returns to in the register of the first argument."""
        recording = record(self.directory, [build("vfork_slow"), "1000"], *FAST)
        (said,) = recording.said
        waited = whole = 0
        for frames, weight in recording.folded("-m", "blocked"):
            if any("vfork" in name and name != "beside_vfork" for name in frames[1:]):
                waited += weight
                whole += weight if "main" in frames else 0
        self.assertGreater(waited, 0.8 * said["vforks"] * 50e6, "time blocked in vfork()")
        self.assertShareAtLeast(whole, waited, 0.95, "stacks to the function that calls it")

    def test_attach_while_threads_exec(self):
        """
        An exec waits for the threads that we trace, and to trace one more waits for the exec:
        over and over until it happened, with a hundred threads to make it likely.
        """
        with Running([build("exec_storm"), "90000"]) as target:
            target.wait_ready()
            attaches = 0
            while attaches < 30 or self.number_of_execs(target.pid) < 60:
                attach(self.directory, target.pid, *FAST, "--no-symbols", "-d", "2ms",
                       status=None, timeout=20)
                attaches += 1
                self.assertIsNone(target.process.poll(), f"it ended after {attaches} attaches")

    def test_attach_amid_execs_is_no_refusal(self):
        """In the moment in which another takes the first thread's place that cannot be traced."""
        few = build("exec_storm", "-O2", "-g", "-DNR_THREADS=6", "-DSPINS_EACH=2")
        with Running([few, "90000"]) as target:
            target.wait_ready()
            for _ in range(40):
                done = attach(self.directory, target.pid, "--no-symbols", "-d", "20ms",
                              status=None, timeout=20)
                if done.status:
                    self.assertIn("no samples were taken", done.stderr)
                self.assertIsNone(target.process.poll())

    @staticmethod
    def number_of_execs(pid):
        """As its last argument says; 0 while it executes, or before it has."""
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            arguments = file.read().split("\0")
        return int(arguments[3]) if len(arguments) > 4 else 0

    def test_children_can_be_waited_for_at_once(self):
        """A dead child is its parent's only when its tracer has taken note of it."""
        recording = record(self.directory, [build("waits_for_children"), "300"], *FAST)
        (said,) = recording.said
        self.assertEqual(said["children"], 300)
        self.assertEqual(said["status_sum"], sum(i % 7 for i in range(300)))

    def test_workers_of_io_uring_go_on(self):
        program = build("io_uring_workers")
        recording = record(self.directory, [program, "1500"], *FAST)
        with Running([program, "4000"]) as target:
            target.wait_ready()
            attached = attach(self.directory, target.pid, *FAST, "-d", "700ms")
            self.assertUntouched(target.pid)
            outcomes = [recording.said[0], *target.finish()]
        if "absent" in outcomes[0]:
            self.skipTest(f"there is no io_uring: {outcomes[0]['absent']}")
        for said in outcomes:
            self.assertGreaterEqual(said["workers"], 2, said)
            self.assertGreater(said["reads"], 0, said)
            self.assertEqual(said["reads"], said["fed"], said)
            self.assertEqual(said["failed"], 0, said)
        for one in (recording, attached):
            main = one.rows("--by", "pid")[0]["pid"]
            self.assertMostlyIn(one, "work_beside_workers", 0.8, options=("--thread", str(main)))

    def test_orphans_live_on_after_the_command(self):
        mark = self.path("mark")
        script = f"(sleep 0.5; echo done > {mark}) </dev/null >/dev/null 2>&1 &"
        record(self.directory, ["sh", "-c", script])
        self.eventually(lambda: os.path.exists(mark), "the orphan's end")

    def test_exit_in_the_middle_of_stops(self):
        program = build("exit_status")
        for _ in range(15):
            record(self.directory, [program, "exit", "6"], "-F", "5000", "--max-overhead", "0",
                   status=6)

    def test_target_under_another_recorder(self):
        """Two profilers on one process: each sees all of it."""
        with Running([build("progressing"), self.path("counters")]) as target:
            target.wait_ready()
            with Recorder(self.directory, "attach", "-p", str(target.pid)) as recorder:
                self.eventually(lambda: procfs.observer(target.pid), "attaching")
                second = attach(self.directory, target.pid, "-d", "500ms")
                first = recorder.interrupt()
            self.assertEqual(first.status, 0)
            # Where one of them is amid a visit the other goes without.
            for one in (first, second):
                self.assertMostlyIn(one, "progress_main", 0.7)

