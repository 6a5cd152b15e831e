# SPDX-License-Identifier: GPL-2.0-or-later
"""What functions of pools hand out: compared with the sums of the program itself."""

import json
import os
import subprocess
import tempfile

from live import LiveCase
from profc import Recorder, profc, record
from targets import Running, build, need

IN_COMPANY = True

SPEC = (
    "alloc:pool_get(size=2:int),free:pool_put(2) alloc:pool_store(count=2,size=3,out=1)",
    "alloc:pool_node(bytes=200)",
    "free:pool_free_node(1)",
    "realloc:pool_resize(pointer=1,size=2)",
)


def options(*specs):
    return [word for spec in specs for word in ("--mem-functions", spec)]


class PoolCase(LiveCase):
    def record(self, argv, *more, **popen):
        directory = tempfile.mkdtemp(dir=self.directory)
        return record(directory, argv, "--no-cpu", *more, **popen)

    def info(self, recording):
        return json.loads(recording.info("--json"))

    def left(self, recording):
        """{function that has called the pool, or malloc: bytes}."""
        text = profc("report", "-i", recording.path, "--leaks", "--json").stdout
        found = {}
        for leak in json.loads(text)["leaks"]:
            name = leak["stack"][0]["function"].split(".")[0]
            found[name] = found.get(name, 0) + leak["bytes"]
        return found

    def kinds(self, recording):
        text = profc("report", "-i", recording.path, "--leaks", "--json").stdout
        return {leak["kind"]: leak["bytes"] for leak in json.loads(text)["leaks"]}

    def refused(self, recording):
        return {
            refusal["function"]: refusal["reason"]
            for refusal in self.info(recording)["probes"]["refused"]
        }

    def assertOwnSums(self, recording, besides=0):
        """Of what the program has taken; `besides` of those blocks nobody says anything."""
        said, heap = recording.said[0], self.info(recording)["heap"]
        self.assertEqual(said["wrong"], 0)
        self.assertTrue(heap["allocated_exact"])
        self.assertEqual(heap["dropped"], 0)
        self.assertEqual(heap["allocated_bytes"], said["bytes"] + besides)
        self.assertEqual(heap["live_bytes"], said["live"] + besides)


