# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads wait for, and who has it: `report --by lock` and `--by fd`."""

import csv
import io
import json
import math
import os
import subprocess
import sys

import procfs
from live import LiveCase
from paths import PROFC, ROOT
from profc import Recording, attach, profc, record
from targets import Running, build, need

sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import read_profc_data  # noqa: E402  (of another family)

IN_COMPANY = True
# Where no CPU is idle, sleeps are looked at a few times a second, so that looks cost little.
FAST = ("-F", "1000", "--max-overhead", "0")
LOCKS = {"plain_lock": ("mutex", "want_lock", 2), "heir_lock": ("mutex", "want_lock", 1),
         "robust_lock": ("mutex", "want_lock", 1), "never": ("cond", "idle_main", 1),
         "tickets": ("sem", "sem_main", 1)}


class Locks(LiveCase):
    def by_name(self, recording, *options):
        return {row["name"]: row for row in recording.rows("--by", "lock", *options)}

    def test_locks_and_what_their_owner_did(self):
        recording = record(self.directory, [build("waits_for_known_owners"), "1000"], *FAST)
        (said,) = recording.said
        waited = said["waited_ns"]
        expected = {"plain_lock": waited["waiter-1"] + waited["waiter-2"],
                    "heir_lock": waited["heir"], "robust_lock": waited["robust"]}
        rows = self.by_name(recording)
        for name, (kind, function, threads) in LOCKS.items():
            row = rows[name]
            self.assertEqual((row["kind"], row["waiting_in"], row["threads"]),
                             (kind, function, threads), row)
        (heap,) = [row for row in rows.values() if row["address"] == said["address"]]
        self.assertRegex(heap["name"], r"^0x[0-9a-f]+ \[heap\]$")
        expected[heap["name"]] = waited["heap"]
        tolerance = 0.2 + recording.missed_share()
        for name, waited_ns in expected.items():
            # What came before its first sample, and after its last, is not known to be this.
            self.assertRatio(rows[name]["self_ns"], waited_ns, tolerance, name)
            self.check_owner(recording, rows[name])
        for name in ("never", "tickets"):
            self.assertEqual(rows[name]["owners"], [])
        # It waits for the others for a moment each.
        join = max((row for row in rows.values() if row["kind"] == "join"),
                   key=lambda row: row["self_ns"])
        self.assertEqual(join["waiting_in"], "main")
        self.assertEqual(join["name"],
                         f"end of thread {rows['plain_lock']['owner_tid']} holder")

        self.check_file(recording, rows.values())

    def check_file(self, recording, rows):
        """A second reader of the file finds the same."""
        second = read_profc_data.Recording(recording.path)
        self.assertEqual(second.facts["knows_waits"], 1)
        waited = {}
        for sample in second.samples:
            row = second.waits[sample["wait"] - 1] if sample["wait"] else {"kind": None}
            if row["kind"] is not None and row["kind"] < 4:
                waited[row["what"]] = waited.get(row["what"], 0) + sample["blocked"]
        known = {}
        for row in rows:
            if row["kind"] and row["kind"] != "cond":  # of which two words are one
                address = int(row["address"], 16)
                known[address] = known.get(address, 0) + row["self_ns"]
        self.assertEqual({address: waited[address] for address in known}, known)
        self.assertEqual(sum(waited.values()), sum(row["self_ns"] for row in rows if row["kind"]))

    def check_owner(self, recording, row):
        (owner,) = row["owners"]
        self.assertEqual((owner["name"], owner["tid"], owner["guess"]),
                         ("holder", row["owner_tid"], False))
        self.assertGreater(owner["pct"], 90)
        threads = {one["tid"]: one for one in recording.rows("--by", "thread", "-m", "wall")}
        holder = threads[owner["tid"]]
        self.assertEqual(holder["name"], "holder")
        functions = {one["function"]: one["ns"] for one in owner["functions"]}
        self.assertEqual(row["owner_in"], "compute_with_locks", functions)
        self.assertLessEqual(sum(functions.values()), owner["sampled_ns"] * 1.001)
        tolerance = max(0.1, 3 * math.sqrt(0.75 * 0.25 / holder["self_samples"]))
        self.assertWithin(functions["compute_with_locks"] / owner["sampled_ns"], 0.75, tolerance,
                          "of the time with the locks, that computing")
        self.assertGreater(functions["sleep_with_locks"] / owner["sampled_ns"], 0.1)

    def test_a_lock_that_goes_from_thread_to_thread(self):
        recording = record(self.directory, [build("mutex_contention"), "1000"], *FAST)
        (said,) = recording.said
        row = self.by_name(recording)["mutex"]
        self.assertEqual((row["kind"], row["threads"]), ("mutex", 3))
        # Who was woken and has no CPU yet still waits for the lock by the program's clock.
        runq = sum(row["self_ns"] for row in recording.rows("--by", "thread", "-m", "runq"))
        # Of some 150 samples: the interval that the row itself claims.
        interval = row["self_ns"] * row["ci_pct"] / row["self_pct"]
        self.assertLessEqual(row["self_ns"] - runq - interval, 1.1 * said["waited_ns"])
        self.assertGreaterEqual(row["self_ns"] + runq + interval, 0.9 * said["waited_ns"])
        held = {int(tid): ns / said["held_ns"] for tid, ns in said["held_by_ns"].items()}
        shares = {owner["tid"]: owner["pct"] for owner in row["owners"]}
        self.assertEqual(set(shares), set(held))
        self.assertGreater(sum(shares.values()), 85)
        # Those who wait at the same moment wait for the same owner: they say it once.
        nr_moments = row["self_samples"] / (row["threads"] - 1)
        for tid, share in shares.items():
            tolerance = max(0.12, 3 * math.sqrt(held[tid] * (1 - held[tid]) / nr_moments))
            self.assertWithin(share / sum(shares.values()), held[tid], tolerance, f"{shares} {held}")
        self.assertEqual(row["owner_in"], "hold_the_lock")
        starts = [one["start_function"] for one in recording.rows("--by", "thread", "-m", "wall")]
        self.assertEqual(sorted(starts), 3 * ["contender_main"] + ["main"])
        options = ("--by", "thread", "--width", "160")
        text = profc("report", "-i", recording.path, *options).stdout
        self.assertRegex(text, r"  mutex_contentio \(contender_main, mutex_contention.c:\d+\) ")

    def test_tables(self):
        recording = record(self.directory, [build("waits_for_known_owners"), "600"], *FAST)
        text = profc("report", "-i", recording.path, "--by", "lock", "--width", "140").stdout
        self.assertRegex(text, r"threads  lock +kind +waiting in +held by +held in\n")
        self.assertRegex(text, r" 2  plain_lock +mutex +want_lock +holder (100|9\d)% +compute_with_")
        narrow = profc("report", "-i", recording.path, "--by", "lock", "--width", "80").stdout
        self.assertLessEqual(max(map(len, narrow.splitlines())), 80)
        self.assertRegex(narrow, r" plain_lock +(mutex +)?want_lock +holder (100|9\d)% +com")
        table = profc("report", "-i", recording.path, "--by", "lock", "--csv").stdout
        rows = {row["name"]: row for row in csv.DictReader(io.StringIO(table))}
        self.assertEqual(rows["plain_lock"]["owner_in"], "compute_with_locks")
        self.assertEqual(rows["plain_lock"]["threads"], "2")
        self.assertEqual(rows["plain_lock"]["owner_leaf"], "compute_with_locks")
        self.assertEqual(rows["never"]["owner_tid"], "")

    def test_owners_in_a_namespace_of_their_own(self):
        """There the program has other ids for its threads than we have."""
        if os.geteuid() != 0:
            self.skipTest("only root can make namespaces")
        command = [need("unshare"), "-pf", "--kill-child", build("waits_for_known_owners"), "20000"]
        with Running(command) as target:
            found = []

            def has_begun():
                with open(f"/proc/{target.pid}/task/{target.pid}/children", encoding="ascii") as file:
                    found[:] = [int(word) for word in file.read().split()]
                return found and len(procfs.threads(found[0])) == 9

            self.eventually(has_begun, "start of all its threads")
            recording = attach(self.directory, found[0], "-d", "500ms", *FAST)
            row = self.by_name(recording)["plain_lock"]
            self.assertEqual([owner["name"] for owner in row["owners"]], ["holder"])
            self.assertIn(row["owner_tid"], procfs.threads(found[0]))

    def test_symbols_of_variables_may_come_later(self):
        command = [build("waits_for_known_owners"), "300"]
        recording = record(self.directory, command, "--no-symbols", *FAST)
        self.assertNotIn("plain_lock", self.by_name(recording))
        self.assertTrue([name for name in self.by_name(recording)
                         if name.startswith("[waits_for_known_owners+0x")])
        profc("symbolize", "-i", recording.path)
        self.assertEqual(self.by_name(recording)["plain_lock"]["threads"], 2)


