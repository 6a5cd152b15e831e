// SPDX-License-Identifier: GPL-2.0-or-later
// Tracks: where in time CPU, waits for one and sleep were, thread by thread; memory and counters, if
// recorded.
// Dragging in them selects a range, boxes select threads.
const TRACK_PX = 20, ALL_PX = 34;
const MANY_THREADS = 6; // from here on not all are in sight
const KEPT_THREADS = 64; // as many have their sums by pixel kept, in sight or not

function trackColors() {
	return {cpu: hsl(140, 45, 45, 48), runq: hsl(32, 85, 55, 50), blocked: hsl(220, 15, 84, 27),
		memory: hsl(265, 45, 60, 60), advance: hsl(190, 55, 45, 50), mark: hsl(330, 80, 45, 65)};
}

// Elapsed time has no track: it is one second each second.
function countersOf(side) {
	return Object.keys(side.advances).filter((metric) => metric !== "elapsed");
}

class Tracks {
	constructor() {
		this.side = sides[0];
		this.from = this.side.data.fromNs;
		this.to = Math.max(this.side.data.toNs, this.from + 1);
		this.host = byId("tracks");
		this.range = byId("range");
		this.rows = [];
		this.addRow("all threads", ALL_PX, (width) => this.sumAll(width), -1);
		if (this.side.blocks)
			this.addRow("memory (alive)", ALL_PX, (width) => this.liveBytes(width), -2);
		for (const metric of countersOf(this.side))
			this.addRow(metric, ALL_PX, (width) => this.advancesOf(metric, width), -3);
		this.list = byId("threads");
		this.fillThreads();
		this.listen(byId("summary"));
		this.listen(this.list);
		new ResizeObserver(() => this.draw()).observe(byId("time"));
		this.list.addEventListener("scroll", () => this.draw());
	}

	addRow(name, height, sums, thread) {
		const row = {name: name, height: height, sums: sums, thread: thread, canvas: element("canvas")};
		const line = element("div", "track"), label = element("div", "track-name", name);
		row.canvas.setAttribute("role", "img");
		row.canvas.setAttribute("aria-label", name + " over time");
		line.append(label, row.canvas);
		line.style.height = height + "px";
		byId("summary").append(line);
		this.rows.push(row);
	}

	// As short as tells the threads apart: with the process, or an id, where there are several of a name.
	nameThreads() {
		const side = this.side, processes = new Set(this.threads.map((row) => side.threads[row.thread][0]));
		const names = [...processes].map((process) => side.processes[process][0]), count = new Map();
		const isTwin = (name) => names.indexOf(name) !== names.lastIndexOf(name);
		for (const row of this.threads) {
			const [process, name] = side.threads[row.thread], [processName, pid] = side.processes[process];
			const prefix = processes.size < 2 ? "" : processName + (isTwin(processName) ? " " + pid : "");
			const isOwn = !name || name === processName;
			row.short = !prefix ? name || processName : isOwn ? prefix : prefix + "/" + name;
			count.set(row.short, (count.get(row.short) || 0) + 1);
		}
		for (const row of this.threads)
			row.short += count.get(row.short) > 1 ? " " + side.threads[row.thread][2] : "";
	}

	// Most of the wall time first would put sleepers on top: it is CPU time, then samples.
	fillThreads() {
		const side = this.side, sum = (run, column) => {
			let all = 0;
			for (let i = run.first; i < run.last; i++)
				all += column[i];
			return all;
		};
		this.threads = side.runs.map((run) => ({
			thread: run.thread, run: run, cpu: sum(run, side.samples.cpu), name: threadName(side, run.thread),
		})).sort((a, b) => b.cpu - a.cpu || (b.run.last - b.run.first) - (a.run.last - a.run.first));
		this.nameThreads();
		this.body = element("div", "body");
		this.list.append(this.body);
		this.list.hidden = this.threads.length < 2;
		this.listRows(this.threads);
		this.list.addEventListener("click", (event) => {
			if (event.target.tagName === "INPUT")
				this.toggle(Number(event.target.value), event.altKey || event.shiftKey);
		});
		this.lines = new Map();
	}

