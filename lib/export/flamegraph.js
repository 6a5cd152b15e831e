// SPDX-License-Identifier: GPL-2.0-or-later
// Zoom and search of the flame graph, and its width; without it the picture is still whole.
(function () {
	"use strict";
	const drawn = 1200, margin = 10, charWidth = 7.3, least = 300;
	const root = document.documentElement;
	let width = drawn, zoomed = null;
	const details = document.getElementById("details");
	const matched = document.getElementById("matched");

	// Titles are "full name, weight, share"; a shorter name stands with the text where it was cut.
	function nameOf(text, title) {
		const full = title.slice(0, title.lastIndexOf(", ", title.lastIndexOf(", ") - 1));
		return text.getAttribute("data-name") || (text.textContent.endsWith("..") ? full :
			text.textContent || full);
	}

	const frames = Array.from(document.querySelectorAll("g.f"), function (group) {
		const rect = group.querySelector("rect");
		const title = group.querySelector("title").textContent;
		return {
			group: group, rect: rect, text: group.querySelector("text"),
			title: title, name: nameOf(group.querySelector("text"), title),
			x: parseFloat(rect.getAttribute("x")), w: parseFloat(rect.getAttribute("width")),
			y: parseFloat(rect.getAttribute("y")), fill: rect.getAttribute("fill"),
		};
	});

	function place(frame, x, w) {
		const room = Math.floor((w - 6) / charWidth);
		frame.rect.setAttribute("x", x);
		frame.rect.setAttribute("width", w);
		frame.text.setAttribute("x", x + 3);
		frame.text.textContent = room < 3 ? "" :
			frame.name.length <= room ? frame.name : frame.name.slice(0, room - 2) + "..";
	}

	function zoom(to) {
		const scale = (width - 2 * margin) / to.w, epsilon = 0.01;
		zoomed = to;
		for (const frame of frames) {
			const above = frame.y < to.y && frame.x <= to.x + epsilon &&
				frame.x + frame.w >= to.x + to.w - epsilon;
			const inside = frame.y >= to.y && frame.x >= to.x - epsilon &&
				frame.x + frame.w <= to.x + to.w + epsilon;
			frame.group.style.display = above || inside ? "" : "none";
			frame.group.style.opacity = above ? 0.5 : 1;
			if (above)
				place(frame, margin, width - 2 * margin);
			else if (inside)
				place(frame, margin + (frame.x - to.x) * scale, frame.w * scale);
		}
	}

	// The share of the width under frames that match, each pixel once.
	function search(text) {
		const hits = [];
		let pattern = null, sum = 0, end = -1;
		try {
			pattern = text ? new RegExp(text, "i") : null;
		} catch (error) {
			matched.textContent = "not a regular expression";
			return;
		}
		for (const frame of frames) {
			const hit = pattern && pattern.test(frame.name);
			frame.rect.setAttribute("fill", hit ? "#e600e6" : frame.fill);
			if (hit)
				hits.push(frame);
		}
		hits.sort(function (a, b) { return a.x - b.x || b.w - a.w; });
		for (const frame of hits) {
			if (frame.x + frame.w > end) {
				sum += frame.x + frame.w - Math.max(end, frame.x);
				end = frame.x + frame.w;
			}
		}
		matched.textContent = pattern ?
			"matched: " + (100 * sum / (drawn - 2 * margin)).toFixed(1) + "%" : "";
	}

	// What is drawn for one width is placed anew for that of the window.
	function fill() {
		width = Math.max(least, root.clientWidth || drawn);
		root.setAttribute("viewBox", "0 0 " + width + " " + root.getAttribute("height"));
		document.getElementById("reset").setAttribute("x", width - 140);
		document.getElementById("search").setAttribute("x", width - 70);
		matched.setAttribute("x", width - 180);
		zoom(zoomed || frames[0]);
	}

	for (const frame of frames) {
		frame.group.addEventListener("mouseover", function () {
			details.textContent = frame.title;
		});
		frame.group.addEventListener("click", function () { zoom(frame); });
	}
	document.getElementById("reset").addEventListener("click", function () {
		zoom(frames[0]);
		search("");
	});
	document.getElementById("search").addEventListener("click", function () {
		const text = prompt("Functions whose name matches (regular expression):", "");
		if (text !== null)
			search(text);
	});
	root.setAttribute("width", "100%");
	window.addEventListener("resize", fill);
	fill();
	root.addEventListener("keydown", function (event) {
		if (event.key === "Escape")
			zoom(frames[0]);
	});
})();
