// SPDX-License-Identifier: GPL-2.0-or-later
// Memory over time: bands of the functions that allocate most, one upon the other, and above them the rest.
const BANDS_MAX = 8, RATE_PX = 4, STEP_PARTS = 50;
const BAND_COLORS = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#d9b13b", "#76b7b2", "#a8806a"];

// Of these metrics the chart has what was alive; of the others what was allocated or freed a second.
const ALIVE_FLAGS = {live: 1 | 2 | 4 | 8 | 16, peak: 1 | 2 | 4 | 8 | 16, leaked: 2};
const CHART_TITLES = {live: "alive", peak: "alive", leaked: "alive, of what was never freed", alloc: "allocated a second",
	allocs: "blocks allocated a second", temporary: "allocated a second and soon freed", freed: "freed a second"};

function isOfAlive() {
	return state.metric in ALIVE_FLAGS;
}

// The functions with most of the time from one moment to another.
function heaviestSites(from, to) {
	const {blocks} = sides[0], {kinds, time, gone} = blocks, labels = siteLabels(), sums = new Map();
	const weights = state.metric === "allocs" ? kinds.blocks : kinds.bytes;
	if (isOfAlive()) {
		eachBlock(ALIVE_FLAGS[state.metric], null, (i, leaf) => {
			const passed = Math.min(gone[i], to) - Math.max(time[i], from);
			if (passed > 0)
				addTo(sums, labels[leaf], weights[blocks.kind[i]] * passed);
		});
	} else {
		eachBlock(FLAG_OF[state.metric], {from: from, to: to}, (i, leaf) => addTo(sums, labels[leaf], weights[blocks.kind[i]]));
	}
	return heaviest(sums).slice(0, BANDS_MAX).map(([label]) => label);
}

// By pixel what was alive when it begins; that of the peak has the moment of the peak. `bands` has differences first.
function fillAlive(bands, bandOf, from, to, width) {
	const {blocks, data} = sides[0], labels = siteLabels(), per = (to - from) / width;
	const peak = data.peakNs, peakPixel = Math.floor((peak - from) / per);
	const slotOf = (time) => {
		const slot = Math.max(0, Math.min(width, Math.ceil((time - from) / per)));
		return slot === peakPixel + 1 && time <= peak && time > from + peakPixel * per ? peakPixel : slot;
	};
	eachBlock(ALIVE_FLAGS[state.metric], null, (i, leaf) => {
		const band = bands[bandOf(labels[leaf])], bytes = blocks.kinds.bytes[blocks.kind[i]];
		band[slotOf(blocks.time[i])] += bytes;
		band[slotOf(blocks.gone[i])] -= bytes;
	});
	for (const band of bands) {
		for (let x = 1; x < width; x++)
			band[x] += band[x - 1];
	}
}

// Blocks that lived for less than the time between two writings of rows, about a second, share rows of no length: what
// of them was alive in the mean, by pixel; none at the peak, whose blocks are all known. Or null: there are none.
const UNSEEN_NS = 1e9;

function shortLived(from, to, width) {
	const {blocks, data} = sides[0], per = (to - from) / width, sums = new Float64Array(width + 1);
	if (!blocks.unseen || !["live", "peak"].includes(state.metric))
		return null;
	const slotOf = (time) => Math.max(0, Math.min(width, Math.round((time - from) / per)));
	eachBlock(ALIVE_FLAGS[state.metric], null, (i) => {
		const time = blocks.time[i], begin = Math.max(0, time - UNSEEN_NS), bytes = blocks.kinds.bytes[blocks.kind[i]];
		const mean = bytes * Math.min(1, blocks.unseen[i] / (time - begin || 1));
		sums[slotOf(begin)] += mean;
		sums[slotOf(time)] -= mean;
	});
	for (let x = 1; x < width; x++)
		sums[x] += sums[x - 1];
	if (data.peakNs >= from && data.peakNs <= to)
		sums[Math.min(width - 1, Math.floor((data.peakNs - from) / per))] = 0;
	return sums.some((bytes) => bytes > 0.5) ? sums : null;
}