class Pools(PoolCase):
    """With a rate of one byte all blocks of some size are recorded."""

    def test_static_functions_in_the_same_file(self):
        recording = self.record([build("allocates_from_pools"), "200"], "--mem=1", *options(*SPEC))
        # It takes 1000 bytes more by another function; what the pool is made of is no block.
        self.assertOwnSums(recording, besides=1000)
        self.assertGreater(recording.said[0]["chunks"], 2)
        self.assertEqual(
            {name: size for name, size in self.left(recording).items() if name != "pool_clone"},
            {
                "leaks_from_pool": 200 * 500,
                "stores": 100 * 900,
                "nodes": 200 * 200,
                "resizes": 20 * 600,
            },
        )
        self.assertNotIn("could not be watched", recording.stderr)

    def test_optimised_otherwise(self):
        """Whatever registers compilers use across the calls."""
        for flags in (("-O1",), ("-O3", "-fomit-frame-pointer"), ("-O2", "-fno-omit-frame-pointer")):
            with self.subTest(flags=flags):
                program = build("allocates_from_pools", *flags, "-g")
                recording = self.record([program, "100"], "--mem=1", *options(*SPEC))
                self.assertEqual(recording.said[0]["wrong"], 0)
                self.assertEqual(self.left(recording)["leaks_from_pool"], 100 * 500)

    def test_at_a_rate(self):
        recording = self.record([build("allocates_from_pools"), "4000"], "--mem=16K", *options(*SPEC))
        said, heap = recording.said[0], self.info(recording)["heap"]
        self.assertEqual(said["wrong"], 0)
        self.assertEqual(heap["allocated_bytes"], said["bytes"] + 1000)
        self.assertGreater(heap["live_ci_bytes"], 0)
        self.assertWithin(heap["live_bytes"], said["live"], 2.05 * heap["live_ci_bytes"], "alive")

    def test_where_all_is_recorded(self):
        argv = [build("allocates_from_pools"), "200"]
        recording = self.record(argv, "--mem=all", *options(*SPEC))
        self.assertOwnSums(recording, besides=1000)
        self.assertEqual(set(self.kinds(recording)), {"pool"})
        self.assertEqual(self.left(recording)["leaks_from_pool"], 200 * 500)

    def test_it_implies_memory_at_the_default_rate(self):
        recording = self.record([build("allocates_from_pools"), "2000"], *options(*SPEC))
        heap = self.info(recording)["heap"]
        self.assertEqual(heap["mean_bytes"], 512 * 1024)
        self.assertEqual(heap["allocated_bytes"], recording.said[0]["bytes"] + 1000)

    def test_a_program_without_another_heap(self):
        """None that has a name: what its functions are made of is not seen, nor told of."""
        source = build("allocates_from_pools", "-O2", "-g", "-static", called="static")
        program = self.path("without")
        subprocess.run([need("objcopy"), "-N", "malloc", source, program], check=True)
        recording = self.record([program, "100"], "--mem=1", *options(*SPEC))
        self.assertNotIn("no function named malloc", recording.stderr)
        self.assertOwnSums(recording, besides=1000)

    def test_a_stripped_program(self):
        program = build("allocates_from_pools", "-O2", "-static", "-s", called="stripped")
        recording = self.record([program, "10"], *options("free:pool_put(2)"), status=125)
        self.assertIn("no function is named 'pool_put'", recording.stderr)

    def test_attached(self):
        target = Running([build("allocates_from_pools"), "serve"])
        self.addCleanup(target.__exit__)
        target.wait_ready()
        fifo = self.path("control")
        os.mkfifo(fifo, 0o600)
        recorder = Recorder(
            self.directory, "attach", "-p", target.pid, "--mem=1", "--no-cpu", "--control",
            f"fifo:{fifo}", *options(*SPEC),
        )
        self.addCleanup(recorder.__exit__, None, None, None)
        self.until_done(fifo, "")
        target.process.stdin.write("50\n")
        target.process.stdin.flush()
        said = json.loads(target.process.stdout.readline())
        recording = recorder.interrupt()
        heap = self.info(recording)["heap"]
        self.assertEqual(said["wrong"], 0)
        self.assertEqual(heap["allocated_bytes"], said["bytes"] + 1000)
        self.assertEqual(heap["live_bytes"], said["live"] + 1000)
        target.process.stdin.write("20\n")
        target.process.stdin.flush()
        self.assertEqual(json.loads(target.process.stdout.readline())["wrong"], 0)


    def test_an_allocators_own_function_may_be_named(self):
        """Then it is what the user says that it is."""
        argv = [build("allocates"), "leaks:50:1000", "grows:20:500"]
        recording = self.record(argv, "--mem=1", *options("alloc:malloc(size=1)"))
        self.assertEqual(
            self.info(recording)["heap"]["allocated_bytes"], recording.said[0]["bytes"]
        )
        self.assertEqual(self.kinds(recording), {"pool": 50 * 1000, "realloc": 20 * 500})