	listRows(rows) {
		this.listed = rows;
		rows.forEach((row, i) => { row.top = i * TRACK_PX; });
		this.body.style.height = rows.length * TRACK_PX + "px";
	}

	// Selects the threads whose name matches, and lists them alone.
	findThreads(text) {
		const pattern = regexOf(text), found = this.threads.filter((row) => !pattern || pattern.test(row.name));
		const isWrong = text !== "" && (!pattern || !found.length);
		byId("thread-search").setAttribute("aria-invalid", String(isWrong));
		if (isWrong)
			return;
		this.listRows(found);
		this.list.scrollTop = 0;
		const isAll = found.length === this.threads.length;
		setState({threads: isAll ? null : found.map((row) => row.thread), thread: -1}, true);
	}

	isChosen(thread) {
		return !state.threads || state.threads.includes(thread);
	}

	// One more or less; or that one alone.
	toggle(thread, isAlone) {
		if (isAlone) {
			setState({threads: [thread], thread: -1});
			return;
		}
		const all = this.threads.map((row) => row.thread);
		const chosen = new Set(state.threads || all);
		if (chosen.has(thread))
			chosen.delete(thread);
		else
			chosen.add(thread);
		setState({threads: chosen.size === all.length || !chosen.size ? null : [...chosen], thread: -1});
	}

	// --- what is drawn ---

	// By pixel: cpu, runq, blocked in ns.
	bucketsOf(run, width, into) {
		const {start, end, cpu, runq, blocked} = this.side.samples, perNs = width / (this.to - this.from);
		for (let i = run.first; i < run.last; i++) {
			const size = end[i] - start[i], wall = cpu[i] + runq[i] + blocked[i];
			if (!wall || size <= 0)
				continue;
			// Views share CPU time among neighbours: how the time of this one passed is in proportion.
			const scale = wall > size ? size / wall : 1;
			const from = (start[i] - this.from) * perNs, to = (end[i] - this.from) * perNs;
			const first = Math.max(0, Math.floor(from)), last = Math.min(width - 1, Math.floor(to));
			for (let x = first; x <= last; x++) {
				const part = first === last && from >= 0 && to <= width ? scale :
					Math.max(0, Math.min(to, x + 1) - Math.max(from, x)) / (to - from) * scale;
				into.cpu[x] += cpu[i] * part;
				into.runq[x] += runq[i] * part;
				into.blocked[x] += blocked[i] * part;
			}
		}
	}

	newBuckets(width) {
		return {cpu: new Float64Array(width), runq: new Float64Array(width), blocked: new Float64Array(width),
			most: (this.to - this.from) / width};
	}

	sumThread(row, width) {
		if (!row.sumsAt || row.sumsAt.width !== width) {
			row.sumsAt = {width: width, sums: this.newBuckets(width)};
			this.bucketsOf(row.run, width, row.sumsAt.sums);
		}
		return row.sumsAt.sums;
	}

	sumAll(width) {
		const buckets = this.newBuckets(width), isKept = this.threads.length <= KEPT_THREADS;
		for (const row of this.threads) {
			if (!isKept) {
				this.bucketsOf(row.run, width, buckets);
				continue;
			}
			const own = this.sumThread(row, width);
			for (let x = 0; x < width; x++) {
				buckets.cpu[x] += own.cpu[x];
				buckets.runq[x] += own.runq[x];
			}
		}
		// Sleepers would leave no room for what runs.
		let most = 0;
		for (let x = 0; x < width; x++)
			most = Math.max(most, buckets.cpu[x] + buckets.runq[x]);
		buckets.blocked.fill(0);
		buckets.most = most || 1;
		return buckets;
	}

