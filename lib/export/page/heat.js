// SPDX-License-Identifier: GPL-2.0-or-later
// The heat map in place of the threads' tracks. Columns of equal length follow each other in time, as in the tracks, and
// the time within each goes down: what comes again each second, minute or hour makes lines across.
const HEAT_COLUMNS_S = [0.1, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 21600, 86400];
const HEAT_COLUMN_PX = 4, HEAT_SHADES = 32, HEAT_LABELS = 4, HEAT_COLUMNS_MAX = 1500;
const HEAT_LEAST_NS = 1e9; // of shorter recordings there is none

// Cells of a column: of whole seconds and minutes, if it is as long.
function heatRows(columnNs) {
	return columnNs < 30e9 ? 50 : 60;
}

// Where nothing is known by time, or no one looks for it, it is CPU time.
function heatMetric() {
	const isOther = ["calls", "elapsed", "samples"].includes(state.metric);
	return isOther ? "cpu" : state.metric;
}

// A rate: CPUs, threads, or an amount a second.
function heatText(value) {
	const metric = heatMetric();
	if (ROWS_OF[metric] !== "samples")
		return amountText(metric, value * 1e9) + "/s";
	const text = value.toFixed(value < 10 ? 2 : 1);
	return text + (metric === "cpu" ? (text === "1.00" ? " CPU" : " CPUs") : text === "1.00" ? " thread" : " threads");
}

// From nothing to the most of all cells; light and dark both get further from the background.
function heatShade(part) {
	return dark() ? hsl(280 - 230 * part, 45 + 50 * part, 0, 14 + 56 * part) : hsl(52 - 50 * part, 75, 96 - 66 * part, 0);
}

function addBlockTimes(side, metric, add) {
	const {blocks, freed} = side, inBlocks = metric === "allocs";
	const weightOf = (block) => inBlocks ? blocks.kinds.blocks[blocks.kind[block]] : blocks.kinds.bytes[blocks.kind[block]];
	for (let i = 0; metric === "freed" && freed && i < freed.nr; i++)
		add(freed.thread[i], freed.leaf[i], blocks.end[freed.block[i]], weightOf(freed.block[i]));
	for (let i = 0; metric !== "freed" && blocks && i < blocks.nr; i++) {
		if (blocks.flags[i] & FLAG_OF[metric])
			add(blocks.thread[i], blocks.leaf[i], blocks.time[i], weightOf(i));
	}
}

// By cell of a grid, of the selected threads and stacks.
function heatCells(side, grid) {
	const at = {from: grid.first, to: grid.first + grid.nr * grid.cellNs}, cells = new Float64Array(grid.nr);
	const metric = heatMetric(), kept = keptStacks(side), chosen = threadsOf(side) && new Set(threadsOf(side));
	const isIn = (thread, leaf) => (!chosen || chosen.has(thread)) && (!kept || kept[side.leafStack[leaf]]);
	if (isMemory(metric)) {
		addBlockTimes(side, metric, (thread, leaf, time, weight) => {
			const cell = Math.floor((time - grid.first) / grid.cellNs);
			if (cell >= 0 && cell < grid.nr && isIn(thread, leaf))
				cells[cell] += weight;
		});
	} else if (ROWS_OF[metric] === "advances") {
		spreadAdvances(side, metric, at, cells, isIn);
	} else {
		const sums = {...newBuckets(at, grid.nr), isSum: true}, parts = metric === "wall" ? ["cpu", "runq", "blocked"] : [metric];
		for (const run of side.runs) {
			if (!chosen || chosen.has(run.thread))
				bucketsOf(side, run, at, grid.nr, sums, kept);
		}
		for (const part of parts)
			sums[part].forEach((ns, cell) => { cells[cell] += ns; });
	}
	return cells;
}

// The function that has most CPU time of its own in a part of the time, and its share; or null.
function hottestIn(side, from, to) {
	const kept = keptStacks(side), threads = threadsOf(side), sums = new Map(), {samples, leafStack, stackFunction} = side;
	let all = 0;
	for (const run of side.runs) {
		if (threads && !threads.includes(run.thread))
			continue;
		for (let i = sampleAt(side, run, from); i < run.last && samples.start[i] < to; i++) {
			const stack = leafStack[samples.leaf[i]], cpu = samples.cpu[i] * partIn({from: from, to: to}, samples.start[i], samples.end[i]);
			if (!cpu || (kept && !kept[stack]))
				continue;
			all += cpu;
			addTo(sums, stackFunction[stack], cpu);
		}
	}
	const [first] = heaviest(sums);
	return first ? {label: first[0], part: first[1] / all} : null;
}