function fillRates(bands, bandOf, from, to, width) {
	const {blocks} = sides[0], labels = siteLabels(), {kinds} = blocks, isFreed = state.metric === "freed";
	const weights = state.metric === "allocs" ? kinds.blocks : kinds.bytes, seconds = (to - from) / width * RATE_PX / 1e9;
	eachBlock(FLAG_OF[state.metric], {from: from, to: to}, (i, leaf) => {
		const part = ((isFreed ? blocks.end[i] : blocks.time[i]) - from) / (to - from);
		const slot = Math.floor(Math.min(part * width, width - 1) / RATE_PX) * RATE_PX;
		bands[bandOf(labels[leaf])][slot] += weights[blocks.kind[i]] / seconds;
	});
	for (const band of bands) {
		for (let x = 1; x < width; x++)
			band[x] = x % RATE_PX ? band[x - 1] : band[x];
	}
}

// By pixel the most that all processes have resident, or null: it is not known, not wanted or not comparable.
function residentBytes(from, to, width) {
	const {resident} = sides[0], per = (to - from) / width;
	if (!resident || !state.resident || !isOfAlive())
		return null;
	const sums = new Float64Array(width);
	for (let i = 0; i < resident.time.length; i++) {
		const end = i + 1 < resident.time.length ? resident.time[i + 1] : sides[0].data.toNs;
		const last = Math.min(width - 1, Math.floor((end - from) / per));
		for (let x = Math.max(0, Math.floor((resident.time[i] - from) / per)); x <= last; x++)
			sums[x] = Math.max(sums[x], resident.bytes[i]);
	}
	return sums;
}

// {labels, bands: of each, then of the rest, and of those that lived shortly, most: of all together}
function memoryBands(from, to, width) {
	return remember("bands " + state.view, keyOf(...TREE) + [from, to, width], () => {
		const labels = heaviestSites(from, to), numbers = new Map(labels.map((label, i) => [label, i]));
		const bandOf = (label) => numbers.get(label) ?? labels.length;
		const bands = Array.from({length: labels.length + 1}, () => new Float64Array(width + 1));
		(isOfAlive() ? fillAlive : fillRates)(bands, bandOf, from, to, width);
		const short = isOfAlive() ? shortLived(from, to, width) : null;
		if (short)
			bands.push(short);
		let most = 0;
		for (let x = 0; x < width; x++)
			most = Math.max(most, bands.reduce((sum, band) => sum + band[x], 0));
		return {labels: labels, bands: bands, most: most};
	});
}

// Round amounts: of bytes powers of two.
function niceAmount(least) {
	return UNITS[state.metric] === "bytes" ? 2 ** Math.ceil(Math.log2(Math.max(least, 1))) : niceStep(least);
}

// A sheet of the selected time, in which dragging selects a part of it.
class RangeSheet extends Sheet {
	constructor(host, label) {
		super(host, label);
		this.side = sides[0];
		this.cursor = null; // {x, …}
		this.dragged = null; // {from, to} in pixels
		this.listen();
	}