class Wakers(LiveCase):
    def test_children_have_their_names(self):
        """While a shell waits for the second, another child ends with that: it may be either."""
        command = ["sh", "-c", "sleep 0.9; tail -f /dev/null & sleep 0.3; kill $!; wait; :"]
        recording = record(self.directory, command, *FAST)
        text = profc("report", "-i", recording.path, "--wakers", "-n", "0", "--json").stdout
        (waits,) = [wait for wait in json.loads(text)["waits"] if wait["wait"] == "wait4"]
        rows = {row["child"]: row["blocked_ns"] for row in waits["ended_by"]}
        self.assertGreater(rows["sleep"], 0.9 * 0.9e9, rows)
        self.assertLess(rows.get("tail", 0), 0.1e9, rows)
        self.assertEqual({row["how"] for row in waits["ended_by"]}, {"child"})


class Descriptors(LiveCase):
    def expected(self, said, directory):
        """By the thread that waits."""
        server, client = (f"socket 127.0.0.1:{said[end]}" for end in ("port", "client"))
        pair = "socket within the process"
        return {"accepts": f"socket listening on 127.0.0.1:{said['port']}", "serves": client,
                "asks": server, "local": f"socket listening on {directory}/socket",
                "child": f"pipe from {said['child']} silent",
                "tells": f"pipe to {said['child']} silent", "epoll": "epoll", "polls": pair,
                "selects": pair, "fifo": f"{directory}/fifo"}

    def check(self, recording, directory):
        said, end = recording.said
        rows = recording.rows("--by", "fd")
        known = {(row["object"], row["fd"]): row for row in rows}
        for thread, name in self.expected(said, directory).items():
            fd = said["fds"][thread]
            row = known.get((name, fd))
            self.assertIsNotNone(row, f"{thread}: {name} in {sorted(map(str, known))}")
            self.assertEqual(row["name"], f"{name} (fd {fd})")
            self.assertEqual(row["threads"], 1)
            self.assertRatio(
                row["self_ns"], end["waited_ns"], 0.2 + recording.missed_share(), thread
            )
        both = f"{said['fds']['polls-two']}, {said['fds']['accepts']}"
        (several,) = [row for row in rows if row["object"] == both]
        self.assertEqual((several["name"], several["fd"], several["waiting_in"]),
                         (f"one of 2 descriptors (fd {both})", None, "wait_to_poll_two"))
        # The main thread of the program and its child sleep.
        self.assertEqual({row["name"]: row["threads"] for row in rows}["[no descriptor]"], 2)

    def test_what_is_behind_descriptors(self):
        command = [build("waits_for_known_peers"), self.directory, "1000"]
        recording = record(self.directory, command, *FAST)
        self.check(recording, self.directory)

    def test_forked_children_have_the_ends_of_their_parent(self):
        """One that just inherited both is no peer, if another thread may be; one with the other is."""
        for kind in "thread", "child":
            with self.subTest(writer=kind):
                command = [build("forks_beside_pipe"), kind, "1500"]
                recording = record(self.directory, command, *FAST)
                (said,) = recording.said
                expected = f"pipe from {said['child']} " if said["child"] else "pipe within the process"
                row = max((row for row in recording.rows("--by", "fd")
                           if (row["object"] or "").startswith("pipe")),
                          key=lambda row: row["self_ns"])
                self.assertTrue(row["object"].startswith(expected), row)

    def test_an_ordinary_user_sees_the_same(self):
        program = self.public(build("waits_for_known_peers"))
        directory = self.path("own")
        os.mkdir(directory)
        os.chmod(directory, 0o777)
        path = os.path.join(directory, "profc.data")
        done = subprocess.run(
            [self.public(PROFC), "record", *FAST, "-o", path, program, directory, "800"],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            **self.ordinary_user())
        self.check(Recording(path, done), directory)