class HeatMap {
	constructor(tracks) {
		this.tracks = tracks;
		this.side = tracks.side;
		this.host = tracks.byId("heat");
		this.canvas = tracks.byId("heat-map");
		this.choice = tracks.byId("heat-column");
		this.image = element("canvas");
		this.cursor = this.anchor = -1; // cells, of the keys
		this.preview = null;	       // what is being dragged: {from, to, isBase}
		this.canvas.setAttribute("aria-label", "Heat map: arrow keys move, Enter selects, with Shift more, b: a baseline");
		this.fillChoice();
		this.listen();
	}

	fillChoice() {
		this.choice.append(new Option("", 0));
		for (const seconds of HEAT_COLUMNS_S) {
			if (this.isOffered(seconds))
				this.choice.append(new Option("column: " + offsetText(seconds * 1e9), seconds));
		}
		this.choice.addEventListener("change", () => setState({column: Number(this.choice.value)}));
	}

	isOffered(seconds) {
		const nr = seconds ? (this.tracks.to - this.tracks.from) / seconds / 1e9 : 0;
		return nr >= 2 && nr <= HEAT_COLUMNS_MAX;
	}

	// As short as columns are not too narrow.
	autoColumn(width) {
		const all = this.tracks.to - this.tracks.from, most = width / HEAT_COLUMN_PX;
		return HEAT_COLUMNS_S.find((seconds) => all / seconds / 1e9 <= most) || HEAT_COLUMNS_S[HEAT_COLUMNS_S.length - 1];
	}

	// {columnNs, rows, cellNs, first: when the first cell begins, columns, nr}. Columns of minutes begin with those of the clock.
	grid(width) {
		const {from, to} = this.tracks, columnNs = (this.isOffered(state.column) ? state.column : this.autoColumn(width)) * 1e9;
		const rows = heatRows(columnNs), startMs = columnNs >= 60e9 && this.side.data.startMs || 0;
		const offset = -(startMs % (columnNs / 1e6)) * 1e6;
		const before = Math.floor((from - offset) / columnNs), columns = Math.floor((to - 1 - offset) / columnNs) - before + 1;
		return {columnNs: columnNs, rows: rows, cellNs: columnNs / rows, first: offset + before * columnNs, columns: columns,
			nr: columns * rows};
	}

	xOf(column) {
		const {from, to} = this.tracks;
		return Math.round((this.at.first + column * this.at.columnNs - from) / (to - from) * this.width);
	}

	yOf(row) {
		return Math.round(row / this.at.rows * this.height);
	}

	cellAt(event) {
		const box = this.canvas.getBoundingClientRect(), {from, to} = this.tracks, {first, columnNs, columns, rows} = this.at;
		const inside = (part) => Math.max(0, Math.min(1 - 1e-9, part));
		const time = from + inside((event.clientX - box.left) / box.width) * (to - from);
		const column = Math.min(columns - 1, Math.floor((time - first) / columnNs));
		return this.inTime(column * rows + Math.floor(inside((event.clientY - box.top) / box.height) * rows));
	}

	// The nearest cell that the recording has a part of.
	inTime(cell) {
		const {first, cellNs} = this.at, {from, to} = this.tracks, at = (time) => Math.floor((time - first) / cellNs);
		return Math.max(at(from), Math.min(at(to - 1), cell));
	}

	// The time from one cell to another one, both included.
	timeOf(a, b) {
		const {first, cellNs} = this.at, {from, to} = this.tracks;
		return {from: Math.round(Math.max(from, first + Math.min(a, b) * cellNs)),
			to: Math.round(Math.min(to, first + (Math.max(a, b) + 1) * cellNs))};
	}

	// --- what is drawn ---

	paintCells(context, cells, most) {
		const {columns, rows, cellNs, first} = this.at, {from, to} = this.tracks, shades = [];
		for (let i = 0; i <= HEAT_SHADES; i++)
			shades.push(heatShade(i / HEAT_SHADES));
		for (let column = 0, cell = 0; column < columns; column++) {
			const x = this.xOf(column), width = Math.max(1, this.xOf(column + 1) - x);
			for (let row = 0; row < rows; row++, cell++) {
				const start = first + cell * cellNs;
				if (start + cellNs <= from || start >= to)
					continue;
				context.fillStyle = shades[Math.ceil(Math.min(1, cells[cell] / most) * HEAT_SHADES)];
				context.fillRect(x, this.yOf(row), width, this.yOf(row + 1) - this.yOf(row));
			}
		}
	}