	liveBytes(width) {
		const blocks = this.side.blocks, change = new Float64Array(width + 1);
		const at = (time) => Math.max(0, Math.min(width, Math.ceil((time - this.from) / (this.to - this.from) * width)));
		for (let i = 0; i < blocks.nr; i++) {
			if (!(blocks.flags[i] & FLAG_OF.alloc))
				continue;
			const bytes = blocks.kinds.bytes[blocks.kind[i]];
			change[at(blocks.time[i])] += bytes;
			change[at(blocks.end[i])] -= bytes;
		}
		const memory = new Float64Array(width);
		let alive = 0, most = 1;
		for (let x = 0; x < width; x++) {
			memory[x] = alive += change[x];
			most = Math.max(most, alive);
		}
		return {memory: memory, most: most};
	}

	// By pixel, of all threads: an advance is spread over the time of the sample that ends it.
	advancesOf(metric, width) {
		const {runs, runOfThread, samples} = this.side, sums = new Float64Array(width);
		const {nr, thread, time, amount} = this.side.advances[metric];
		const pixelOf = (at) => Math.max(0, Math.min(width - 1,
			Math.floor((at - this.from) / (this.to - this.from) * width)));
		for (let i = 0; i < nr; i++) {
			const run = runs[runOfThread[thread[i]]], at = run ? sampleAt(this.side, run, time[i]) : 0;
			const last = pixelOf(time[i]);
			const first = run && at < run.last ? Math.min(last, pixelOf(samples.start[at])) : last;
			for (let x = first; x <= last; x++)
				sums[x] += amount[i] / (last - first + 1);
		}
		return {advance: sums, most: sums.reduce((most, sum) => Math.max(most, sum), 1), metric: metric};
	}

	drawRow(row, height, sums) {
		const canvas = row.canvas, width = canvas.clientWidth, scale = devicePixelRatio || 1;
		if (!width)
			return;
		const key = width + " " + scale + dark();
		if (row.drawn === key)
			return;
		row.drawn = key;
		if (!row.sumsAt || row.sumsAt.width !== width)
			row.sumsAt = {width: width, sums: sums(width)};
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		const context = canvas.getContext("2d"), colors = trackColors();
		context.scale(scale, scale);
		this.paint(context, row.sumsAt.sums, width, height - 2, colors);
	}

	paint(context, sums, width, height, colors) {
		const kinds = ["cpu", "runq", "blocked", "memory", "advance"].filter((kind) => sums[kind]);
		const tops = kinds.map(() => new Float64Array(width));
		for (let x = 0; x < width; x++) {
			let y = height;
			for (let i = 0; i < kinds.length; i++)
				y = tops[i][x] = Math.max(0, y - sums[kinds[i]][x] / sums.most * height);
		}
		// Each as one shape from its top to the bottom, so that the lower ones cover their part of it.
		for (let i = kinds.length - 1; i >= 0; i--) {
			context.fillStyle = colors[kinds[i]];
			context.beginPath();
			context.moveTo(0, height);
			for (let x = 0; x < width; x++) {
				context.lineTo(x, tops[i][x]);
				context.lineTo(x + 1, tops[i][x]);
			}
			context.lineTo(width, height);
			context.fill();
		}
		context.fillStyle = colors.mark;
		for (const [time] of this.side.data.marks)
			context.fillRect((time - this.from) / (this.to - this.from) * width, 0, 1, height + 2);
	}

	draw() {
		for (const row of this.rows)
			this.drawRow(row, row.height, row.sums);
		this.drawThreads();
		this.placeRange();
	}

