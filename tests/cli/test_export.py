# SPDX-License-Identifier: GPL-2.0-or-later
"""profc export: the command line, and the formats against the report and their readers."""

import collections
import contextlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from made import MadeCase
from page import Page
from paths import PROFC
from profc import Recording, profc
from targets import need

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import read_profc_data  # noqa: E402  (beside this file)

PPROF = shutil.which("pprof") or "/usr/lib/go-1.19/pkg/tool/linux_amd64/pprof"


class Exported(MadeCase):
    SIZE = (20000, 2000, 3)

    def pprof(self, *options, export=()):
        """What pprof itself prints of an export."""
        if not os.access(PPROF, os.X_OK):
            self.skipTest("pprof is not installed")
        out = self.path("made.pb.gz")
        self.export("--pprof", "-o", out, *export)
        return subprocess.run(
            [PPROF, *options, out], env={**os.environ, "PPROF_TMPDIR": self.directory},
            stdout=subprocess.PIPE, text=True, check=True,
        ).stdout

    def pprof_sums(self, *options):
        """{sample type: its sum}, and the type that is shown first."""
        out = self.pprof("-raw", export=options)
        types = out.partition("Samples:\n")[2].splitlines()[0].split()
        first = [name.partition("/")[0] for name in types if name.endswith("[dflt]")]
        rows = re.findall(r"^((?: +[0-9]+)+): [0-9 ]+$", out, re.MULTILINE)
        sums = [sum(map(int, column)) for column in zip(*(row.split() for row in rows))]
        self.assertEqual(len(sums), len(types))
        return dict(zip((name.partition("/")[0] for name in types), sums)), *first

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = Recording(cls.data)

    def export(self, *options, **popen):
        return profc("export", "-i", self.data, *options, **popen)

    def report(self, *options):
        return self.recording.report(*options)

    def assertSameSums(self, found, expected):
        """Equal where either is not zero; a few of the differences if not."""
        differences = {
            name: (found[name], expected[name])
            for name in set(found) | set(expected)
            if found[name] != expected[name]
        }
        self.assertFalse(differences and dict(sorted(differences.items())[:5]))

    def own_time(self, *options):
        """{function name: self weight} as the report has it."""
        sums = collections.Counter()
        for row in self.report(*options)["rows"]:
            sums[row["function"]] += row["self_ns"]
        return sums

    def total_time(self, *options):
        sums = collections.Counter()
        for row in self.report(*options)["rows"]:
            sums[row["function"]] += row["total_ns"]
        return sums

    @staticmethod
    def named(sums):
        """Without what stands for no function: missing callers, processes."""
        return collections.Counter({name: sums[name] for name in sums if name[0] != "["})


