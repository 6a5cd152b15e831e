# SPDX-License-Identifier: GPL-2.0-or-later
"""Row 13: the page of a large recording in Chromium: size, first screen, all of it, and frames of a zoom."""

import os
import subprocess
import tempfile
import unittest

import bench
import browser
from made import make_profile
from paths import PROFC

SAMPLES, STACKS, THREADS = 1_000_000, 100_000, 16
BLOCKS = 1_000_000  # of another recording, which has few samples

# Zooms in and out with the wheel, and waits for each frame: ms from event to frame.
ZOOM = """(async () => {
	const canvas = document.querySelector("%s canvas"), took = [];
	for (let i = 0; i < 60; i++) {
		const began = performance.now();
		canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: i < 30 ? -60 : 60, ctrlKey: true,
			clientX: 500, clientY: 500, cancelable: true, bubbles: true}));
		await new Promise((done) => requestAnimationFrame(done));
		took.push(performance.now() - began);
	}
	return took.sort((a, b) => a - b)[took.length >> 1];
})()"""


MARKS = "['ready', 'complete'].map((name) => performance.getEntriesByName(name)[0].startTime)"


def write_page(directory, what, *size):
    data = make_profile(os.path.join(directory, "large.data"), *size)
    html = os.path.join(directory, "large.html")
    subprocess.run([PROFC, "export", "-i", data, "--html", "-o", html], check=True)
    bench.show(13, f"page of {what}", MB=f"{os.path.getsize(html) / 1e6:.1f}")
    return html


def main():
    with tempfile.TemporaryDirectory(prefix="profc-bench-") as directory:
        write_page(directory, "1 M blocks of memory", 10_000, 1000, 4, 0, BLOCKS)
        html = write_page(directory, "1 M samples, 100,000 stacks", SAMPLES, STACKS, THREADS)
        try:
            browser.program()
        except unittest.SkipTest as skip:
            bench.show(13, "in a browser", skipped=str(skip))
            return
        ready, frames, in_time = [], [], []
        for _ in range(bench.ROUNDS):
            with browser.Browser() as page:
                # Who watches those has the browser keep, and decode once more, all that is read.
                for watched in ("Network", "Accessibility"):
                    page.call(f"{watched}.disable")
                page.open(html)
                ready.append(page.run(MARKS))
                frames.append(page.run(ZOOM % "#view-flame"))
                page.open(html, "#view=chart")
                in_time.append(page.run(ZOOM % "#view-chart .chart"))
        for what, times in zip(("from opening it to the first screen", "to all of it drawn"), zip(*ready)):
            bench.show(13, what, ms=f"{bench.median(times):.0f}")
        bench.show(13, "a frame of a zoom, 60 a second being 16.7", ms=f"{bench.median(frames):.1f}")
        bench.show(13, "the same in time order, 62,500 samples", ms=f"{bench.median(in_time):.1f}")


if __name__ == "__main__":
    main()
