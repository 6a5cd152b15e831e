// SPDX-License-Identifier: GPL-2.0-or-later
// Timed calls: a map of when they were and how long they took, and a list of the slow ones.
const MAP_LEAST = 0.12; // of the shades: a single call is to be seen, too
const NEAR_PX = 5;

// By function {name, begun, ended, total, longest, longestAt, thread: or -1, cells: by range * nr + interval, slow: numbers of these};
// and of all slow calls {function, thread, start, length}.
function decodeSpans(data) {
	const {columns, timedCalls} = data;
	if (!timedCalls)
		return null;
	const found = timedCalls.functions.map(([name, begun, ended, total, longest, longestAt, thread]) => ({name: name, begun: begun,
		ended: ended, total: total, longest: longest, longestAt: longestAt, thread: thread - 1, cells: new Map(), slow: []}));
	const [ofCell, interval, range, nr] = ["callFunction", "callInterval", "callRange", "callNr"].map((name) => columns.ids(name));
	for (let i = 0; i < ofCell.length; i++)
		found[ofCell[i]].cells.set(range[i] * timedCalls.endsNs.length + interval[i], nr[i]);
	const [ofSlow, thread] = ["slowFunction", "slowThread"].map((name) => columns.ids(name)), start = columns.numbers("slowTime");
	for (let i = 0; i < start.length; i++) {
		start[i] += i ? start[i - 1] : 0;
		found[ofSlow[i]].slow.push(i);
	}
	return {functions: found, starts: [timedCalls.fromNs, ...timedCalls.endsNs], nr: timedCalls.endsNs.length, ranges: timedCalls.rangesNs,
		slow: {function: ofSlow, thread: thread, start: start, length: columns.numbers("slowLength")}};
}

function timedFunction() {
	const {functions: timed} = recordings[0].spans, chosen = timed[state.timed];
	return chosen || timed.reduce((best, one) => one.total > best.total ? one : best);
}

// Slow calls of the chosen function in the selected time, of selected threads.
function slowCalls() {
	const side = recordings[0], {slow} = side.spans, range = rangeOf(side), threads = threadsOf(side);
	return timedFunction().slow.filter((i) => (!threads || threads.includes(slow.thread[i] - 1)) &&
		(!range || (slow.start[i] < range.to && slow.start[i] + slow.length[i] > range.from)));
}

// The time of a call, in time order of its thread.
function showSlowCall(i) {
	const side = recordings[0], {start, length, thread} = side.spans.slow, isKnown = thread[i] && side.runOfThread[thread[i] - 1] >= 0;
	setState({...(isKnown ? onlyThread(side, thread[i] - 1) : {}), view: "chart", left: null, right: null,
		from: Math.floor(start[i]), to: Math.ceil(start[i] + length[i])});
}

// With as few digits as it needs: "10 ms", "1.19 ms".
function roundTimeText(ns) {
	const [unit, scale] = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]].find(([, size]) => ns >= size * 0.9995) || ["ns", 1];
	return Number((ns / scale).toPrecision(3)) + " " + unit;
}

function callsText(nr) {
	return countText(nr) + (Math.round(nr) === 1 ? " call" : " calls");
}

class SpanMap extends RangeSheet {
	constructor(host) {
		super(host, "Timed calls, by time and length");
		this.marked = -1; // a slow call
	}

	mark(slow) {
		this.marked = slow;
		this.redraw();
	}

	// From the shortest to the longest.
	update() {
		const timed = timedFunction(), {ranges, nr} = this.side.spans;
		[this.low, this.high] = [Infinity, 0];
		for (const key of timed.cells.keys()) {
			const [least, end] = ranges[Math.floor(key / nr)];
			this.low = Math.min(this.low, Math.max(1, least));
			this.high = Math.max(this.high, end, 2);
		}
		if (this.low >= this.high)
			[this.low, this.high] = [1, 1000];
		this.most = [...timed.cells.values()].reduce((most, calls) => Math.max(most, calls), 1);
		this.redraw();
	}

	yOf(ns) {
		return this.bottom() - Math.log(Math.max(ns, 1) / this.low) / Math.log(this.high / this.low) * (this.bottom() - this.top());
	}

	lengthAt(y) {
		return this.low * (this.high / this.low) ** ((this.bottom() - y) / (this.bottom() - this.top()));
	}

	// Of lengths; -1: no call has one like this.
	rangeAt(y) {
		const length = this.lengthAt(y);
		return this.side.spans.ranges.findIndex(([least, end]) => least <= length && length < end);
	}

	xOf(time) {
		const {from, to} = this.bounds();
		return (time - from) / (to - from) * this.width;
	}

	shadeOf(nr) {
		return heatShade(MAP_LEAST + (1 - MAP_LEAST) * (this.most > 1 ? Math.log(nr) / Math.log(this.most) : 1));
	}

	paint(context) {
		const look = axisLook();
		this.paintCells(context);
		this.paintScale(context, look);
		this.paintSlow(context, look);
		this.paintTime(context, look);
		this.paintCursor(context);
	}

