# SPDX-License-Identifier: GPL-2.0-or-later
"""Labels of threads: what programs publish by the thread context of OpenTelemetry (OTEP 4947)."""

import collections
import gzip
import json
import os
import platform
import unittest

from live import LiveCase
from profc import attach, profc, record
from targets import Running, build

ROUTES = ("/users/{id}", "/orders", "/health")
ANSWERS = ("answer_users", "answer_orders", "answer_health")
OWN = ("publishes_contexts", "-O2", "-g", "-rdynamic")
IN_PLUGIN = ("publishes_contexts", "-O2", "-g", "-DIN_PLUGIN")
PLUGIN = ("thread_context_plugin", "-O2", "-g", "-shared", "-fPIC")
DESCRIPTORS = {"x86_64": ["-mtls-dialect=gnu2"], "aarch64": ["-mtls-dialect=desc"]}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """[(number, value)] of a message of protobuf."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def pprof_labels(path):
    """How many nanoseconds of CPU time the samples of each set of labels have."""
    with gzip.open(path) as file:
        message = list(fields(file.read()))
    texts = [value.decode() for number, value in message if number == 6]
    types = [texts[dict(fields(value))[1]] for number, value in message if number == 1]
    sums = collections.Counter()
    for sample in (value for number, value in message if number == 2):
        labels, values = {}, []
        for number, value in fields(sample):
            if number == 3:
                label = dict(fields(value))
                labels[texts[label[1]]] = texts[label[2]]
            elif number == 2:
                at = 0
                while at < len(value):
                    one, at = varint(value, at)
                    values.append(one)
        sums[labels.get("http.route"), labels.get("http.method"), labels.get("span_id")] += \
            values[types.index("cpu")]
    return sums


class Contexts(LiveCase):
    def counters(self, recording):
        counters = json.loads(recording.info("--json"))["counters"]
        return {name: value for name, value in counters.items() if name.startswith("context_")}

    def assert_shares(self, recording, metric="cpu"):
        """Shares of the routes as the threads' own clocks have them."""
        own = {said["route"]: said["ns"] for said in recording.said}
        self.assertEqual(set(own), set(ROUTES))
        rows = {row["name"]: row for row in recording.rows("--by", "label:http.route", "-m", metric)}
        self.assertLessEqual(set(rows), {*ROUTES, "[no label]", "[unattributed]"})
        total = sum(row["self_ns"] for row in rows.values())
        for route in ROUTES:
            self.assertShare(rows[route], "self_pct", 100 * own[route] / total, route)
        return sum(rows[route]["self_ns"] for route in ROUTES) / total

    def test_in_the_program(self):
        recording = record(self.directory, [build(*OWN), "cpu", "3000", "2"])
        self.assertGreater(self.assert_shares(recording), 0.85)
        self.assertGreater(self.counters(recording)["context_read"], 0)
        self.assertIn("contexts    tlsdesc_v1_dev by publishes_conte", recording.info())
        # A sample may have met the command amid its exec, as another program.
        processes = json.loads(recording.info("--json"))["processes"]
        self.assertEqual([one["context"] for one in processes if one.get("context")], ["tlsdesc_v1_dev"])

    def test_in_a_library_that_is_loaded_later(self):
        """Each way in which a compiler has a library get to its variable."""
        models = [[], ["-ftls-model=initial-exec"], DESCRIPTORS.get(platform.machine(), [])]
        for flags in models:
            with self.subTest(flags=flags):
                library = build(*PLUGIN, *flags)
                recording = record(self.directory, [build(*IN_PLUGIN), "cpu", "3000", "2", library])
                self.assertGreater(self.assert_shares(recording), 0.8)

    def answering(self, recording, route):
        """The functions of threads that have this label."""
        done = profc("report", "-i", recording.path, "-m", "wall", "--json",
                     "--label", f"http.route={route}", status=None)
        rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
        return {row["function"] for row in rows} & set(ANSWERS)

    def check_each_thread(self, *command):
        """
        Each thread answers one route in one function: with any other label it is wrong. A slow
        machine needs longer for a sample of each.
        """
        for ms in 1500, 10000, 30000:
            recording = record(self.directory, [command[0], "apart", str(ms), "6", *command[1:]])
            seen = [self.answering(recording, route) for route in ROUTES]
            for route, function, answering in zip(ROUTES, ANSWERS, seen):
                self.assertLessEqual(answering, {function}, route)
            if all(seen):
                break
        self.assertTrue(all(seen), recording.info())
        self.assertGreaterEqual(self.counters(recording)["context_read"], len(ROUTES))

    def test_each_thread_has_its_own(self):
        """However few samples there are."""
        self.check_each_thread(build(*OWN))

    def test_each_thread_has_its_own_of_a_library(self):
        for flags in [[], ["-ftls-model=initial-exec"], DESCRIPTORS[platform.machine()]]:
            with self.subTest(flags=flags):
                self.check_each_thread(build(*IN_PLUGIN), build(*PLUGIN, *flags))

    def test_a_record_that_changes_and_new_keys(self):
        recording = record(self.directory, [build(*OWN), "renamed", "3000", "2"])
        self.assert_shares(recording)
        orders = recording.rows("--by", "label:route.2")
        self.assertIn("yes", [row["name"] for row in orders])
        of_orders = recording.report("--label", "route.2=yes")["total_ns"]
        of_route = recording.report("--label", "http.route=/orders")["total_ns"]
        self.assertLessEqual(of_orders, of_route)  # the key has its name only after 20 ms
        self.assertGreater(of_orders, 0.8 * of_route)

    def test_of_sleeping_threads(self):
        # All samples: within the overhead a slow machine leaves out what short sleeps need.
        recording = record(self.directory, [build(*OWN), "blocked", "3000", "2"], "--max-overhead", "0")
        self.assert_shares(recording, "blocked")

    def test_attached(self):
        with Running([build(*OWN), "cpu", "4000", "2"]) as target:
            recording = attach(self.directory, str(target.pid), "--duration", "2s")
        rows = {row["name"]: row for row in recording.rows("--by", "label:http.route")}
        self.assertShare(rows[ROUTES[0]], "self_pct",
                         70 * sum(rows[route]["self_pct"] for route in ROUTES) / 100)

    def test_filters_and_two_keys(self):
        recording = record(self.directory, [build(*OWN), "cpu", "3000", "2"])
        rows = {row["name"]: row["self_ns"] for row in recording.rows("--by", "label:http.route")}
        for route in (route for route in ROUTES if rows.get(route)):
            of_filter = recording.report("--label", f"http.route={route}")
            self.assertEqual(of_filter["total_ns"], rows[route])
        of_two = recording.report("--label", "http.route=/orders", "--label", "http.route=/health")
        self.assertEqual(of_two["total_ns"], rows["/orders"] + rows.get("/health", 0))
        of_none = profc("report", "-i", recording.path, "--label", "http.route=/orders",
                        "--label", "http.method=PUT", status=1)
        self.assertIn("pass the filters", of_none.stderr)
        spans = recording.rows("--by", "label:span_id")
        self.assertIn("01" * 8, [row["name"] for row in spans])
        functions = recording.rows("--by", "label:http.route,function")
        self.assertIn(("/orders", "compute"), [(row["label"], row["function"]) for row in functions])

    def test_in_pprof(self):
        recording = record(self.directory, [build(*OWN), "cpu", "3000", "2"])
        path = self.path("labels.pb.gz")
        profc("export", "-i", recording.path, "--pprof", "-o", path)
        sums = pprof_labels(path)
        rows = {row["name"]: row["self_ns"] for row in recording.rows("--by", "label:http.route")}
        for number, route in enumerate(ROUTES, 1):
            self.assertAlmostEqual(sums[route, "GET", f"0{number}" * 8], rows.get(route, 0), delta=1e6)

    def test_hostile_records(self):
        """Random bytes and addresses: no wrong label, and the program goes on."""
        recording = record(self.directory, [build(*OWN), "hostile", "3000", "2"])
        rows = {row["name"] for row in recording.rows("--by", "label:http.route")}
        self.assertLessEqual(rows, {"/health", "[no label]", "[unattributed]"})
        counters = self.counters(recording)
        self.assertGreater(
            counters.get("context_refused", 0) + counters.get("context_damaged", 0), 0)
        for said in recording.said:
            self.assertGreater(said["ns"], 0)

    def test_programs_without_any(self):
        recording = record(self.directory, [build("spin_leaf"), "300"])
        self.assertEqual(self.counters(recording), {})
        self.assertNotIn("contexts", recording.info())
        done = profc("report", "-i", recording.path, "--by", "label:http.route", status=1)
        self.assertIn("no labels in the recording", done.stderr)

    def test_recordings_together(self):
        """Labels have other numbers in the result."""
        parts = []
        for how in ("cpu", "renamed"):
            directory = self.path(how)
            os.mkdir(directory)
            parts.append(record(directory, [build(*OWN), how, "1000", "2"]))
        merged = self.path("merged.data")
        profc("merge", "-o", merged, *(part.path for part in parts))
        both = collections.Counter()
        for part in parts:
            both.update({row["name"]: row["self_ns"]
                         for row in part.rows("--by", "label:http.route")})
        done = json.loads(profc("report", "-i", merged, "--by", "label:http.route", "--json").stdout)
        self.assertEqual({row["name"]: row["self_ns"] for row in done["rows"]}, dict(both))


if __name__ == "__main__":
    unittest.main()
