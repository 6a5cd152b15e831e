# SPDX-License-Identifier: GPL-2.0-or-later
"""profc export --push to a receiver on Go's own parser of pprof files, and through nginx."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import unittest

from made import MadeCase
from paths import TESTS
from profc import profc
from targets import build, need

GO_SOURCES = "/usr/share/gocode"
PPROF_SOURCES = os.path.join(GO_SOURCES, "src/github.com/google/pprof/profile")

NGINX = """
{user}
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{plain};
        listen 127.0.0.1:{tls} ssl;
        ssl_certificate {directory}/cert.pem;
        ssl_certificate_key {directory}/key.pem;
        location /all/ {{ proxy_pass http://127.0.0.1:{receiver}/; }}
        location /slow/ {{
            proxy_set_header X-Slow yes;
            proxy_pass http://127.0.0.1:{receiver}/;
        }}
        location /token/ {{
            if ($http_authorization != "Bearer secret") {{ return 401; }}
            proxy_pass http://127.0.0.1:{receiver}/;
        }}
        location /small/ {{
            client_max_body_size 1;
            proxy_pass http://127.0.0.1:{receiver}/;
        }}
        location /busy/ {{ return 503; }}
        location /cut/ {{ return 444; }}
    }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process):
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"{process.args[0]} has ended with {process.returncode}")


def end(process):
    process.terminate()
    process.wait()


class Pushed(MadeCase):
    SIZE = (5000, 500, 3, 0, 500)

    @classmethod
    def setUpClass(cls):
        need("go")
        if not os.path.isdir(PPROF_SOURCES):
            raise unittest.SkipTest("golang-github-google-pprof-dev is not installed")
        super().setUpClass()
        program = os.path.join(cls.directory, "receiver")
        subprocess.run(
            ["go", "build", "-o", program, os.path.join(TESTS, "oracle", "push_receiver.go")],
            env={**os.environ, "GOCACHE": os.path.join(cls.directory, "cache"),
                 "GO111MODULE": "off", "GOPATH": GO_SOURCES, "GOFLAGS": ""},
            check=True,
        )
        cls.receiver = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.receiver.stdout.close)
        cls.addClassCleanup(end, cls.receiver)
        cls.port = int(cls.receiver.stdout.readline())

    def push(self, receiver, *options, status=0, env=None):
        environment = {name: value for name, value in os.environ.items()
                       if not name.lower().endswith(("_proxy", "_ca_bundle", "_cert_file"))}
        return profc("export", "--pprof", "-i", self.data, "--push", receiver, *options,
                     status=status, env={**environment, **(env or {})})

    def taken(self, nr):
        return [json.loads(self.receiver.stdout.readline()) for _ in range(nr)]


class Parser(Pushed):
    def expect_all(self, taken):
        """Go takes each file, and its sums are the report's."""
        sums = {}
        for one in taken:
            for name, total in zip(one["types"], one["sums"]):
                sums[name] = total
        for metric, name, column in (
            ("cpu", "cpu:nanoseconds", "self_ns"), ("blocked", "blocked:nanoseconds", "self_ns"),
            ("runq", "runq:nanoseconds", "self_ns"), ("alloc", "alloc_space:bytes", "self_bytes"),
            ("live", "inuse_space:bytes", "self_bytes"),
        ):
            report = json.loads(profc("report", "-i", self.data, "--json", "-n", 0, "-m",
                                      metric).stdout)
            self.assertEqual(sums[name], sum(row[column] for row in report["rows"]), name)
        periods = {one["types"][-1]: one["period"] for one in taken}
        self.assertEqual(periods["cpu:nanoseconds"], "cpu:nanoseconds")
        self.assertEqual(periods["inuse_space:bytes"], "space:bytes")

    def test_takes_what_pyroscope_gets(self):
        self.push(f"pyroscope+http://127.0.0.1:{self.port}", "--push-label", "region=a,b")
        taken = self.taken(5)
        self.expect_all(taken)
        self.assertEqual(taken[0]["labels"]["region"], "a_b")

    def test_takes_what_parca_gets(self):
        self.push(f"parca+http://127.0.0.1:{self.port}", "--push-label", "region=a,b")
        taken = self.taken(5)
        self.expect_all(taken)
        self.assertEqual(taken[0]["labels"]["region"], "a,b")

    def test_takes_any_metric_and_selection(self):
        for options in (("-m", "wall"), ("-m", "samples"), ("-m", "peak"), ("-m", "leaked"),
                        ("-m", "temporary"), ("-m", "allocs"), ("--threads", "split"),
                        ("--time", "..1s", "-m", "cpu"), ("--no-inline",)):
            self.push(f"parca+http://127.0.0.1:{self.port}", *options)
            for one in self.taken(1 if "-m" in options else 5):
                self.assertTrue(any(one["sums"]), options)


    def test_takes_a_recording_that_is_pushed_while_it_goes(self):
        done = profc("record", "--every", "1s", "--push", f"pyroscope+http://127.0.0.1:{self.port}",
                     "--", build("spin_leaf"), "3000")
        nr, nr_all = map(int, re.search("pushed ([0-9]+) of ([0-9]+) ", done.stderr).groups())
        self.assertEqual(nr, nr_all)
        taken = self.taken(nr)
        self.assertGreater(len([one for one in taken if "cpu:nanoseconds" in one["types"]]), 2)