	// Around all cells of a time, which goes down its columns.
	outline(context, {from, to}, color, dash) {
		const {first, cellNs, rows} = this.at, a = Math.floor((from - first) / cellNs), b = Math.ceil((to - first) / cellNs) - 1;
		const [left, right] = [Math.floor(a / rows), Math.floor(b / rows)];
		const top = this.yOf(a % rows), bottom = this.yOf(b % rows + 1), x = (column) => this.xOf(column);
		const path = left === right ? [[x(left), top], [x(left + 1), top], [x(left + 1), bottom], [x(left), bottom]] :
			[[x(left), top], [x(left + 1), top], [x(left + 1), 0], [x(right + 1), 0], [x(right + 1), bottom],
				[x(right), bottom], [x(right), this.height], [x(left), this.height]];
		context.beginPath();
		path.forEach(([px, py]) => context.lineTo(Math.max(1, Math.min(this.width - 1, px)), Math.max(1, Math.min(this.height - 1, py))));
		context.closePath();
		for (const [width, style, pattern] of [[4, dark() ? "#000" : "#fff", []], [2, color, dash]]) {
			context.lineWidth = width;
			context.strokeStyle = style;
			context.setLineDash(pattern);
			context.stroke();
		}
		context.setLineDash([]);
	}

	draw() {
		const scale = devicePixelRatio || 1;
		[this.width, this.height] = state.heat ? [this.canvas.clientWidth, this.canvas.clientHeight] : [0, 0];
		if (!this.width || !this.height)
			return;
		this.at = this.grid(this.width);
		this.drawImage(scale);
		const context = this.canvas.getContext("2d");
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.clearRect(0, 0, this.canvas.width, this.canvas.height);
		context.drawImage(this.image, 0, 0);
		context.scale(scale, scale);
		this.drawChosen(context);
	}

	drawImage(scale) {
		const key = keyOf("metric", "column", "focus", "only", "drop", "dropModules", "without", this.tracks.keys.threads) +
			[this.width, this.height, scale, dark()].join();
		if (this.drawn === key)
			return;
		this.drawn = key;
		this.cells = heatCells(this.side, this.at);
		this.most = this.cells.reduce((most, cell) => Math.max(most, cell), 0);
		for (const canvas of [this.image, this.canvas]) {
			canvas.width = Math.round(this.width * scale);
			canvas.height = Math.round(this.height * scale);
		}
		const context = this.image.getContext("2d");
		context.scale(scale, scale);
		this.paintCells(context, this.cells, this.most || 1);
		this.showScale();
	}

	drawChosen(context) {
		const {tracks} = this, blue = dark() ? "#8ab4f8" : "#1d4ed8", brown = dark() ? "#fbbf24" : "#92400e";
		const base = this.preview && this.preview.isBase ? this.preview : hasBaseline() ? {from: state.oldFrom, to: state.oldTo} : null;
		const range = this.preview && !this.preview.isBase ? this.preview :
			tracks.chosenFrom() === null ? null : {from: tracks.chosenFrom(), to: tracks.chosenTo()};
		const inside = (time) => ({from: Math.max(tracks.from, time.from), to: Math.min(tracks.to, time.to)});
		if (this.cursor >= 0 && document.activeElement === this.canvas)
			this.outline(context, this.timeOf(this.cursor, this.cursor), dark() ? "#fff" : "#000", []);
		if (base && inside(base).from < inside(base).to)
			this.outline(context, inside(base), brown, [4, 3]);
		if (range && inside(range).from < inside(range).to)
			this.outline(context, inside(range), blue, []);
	}