class Refused(PoolCase):
    def test_what_the_compiler_has_changed_is_named(self):
        specs = options(*SPEC, "alloc:pool_clone(size=1)")
        recording = self.record([build("allocates_from_pools")], "--mem=1", *specs)
        self.assertOwnSums(recording, besides=1000)
        self.assertEqual(
            self.refused(recording),
            {"pool_clone.constprop.0": "its arguments were changed by the compiler"},
        )
        self.assertIn("1 function of an allocator could not be watched", recording.stderr)
        self.assertIn("not watched: pool_clone.constprop.0", recording.info())
        leaks = profc("report", "-i", recording.path, "--leaks").stdout
        self.assertIn("note: 1 function could not be watched: if it frees, ", leaks)

    def test_what_may_leave_without_returning_is_named(self):
        """An exception cannot pass a probe: it would end the program."""
        names = ("pool_take", "pool_check", "pool_jump", "pool_get")
        specs = options(*(f"alloc:{name}(size=1)" for name in names), "free:pool_put(1)",
                        "free:pool_drop(1)")
        for rate in ("1", "all"):
            with self.subTest(rate=rate):
                recording = self.record([build("pool_throws")], f"--mem={rate}", *specs)
                (said,) = recording.said
                self.assertEqual((said["caught"], said["jumped"]), (400, 100))
                why = "it may leave by an exception or longjmp(3)"
                self.assertEqual(self.refused(recording), {name: why for name in names[:3]})
                rows = recording.report("-m", "alloc", "--by", "function")["rows"]
                self.assertGreaterEqual(
                    {row["function"]: row["self_bytes"] for row in rows}["main"], said["bytes"]
                )
                self.assertNotIn("stay", recording.stderr)

    def test_a_name_that_no_file_has(self):
        for spec, why in (
            ("alloc:pool_got(size=1)", "no function is named 'pool_got'"),
            ("alloc:took(size=1)", "'took' is inlined everywhere, in "),
        ):
            specs = options(spec)
            recording = self.record([build("allocates_from_pools")], "--mem=1", *specs)
            self.assertIn(f"--mem-functions: {why}", recording.stderr)
            self.assertEqual(recording.said[0]["wrong"], 0)
        with Running([build("allocates_from_pools"), "serve"]) as target:
            target.wait_ready()
            ended = profc("attach", "-p", target.pid, *options("free:pool_putt(1)"), status=1)
            self.assertIn("no function is named 'pool_putt'", ended.stderr)
            self.assertIn("did you mean 'pool_put'?", ended.stderr)
            with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
                self.assertNotIn("profc-probes", maps.read())

    def test_a_library_that_is_loaded_later(self):
        """Its pool may take blocks of malloc(), which another probe counts already."""
        library = build("pool_library", "-O2", "-g", "-shared", "-fPIC", called="libpool.so")
        program = build("loads_a_pool", "-O2", "-g", called="loads")
        specs = options("alloc:library_get(size=1)")
        recording = self.record([program, library, "50"], "--mem=1", *specs)
        self.assertEqual(
            self.refused(recording),
            {"library_get": "its file was loaded after the recording of memory began"},
        )
        self.assertEqual(self.left(recording)["library_get"], 50 * 3000)

    def test_a_library_that_is_there_from_the_start(self):
        library = build("pool_library", "-O2", "-g", "-shared", "-fPIC", called="libpool.so")
        program = build("loads_a_pool", "-O2", "-g", called="loads")
        recording = self.record(
            [program, library, "50"], "--mem=1", *options("alloc:library_get(size=1)"),
            env={**os.environ, "LD_PRELOAD": library},
        )
        self.assertEqual(self.refused(recording), {})
        self.assertEqual(self.left(recording)["main"], 50 * 3000)


class Hammer(PoolCase):
    SPEC = "alloc:pool_get(size=2) free:pool_put(2)"

    def allocating(self, pid, rate):
        """The functions of a recording: a longer one where the target had no CPU in a short one."""
        path = self.path("pool.data")
        for seconds in ("0.3", "2", "10"):
            command = ["attach", "-p", pid, "-d", seconds, "--no-cpu", "-o", path, rate]
            profc(*command, *options(self.SPEC))
            done = profc("report", "-i", path, "--json", "-m", "alloc", status=None)
            if done.returncode == 0:
                return {row["function"] for row in json.loads(done.stdout)["rows"]}
            self.assertIn("no blocks allocated", done.stderr)
        return set()

    def test_nothing_breaks_while_probes_come_and_go(self):
        """Nor does anything stay: by eight arguments, in registers, mappings and signals."""
        with Running([build("pool_hammer")]) as target:
            target.wait_ready()
            for nr in range(4):
                names = self.allocating(target.pid, "--mem=4K" if nr % 2 else "--mem=1M")
                self.assertIn("run", names)
            with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
                self.assertNotIn("profc-probes", maps.read())
            target.process.stdin.close()
            said = json.loads(target.process.stdout.readline())
            self.assertEqual(target.process.wait(timeout=20), 0)
            self.assertGreater(said["rounds"], 10000)