class ThroughNginx(Pushed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if not program or not shutil.which("openssl"):
            raise unittest.SkipTest("nginx or openssl is not installed")
        cls.certificate = os.path.join(cls.directory, "cert.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
             os.path.join(cls.directory, "key.pem"), "-out", cls.certificate],
            check=True, stderr=subprocess.DEVNULL,
        )
        cls.plain, cls.tls = free_port(), free_port()
        configuration = os.path.join(cls.directory, "nginx.conf")
        with open(configuration, "w", encoding="utf-8") as out:
            out.write(NGINX.format(directory=cls.directory, plain=cls.plain, tls=cls.tls,
                                   receiver=cls.port,
                                   user="user root;" if os.geteuid() == 0 else ""))
        nginx = subprocess.Popen([program, "-p", cls.directory, "-c", configuration],
                                 stderr=subprocess.DEVNULL)
        cls.addClassCleanup(end, nginx)
        wait_for_port(cls.plain, nginx)

    def through(self, place, *options, **more):
        return self.push(f"pyroscope+http://127.0.0.1:{self.plain}/{place}/", "-m", "cpu", *options,
                         **more)

    def test_tls(self):
        place = f"pyroscope+https://localhost:{self.tls}/all"
        self.push(place, "-m", "cpu", env={"CURL_CA_BUNDLE": self.certificate})
        self.taken(1)
        self.push(place, "-m", "cpu", env={"SSL_CERT_FILE": self.certificate})
        self.taken(1)
        done = self.push(place, "-m", "cpu", status=1)
        self.assertRegex(done.stderr, "1 of 1 profiles not delivered to .*: .*certificate")

    def test_a_certificate_of_another_host(self):
        done = self.push(f"pyroscope+https://127.0.0.1:{self.tls}/all", "-m", "cpu", status=1,
                         env={"CURL_CA_BUNDLE": self.certificate})
        self.assertIn("not delivered", done.stderr)
        self.assertNotIn("attempts", done.stderr)

    def test_tokens(self):
        self.assertIn("it answered 401", self.through("token", status=1).stderr)
        path = self.path("token")
        with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(
                name, flags, 0o600)) as out:
            out.write("Authorization: Bearer secret\n")
        self.assertIn("pushed 1 profile", self.through("token", "--push-header-file", path).stderr)
        self.assertEqual(self.taken(1)[0]["token"], "Bearer secret")

    def test_a_body_that_is_too_large(self):
        self.assertIn("it answered 413", self.through("small", status=1).stderr)

    def test_a_slow_answer(self):
        self.through("slow")
        self.taken(1)

    def test_a_busy_server(self):
        said = self.through("busy", status=1).stderr
        self.assertIn("it answered 503", said)
        self.assertIn("after 5 attempts", said)

    def test_a_cut_connection(self):
        said = self.through("cut", status=1).stderr
        self.assertIn("not delivered", said)
        self.assertIn("after 5 attempts", said)
