# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium without a window, driven over its DevTools pipe: pages of --html as a user meets them."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60  # seconds, for machines that are busy

KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
        "Home": 36, "End": 35, "Tab": 9, "PageDown": 34}


class PageError(Exception):
    """An exception of a script of the page."""


def program():
    """The browser, or skip the test."""
    for name in PROGRAMS:
        if shutil.which(name):
            return name
    raise unittest.SkipTest(f"none of {', '.join(PROGRAMS)} is installed")


# Not by a shell: some take descriptors of one digit only.
AS_3_AND_4 = """
import fcntl, os, sys
for number, given in enumerate([fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]], 3):
    os.dup2(given, number)
    os.close(given)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of one browser. Close it."""

    def __init__(self, width=1280, height=800):
        self.home = tempfile.TemporaryDirectory(prefix="profc-browser-")
        to_read, self.to = os.pipe()
        self.from_, to_write = os.pipe()
        # The pipe is descriptors 3 and 4 of the browser, by the way it is defined.
        self.process = subprocess.Popen(
            [sys.executable, "-c", AS_3_AND_4, str(to_read), str(to_write), program(),
             "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--remote-debugging-pipe", "--hide-scrollbars",
             f"--user-data-dir={self.home.name}", "about:blank"],
            pass_fds=(to_read, to_write), start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.home.name, "LC_ALL": "C.UTF-8"})
        os.close(to_read)
        os.close(to_write)
        self.pending, self.number, self.session, self.events = b"", 0, None, []
        try:
            targets = self.call("Target.getTargets")["targetInfos"]
            target = next(each["targetId"] for each in targets if each["type"] == "page")
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
                "sessionId"]
            for domain in ("Page", "Runtime", "Log", "Accessibility", "Network"):
                self.call(f"{domain}.enable")
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def close(self):
        os.close(self.to)  # which ends it
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.from_)
        shutil.rmtree(self.home.name, ignore_errors=True)
        self.home._finalizer.detach()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    # --- the protocol ---

    def receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.from_], [], [], max(0, end - time.monotonic()))
            data = os.read(self.from_, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self.pending += data
        message, _, self.pending = self.pending.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                break
            self.events.append(answer)
        if "error" in answer:
            raise PageError(f"{method}: {answer['error']}")
        return answer["result"]

    # --- what a user does ---

    def resize(self, width, height=800, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)

    def theme(self, name):
        """light or dark"""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name},
                            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, path, anchor="",
             is_ready="document.body && document.body.dataset.complete === '1'"):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}{anchor}")
        self.wait(is_ready)

    def run(self, expression):
        """The value of an expression of JavaScript."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise PageError(json.dumps(result["exceptionDetails"])[:800])
        return result["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + PATIENCE
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}; {self.problems()}")
            time.sleep(0.02)

    def settle(self):
        """Until all that was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, button="none", **more):
        buttons = {"none": 0, "left": 1, "right": 2}[button] if kind != "mouseReleased" else 0
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons,
                  clickCount=0 if button == "none" else 1, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click_at(self, x, y, button="left"):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button)
        self.mouse("mouseReleased", x, y, button)
        self.settle()

    def drag(self, x, y, to_x, to_y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, "left")
        for part in (0.3, 0.7, 1):
            self.mouse("mouseMoved", x + (to_x - x) * part, y + (to_y - y) * part, "left")
        self.mouse("mouseReleased", to_x, to_y, "left")
        self.settle()

    def wheel(self, x, y, by, control=False):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by, modifiers=2 if control else 0)
        self.settle()

    def box(self, selector):
        found = self.run(f"(() => {{ const at = document.querySelector({json.dumps(selector)}); "
                         "if (!at) return null; const b = at.getBoundingClientRect(); "
                         "return [b.left, b.top, b.width, b.height]; })()")
        if not found:
            raise PageError(f"no {selector}")
        return found

    def click(self, selector, button="left"):
        left, top, width, height = self.box(selector)
        self.click_at(left + width / 2, top + height / 2, button)

    def key(self, name, shift=False):
        code = KEYS.get(name, ord(name.upper()) if len(name) == 1 else 0)
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code,
                      modifiers=8 if shift else 0,
                      **({"text": text} if text and kind == "keyDown" else {}))
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def hash(self):
        return self.run("decodeURIComponent(location.hash)")

    def back(self):
        self.run("history.back()")
        time.sleep(0.05)
        self.settle()

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    # --- what the page did that it must not ---

    def problems(self):
        """Errors of scripts and of the console, and requests of the network."""
        self.run("1")
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:600])
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "about:", "blob:", "data:")):
                    found.append(f"asks for {url}")
        return found