	// Beside it: what the colours and the rows say.
	showScale() {
		const {columnNs} = this.at, legend = this.tracks.byId("heat-legend"), labels = this.tracks.byId("heat-rows");
		const swatches = [0, 0.2, 0.4, 0.6, 0.8, 1].map((part) => {
			const swatch = element("i");
			swatch.style.background = heatShade(part);
			return swatch;
		});
		legend.replaceChildren("0 ", ...swatches, " " + heatText(this.most / this.at.cellNs));
		labels.replaceChildren(...Array.from({length: HEAT_LABELS}, (none, i) => {
			const label = element("span", "", "+" + offsetText(columnNs * i / HEAT_LABELS));
			label.style.top = 100 * i / HEAT_LABELS + "%";
			return label;
		}));
		this.choice.options[0].textContent = "column: " + (this.isOffered(state.column) ? "as fits" : offsetText(columnNs));
	}

	// --- the mouse and keys ---

	describe(cell) {
		const {from, to} = this.timeOf(cell, cell);
		const hottest = ROWS_OF[heatMetric()] === "samples" ? hottestIn(this.side, from, to) : null;
		return [[this.tracks.momentText(from) + "   " + heatText(this.cells[cell] / (to - from)), "numbers"],
			...(hottest ? [[(100 * hottest.part).toFixed(0) + "% of the CPU time in " + functions[hottest.label].name, "name"]] : [])];
	}

	// A second click on the same takes the range back.
	choose(a, b, isBase) {
		const time = this.timeOf(a, b), {tracks} = this;
		const [from, to] = isBase ? [state.oldFrom, state.oldTo] : [tracks.chosenFrom(), tracks.chosenTo()];
		tracks.choose(...(from === time.from && to === time.to ? [null, null] : [time.from, time.to]), isBase);
	}

	listen() {
		let start = null;
		this.canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0)
				return;
			start = {cell: this.cellAt(event), isBase: event.shiftKey && !isOfTwo()};
			this.canvas.setPointerCapture(event.pointerId);
		});
		this.canvas.addEventListener("pointermove", (event) => {
			const cell = this.cellAt(event);
			if (start && cell !== start.cell) {
				this.preview = {...this.timeOf(start.cell, cell), isBase: start.isBase};
				showTip([[lengthText(this.preview.to - this.preview.from), "numbers"]], event.clientX, event.clientY);
				this.draw();
			} else {
				showTip(this.describe(cell), event.clientX, event.clientY);
			}
		});
		this.canvas.addEventListener("pointerup", (event) => {
			const was = start;
			start = this.preview = null;
			this.cursor = this.anchor = was ? this.cellAt(event) : -1;
			if (was)
				this.choose(was.cell, this.cursor, was.isBase);
		});
		this.canvas.addEventListener("pointercancel", () => { start = this.preview = null; this.draw(); });
		this.canvas.addEventListener("pointerleave", hideTip);
		this.canvas.addEventListener("keydown", (event) => this.key(event));
		for (const kind of ["focus", "blur"])
			this.canvas.addEventListener(kind, () => this.draw());
		this.tracks.byId("show-heat").addEventListener("click", () => setState(() => ({heat: !state.heat})));
	}

	key(event) {
		const {rows, nr} = this.at, step = {ArrowDown: 1, ArrowUp: -1, ArrowRight: rows, ArrowLeft: -rows, Home: -nr, End: nr}[event.key];
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (step) {
			this.cursor = this.inTime(this.cursor < 0 ? this.cellOfRange() : this.cursor + step);
			if (!event.shiftKey || this.anchor < 0)
				this.anchor = this.cursor;
			const {from, to} = this.timeOf(this.anchor, this.cursor);
			if (event.shiftKey)
				setState({[this.tracks.keys.from]: from, [this.tracks.keys.to]: to, left: null, right: null}, true);
			say(this.describe(this.cursor).map((line) => line[0]).join(", "));
			this.draw();
		} else if ((event.key === "Enter" || event.key === " ") && this.cursor >= 0) {
			this.choose(this.cursor, this.cursor, event.shiftKey && !isOfTwo());
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	// Where the keys begin.
	cellOfRange() {
		const from = this.tracks.chosenFrom();
		return Math.floor(((from === null ? this.tracks.from : from) - this.at.first) / this.at.cellNs);
	}

	update() {
		const button = this.tracks.byId("show-heat");
		button.hidden = this.tracks.to - this.tracks.from < HEAT_LEAST_NS;
		button.setAttribute("aria-pressed", String(state.heat));
		this.host.hidden = !state.heat;
		this.choice.value = String(this.isOffered(state.column) ? state.column : 0);
		this.tracks.byId("heat-name").textContent = "heat map: " + heatMetric();
	}
}
