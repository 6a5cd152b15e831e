# SPDX-License-Identifier: GPL-2.0-or-later
"""Receivers of pushed profiles, as Pyroscope and Parca are, and what came."""

import base64
import ctypes
import email.parser
import email.policy
import gzip
import http.server
import json
import threading
import unittest
import urllib.parse


def need_libcurl():
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        try:
            ctypes.CDLL(name)
            return
        except OSError:
            pass
    raise unittest.SkipTest("libcurl is not installed")


def fields(message):
    """(number, value) of each field of a protocol buffer: an int, or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            size = number()
            yield tag >> 3, message[at : at + size]
            at += size
    assert at == len(message), "a field that is cut"


def numbers(packed):
    """The numbers of a packed field."""
    value = shift = 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


class Pprof:
    """A pprof file: {type: sum}, and what Parca asks of ids."""

    def __init__(self, compressed):
        rows = list(fields(gzip.decompress(compressed)))
        texts = [value.decode() for field, value in rows if field == 6]

        def typed(value):
            inner = dict(fields(value))
            return texts[inner[1]], texts[inner.get(2, 0)]

        self.types = [typed(value) for field, value in rows if field == 1]
        self.period_type = next(typed(value) for field, value in rows if field == 11)
        self.time_ns = next((value for field, value in rows if field == 9), 0)
        self.duration_ns = next((value for field, value in rows if field == 10), 0)
        columns = zip(*(
            numbers(dict(fields(value))[2]) for field, value in rows if field == 2
        ))
        self.sums = {name: sum(column) for (name, _), column in zip(self.types, columns)}
        for table in (3, 4, 5):
            ids = [dict(fields(value))[1] for field, value in rows if field == table]
            assert ids == list(range(1, len(ids) + 1)), f"ids of field {table}: {ids}"
        assert texts[0] == ""


class Push:
    """A request: its labels, times and pprof."""

    def __init__(self, path, headers, body):
        self.headers = headers
        self.url = urllib.parse.urlsplit(path)
        self.query = dict(urllib.parse.parse_qsl(self.url.query))
        if self.url.path.endswith("/ingest"):
            self.read_pyroscope(body)
        elif self.url.path.endswith("/api/profiles/writeraw"):
            self.read_parca(body)
        else:
            raise ValueError(f"no such path: {path}")

    def read_pyroscope(self, body):
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        parts = {part.get_param("name", header="content-disposition"): part
                 for part in form.iter_parts()}
        self.pprof = Pprof(parts["profile"].get_payload(decode=True))
        self.config = json.loads(parts["sample_type_config"].get_payload(decode=True))
        name, _, labels = self.query["name"].partition("{")
        self.labels = dict(label.split("=", 1) for label in labels[:-1].split(",") if label)
        self.labels["service_name"] = name

    def read_parca(self, body):
        (series,) = json.loads(body)["series"]
        self.labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
        (sample,) = series["samples"]
        self.pprof = Pprof(base64.b64decode(sample["rawProfile"], validate=True))


class Receiver:
    """
    Takes pushes on a port of its own; `statuses` are those of the first answers: None is no answer
    to a push that was not taken, LOST to one that was.
    """

    LOST = 0

    def __init__(self, statuses=(), retry_after=None, words=b"no"):
        self.pushes = []
        self.agents = []
        receiver = self
        left = list(statuses)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = left.pop(0) if left else 200
                if status in (200, Receiver.LOST):
                    receiver.pushes.append(Push(self.path, self.headers, body))
                if not status:
                    self.close_connection = True
                    return
                receiver.agents.append(self.headers["User-Agent"])
                self.send_response(status)
                if retry_after:
                    self.send_header("Retry-After", retry_after)
                self.send_header("Content-Length", str(len(words)))
                self.end_headers()
                self.wfile.write(words)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