class CommandLine(Exported):
    def assertRefused(self, *options, status=2):
        done = self.export(*options, status=status)
        self.assertTrue(done.stderr.startswith("profc: "), done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_exactly_one_format(self):
        self.assertIn("no format given", self.assertRefused())
        self.assertIn("more than one", self.assertRefused("--folded", "--speedscope"))

    def test_words_are_not_taken_for_files(self):
        out = self.path("word.folded")
        self.assertIn("-o OUT", self.assertRefused("--folded", out))
        self.assertFalse(os.path.exists(out))

    def test_bad_filters_are_wrong_usage(self):
        self.assertRefused("--folded", "--thread", "(")
        self.assertRefused("--folded", "--time", "2..1")
        self.assertRefused("--folded", "--metric", "joules")

    def test_nothing_left_is_not_success(self):
        for options in (("--function", "^nowhere$"), ("--thread", "99"), ("--time", "100h..")):
            self.assertIn("no samples", self.assertRefused("--folded", *options, status=1))

    def test_no_such_profile(self):
        done = profc("export", "-i", self.path("absent"), "--folded", status=1)
        self.assertIn("absent", done.stderr)

    def test_dash_is_standard_input_and_output(self):
        expected = self.export("--folded").stdout
        with open(self.data, "rb") as data:
            done = profc("export", "-i", "-", "--folded", "-o", "-", stdin=data)
        self.assertEqual(done.stdout, expected)

    def test_output_replaces_a_file_only_when_whole(self):
        out = self.path("out.folded")
        self.export("--folded", "-o", out)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), self.export("--folded").stdout)
        before = os.stat(out)
        self.export("--folded", "-o", out, "--function", "^nowhere$", status=1)
        self.assertEqual(os.stat(out).st_size, before.st_size)
        names = [name for name in os.listdir(self.directory) if name.startswith("out.folded")]
        self.assertEqual(names, ["out.folded"])

    def test_killed_export_leaves_nothing(self):
        """The signal of a size limit ends it in the middle of its writing."""
        out = self.path("killed.folded")
        try:
            os.close(os.open(self.directory, os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            self.skipTest("this file system has no files without a name")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        self.export("--folded", "-o", out, status=-signal.SIGXFSZ, preexec_fn=limit)
        names = [name for name in os.listdir(self.directory) if name.startswith("killed")]
        self.assertEqual(names, [])

    def test_output_keeps_links_and_modes(self):
        real, link = self.path("real.folded"), self.path("link.folded")
        with open(real, "w", encoding="utf-8"):
            os.chmod(real, 0o640)
        os.symlink(real, link)
        self.export("--folded", "-o", link)
        self.assertTrue(os.path.islink(link))
        self.assertGreater(os.stat(real).st_size, 0)
        self.assertEqual(os.stat(real).st_mode & 0o777, 0o640)

    def test_a_reader_of_a_non_blocking_pipe_is_waited_for(self):
        """Whoever shares the pipe may have made it so."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        command = [PROFC, "export", "-i", self.data, "--folded"]
        with subprocess.Popen(command, stdout=writer) as exporting:
            os.close(writer)
            with open(reader, encoding="utf-8") as pipe:
                text = pipe.read()
        self.assertEqual(exporting.returncode, 0)
        self.assertGreater(len(text), 100_000)
        self.assertEqual(text, self.export("--folded").stdout)

    def test_full_disk_is_an_error(self):
        done = self.export("--folded", "-o", "/dev/full", status=1)
        self.assertIn("No space left", done.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [PROFC, "export", "-i", self.data, "--speedscope"],
                stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)

    def test_missing_directory_is_an_error(self):
        done = self.export("--folded", "-o", self.path("absent/out"), status=1)
        self.assertIn("No such file", done.stderr)

    def test_reader_that_goes_away_is_an_error(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "w", encoding="utf-8") as closed:
            done = subprocess.run(
                [PROFC, "export", "-i", self.data, "--speedscope"],
                stdout=closed, stderr=subprocess.PIPE, check=False,
            )
        self.assertIn(done.returncode, (1, -signal.SIGPIPE))

    def test_compressed_formats_refuse_a_terminal(self):
        master, terminal = pty.openpty()
        with os.fdopen(terminal, "w", encoding="utf-8") as stdout:
            done = subprocess.run(
                [PROFC, "export", "-i", self.data, "--pprof"],
                stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
            )
        os.close(master)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not writing it to a terminal", done.stderr)

    def test_progress_is_shown_on_a_terminal_if_it_takes_long(self):
        """As long as nobody reads what is written."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROFC, "export", "-i", self.data, "--json"], stderr=theirs,
                              stdout=subprocess.PIPE, start_new_session=True) as slow:
            os.close(theirs)
            seen = b""
            while seen.count(b"exporting: ") < 5:
                seen += os.read(ours, 4096)
            self.assertRegex(seen.decode(), r"^(\r\x1b\[Kprofc: exporting: (\d+%|\d+ s)[^\r]*)+$")
            written = slow.stdout.read()
        self.assertEqual(slow.returncode, 0)
        with contextlib.suppress(OSError):  # EIO: the end
            while True:
                seen += os.read(ours, 4096)
        os.close(ours)
        self.assertTrue(seen.endswith(b"\r\x1b[K"), seen)
        self.assertEqual(written.decode(), self.export("--json").stdout)


class Folded(Exported):
    def test_sums_are_the_reports(self):
        own = collections.Counter()
        for stack, weight in self.recording.folded():
            own[stack[-1]] += weight
        self.assertSameSums(own, self.own_time())

    def test_every_metric_adds_up(self):
        for metric in ("cpu", "wall", "runq", "blocked", "samples"):
            report = self.report("--metric", metric)
            stacks = self.recording.folded("--metric", metric)
            expected = report["samples" if metric == "samples" else "total_ns"]
            self.assertEqual(sum(weight for _, weight in stacks), expected, metric)

    def test_lines_cannot_be_misread(self):
        for line in self.export("--folded").stdout.splitlines():
            self.assertRegex(line, r"^[^;\s]+(;[^;]+)+ [0-9]+$")
            self.assertNotRegex(line, r" [0-9.]+ [0-9]+$")

    def test_threads_split_and_merge(self):
        merged, split = collections.Counter(), collections.Counter()
        for stack, weight in self.recording.folded():
            merged[stack[0]] += weight
        for stack, weight in self.recording.folded("--threads", "split"):
            split[stack[0]] += weight
        rows = self.report("--by", "thread")["rows"]
        self.assertEqual(
            split, {f"{row['name']}-{row['pid']}/{row['tid']}": row["self_ns"] for row in rows}
        )
        self.assertEqual(merged, {"madeup": sum(split.values())})

    def test_filters_are_those_of_report(self):
        for options in (("--thread", "worker-1"), ("--time", "1..2.5"), ("--function", "layer3")):
            expected = self.report(*options)["total_ns"]
            stacks = self.recording.folded(*options)
            self.assertEqual(sum(weight for _, weight in stacks), expected, options)

    def test_no_inline_drops_levels_only(self):
        whole = self.recording.folded()
        folded = self.recording.folded("--no-inline")
        self.assertEqual(sum(w for _, w in whole), sum(w for _, w in folded))
        self.assertTrue(any("inlined" in name for stack, _ in whole for name in stack))
        self.assertFalse(any("inlined" in name for stack, _ in folded for name in stack))


class Speedscope(Exported):
    """What the viewer demands and its schema does not say, beside the schema's own rules."""

    UNITS = {"none", "nanoseconds"}

    def check(self, document):
        self.assertEqual(
            document["$schema"], "https://www.speedscope.app/file-format-schema.json"
        )
        self.assertRegex(document["exporter"], r"^profc@[0-9]")
        frames = document["shared"]["frames"]
        for frame in frames:
            self.assertTrue(frame["name"])
            self.assertLessEqual(set(frame), {"name", "file", "line"})
            self.assertGreaterEqual(frame.get("line", 1), 1)
        self.assertLess(document["activeProfileIndex"], len(document["profiles"]))
        for profile in document["profiles"]:
            self.check_profile(profile, len(frames))

    def check_profile(self, profile, nr_frames):
        self.assertEqual(profile["type"], "sampled")
        self.assertIn(profile["unit"], self.UNITS)
        self.assertEqual(len(profile["samples"]), len(profile["weights"]))
        self.assertGreater(min(profile["weights"]), 0)
        for stack in profile["samples"]:
            self.assertTrue(all(0 <= frame < nr_frames for frame in stack))
        self.assertEqual(
            profile["endValue"] - profile["startValue"], sum(profile["weights"])
        )

    def test_rules_of_the_format(self):
        for options in ((), ("--metric", "wall"), ("--metric", "samples"), ("--idle",),
                        ("--weights", "samples"), ("--threads", "merge"), ("--no-inline",)):
            with self.subTest(options=options):
                self.check(self.recording.speedscope(*options))

    def test_weights_are_the_reports_per_thread(self):
        for metric in ("cpu", "wall", "blocked"):
            profiles = self.recording.speedscope("--metric", metric)["profiles"]
            sums = {}
            for profile in profiles:
                tid = int(re.search(r"\(pid [0-9]+, tid ([0-9]+)\)$", profile["name"]).group(1))
                sums[tid] = sum(profile["weights"])
            rows = self.report("--by", "thread", "--metric", metric)["rows"]
            self.assertEqual(sums, {row["tid"]: row["self_ns"] for row in rows if row["self_ns"]})

    def test_functions_are_the_reports(self):
        document = self.recording.speedscope()
        frames = document["shared"]["frames"]
        own, total = collections.Counter(), collections.Counter()
        for profile in document["profiles"]:
            for stack, weight in zip(profile["samples"], profile["weights"]):
                own[frames[stack[-1]]["name"]] += weight
                for frame in set(stack):  # two functions may have one name
                    total[frames[frame]["name"]] += weight
        self.assertSameSums(own, self.own_time())
        self.assertSameSums(self.named(total), self.named(self.total_time()))

    def test_definitions_are_the_reports(self):
        document = self.recording.speedscope()
        known = {(row["function"], row["file"], row["line"]) for row in self.report()["rows"]}
        for frame in document["shared"]["frames"]:
            if "file" in frame:
                self.assertTrue(
                    (frame["name"], frame["file"], frame.get("line")) in known, frame
                )

    def test_idle_lines_threads_up(self):
        document = self.recording.speedscope("--idle")
        for profile in document["profiles"]:
            self.assertEqual(profile["startValue"], 0)
            self.assertGreaterEqual(profile["endValue"], self.report()["duration_ns"])
        plain = self.recording.speedscope()
        for with_gaps, without in zip(document["profiles"], plain["profiles"]):
            busy = sum(
                weight
                for stack, weight in zip(with_gaps["samples"], with_gaps["weights"])
                if stack
            )
            self.assertEqual(busy, sum(without["weights"]))


class Chrome(Exported):
    def test_slices_nest_and_add_up(self):
        document = json.loads(self.export("--chrome").stdout)
        own = collections.Counter()
        threads = collections.defaultdict(list)
        for event in document["traceEvents"]:
            threads[event["pid"], event["tid"]].append(event)
        for events in threads.values():
            self.replay(events, own)
        # A nanosecond may be lost where a name would close and open at one moment.
        for name, weight in self.own_time().items():
            self.assertAlmostEqual(own[name], weight, delta=weight / 1000 + 1000, msg=name)

    def replay(self, events, own):
        stack, now = [], 0
        for event in events:
            if event["ph"] == "M":
                continue
            at = round(event["ts"] * 1000)
            self.assertGreaterEqual(at, now)
            if stack:
                own[stack[-1]] += at - now
            now = at
            if event["ph"] == "B":
                stack.append(event["name"])
            else:
                self.assertEqual(stack.pop(), event["name"])
        self.assertEqual(stack, [])


class CpuProfile(Exported):
    def test_times_hits_and_ticks_add_up(self):
        document = json.loads(self.export("--cpuprofile").stdout)
        nodes = {node["id"]: node for node in document["nodes"]}
        names = {at: node["callFrame"]["functionName"] for at, node in nodes.items()}
        self.assertEqual(names[1], "(root)")
        children = [child for node in nodes.values() for child in node["children"]]
        self.assertEqual(sorted(children), sorted(set(nodes) - {1}), "a tree")
        # As readers do it: a sample lasts until the next.
        self.assertEqual(len(document["samples"]), len(document["timeDeltas"]))
        own_us = collections.Counter()
        for at, delta_us in zip(document["samples"], document["timeDeltas"][1:]):
            own_us[at] += delta_us
        self.assertAlmostEqual(own_us.total(), document["endTime"] - document["startTime"], 3)
        by_name = collections.Counter()
        for at, us in own_us.items():
            by_name[names[at]] += round(1000 * us)
            self.assertAlmostEqual(nodes[at]["hitCount"], us, delta=0.51)
        self.assertSameSums(by_name, self.own_time())
        for node in nodes.values():
            ticks = sum(tick["ticks"] for tick in node.get("positionTicks", []))
            self.assertLessEqual(ticks, node["hitCount"] + len(node.get("positionTicks", [])))


class Tables(Exported):
    """The formats that are tables of stacks: frames and prefixes, one row each."""

    def walk(self, stacks, frame_of, samples):
        """Own and total sums by function index, of [(stack, weight)]."""
        paths = []
        for frame, prefix in stacks:
            paths.append((paths[prefix] if prefix is not None else ()) + (frame_of(frame),))
        own, total = collections.Counter(), collections.Counter()
        for stack, weight in samples:
            own[paths[stack][-1]] += weight
            for function in set(paths[stack]):
                total[function] += weight
        return own, total

    def assertReport(self, names, own, total):
        for sums, expected in ((own, self.own_time()), (total, self.total_time())):
            by_name = collections.Counter()
            for function, weight in sums.items():
                by_name[names[function]] += weight
            self.assertSameSums(self.named(by_name), self.named(expected))

    def test_json(self):
        document = json.loads(self.export("--json").stdout)
        own, total = self.walk(
            [(stack["frame"], stack["prefix"]) for stack in document["stacks"]],
            lambda frame: document["frames"][frame]["function"],
            [
                (stack, weight)
                for thread in document["threads"]
                for _, stack, weight, _ in thread["samples"]
            ],
        )
        self.assertReport([function["name"] for function in document["functions"]], own, total)
        self.assertEqual(document["weight"], self.report()["total_ns"])
        for thread in document["threads"]:
            times = [end for end, _, _, _ in thread["samples"]]
            self.assertEqual(times, sorted(times))

    def test_firefox(self):
        document = json.loads(self.export("--firefox").stdout)
        shared = document["shared"]
        for table in ("stackTable", "frameTable", "funcTable", "resourceTable", "sources"):
            for column, values in shared[table].items():
                if column != "length":
                    self.assertEqual(len(values), shared[table]["length"], (table, column))
        own, total = self.walk(
            list(zip(shared["stackTable"]["frame"], shared["stackTable"]["prefix"])),
            lambda frame: shared["frameTable"]["func"][frame],
            [
                (stack, round(ms * 1e6))
                for thread in document["threads"]
                for stack, ms in zip(thread["samples"]["stack"], thread["samples"]["weight"])
            ],
        )
        names = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
        self.assertReport(names, own, total)


class Pictures(Exported):
    def assert_page(self, metric, *columns):
        page = Page(self.export("--html", "-m", metric).stdout)
        own, all_ = collections.Counter(), collections.Counter()
        for path, weight in page.samples(*columns):
            own[page.full_name(path[-1])] += weight
            for function in set(path):
                all_[page.full_name(function)] += weight
        self.assertSameSums(self.named(own), self.named(self.own_time("-m", metric)))
        self.assertSameSums(self.named(all_), self.named(self.total_time("-m", metric)))

    def test_html_samples_are_the_reports(self):
        self.assert_page("cpu", "sampleCpu")
        self.assert_page("wall", "sampleCpu", "sampleRunq", "sampleBlocked")

    def test_html_samples_are_in_time_order(self):
        page = Page(self.export("--html").stdout)
        self.assertEqual(sum(page.columns["threadSamples"]), len(page.columns["sampleEnd"]))
        self.assertLessEqual(max(page.columns["sampleThread"]), len(page.tables["threads"]))
        # No time is covered twice: each begins where the one before ends, or later.
        for gap, end in zip(page.columns["sampleGap"], page.columns["sampleEnd"]):
            self.assertGreaterEqual(end, gap)

    def test_flamegraph_is_xml(self):
        svg = xml.etree.ElementTree.fromstring(self.export("--flamegraph").stdout)
        titles = [title.text for title in svg.iter("{http://www.w3.org/2000/svg}title")]
        self.assertTrue(titles[0].startswith("madeup, "), titles[0])
        self.assertTrue(titles[0].endswith(", 100.00%"), titles[0])
        for group in svg.iter("{http://www.w3.org/2000/svg}g"):
            rect = group.find("{http://www.w3.org/2000/svg}rect")
            self.assertLessEqual(float(rect.get("x")) + float(rect.get("width")), 1190.02)


class Readers(Exported):
    """The real readers, where they are installed."""

    def test_pprof_sums_are_the_reports(self):
        sums, first = self.pprof_sums()
        self.assertEqual(first, "cpu")
        for metric in ("cpu", "wall", "runq", "blocked"):
            self.assertEqual(sums[metric], self.report("-m", metric)["total_ns"], metric)
        self.assertEqual(sums["samples"], self.report("-m", "samples")["samples"])

    def test_pprof_shows_the_metric_that_was_asked_for_first(self):
        for metric in ("cpu", "wall", "samples"):
            self.assertEqual(self.pprof_sums("-m", metric)[1], metric)
        sums, first = self.pprof_sums("--weights", "samples")
        self.assertEqual(first, "samples")
        self.assertEqual(sums["samples"], self.report()["samples"])

    def test_pprof_draws_boxes_of_labels_only_if_asked(self):
        self.assertEqual(self.pprof("-tags").strip(), "")
        self.assertNotIn("box3d", self.pprof("-dot"))
        split = self.pprof("-tags", export=("--threads", "split"))
        for label in ("process", "thread", "pid", "tid"):
            self.assertIn(f" {label}: Total ", split)
        self.assertIn("box3d", self.pprof("-dot", export=("--threads", "split")))
        merged = self.pprof("-tags", export=("--threads", "merge"))
        self.assertIn(" process: Total ", merged)
        self.assertNotIn(" thread: Total ", merged)

    def test_callgrind_annotate_sums_are_the_reports(self):
        program = need("callgrind_annotate")
        out = self.path("made.callgrind")
        self.export("--callgrind", "-o", out)
        for inclusive, expected in (("no", self.own_time()), ("yes", self.total_time())):
            done = subprocess.run(
                [program, "--auto=no", "--threshold=100", f"--inclusive={inclusive}", out],
                stdout=subprocess.PIPE, text=True, check=True,
            )
            found = collections.Counter()
            for weight, name in re.findall(
                r"^ *([0-9,]+) \([ 0-9.]+%\) +[^:]*:(.*) \[[^]]*\]$", done.stdout, re.MULTILINE
            ):
                found[name] += int(weight.replace(",", ""))
            self.assertSameSums(self.named(found), self.named(expected))


class MemoryInPprof(Exported):
    """A recording of both, samples and memory."""

    SIZE = (2000, 300, 3, 0, 3000)

    def test_all_metrics_are_in_one_file(self):
        sums, first = self.pprof_sums("-m", "peak")
        self.assertEqual(first, "peak_space")
        for metric, name in (("alloc", "alloc"), ("live", "inuse"), ("peak", "peak"),
                             ("leaked", "leaked"), ("temporary", "temporary"), ("freed", "freed")):
            report = self.report("-m", metric)
            self.assertEqual(sums[f"{name}_space"], report["total_bytes"], metric)
            self.assertAlmostEqual(sums[f"{name}_objects"], report["total_blocks"], delta=1)
            self.assertGreater(sums[f"{name}_objects"], 0)
        self.assertEqual(sums["wall"], self.report("-m", "wall")["total_ns"])
        self.assertEqual(self.pprof_sums("-m", "allocs")[1], "alloc_objects")


@unittest.skipUnless(shutil.which("zstd"), "there is no zstd command")
class ExactCalls(Readers):
    """A recording with counts: what the readers make of them, beside the same sums as before."""

    SIZE = (20000, 2000, 3, 300)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.second = second = read_profc_data.Recording(cls.data)
        cls.entered = collections.Counter()
        known, cls.known = collections.Counter(), collections.Counter()
        for count in second.counts:
            if count["kind"] == 0:
                cls.entered[cls.name(count["place"])] += count["calls"]
            else:
                known[count["callee"] - 1] += count["calls"]
        cls.called = collections.Counter(cls.entered)
        for frame, calls in known.items():
            name = cls.name(frame)
            # Each function begins in one place here.
            cls.called[name] = max(cls.entered[name], calls)
            cls.known[name] = calls

    @classmethod
    def name(cls, frame):
        outermost = cls.second.chains[frame][-1]["function"]
        return cls.second.text(cls.second.functions[outermost]["name"])

    def test_many_functions_are_called_often(self):
        """What the others compare is of some size."""
        self.assertGreater(sum(calls > 10000 for calls in self.entered.values()), 100)

    def test_pprof_sums_are_the_reports(self):
        super().test_pprof_sums_are_the_reports()
        self.assertEqual(self.pprof_sums()[0]["calls"], sum(self.called.values()))

    def test_pprof_has_the_calls_of_each_function(self):
        out = self.pprof("-top", "-sample_index=calls", "-nodecount=100000", "-nodefraction=0")
        rows = re.findall(r"^ +([0-9]+) +[0-9.]+% +[0-9.]+% +[0-9]+ +[0-9.]+%  (\S+)$", out,
                          re.MULTILINE)
        self.assertSameSums(
            collections.Counter({name: int(calls) for calls, name in rows}),
            collections.Counter({name.split("(")[0]: calls
                                 for name, calls in self.called.items()}))

    def test_callgrind_has_the_calls_of_each_function(self):
        names, found, seen, callee = {}, collections.Counter(), collections.Counter(), None
        for line in self.export("--callgrind").stdout.splitlines():
            named = re.match(r"c?fn=(\(\d+\))(?: (.*))?", line)
            if named:
                names.setdefault(named[1], named[2])
                callee = names[named[1]]
            if line.startswith("calls="):
                calls = int(line[len("calls="):].split()[0])
                found[callee] += calls
                seen[callee] += calls == 1
        for name in (name for name, calls in self.entered.items() if calls > 10000):
            # Calls that are only known from samples are a part of those whose caller is unknown.
            rest = max(self.called[name] - self.known[name], seen[name])
            self.assertEqual(found[name], self.known[name] + rest, name)

    def test_json_has_the_calls_of_each_function(self):
        document = json.loads(self.export("--json").stdout)
        functions = document["functions"]
        self.assertSameSums(
            collections.Counter({row["name"]: row["calls"] or 0 for row in functions}),
            self.entered)
        self.assertEqual(
            [(functions[call["callee"]]["name"], call["calls"]) for call in document["calls"]],
            [(self.name(count["callee"] - 1), count["calls"])
             for count in self.second.counts if count["kind"] == 1])

    def test_html_has_the_calls_of_each_function(self):
        page = Page(self.export("--html", "--names", "full").stdout)
        tables = page.tables
        total, checked = self.total_time(), 0
        found = collections.Counter()
        for row, calls, per_call in zip(tables["functions"], tables["calls"],
                                        tables["perCall"]["cpu"]):
            found[row[0]] += calls or 0
            if calls and per_call and per_call[0]:
                # Less than the total by what was before the first count, and in inlined copies.
                self.assertAlmostEqual(per_call[0], total[row[0]] / calls,
                                       delta=1 + 0.01 * per_call[0])
                checked += 1
        self.assertSameSums(found, self.entered)
        self.assertGreater(checked, 50)

if __name__ == "__main__":
    unittest.main()
