# SPDX-License-Identifier: GPL-2.0-or-later
"""profc export --push: what receivers get, and what becomes of failures."""

import json
import os
import stat

from made import MadeCase
from profc import profc
from receiver import Pprof, Receiver, need_libcurl


class Pushed(MadeCase):
    SIZE = (2000, 200, 3, 0, 300)

    def push(self, receiver, *options, status=0, env=None):
        environment = {name: value for name, value in os.environ.items()
                       if not name.lower().endswith(("_proxy", "_ca_bundle", "_cert_file"))}
        return profc("export", "--pprof", "-i", self.data, "--push", receiver, *options,
                     status=status, env={**environment, **(env or {})})

    def file(self, name, text, mode=0o600):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(path, mode)
        return path


class Directories(Pushed):
    def test_have_a_file_for_each_metric(self):
        out = self.path("out/")
        done = self.push(out, "--push-label", "service_name=shop/api", "--push-label", "hostname=box")
        self.assertEqual(done.stderr, f"profc: pushed 5 profiles to {out}\n")
        names = sorted(os.listdir(out))
        self.assertEqual([name.split(".")[-3] for name in names],
                         ["alloc", "blocked", "cpu", "live", "runq"])
        self.assertEqual({tuple(name.split(".")[:2]) for name in names}, {("shop_api", "box")})
        for name in names:
            path = os.path.join(out, name)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            with open(path, "rb") as file:
                pprof = Pprof(file.read())
            self.assertTrue(any(pprof.sums.values()))
        done = self.push(out, "--push-label", "service_name=shop/api", "--push-label", "hostname=box", "-q")
        self.assertEqual(done.stderr, "")
        self.assertEqual(sorted(os.listdir(out)), names, "a repeated push makes no other files")

    def test_are_made_only_where_the_path_ends_in_a_slash(self):
        done = self.push(self.path("absent"), status=1)
        self.assertIn("there is no directory", done.stderr)
        self.assertFalse(os.path.exists(self.path("absent")))

    def test_that_cannot_be_written_to(self):
        done = self.push("/proc/self", status=1)
        self.assertRegex(done.stderr, "[0-9] of 5 profiles not delivered to /proc/self: cannot ")


