// SPDX-License-Identifier: GPL-2.0-or-later
// Tracks: where in time CPU, waits for one and sleep were, of all and thread by thread (see threads.js);
// memory and counters, if recorded.
// Dragging in them selects a range, boxes select threads.
const TRACK_PX = 24, ALL_PX = 29; // rows have boxes: WCAG asks for 24 px
const MANY_THREADS = 6; // from here on not all are in sight

function trackColors() {
	return {cpu: hsl(140, 45, 45, 48), runq: hsl(32, 85, 55, 50), blocked: hsl(220, 15, 84, 27),
		memory: hsl(265, 45, 60, 60), advance: hsl(190, 55, 45, 50), mark: hsl(330, 80, 45, 65)};
}

// Elapsed time has no track: it is one second each second.
function countersOf(side) {
	return Object.keys(side.advances).filter((metric) => metric !== "elapsed");
}

// By pixel of a width from one moment to another: cpu, runq, blocked in ns; of all stacks, or of those that are kept.
function bucketsOf(side, run, at, width, into, kept) {
	const {start, end, cpu, runq, blocked} = side.samples, perNs = width / (at.to - at.from);
	for (let i = sampleAt(side, run, at.from); i < run.last && start[i] < at.to; i++) {
		const size = end[i] - start[i], wall = cpu[i] + runq[i] + blocked[i];
		if (!wall || size <= 0 || (kept && !kept[stackOfSample(side, i)]))
			continue;
		// Views share CPU time among neighbours: how the time of this one passed is in proportion. Sums are whole.
		const scale = wall > size && !into.isSum ? size / wall : 1;
		const from = (start[i] - at.from) * perNs, to = (end[i] - at.from) * perNs;
		const first = Math.max(0, Math.floor(from)), last = Math.min(width - 1, Math.floor(to));
		for (let x = first; x <= last; x++) {
			const part = first === last && from >= 0 && to <= width ? scale :
				Math.max(0, Math.min(to, x + 1) - Math.max(from, x)) / (to - from) * scale;
			into.cpu[x] += cpu[i] * part;
			into.runq[x] += runq[i] * part;
			into.blocked[x] += blocked[i] * part;
		}
	}
	return into;
}

// By pixel: an advance is spread over the time of the sample that ends it.
function spreadAdvances(side, metric, at, sums, isIn) {
	const {runs, runOfThread, samples} = side, {nr, thread, time, amount, leaf} = side.advances[metric], width = sums.length;
	const pixelOf = (moment) => Math.max(0, Math.min(width - 1, Math.floor((moment - at.from) / (at.to - at.from) * width)));
	for (let i = 0; i < nr; i++) {
		if (isIn && !isIn(thread[i], leaf[i]))
			continue;
		const run = runs[runOfThread[thread[i]]], own = run ? sampleAt(side, run, time[i]) : 0, last = pixelOf(time[i]);
		const first = run && own < run.last ? Math.min(last, pixelOf(samples.start[own])) : last;
		for (let x = first; x <= last; x++)
			sums[x] += amount[i] / (last - first + 1);
	}
}

function newBuckets(at, width) {
	return {cpu: new Float64Array(width), runq: new Float64Array(width), blocked: new Float64Array(width),
		most: (at.to - at.from) / width};
}

function paintTrack(context, sums, width, height, colors) {
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
}

// Of one recording. Of two each has its own, and the ids of the elements of the old one end in "-old".
class Tracks {
	constructor(side) {
		this.side = side;
		this.keys = SELECTS[recordings.indexOf(side)];
		this.suffix = this.keys === SELECTS[0] ? "" : "-old";
		this.from = this.side.data.fromNs;
		this.to = Math.max(this.side.data.toNs, this.from + 1);
		this.host = this.byId("tracks");
		this.summary = this.byId("summary");
		this.rows = [];
		this.list = new ThreadList(this, this.byId("threads"));
		this.threads = this.list.threads;
		this.addRow((isOfTwo() ? sideNames()[recordings.indexOf(side)] + ": " : "") + "all threads", (width) => this.sumAll(width));
		addChain(this);
		if (this.side.blocks)
			this.addRow("memory (alive)", (width) => this.liveBytes(width));
		for (const metric of countersOf(this.side))
			this.addRow(metric, (width) => this.advancesOf(metric, width));
		this.addAxis();
		this.listen(this.summary);
		this.listen(this.list.host);
		this.heat = new HeatMap(this);
		new ResizeObserver(() => this.draw()).observe(byId("time"));
	}