	listen() {
		const {canvas} = this;
		let down = null;
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0)
				return;
			down = this.at(event).x;
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener("pointermove", (event) => {
			const {x} = this.at(event);
			if (down !== null && Math.abs(x - down) > DRAG_PX)
				this.dragged = {from: Math.max(0, Math.min(x, down)), to: Math.min(this.width, Math.max(x, down))};
			this.hover(event);
		});
		canvas.addEventListener("pointerup", (event) => {
			const {dragged} = this, was = down;
			down = this.dragged = null;
			if (dragged)
				this.choose(dragged);
			else if (was !== null)
				this.click(event);
		});
		canvas.addEventListener("pointercancel", () => { down = this.dragged = null; this.redraw(); });
		canvas.addEventListener("pointerleave", () => { this.cursor = null; hideTip(); this.redraw(); });
		canvas.addEventListener("keydown", (event) => this.key(event));
		canvas.addEventListener("blur", () => { this.cursor = null; this.redraw(); });
	}

	bounds() {
		return rangeOf(this.side) || {from: this.side.data.fromNs, to: Math.max(this.side.data.toNs, this.side.data.fromNs + 1)};
	}

	timeAt(x) {
		const {from, to} = this.bounds();
		return from + Math.max(0, Math.min(1, x / this.width)) * (to - from);
	}

	choose(pixels) {
		setState({from: Math.round(this.timeAt(pixels.from)), to: Math.round(this.timeAt(pixels.to)), left: null, right: null});
	}

	top() {
		return AXIS_PX + 2 + (this.side.data.marks.length ? MARK_PX : 0);
	}

	bottom() {
		return this.height - 2;
	}

	paintTime(context, look) {
		const {from, to} = this.bounds(), {marks} = this.side.data;
		paintTimes(context, from, to, this.width, look);
		paintMarks(context, marks, from, to, this.width, AXIS_PX, look);
		paintMarkLines(context, marks, from, to, this.width, this.top(), this.height, look);
	}

	paintCursor(context) {
		if (this.cursor) {
			context.fillStyle = dark() ? "#fff" : "#000";
			context.fillRect(this.cursor.x, this.top(), 1, this.height);
		}
		if (!this.dragged)
			return;
		context.fillStyle = "rgb(59 130 246 / 25%)";
		context.fillRect(this.dragged.from, this.top(), this.dragged.to - this.dragged.from, this.height);
	}

	describeDragged() {
		return [[timeText(this.timeAt(this.dragged.to) - this.timeAt(this.dragged.from)), "numbers"]];
	}
}

function residentColor() {
	return hsl(0, 0, 25, 80);
}

class MemoryChart extends RangeSheet {
	constructor(host) {
		const caption = element("p", "above"), sheet = element("div"), list = element("div", "band-list");
		host.append(caption, sheet, list);
		super(sheet, "Memory over time");
		this.caption = caption;
		this.list = list;
	}

	update() {
		this.caption.replaceChildren(element("span", "", CHART_TITLES[state.metric] + ", by the function that allocates"),
			...this.peakText(), this.side.data.sharesRows && ["live", "peak"].includes(state.metric) ?
				" \u00b7 exact at the peak; else of blocks that lived for less than about a second what was alive in the mean" : "");
		this.redraw();
	}

	peakText() {
		const {peakNs} = this.side.data;
		if (state.metric !== "peak" || !selectedTotal().weight)
			return [];
		return [" \u00b7 most " + (isAllSelected() ? amountText("peak", selectedTotal().weight) + " " : "") + "at " +
			secondsText(Math.round(peakNs / 1e6) * 1e6) + " s"];
	}

	// --- what is drawn ---

	yOf(amount) {
		return this.bottom() - amount / (this.shown.most * 1.05 || 1) * (this.bottom() - this.top());
	}

	colorOf(band) {
		const {labels} = this.shown;
		return band < labels.length ? BAND_COLORS[band] : band === labels.length ? grey() : hsl(55, 60, 68, 38);
	}

	nameOf(band) {
		const {labels} = this.shown;
		return band < labels.length ? labelName(labels[band]) : band === labels.length ? "the rest" :
			"blocks that lived for less than about a second, in the mean";
	}

	// By pixel the tops of bands, the lowest first.
	sums() {
		const sums = [];
		this.shown.bands.forEach((band, i) => {
			const own = sums[i] = Float64Array.from(band);
			for (let x = 0; i && x < own.length; x++)
				own[x] += sums[i - 1][x];
		});
		return sums;
	}

	isPale(band) {
		const label = this.shown.labels[band], found = matches();
		return found ? label === undefined || !isMatch(label) :
			this.shown.labels.includes(state.function) && label !== state.function;
	}