	drawThreads() {
		if (this.list.hidden || !this.list.clientHeight)
			return;
		const first = Math.max(0, Math.floor(this.list.scrollTop / TRACK_PX) - 2);
		const last = Math.min(this.listed.length, first + Math.ceil(this.list.clientHeight / TRACK_PX) + 4);
		const rows = [];
		for (let i = first; i < last; i++) {
			const row = this.listed[i];
			row.line = row.line || this.threadLine(row);
			row.line.style.top = row.top + "px";
			row.line.querySelector("input").checked = this.isChosen(row.thread);
			row.line.classList.toggle("off", !this.isChosen(row.thread));
			rows.push(row.line);
		}
		if (rows.some((line) => line.parentNode !== this.body) || rows.length !== this.body.children.length)
			this.body.replaceChildren(...rows);
		for (let i = first; i < last; i++)
			this.drawRow(this.listed[i], TRACK_PX, (width) => this.sumThread(this.listed[i], width));
	}

	threadLine(row) {
		const line = element("div", "track"), label = element("label", "track-name"), box = element("input");
		box.type = "checkbox";
		box.value = row.thread;
		label.append(box, element("span", "name", row.short), element("span", "dim", timeText(row.cpu)));
		label.title = row.name + ", CPU " + timeText(row.cpu) + "; with Shift: this one alone";
		row.canvas = element("canvas");
		row.canvas.setAttribute("role", "img");
		row.canvas.setAttribute("aria-label", row.name + " over time: CPU " + timeText(row.cpu));
		row.canvas.dataset.thread = row.thread;
		line.append(label, row.canvas);
		return line;
	}

	// --- the range ---

	canvasBox() {
		return this.rows[0].canvas.getBoundingClientRect();
	}

	timeAt(clientX) {
		const box = this.canvasBox(), part = Math.max(0, Math.min(1, (clientX - box.left) / box.width));
		return this.from + part * (this.to - this.from);
	}

	listen(host) {
		let start = null;
		host.addEventListener("pointerdown", (event) => {
			if (event.button !== 0 || event.target.tagName !== "CANVAS")
				return;
			start = {x: event.clientX, time: this.timeAt(event.clientX), moved: false};
			event.target.setPointerCapture(event.pointerId);
			event.preventDefault();
		});
		host.addEventListener("pointermove", (event) => {
			if (event.target.tagName === "CANVAS")
				this.hover(event);
			if (!start)
				return;
			start.moved = start.moved || Math.abs(event.clientX - start.x) > DRAG_PX;
			if (start.moved)
				this.showRange(...this.sorted(start.time, this.timeAt(event.clientX)));
		});
		host.addEventListener("pointerup", (event) => {
			const was = start;
			start = null;
			if (was && was.moved)
				this.choose(...this.sorted(was.time, this.timeAt(event.clientX)));
			else if (was)
				this.clicked(event);
		});
		host.addEventListener("pointercancel", () => { start = null; this.placeRange(); });
		host.addEventListener("pointerleave", hideTip);
	}

	sorted(a, b) {
		return a < b ? [a, b] : [b, a];
	}

	// In a thread, too, what it did then.
	clicked(event) {
		const row = this.rowOf(event.target);
		if (state.from !== null)
			this.choose(null, null);
		else if (row && row.run)
			setState({thread: row.thread, view: "chart", left: null, right: null,
				...this.functionAt(row, this.timeAt(event.clientX))});
	}

	rowOf(canvas) {
		return this.rows.concat(this.threads).find((row) => row.canvas === canvas);
	}

	// {function}, unless the thread was not there, or has no stack.
	functionAt(row, time) {
		const i = sampleAt(this.side, row.run, time), samples = this.side.samples;
		const label = i < row.run.last && samples.start[i] <= time ? this.side.stackFunction[stackOfSample(this.side, i)] : -1;
		return label >= 0 ? {function: label} : {};
	}