	paintCells(context) {
		const {starts, nr, ranges} = this.side.spans;
		for (const [key, calls] of timedFunction().cells) {
			const [least, most] = ranges[Math.floor(key / nr)], interval = key % nr, y = Math.round(this.yOf(most));
			const x = Math.round(this.xOf(starts[interval])), end = Math.max(x + 1, Math.round(this.xOf(starts[interval + 1])));
			if (end < 0 || x > this.width)
				continue;
			context.fillStyle = this.shadeOf(calls);
			context.fillRect(x, y, end - x, Math.max(1, Math.round(this.yOf(least)) - y));
		}
	}

	// Powers of ten; of two where there are few of these.
	paintScale(context, look) {
		const {low: least, high: most} = this, isWide = most / least >= 100;
		context.font = FONT;
		for (let ns = isWide ? 10 ** Math.ceil(Math.log10(least)) : 2 ** Math.ceil(Math.log2(least)); ns <= most; ns *= isWide ? 10 : 2) {
			const y = Math.round(this.yOf(ns)), text = roundTimeText(ns);
			context.globalAlpha = 0.3;
			context.fillStyle = look.text;
			context.fillRect(0, y, this.width, 1);
			context.globalAlpha = 0.75;
			context.fillStyle = dark() ? "#18191b" : "#ffffff";
			context.fillRect(1, y - 13, context.measureText(text).width + 5, 12);
			context.globalAlpha = 1;
			context.fillStyle = look.text;
			if (y - 13 > this.top())
				context.fillText(text, 3, y - 3);
		}
	}

	boxOfSlow(i) {
		const {start, length} = this.side.spans.slow, x = this.xOf(start[i]);
		return {x: x, width: Math.max(3, this.xOf(start[i] + length[i]) - x), y: this.yOf(length[i])};
	}

	// From its begin to its end, at the height of its length.
	paintSlow(context, look) {
		context.fillStyle = trackColors().mark;
		for (const i of slowCalls()) {
			const {x, width, y} = this.boxOfSlow(i);
			context.fillRect(x, y - 1.5, width, 3);
			if (i === this.marked) {
				context.lineWidth = 2;
				context.strokeStyle = look.text;
				context.strokeRect(x - 3, y - 4.5, width + 6, 9);
			}
		}
	}

	slowAt(x, y) {
		let best = -1, least = NEAR_PX;
		for (const i of slowCalls()) {
			const box = this.boxOfSlow(i), dx = Math.max(box.x - x, x - box.x - box.width, 0), far = Math.hypot(dx, box.y - y);
			if (far < least) {
				best = i;
				least = far;
			}
		}
		return best;
	}

	intervalAt(x) {
		const {starts, nr} = this.side.spans, time = this.timeAt(x);
		let interval = 0;
		while (interval < nr - 1 && starts[interval + 1] <= time)
			interval++;
		return interval;
	}

	describe({x, y}) {
		const {starts, nr, ranges} = this.side.spans, interval = this.intervalAt(x), range = this.rangeAt(y);
		const [from, to] = [starts[interval], starts[interval + 1]].map((time) => momentText(Math.round(time / 1e6) * 1e6));
		const calls = range < 0 ? 0 : timedFunction().cells.get(range * nr + interval) || 0;
		return [[from + " to " + to + momentUnit(), "numbers"], [calls ? callsText(calls) + " of " + roundTimeText(ranges[range][0]) +
			" to " + roundTimeText(ranges[range][1]) : "no call of " + roundTimeText(this.lengthAt(y)), ""]];
	}

	hover(event) {
		const at = this.at(event), slow = this.dragged ? -1 : this.slowAt(at.x, at.y);
		this.cursor = {x: Math.max(0, Math.min(this.width - 1, at.x)), y: at.y};
		this.canvas.style.cursor = slow < 0 ? "crosshair" : "pointer";
		showTip(this.dragged ? this.describeDragged() : slow >= 0 ? describeSlow(slow) : this.describe(this.cursor),
			event.clientX, event.clientY);
		if (this.dragged)
			this.redraw();
	}

	// A slow call, or the time of the interval.
	click(event) {
		const at = this.at(event), slow = this.slowAt(at.x, at.y);
		this.canvas.focus({preventScroll: true});
		hideTip();
		if (slow >= 0)
			showSlowCall(slow);
		else
			this.chooseInterval(this.intervalAt(at.x));
	}

	chooseInterval(interval) {
		const {starts} = this.side.spans;
		setState({from: Math.round(starts[interval]), to: Math.round(starts[interval + 1]), left: null, right: null});
	}