	paintBands(context) {
		for (let i = this.tops.length - 1; i >= 0; i--) {
			const top = this.tops[i], below = this.tops[i - 1];
			context.globalAlpha = this.isPale(i) ? 0.4 : 1;
			context.fillStyle = this.colorOf(i);
			context.beginPath();
			for (let x = 0; x < this.width; x++) {
				context.lineTo(x, this.yOf(top[x]));
				context.lineTo(x + 1, this.yOf(top[x]));
			}
			for (let x = this.width - 1; x >= 0; x--) {
				context.lineTo(x + 1, this.yOf(below ? below[x] : 0));
				context.lineTo(x, this.yOf(below ? below[x] : 0));
			}
			context.fill();
		}
		context.globalAlpha = 1;
	}

	paintScale(context, look) {
		const step = niceAmount(this.shown.most / 5);
		context.font = FONT;
		for (let amount = step; step > 0 && amount <= this.shown.most; amount += step) {
			const y = Math.round(this.yOf(amount)), text = amountText(state.metric, amount) + (isOfAlive() ? "" : "/s");
			context.fillStyle = look.text;
			context.globalAlpha = 0.35;
			context.fillRect(0, y, this.width, 1);
			context.globalAlpha = 0.75;
			context.fillStyle = dark() ? "#18191b" : "#ffffff";
			context.fillRect(1, y - 13, context.measureText(text).width + 5, 12);
			context.globalAlpha = 1;
			context.fillStyle = look.text;
			context.fillText(text, 3, y - 3);
		}
	}

	paintTime(context, look) {
		const {from, to} = this.bounds(), {peakNs, liveNs} = this.side.data;
		const moment = state.metric === "peak" ? peakNs : state.metric === "live" ? liveNs : null;
		const x = (moment - from) / (to - from) * this.width, isRight = x > this.width / 2;
		super.paintTime(context, look);
		if (moment === null || x < 0 || x > this.width)
			return;
		context.fillStyle = look.text;
		context.fillRect(Math.min(x, this.width - 1), this.top(), 1, this.height);
		context.textAlign = isRight ? "right" : "left";
		context.fillText(state.metric, x + (isRight ? -4 : 4), this.top() + 11);
		context.textAlign = "left";
	}

	// As steps, above what is known of its contents.
	paintResident(context) {
		const {resident} = this;
		context.strokeStyle = residentColor();
		context.lineWidth = 2;
		context.beginPath();
		for (let x = 0; x < this.width; x++) {
			if (!resident[x]) {
				context.moveTo(x + 1, this.yOf(0));
				continue;
			}
			context.lineTo(x, this.yOf(resident[x]));
			context.lineTo(x + 1, this.yOf(resident[x]));
		}
		context.stroke();
	}

	paint(context) {
		const {from, to} = this.bounds(), look = axisLook();
		const bands = memoryBands(from, to, this.width), resident = this.resident = residentBytes(from, to, this.width);
		this.shown = {...bands, most: (resident || []).reduce((most, bytes) => Math.max(most, bytes), bands.most)};
		this.tops = this.sums();
		this.paintBands(context);
		if (resident)
			this.paintResident(context);
		this.paintScale(context, look);
		this.paintTime(context, look);
		this.paintCursor(context);
		this.showList();
	}

	// The legend, whose entries choose their function.
	showList() {
		const key = keyOf(...TREE, "function", "search", "resident") + dark() + this.width;
		if (key === this.listed)
			return;
		this.listed = key;
		const {labels, bands} = this.shown, sums = new Map(memoryPicture().sites.map((site) => [site.label, site.tally]));
		const items = labels.map((label, i) => {
			const button = element("button", "key"), swatch = element("i"), tally = sums.get(label);
			swatch.style.background = this.colorOf(i);
			button.append(swatch, element("span", "name", labelName(label)),
				" " + (tally ? amountText(state.metric, tally.weight) : ""));
			button.title = labelFullName(label);
			button.setAttribute("aria-pressed", String(label === state.function));
			button.addEventListener("click", () => setState({function: label === state.function ? -1 : label}));
			return button;
		});
		const hasRest = bands[labels.length].some((amount) => amount > 0);
		this.list.replaceChildren(...this.residentKey(), ...items, ...(hasRest ? [legendItem(grey(), "the rest")] : []),
			...(bands[labels.length + 1] ? [legendItem(this.colorOf(labels.length + 1), this.nameOf(labels.length + 1))] : []));
	}

