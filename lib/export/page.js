// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `profc export --html`: a flame graph on a canvas and the table of its functions.
//
// The tree comes as columns in drawing order: a node before its children, the heaviest
// child first. So the children of a node are found by walking, the subtree of a node is a
// run of nodes, and drawing skips every run that is too narrow to see: its cost is that of
// what is visible, whatever the size of the tree.
(function () {
	"use strict";
	const data = JSON.parse(document.getElementById("data").textContent);
	const names = data.functions.map(function (row) { return row[0]; });
	const nrNodes = data.depth.length;
	const depth = Uint32Array.from(data.depth);
	const label = Uint32Array.from(data.label);
	const self = Float64Array.from(data.self);
	const total = new Float64Array(nrNodes);  // self and all below
	const start = new Float64Array(nrNodes);  // weight left of the node
	const end = new Uint32Array(nrNodes);	  // one past the last node of the subtree
	const parent = new Int32Array(nrNodes);
	const ROW = 17, NARROW = 0.4, SHOWN = 300, ANIMATION_MS = 160;

	const byId = function (id) { return document.getElementById(id); };
	const graph = byId("graph"), canvas = byId("canvas"), context = canvas.getContext("2d");
	const pathLine = byId("path"), search = byId("search"), body = byId("rows");

	let root = 0;			      // the node the view is zoomed to
	let view = {from: 0, to: 0};	      // weights at the left and right edge
	let matches = null;		      // by label, or null
	let hovered = -1, picked = -1;	      // node, label
	let order = {key: "self", down: true};
	let tableRows = [];
	let deepest = 0, drawing = false;

	function layOut() {
		const open = [];
		for (let i = 0; i < nrNodes; i++) {
			while (open.length > depth[i])
				end[open.pop()] = i;
			parent[i] = open.length ? open[open.length - 1] : -1;
			open.push(i);
			if (depth[i] > deepest)
				deepest = depth[i];
		}
		while (open.length)
			end[open.pop()] = nrNodes;
		for (let i = nrNodes - 1; i >= 0; i--) {
			total[i] += self[i];
			if (i)
				total[parent[i]] += total[i];
		}
		const next = new Float64Array(deepest + 2);
		for (let i = 0; i < nrNodes; i++) {
			start[i] = next[depth[i]];
			next[depth[i]] += total[i];
			next[depth[i] + 1] = start[i];
		}
	}

	function bytes(value) {
		if (value >= 1 << 30)
			return (value / (1 << 30)).toFixed(2) + " GiB";
		if (value >= 1 << 20)
			return (value / (1 << 20)).toFixed(1) + " MiB";
		if (value >= 1 << 10)
			return (value / (1 << 10)).toFixed(1) + " KiB";
		return Math.round(value) + " bytes";
	}

	function amount(value) {
		if (data.unit === "bytes")
			return bytes(value);
		if (data.unit !== "ns")
			return Math.round(value).toLocaleString("en");
		if (value >= 1e9)
			return (value / 1e9).toFixed(3) + " s";
		if (value >= 1e6)
			return (value / 1e6).toFixed(2) + " ms";
		if (value >= 1e3)
			return (value / 1e3).toFixed(2) + " \u00b5s";
		return Math.round(value) + " ns";
	}

	function amountPerCall(value) {
		return value < 100 ? value.toFixed(1) + " ns" : amount(value);
	}

	function share(value) {
		return (100 * value / total[root]).toFixed(2);
	}

	function location(row) {
		return row[1] ? row[1] + (row[2] ? ":" + row[2] : "") : "";
	}

	function baseName(path) {
		return path.slice(path.lastIndexOf("/") + 1);
	}

	// --- the graph ---

	// One hue for a module, one shade for a function; grey for what is no function.
	const colors = data.functions.map(function (row) {
		let hash = 0;
		if (row[3] < 0)
			return "hsl(0 0% 75%)";
		for (let i = 0; i < row[0].length; i++)
			hash = (hash * 31 + row[0].charCodeAt(i)) >>> 0;
		return "hsl(" + (row[3] * 47 + 20) % 360 + " " + (55 + hash % 20) + "% " +
			(66 + (hash >>> 8) % 14) + "%)";
	});

	function resize() {
		const scale = window.devicePixelRatio || 1;
		const height = Math.max(graph.clientHeight, 50);
		canvas.width = Math.round(graph.clientWidth * scale);
		canvas.height = Math.round(height * scale);
		canvas.style.width = graph.clientWidth + "px";
		canvas.style.height = height + "px";
		byId("height").style.height = Math.max(0, (deepest + 2) * ROW - height) + "px";
		redraw();
	}

	function redraw() {
		if (!drawing)
			requestAnimationFrame(draw);
		drawing = true;
	}

	function drawBox(node, x, width, y) {
		const dimmed = matches && !matches[label[node]];
		context.globalAlpha = dimmed || end[node] <= root || (node < root) ? 0.45 : 1;
		context.fillStyle = matches && !dimmed ? "#e05ce0" : colors[label[node]];
		context.fillRect(x, y, Math.max(width - 0.5, 0.4), ROW - 1);
		if (node === hovered) {
			context.globalAlpha = 1;
			context.strokeStyle = "#000";
			context.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1.5, 0.5), ROW - 2);
		}
		if (width > 26) {
			const room = Math.floor((width - 6) / 7.25);
			const name = names[label[node]];
			context.fillStyle = "#111";
			context.fillText(name.length <= room ? name : name.slice(0, room - 1) + "\u2026",
				x + 3, y + 12.5);
		}
	}

	// Calls visit(node, x, width, y) for all that is to be seen.
	function forVisible(visit) {
		const width = graph.clientWidth, height = canvas.clientHeight;
		const scale = width / (view.to - view.from), top = graph.scrollTop;
		let i = 0;
		while (i < nrNodes) {
			const left = (start[i] - view.from) * scale, wide = total[i] * scale;
			const x = Math.max(left, 0), y = depth[i] * ROW - top;
			const w = Math.min(left + wide, width) - x;
			if (w < NARROW || y > height) {
				i = end[i];
				continue;
			}
			if (y > -ROW)
				visit(i, x, w, y);
			i++;
		}
	}

	function draw() {
		const scale = window.devicePixelRatio || 1;
		drawing = false;
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, canvas.width, canvas.height);
		context.font = "12px monospace";
		forVisible(drawBox);
		context.globalAlpha = 1;
	}

	function nodeAt(event) {
		const box = canvas.getBoundingClientRect();
		const px = event.clientX - box.left, py = event.clientY - box.top;
		let found = -1;
		forVisible(function (node, x, width, y) {
			if (px >= x && px < x + width && py >= y && py < y + ROW)
				found = node;
		});
		return found;
	}

	function zoom(node) {
		const from = {from: view.from, to: view.to};
		const to = {from: start[node], to: start[node] + total[node]};
		const began = performance.now();
		root = node;
		describe(node);
		function step(now) {
			const part = Math.min(1, (now - began) / ANIMATION_MS);
			const eased = part * (2 - part);
			view = {
				from: from.from + (to.from - from.from) * eased,
				to: from.to + (to.to - from.to) * eased,
			};
			draw();
			if (part < 1)
				requestAnimationFrame(step);
			else if (root === node)
				fillTable();
		}
		requestAnimationFrame(step);
	}

	// Weight of the stacks below root that have a match, each counted once.
	function sumMatches() {
		let sum = 0;
		for (let i = root; i < end[root];) {
			const found = matches[label[i]];
			sum += found ? total[i] : 0;
			i = found ? end[i] : i + 1;
		}
		return sum;
	}

	function describeMatches() {
		const nr = matches.filter(Boolean).length, sum = sumMatches();
		pathLine.textContent = nr + (nr === 1 ? " function matches: " : " functions match: ") +
			amount(sum) + " (" + share(sum) + "%)";
	}

	function describe(node) {
		if (matches && node === root) {
			describeMatches();
			return;
		}
		const row = data.functions[label[node]];
		const where = row[1] ? "  " + location(row) : "";
		const module = row[3] >= 0 ? "  [" + data.modules[row[3]] + "]" : "";
		pathLine.textContent = (row[5] || row[0]) + "  " + amount(total[node]) + " (" + share(total[node]) +
			"%), self " + amount(self[node]) + where + module;
	}

	// --- the table ---

	// Sums over the subtree of root. Total counts a function once in each stack: while it
	// is open above, the same function below adds nothing.
	function sumFunctions() {
		const nr = names.length;
		const own = new Float64Array(nr), all = new Float64Array(nr);
		const openUntil = new Uint32Array(nr);
		for (let i = root; i < end[root]; i++) {
			const id = label[i];
			own[id] += self[i];
			if (i >= openUntil[id]) {
				all[id] += total[i];
				openUntil[id] = end[i];
			}
		}
		return {own: own, all: all};
	}

	// Calls are those of the whole recording, and what was called need not have been sampled.
	function fillTable() {
		const sums = sumFunctions();
		tableRows = [];
		for (let id = 0; id < names.length; id++) {
			const calls = data.calls ? data.calls[id] : null;
			if ((sums.all[id] > 0 || (root === 0 && calls > 0)) && !data.functions[id][4])
				tableRows.push({
					id: id, self: sums.own[id], total: sums.all[id], calls: calls,
					perCall: data.calls ? data.perCall[id] : null,
				});
		}
		sortTable();
	}

	// What is not known is less than nothing.
	function known(value) {
		return value === null ? -1 : value;
	}

	function sortTable() {
		const sign = order.down ? -1 : 1, key = order.key;
		tableRows.sort(function (a, b) {
			if (key !== "name" && a[key] !== b[key])
				return sign * (known(a[key]) - known(b[key]));
			return (key === "name" ? -sign : 1) *
				(names[a.id] < names[b.id] ? -1 : names[a.id] > names[b.id] ? 1 : 0);
		});
		showTable();
	}

	function cell(row, className, text, title) {
		const element = document.createElement("td");
		element.className = className;
		element.textContent = text;
		element.title = title || text;
		row.appendChild(element);
	}

	function showTable() {
		const rows = document.createDocumentFragment();
		let shown = 0;
		for (const entry of tableRows) {
			const info = data.functions[entry.id];
			if (matches && !matches[entry.id])
				continue;
			if (++shown > SHOWN)
				break;
			const row = document.createElement("tr");
			row.dataset.id = entry.id;
			row.className = entry.id === picked ? "picked" : "";
			cell(row, "number", amount(entry.self));
			cell(row, "number", share(entry.self));
			cell(row, "number", amount(entry.total));
			cell(row, "number", share(entry.total));
			if (data.calls) {
				cell(row, "number", entry.calls === null ? "" : entry.calls.toLocaleString("en"));
				cell(row, "number", entry.perCall === null ? "" : amountPerCall(entry.perCall));
			}
			cell(row, "name", info[0], info[5]);
			cell(row, "where", baseName(location(info)), location(info));
			cell(row, "where", info[3] >= 0 ? data.modules[info[3]] : "");
			rows.appendChild(row);
		}
		body.replaceChildren(rows);
	}

	// --- events ---

	function findMatches() {
		let pattern = null;
		search.setCustomValidity("");
		try {
			pattern = search.value ? new RegExp(search.value, "i") : null;
		} catch (error) {
			search.setCustomValidity("not a regular expression");
		}
		matches = pattern && data.functions.map(function (row) {
			return pattern.test(row[5] || row[0]);
		});
		picked = -1;
		describe(root);
		showTable();
		redraw();
	}

	function pick(id) {
		picked = picked === id ? -1 : id;
		matches = picked < 0 ? null : names.map(function (name, i) { return i === picked; });
		describe(root);
		for (const row of body.children)
			row.className = Number(row.dataset.id) === picked ? "picked" : "";
		redraw();
	}

	canvas.addEventListener("mousemove", function (event) {
		const node = nodeAt(event);
		if (node === hovered)
			return;
		hovered = node;
		describe(node < 0 ? root : node);
		redraw();
	});
	canvas.addEventListener("mouseleave", function () {
		hovered = -1;
		describe(root);
		redraw();
	});
	canvas.addEventListener("click", function (event) {
		const node = nodeAt(event);
		if (node >= 0)
			zoom(node);
	});
	byId("reset").addEventListener("click", function () {
		search.value = "";
		findMatches();
		zoom(0);
	});
	search.addEventListener("input", findMatches);
	body.addEventListener("click", function (event) {
		const row = event.target.closest("tr");
		if (row)
			pick(Number(row.dataset.id));
	});
	byId("head").addEventListener("click", function (event) {
		const key = event.target.dataset.key;
		if (!key)
			return;
		order = {key: key, down: order.key === key ? !order.down : true};
		sortTable();
	});
	document.addEventListener("keydown", function (event) {
		if (event.key === "Escape")
			byId("reset").click();
		if (event.key === "/" && document.activeElement !== search) {
			event.preventDefault();
			search.focus();
		}
	});
	graph.addEventListener("scroll", redraw);
	window.addEventListener("resize", resize);

	layOut();
	view = {from: 0, to: total[0]};
	byId("sum").textContent = data.metric + ": " + amount(total[0]);
	fillTable();
	describe(0);
	resize();
})();