	byId(id) {
		return byId(id + this.suffix);
	}

	chosenFrom() {
		return state[this.keys.from];
	}

	chosenTo() {
		return state[this.keys.to];
	}

	addRow(name, sums) {
		const row = {name: name, sums: sums, canvas: element("canvas"), scale: element("div", "track-scale dim")};
		const line = element("div", "track"), label = element("div", "track-label");
		row.canvas.setAttribute("role", "img");
		row.canvas.setAttribute("aria-label", name + " over time");
		label.append(element("div", "track-name", name), row.scale);
		line.append(label, row.canvas);
		line.style.height = ALL_PX + "px";
		this.summary.append(line);
		this.rows.push(row);
		return row;
	}

	addAxis() {
		const line = element("div", "track axis"), marks = this.side.data.marks;
		this.axis = element("canvas");
		this.axis.setAttribute("role", "img");
		this.axis.setAttribute("aria-label", "time" + (marks.length ? ", with " + marks.length + " marks" : ""));
		const label = element("div", "track-label track-heads");
		label.append(...(this.list.host.hidden ? [] : this.list.heads()));
		line.append(label, this.axis);
		line.style.height = AXIS_PX + (marks.length ? MARK_PX : 0) + "px";
		this.summary.append(line);
	}

	// --- what is drawn ---

	sumAll(width) {
		return this.list.sumRows(this.threads, width);
	}

	liveBytes(width) {
		const blocks = this.side.blocks, change = new Float64Array(width + 1);
		const at = (time) => Math.max(0, Math.min(width, Math.ceil((time - this.from) / (this.to - this.from) * width)));
		for (let i = 0; i < blocks.nr; i++) {
			if (!(blocks.flags[i] & FLAG_OF.alloc))
				continue;
			const bytes = blocks.kinds.bytes[blocks.kind[i]];
			change[at(blocks.time[i])] += bytes;
			change[at(blocks.gone[i])] -= bytes;
		}
		const memory = new Float64Array(width);
		let alive = 0, most = 1;
		for (let x = 0; x < width; x++) {
			memory[x] = alive += change[x];
			most = Math.max(most, alive);
		}
		return {memory: memory, most: most};
	}

	// Of all threads.
	advancesOf(metric, width) {
		const sums = new Float64Array(width);
		spreadAdvances(this.side, metric, this, sums, null);
		return {advance: sums, most: sums.reduce((most, sum) => Math.max(most, sum), 1), metric: metric};
	}

	// False: it is not in sight, or was drawn like this already.
	begin(canvas, height, was) {
		const width = canvas.clientWidth, scale = devicePixelRatio || 1, key = width + " " + scale + dark();
		if (!width || was.drawn === key)
			return null;
		was.drawn = key;
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		const context = canvas.getContext("2d");
		context.scale(scale, scale);
		return context;
	}

	drawRow(row, height, sums) {
		const context = this.begin(row.canvas, height, row), width = row.canvas.clientWidth, colors = trackColors();
		if (!context)
			return;
		if (!row.sumsAt || row.sumsAt.width !== width)
			row.sumsAt = {width: width, sums: sums(width)};
		paintTrack(context, row.sumsAt.sums, width, height - 2, colors);
		context.fillStyle = colors.mark;
		for (const [time] of this.side.data.marks)
			context.fillRect((time - this.from) / (this.to - this.from) * width, 0, 1, height + 2);
		if (row.scale)
			row.scale.textContent = "up to " + this.scaleText(row.sumsAt.sums, width);
	}