	// Takes the line away, which may be much higher than the bands, and brings it back.
	residentKey() {
		if (!this.side.resident || !isOfAlive())
			return [];
		const button = element("button", "key"), swatch = element("i", "line");
		swatch.style.background = residentColor();
		button.append(swatch, "resident, all processes");
		button.title = "what the kernel counts as resident, with code and files; shown or not";
		button.setAttribute("aria-pressed", String(state.resident));
		button.addEventListener("click", () => setState({resident: !state.resident}));
		return [button];
	}

	// --- the mouse and keys ---

	// The band at a height, or the highest one.
	bandAt(x, y) {
		const band = this.tops.findIndex((top) => y >= this.yOf(top[x]));
		return band < 0 ? -1 : band;
	}

	describe(cursor) {
		const {x, band} = cursor, {bands} = this.shown, per = isOfAlive() ? "" : "/s";
		const all = this.tops[this.tops.length - 1][x];
		const lines = [[secondsText(Math.round(this.timeAt(x) / 1000) * 1000) + " s   " + amountText(state.metric, all) + per +
			" in all", "numbers"]];
		if (band >= 0 && bands[band][x] > 0)
			lines.push([amountText(state.metric, bands[band][x]) + per + "   " +
				(100 * bands[band][x] / all).toFixed(1) + "%", ""],
			[this.nameOf(band), "name"]);
		if (this.resident && this.resident[x])
			lines.push([bytesText(this.resident[x]) + " resident", ""]);
		return lines;
	}

	hover(event) {
		const at = this.at(event), x = Math.max(0, Math.min(this.width - 1, Math.floor(at.x)));
		if (!this.shown)
			return;
		this.cursor = {x: x, band: this.bandAt(x, at.y)};
		this.canvas.style.cursor = this.cursor.band >= 0 ? "pointer" : "crosshair";
		this.redraw();
		showTip(this.dragged ? this.describeDragged() : this.describe(this.cursor), event.clientX, event.clientY);
	}

	click(event) {
		const at = this.at(event), label = this.shown.labels[this.bandAt(Math.floor(at.x), at.y)];
		this.canvas.focus({preventScroll: true});
		if (label !== undefined)
			setState({function: label});
	}

	key(event) {
		const cursor = this.cursor || {x: 0, band: -1}, step = Math.max(1, Math.round(this.width / STEP_PARTS));
		const moves = {ArrowLeft: cursor.x - step, ArrowRight: cursor.x + step, Home: 0, End: this.width - 1};
		if (event.ctrlKey || event.altKey || event.metaKey || !this.shown)
			return;
		if (event.key in moves)
			this.cursor = {...cursor, x: Math.max(0, Math.min(this.width - 1, moves[event.key]))};
		else if (event.key === "ArrowUp" || event.key === "ArrowDown")
			this.cursor = {...cursor, band: Math.max(0, Math.min(this.tops.length - 1, cursor.band + (event.key === "ArrowUp" ? 1 : -1)))};
		else if (event.key === "Enter" && this.shown.labels[cursor.band] !== undefined)
			setState({function: this.shown.labels[cursor.band]});
		else
			return;
		say(this.describe(this.cursor).map((line) => line[0]).join(", "));
		this.redraw();
		event.preventDefault();
		event.stopPropagation();
	}

	// To the next of the functions with a match.
	find(step) {
		const hits = this.shown ? this.shown.labels.filter((label) => isMatch(label)) : [];
		if (!hits.length)
			return null;
		const at = hits.indexOf(state.function), next = at < 0 ? (step > 0 ? 0 : hits.length - 1) : (at + step + hits.length) % hits.length;
		setState({function: hits[next]}, true);
		return {at: next + 1, of: hits.length};
	}

	focus() {
		this.canvas.focus();
	}
}