	// Of one pixel: how busy, and with what.
	describe(row, x, time) {
		const sums = row.sumsAt && row.sumsAt.sums, per = (this.to - this.from) / this.canvasBox().width, lines = [];
		if (!sums)
			return lines;
		if (sums.memory)
			return [[bytesText(sums.memory[x] || 0) + " alive", ""]];
		if (sums.advance)
			return [[amountText(sums.metric, (sums.advance[x] || 0) / per * 1e9) + " a second", ""]];
		const shares = [["on a CPU", sums.cpu[x]], ["waiting for one", sums.runq[x]], ["blocked", sums.blocked[x]]]
			.filter((share) => share[1] > 0);
		lines.push([shares.map(([text, ns]) => row.run ? text + " " + Math.min(100, 100 * ns / per).toFixed(0) + "%" :
			(ns / per).toFixed(2) + " threads " + text).join("   "), ""]);
		const at = row.run ? this.functionAt(row, time).function : undefined;
		return at === undefined ? lines : lines.concat([[functions[at].name, "name"]]);
	}

	choose(from, to) {
		setState({from: from === null ? null : Math.round(from), to: to === null ? null : Math.round(to),
			left: null, right: null});
	}

	hover(event) {
		const time = this.timeAt(event.clientX), lines = [[secondsText(Math.round(time / 1000) * 1000) + " s", "numbers"]];
		const row = this.rowOf(event.target);
		if (row)
			lines.push(...this.describe(row, Math.floor(event.clientX - this.canvasBox().left), time));
		const near = (this.to - this.from) / this.canvasBox().width * 4;
		for (const [at, text] of this.side.data.marks) {
			if (Math.abs(at - time) < near)
				lines.push(["mark: " + text, ""]);
		}
		showTip(lines, event.clientX, event.clientY);
	}

	showRange(from, to) {
		const box = this.canvasBox(), outer = this.host.getBoundingClientRect(), all = this.to - this.from;
		this.range.hidden = from === null;
		if (from === null)
			return;
		this.range.style.left = box.left - outer.left + (from - this.from) / all * box.width + "px";
		this.range.style.width = Math.max(1, (to - from) / all * box.width) + "px";
	}

	placeRange() {
		this.showRange(state.from, state.to);
	}

	update() {
		const search = byId("thread-search");
		if (!state.threads && document.activeElement !== search) {
			search.value = "";
			search.setAttribute("aria-invalid", "false");
			this.listRows(this.threads);
		}
		this.draw();
		byId("from").value = state.from === null ? "" : secondsText(state.from);
		byId("to").value = state.to === null ? "" : secondsText(state.to);
		byId("all-time").hidden = state.from === null;
		byId("all-threads").hidden = !state.threads;
		byId("chosen").textContent = state.threads ?
			state.threads.length + " of " + this.threads.length + " threads" : "";
	}
}

function showTrackLegend() {
	const colors = trackColors(), legend = byId("track-legend");
	legend.replaceChildren(legendItem(colors.cpu, "on a CPU"), legendItem(colors.runq, "waiting for a CPU"),
		legendItem(colors.blocked, "blocked"), ...(sides[0].blocks ? [legendItem(colors.memory, "memory")] : []),
		...(countersOf(sides[0]).length ? [legendItem(colors.advance, "counters")] : []),
		...(sides[0].data.marks.length ? [legendItem(colors.mark, "mark")] : []));
}

function makeTracks() {
	const tracks = new Tracks();
	const typed = () => {
		const [from, to] = ["from", "to"].map((id) => byId(id).value.trim());
		const start = from === "" ? tracks.from : Number(from) * 1e9, end = to === "" ? tracks.to : Number(to) * 1e9;
		const isRange = start < end;
		byId("from").setAttribute("aria-invalid", String(!isRange));
		byId("to").setAttribute("aria-invalid", String(!isRange));
		if (isRange)
			tracks.choose(...(from === "" && to === "" ? [null, null] : [start, end]));
	};
	byId("from").addEventListener("change", typed);
	byId("to").addEventListener("change", typed);
	byId("thread-search").hidden = tracks.threads.length < MANY_THREADS;
	byId("thread-search").addEventListener("input", () => tracks.findThreads(byId("thread-search").value));
	byId("all-time").addEventListener("click", () => tracks.choose(null, null));
	byId("all-threads").addEventListener("click", () => setState({threads: null}));
	showTrackLegend();
	return tracks;
}