	// The full height of a track.
	scaleText(sums, width) {
		const per = (this.to - this.from) / width;
		if (sums.memory)
			return bytesText(sums.most);
		if (sums.advance)
			return amountText(sums.metric, sums.most / per * 1e9) + "/s";
		const nr = sums.most / per;
		return nr.toFixed(nr < 10 ? 1 : 0) + (nr.toFixed(1) === "1.0" ? " thread" : " threads");
	}

	drawAxis() {
		const marks = this.side.data.marks, look = axisLook(), width = this.axis.clientWidth;
		const context = this.begin(this.axis, AXIS_PX + (marks.length ? MARK_PX : 0), this);
		if (!context)
			return;
		paintTimes(context, this.from, this.to, width, look);
		paintMarks(context, marks, this.from, this.to, width, AXIS_PX, look);
	}

	draw() {
		if (!document.body.dataset.ready || waiters) // then the first view is drawn before
			return;
		this.drawAxis();
		for (const row of this.rows)
			this.drawRow(row, ALL_PX, row.sums);
		this.list.draw();
		this.heat.draw();
		this.placeRange();
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
			start = {x: event.clientX, time: this.timeAt(event.clientX), moved: false, isBase: event.shiftKey && !isOfTwo()};
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
				this.showRange(start.isBase ? "base" : "range", ...this.sorted(start.time, this.timeAt(event.clientX)));
		});
		host.addEventListener("pointerup", (event) => {
			const was = start;
			start = null;
			if (was && was.moved)
				this.choose(...this.sorted(was.time, this.timeAt(event.clientX)), was.isBase);
			else if (was)
				withRows(() => this.clicked(event));
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
		if (this.chosenFrom() !== null)
			this.choose(null, null);
		else if (row && row.run)
			setState({...onlyThread(this.side, row.thread), view: "chart", left: null, right: null,
				...this.functionAt(row, this.timeAt(event.clientX))});
		else if (row && row.rows)
			setState({...allOfProcess(this.side, row.process), view: "chart", left: null, right: null});
	}

	rowOf(canvas) {
		return this.rows.concat(this.list.listed).find((row) => row.canvas === canvas);
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
		if (row.chain)
			return describeChain(this.side, row.chain, time);
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

	choose(from, to, isBase) {
		const [start, end] = [from, to].map((time) => time === null ? null : Math.round(time));
		if (isBase)
			chooseBaseline(start, end);
		else
			setState({[this.keys.from]: start, [this.keys.to]: end, left: null, right: null});
	}

	hover(event) {
		if (waiters)
			return;
		const time = this.timeAt(event.clientX), lines = [[this.momentText(time), "numbers"]];
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

	momentText(time) {
		const day = dayTimeText(this.side, time);
		return momentText(Math.round(time / 1000) * 1000) + momentUnit() + (day ? "   " + day : "");
	}

	// id: "range", or "base": the baseline's
	showRange(id, from, to) {
		const box = this.canvasBox(), outer = this.host.getBoundingClientRect(), all = this.to - this.from, shown = this.byId(id);
		const length = from === null ? "" : lengthText(to - from);
		shown.hidden = from === null;
		if (id === "range")
			this.byId("length").textContent = length && "= " + length;
		if (from === null)
			return;
		shown.style.left = box.left - outer.left + (from - this.from) / all * box.width + "px";
		shown.style.height = state.heat ? this.summary.offsetHeight + "px" : "";
		shown.style.width = Math.max(1, (to - from) / all * box.width) + "px";
		this.byId(id + "-length").textContent = (id === "range" ? "" : "baseline ") + length;
	}

	placeRange() {
		this.showRange("range", this.chosenFrom(), this.chosenTo());
		this.showRange("base", hasBaseline() ? state.oldFrom : null, state.oldTo);
	}

	// Why a range cannot be selected.
	sayRange(why) {
		this.byId("range-wrong").textContent = why;
		for (const id of ["from", "to"])
			this.byId(id).setAttribute("aria-invalid", String(why !== ""));
	}

	// Of a range as it is typed.
	typed() {
		const [from, to] = ["from", "to"].map((id) => this.byId(id).value.trim());
		const start = from === "" ? this.from : secondsOf(from) * 1e9, end = to === "" ? this.to : secondsOf(to) * 1e9;
		if (start < end)
			this.choose(...(from === "" && to === "" ? [null, null] : [start, end]));
		else
			this.sayRange(Number.isNaN(start) || Number.isNaN(end) ? "times are seconds, such as 1.25, or 1:02:03" :
				"\u201cfrom\u201d must be before \u201cto\u201d");
	}

	listenToTools() {
		this.byId("to-unit").hidden = isLong();
		for (const id of ["from", "to"])
			this.byId(id).addEventListener("change", () => this.typed());
		this.list.listen();
		listenToMarks(this);
		this.byId("all-time").addEventListener("click", () => this.choose(null, null));
		this.byId("all-threads").addEventListener("click", () => setState({[this.keys.threads]: null}));
		this.byId("as-base").addEventListener("click", takeBaseline);
		this.byId("no-base").addEventListener("click", () => chooseBaseline(null, null));
	}

	update() {
		const [from, to, threads] = [this.chosenFrom(), this.chosenTo(), state[this.keys.threads]];
		this.list.update();
		this.heat.update();
		this.host.classList.toggle("hot", state.heat);
		this.draw();
		if (this.marks)
			this.marks.update();
		this.byId("from").value = from === null ? "" : momentText(from);
		this.byId("to").value = to === null ? "" : momentText(to);
		this.sayRange("");
		this.byId("all-time").hidden = from === null;
		this.byId("as-base").hidden = from === null || isOfTwo();
		this.byId("no-base").hidden = !hasBaseline();
		this.byId("no-base").textContent = !hasBaseline() ? "" :
			"baseline: " + momentText(state.oldFrom) + " to " + momentText(state.oldTo) + momentUnit() + " \u00d7";
		this.byId("all-threads").hidden = !threads;
		this.byId("chosen").textContent = threads ? threads.length + " of " + this.threads.length + " threads" : "";
	}
}

// Of one recording: what is selected is compared with a range of it.
function chooseBaseline(from, to, patch) {
	const isNew = from !== null && state.oldFrom === null, isOver = from === null;
	setState({oldFrom: from, oldTo: to, left: null, right: null, ...patch,
		...(isNew ? {colors: "change", sort: "-change"} : {}),
		...(isOver && state.colors === "change" ? {colors: defaults.colors} : {}),
		...(isOver && OF_TWO.includes(state.sort.replace(/^-/, "")) ? {sort: defaults.sort} : {})});
}

// The selected range becomes it.
function takeBaseline() {
	if (!isOfTwo() && state.from !== null)
		chooseBaseline(state.from, state.to, {from: null, to: null});
}

function showTrackLegend() {
	const colors = trackColors(), any = (test) => recordings.some(test);
	byId("track-legend").replaceChildren(legendItem(colors.cpu, "on a CPU"), legendItem(colors.runq, "waiting for a CPU"),
		legendItem(colors.blocked, "blocked"), ...(any((side) => side.blocks) ? [legendItem(colors.memory, "memory")] : []),
		...(any((side) => countersOf(side).length) ? [legendItem(colors.advance, "counters")] : []),
		...(any((side) => side.data.marks.length) ? [legendItem(colors.mark, "mark")] : []));
}

// Elements of the tracks of the old recording: as those of the new one, with other ids.
function addOldTracks() {
	const first = byId("time").querySelector(".moments"), copy = first.cloneNode(true);
	copy.querySelector("#track-legend").remove();
	for (const at of copy.querySelectorAll("[id]"))
		at.id += "-old";
	for (const at of copy.querySelectorAll("[aria-label]"))
		at.setAttribute("aria-label", "old: " + at.getAttribute("aria-label"));
	first.after(copy);
	byId("time").classList.add("two");
}

function makeTracks() {
	if (isOfTwo())
		addOldTracks();
	const made = recordings.map((side) => new Tracks(side));
	made.forEach((one) => one.listenToTools());
	showTrackLegend();
	return made;
}