	key(event) {
		const cursor = this.cursor || {x: 0, y: this.bottom() - 1}, step = Math.max(1, Math.round(this.width / STEP_PARTS));
		const height = (this.bottom() - this.top()) * Math.log(2) / 4 / Math.log(this.high / this.low); // a quarter of a doubling
		const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -height], ArrowDown: [0, height],
			Home: [-this.width, 0], End: [this.width, 0]}[event.key];
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (moves) {
			this.cursor = {x: Math.max(0, Math.min(this.width - 1, cursor.x + moves[0])),
				y: Math.max(this.top(), Math.min(this.bottom() - 1, cursor.y + moves[1]))};
			say(this.describe(this.cursor).map((line) => line[0]).join(", "));
			this.redraw();
		} else if (event.key === "Enter") {
			this.chooseInterval(this.intervalAt(cursor.x));
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	paintCursor(context) {
		super.paintCursor(context);
		if (!this.cursor || this.dragged)
			return;
		context.fillStyle = dark() ? "#fff" : "#000";
		context.fillRect(this.cursor.x - 5, this.cursor.y, 11, 1);
	}
}

function describeSlow(i) {
	const {start, length, thread} = recordings[0].spans.slow;
	return [[timeText(length[i]) + "   at " + momentText(Math.round(start[i] / 1000) * 1000) + momentUnit(), "numbers"],
		...(thread[i] ? [[threadName(recordings[0], thread[i] - 1), ""]] : []), ["what it did, in time order: click, or Enter", "dim"]];
}

// --- the slow calls ---

const SLOW_COLUMNS = {
	length: {title: "took", width: "92px", number: true, value: (i, slow) => slow.length[i], text: (i, slow) => timeText(slow.length[i])},
	at: {title: "at", width: "104px", number: true, value: (i, slow) => slow.start[i],
		text: (i, slow) => momentText(Math.round(slow.start[i] / 1000) * 1000) + momentUnit()},
	thread: {title: "thread", width: "minmax(140px, 1fr)", value: (i, slow) => slow.thread[i],
		text: (i, slow) => slow.thread[i] ? threadName(recordings[0], slow.thread[i] - 1) : ""},
};

class SlowTable {
	constructor(host, map) {
		this.map = map;
		this.rows = [];
		this.host = host;
		this.table = new RowTable(host, {
			label: "Slow calls", isPlain: true, columns: () => Object.entries(SLOW_COLUMNS).map(([key, column]) => ({...column, sort: key})),
			cells: (i) => Object.values(SLOW_COLUMNS).map(({text}) => ({text: text(this.rows[i], recordings[0].spans.slow)})),
			pick: (i) => this.pick(i), click: (i) => showSlowCall(this.rows[i]), open: (i) => showSlowCall(this.rows[i]),
			sortBy: (key) => this.sortBy(key), sortKey: "slowSort",
		});
	}

	pick(i) {
		this.map.mark(this.rows[i]);
		say(describeSlow(this.rows[i]).map((line) => line[0]).join(", "));
	}

	sortBy(key) {
		setState({slowSort: state.slowSort === "-" + key ? key : "-" + key});
	}

	update() {
		const {slow} = recordings[0].spans, key = state.slowSort.replace(/^-/, ""), {value} = SLOW_COLUMNS[key] || SLOW_COLUMNS.length;
		const sign = state.slowSort[0] === "-" ? -1 : 1;
		this.rows = slowCalls().sort((a, b) => sign * (value(a, slow) - value(b, slow)) || a - b);
		this.host.hidden = !this.rows.length;
		this.table.setRows(this.rows.length, this.rows.indexOf(this.map.marked));
	}
}

// What is known of the function, and what the map does not know.
function sumsOfSpan(timed, nrSlow) {
	const thread = timed.thread < 0 ? "" : " in " + threadName(recordings[0], timed.thread), open = timed.begun - timed.ended;
	return [callsText(timed.ended), ...(timed.ended ? [timeText(timed.total / timed.ended) + " each in the mean",
		"the longest " + timeText(timed.longest) + " at " + momentText(Math.round(timed.longestAt / 1000) * 1000) + momentUnit() + thread] : []),
		...(open > 0 ? [countText(open) + " without an end"] : []),
		countText(nrSlow) + " slow " + (nrSlow === 1 ? "one" : "ones") + " known one by one",
		...(state.threads ? ["the map has those of all threads"] : [])].join(" \u00b7 ");
}

function makeSpansView(host) {
	const map = new SpanMap(host.querySelector(".span-map")), list = new SlowTable(host.querySelector(".slow-calls"), map);
	const choice = byId("timed"), {functions: timed} = recordings[0].spans;
	timed.map((one, i) => i).sort((a, b) => timed[b].total - timed[a].total)
		.forEach((i) => choice.append(new Option(timed[i].name, i)));
	choice.addEventListener("change", () => setState({timed: Number(choice.value)}));
	return {
		update: () => {
			choice.value = timed.indexOf(timedFunction());
			map.update();
			list.update();
			byId("timed-sums").textContent = sumsOfSpan(timedFunction(), list.rows.length);
			byId("timed-legend").replaceChildren(legendItem(map.shadeOf(1), "1 call"), legendItem(map.shadeOf(map.most), callsText(map.most)),
				legendItem(trackColors().mark, "a slow call"));
		},
		redraw: () => { map.redraw(); list.table.setRows(list.rows.length); },
		find: () => null, focus: () => (list.rows.length ? list.host : map.canvas).focus(),
		key: (event) => list.table.key(event, true),
	};
}