class Servers(Pushed):
    @classmethod
    def setUpClass(cls):
        need_libcurl()
        super().setUpClass()

    def test_pyroscope(self):
        with Receiver() as receiver:
            self.push(f"pyroscope+http://{receiver.address}/prefix/", "--push-label", "region=eu")
        pushes = {push.pprof.types[-1][0]: push for push in receiver.pushes}
        self.assertEqual(sorted(pushes),
                         ["alloc_space", "blocked", "cpu", "inuse_space", "runq"])
        cpu = pushes["cpu"]
        self.assertEqual(cpu.url.path, "/prefix/ingest")
        self.assertEqual(cpu.labels["region"], "eu")
        self.assertEqual(cpu.query["spyName"], "profc")
        begin, end = int(cpu.query["from"]), int(cpu.query["until"])
        self.assertEqual(begin, cpu.pprof.time_ns)
        self.assertEqual(end - begin, cpu.pprof.duration_ns)
        self.assertEqual(cpu.pprof.period_type, ("cpu", "nanoseconds"))
        self.assertEqual(pushes["inuse_space"].pprof.period_type, ("space", "bytes"))
        self.assertEqual(pushes["inuse_space"].config["inuse_space"]["units"], "bytes")
        for push in receiver.pushes:
            self.assertEqual(set(push.config), {name for name, _ in push.pprof.types})
            self.assertEqual(push.labels, cpu.labels)
        self.assertRegex(receiver.agents[0], "^profc/")

    def test_parca(self):
        with Receiver() as receiver:
            self.push(f"parca+http://{receiver.address}", "--push-label", "hostname=")
        names = {push.pprof.types[-1][0]: push.labels["__name__"] for push in receiver.pushes}
        self.assertEqual(names, {"cpu": "process_cpu", "blocked": "blocked", "runq": "runq",
                                 "alloc_space": "memory", "inuse_space": "memory"})
        self.assertNotIn("hostname", receiver.pushes[0].labels)

    def test_sums_are_the_reports(self):
        with Receiver() as receiver:
            self.push(f"parca+http://{receiver.address}")
            self.push(f"parca+http://{receiver.address}", "-m", "leaked")
        sums = {}
        for push in receiver.pushes:
            sums.update(push.pprof.sums)
        for metric, name in (("cpu", "cpu"), ("blocked", "blocked"), ("runq", "runq"),
                             ("alloc", "alloc_space"), ("live", "inuse_space"),
                             ("leaked", "leaked_space")):
            summary = json.loads(profc("report", "-i", self.data, "--json", "-n", 0, "-m",
                                       metric).stdout)
            unit = "ns" if metric in ("cpu", "blocked", "runq") else "bytes"
            self.assertEqual(sums[name], sum(row[f"self_{unit}"] for row in summary["rows"]), name)

    def test_header_files(self):
        path = self.file("headers", "# of the test\nAuthorization: Bearer secret\n"
                                    "X-Scope-OrgID: team\n")
        with Receiver() as receiver:
            done = self.push(f"pyroscope+http://{receiver.address}", "-m", "cpu",
                             "--push-header-file", path, "-q")
        self.assertEqual(done.stderr, "")
        self.assertEqual(receiver.pushes[0].headers["Authorization"], "Bearer secret")
        self.assertEqual(receiver.pushes[0].headers["X-Scope-OrgID"], "team")
        self.assertNotIn("Expect", receiver.pushes[0].headers)

    def test_header_files_that_others_can_read_are_told(self):
        path = self.file("open", "A: b\n", 0o644)
        with Receiver() as receiver:
            done = self.push(f"pyroscope+http://{receiver.address}", "-m", "cpu",
                             "--push-header-file", path)
        self.assertIn(f"warning: others can read {path}", done.stderr)

    def test_headers_that_leave_the_machine_unencrypted_are_told(self):
        path, said = self.file("headers", "A: b\n"), "go unencrypted over the network"
        nowhere = {"http_proxy": "http://127.0.0.1:1"}
        for host, leaves in (("127.0.0.1:1", False), ("localhost:1/prefix", False),
                             ("[::1]:1", False), ("localhost.invalid:1", True),
                             ("127.invalid:1", True), ("127.0.0.1.invalid", True)):
            with self.subTest(host=host):
                done = self.push(f"pyroscope+http://{host}", "-m", "cpu", "--function", "none",
                                 "--push-header-file", path, status=1, env=nowhere)
                self.assertEqual(said in done.stderr, leaves, done.stderr)

    def test_failures_are_tried_again(self):
        with Receiver([503, None]) as receiver:
            self.push(f"parca+http://{receiver.address}", "-m", "cpu")
        self.assertEqual(len(receiver.pushes), 1)

    def test_a_refused_profile_does_not_hold_up_the_others(self):
        with Receiver([200, 413], words=b"too\nlarge\x1b[31m") as receiver:
            done = self.push(f"parca+http://{receiver.address}", status=1)
        self.assertEqual(len(receiver.pushes), 4)
        self.assertIn("1 of 5 profiles not delivered", done.stderr)
        self.assertIn("it answered 413: too large", done.stderr)
        self.assertNotIn("\x1b", done.stderr)

    def test_a_denied_one_ends_it(self):
        with Receiver([401] * 9) as receiver:
            done = self.push(f"parca+http://{receiver.address}", status=1)
        self.assertEqual(len(receiver.agents), 1)
        self.assertIn("5 of 5 profiles not delivered", done.stderr)
        self.assertIn("it answered 401", done.stderr)

    def test_no_redirection_is_followed(self):
        with Receiver([302] * 9) as receiver:
            done = self.push(f"parca+http://{receiver.address}", status=1)
        self.assertIn("it answered 302", done.stderr)

    def test_a_receiver_that_wants_minutes_is_not_waited_for(self):
        with Receiver([503] * 9, retry_after="600") as receiver:
            done = self.push(f"parca+http://{receiver.address}", status=1)
        self.assertEqual(len(receiver.agents), 1)
        self.assertIn("it answered 503", done.stderr)

    def test_proxies_are_those_of_the_environment(self):
        with Receiver() as proxy:
            self.push("parca+http://receiver.invalid:7", "-m", "cpu",
                      env={"http_proxy": f"http://{proxy.address}"})
        self.assertEqual(proxy.pushes[0].url.netloc, "receiver.invalid:7")


class Refused(Pushed):
    def wrong(self, *options, words, push=("--push", "parca+http://localhost:1")):
        done = profc("export", "--pprof", "-i", self.data, *push, *options, status=2)
        self.assertIn(words, done.stderr)
        return done.stderr

    def test_secrets_in_the_url(self):
        said = self.wrong(words="user or password",
                          push=("--push", "pyroscope+https://me:secret@host"))
        self.assertNotIn("secret", said)

    def test_what_makes_no_sense(self):
        self.wrong(words="needs to know what is at that URL", push=("--push", "http://host"))
        self.wrong("--push-label", "a-b=c", words="no name of a label")
        self.wrong("-o", "x", words="--push and -o")
        self.wrong("--weights", "samples", words="--weights")
        self.wrong("--push-label", "a=b", words="--push-label needs --push", push=("-o", self.path("x")))
        path = self.file("wrong", "secret\n")
        self.assertNotIn("secret\n", self.wrong("--push-header-file", path,
                                                words="line 1 is no header"))
        done = profc("export", "--folded", "-i", self.data, "--push", "x/", status=2)
        self.assertIn("--push needs --pprof", done.stderr)
        done = profc("export", "-i", self.data, "--push", "x/", status=2)
        self.assertIn("hint: --push sends pprof files: profc export --pprof --push x/\n",
                      done.stderr)

    def test_a_header_file_that_is_not_there(self):
        done = profc("export", "--pprof", "-i", self.data, "--push", "parca+http://localhost:1",
                     "--push-header-file", self.path("none"), status=1)
        self.assertIn("cannot read", done.stderr)
