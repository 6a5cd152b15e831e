// SPDX-License-Identifier: GPL-2.0-or-later
// The first sample of a thread that ends at or after a moment.
function sampleAt(side, run, time) {
	const end = side.samples.end;
	let low = run.first, high = run.last;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (end[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

function isBlocked(side, i) {
	const samples = side.samples;
	return samples.blocked[i] > samples.cpu[i] + samples.runq[i];
}

// One thread in time order: its stacks side by side. At each pixel stands the sample that was
// taken of that moment; what was blocked is pale.
class TimeChart extends Sheet {
	constructor(host) {
		super(host, "Time order");
		this.side = sides[0];
		this.view = {from: 0, to: 1};
		this.boxes = [];
		this.holders = new Map(); // by label of a frame of a holder: its thread
		this.hovered = null;
		this.focused = null; // {time, depth}: boxes are laid out anew each time
		listenToPointer(this, {
			begin: () => { this.dragFrom = {...this.view}; },
			drag: (dx) => {
				const by = -dx * (this.dragFrom.to - this.dragFrom.from) / this.width;
				this.setView(this.dragFrom.from + by, this.dragFrom.to + by);
			},
			end: () => this.keepView(), hover: (event) => this.hover(event),
			leave: () => { this.hovered = null; hideTip(); this.redraw(); },
			click: (event) => this.click(event), zoom: (by, part) => this.zoomBy(by, part),
			pan: (part) => this.panBy(part),
			menu: (event) => {
				const box = this.boxAt(this.at(event));
				if (box && box.label >= 0)
					this.click(event);
				if (box && box.label >= 0)
					showMenu(event.clientX, event.clientY, box.path.slice(0, box.depth + 1).reverse());
			},
		});
		this.canvas.addEventListener("keydown", (event) => this.key(event));
		this.canvas.addEventListener("blur", () => { this.focused = null; this.redraw(); });
		this.minimap = new Minimap(this);
		this.canvas.addEventListener("dblclick", () => {
			if (this.hovered && this.hovered.label >= 0)
				this.zoomTo(this.hovered.from, this.hovered.to);
		});
	}

	bounds() {
		return rangeOf() || {from: this.side.data.fromNs, to: this.side.data.toNs};
	}

	whole() {
		return this.bounds();
	}

	wholeKey() {
		return keyOf("from", "to") + this.thread;
	}

	// When the thread ran.
	paintWhole(context, width, height) {
		const at = this.bounds();
		if (this.run)
			paintTrack(context, bucketsOf(this.side, this.run, at, width, newBuckets(at, width)), width, height, trackColors());
	}

	update() {
		const bounds = this.bounds(), key = keyOf("from", "to", "thread", "left", "right");
		this.thread = chosenThread();
		this.run = this.side.runs[this.side.runOfThread[this.thread]];
		this.hidden = hiddenFunctions();
		this.kept = keptStacks(this.side);
		this.paths = new Map();
		if (key !== this.shown) {
			const size = bounds.to - bounds.from;
			this.shown = key;
			if (state.left === null)
				this.setView(bounds.from, bounds.to);
			else
				this.setView(bounds.from + state.left * size, bounds.from + state.right * size);
		}
		this.setContentHeight(this.top() + (this.deepest() + 2) * FRAME_PX);
		this.redraw();
	}

	// Functions of a stack, root first.
	pathOf(stack) {
		let path = this.paths.get(stack);
		if (path)
			return path;
		path = [];
		const merged = mergedModules();
		for (let at = stack; at >= 0; at = this.side.stackPrefix[at]) {
			const label = this.side.stackFunction[at];
			if (!this.hidden[label] && !isMergedAway(this.side, at, merged) && !(state.collapse && path[path.length - 1] === label))
				path.push(label);
		}
		path.reverse();
		this.paths.set(stack, path);
		return path;
	}

	// With a frame for the thread that has what this one waits for: a click goes there.
	pathAt(i) {
		const path = this.pathOf(stackOfSample(this.side, i)), holder = holderAt(this.side, i);
		if (holder < 0)
			return path;
		const label = -2 - groupId("\u2192 " + threadName(this.side, holder));
		this.holders.set(label, holder);
		return [...path, label];
	}

	deepest() {
		const depths = remember("depths", "", () => {
			const depth = new Uint16Array(this.side.nrStacks);
			for (let i = 0; i < depth.length; i++)
				depth[i] = this.side.stackPrefix[i] < 0 ? 1 : depth[this.side.stackPrefix[i]] + 1;
			return depth;
		});
		let deepest = 0;
		for (let i = this.run ? this.run.first : 0; this.run && i < this.run.last; i++)
			deepest = Math.max(deepest, depths[stackOfSample(this.side, i)]);
		return deepest;
	}

	setView(from, to) {
		const bounds = this.bounds(), all = bounds.to - bounds.from || 1;
		const size = Math.max(Math.min(to - from, all), 1000);
		const start = Math.max(bounds.from, Math.min(from, bounds.to - size));
		this.view = {from: start, to: start + size};
		this.redraw();
	}

	keepView() {
		clearTimeout(this.keeping);
		this.keeping = setTimeout(() => {
			const bounds = this.bounds(), all = bounds.to - bounds.from;
			setState({left: (this.view.from - bounds.from) / all,
				right: (this.view.to - bounds.from) / all}, true);
		}, 200);
	}

	zoomBy(by, part) {
		const at = this.view.from + (this.view.to - this.view.from) * part;
		this.setView(at - (at - this.view.from) * by, at + (this.view.to - at) * by);
		this.keepView();
	}

	panBy(part) {
		const by = (this.view.to - this.view.from) * part;
		this.setView(this.view.from + by, this.view.to + by);
		this.keepView();
	}

	zoomTo(from, to) {
		this.setView(from, to);
		this.keepView();
	}

	// Boxes [label, depth, x, width, from, to, blocked, path]: neighbours with equal callers are one.
	layOut() {
		const open = [], per = (this.view.to - this.view.from) / this.width;
		this.boxes = [];
		const close = (depth, x, time) => {
			while (open.length > depth) {
				const box = open.pop();
				box.width = x - box.x;
				box.to = time;
				this.boxes.push(box);
			}
		};
		for (let x = 0; x < this.width; x++) {
			const time = this.view.from + (x + 0.5) * per, i = sampleAt(this.side, this.run, time);
			if (i >= this.run.last || this.side.samples.start[i] > time || !this.isKept(i)) {
				close(0, x, time);
				continue;
			}
			const path = this.pathAt(i), blocked = isBlocked(this.side, i);
			let same = 0;
			while (same < path.length && same < open.length && open[same].label === path[same] &&
					open[same].blocked === blocked)
				same++;
			close(same, x, time);
			for (let depth = same; depth < path.length; depth++)
				open.push({label: path[depth], depth: depth, x: x, from: time, blocked: blocked, path: path});
		}
		close(0, this.width, this.view.to);
	}

	paint(context) {
		this.boxes = [];
		if (!this.run)
			return;
		this.layOut();
		const top = this.top() - this.host.scrollTop, look = frameLook();
		for (const box of this.boxes) {
			const y = top + box.depth * FRAME_PX;
			if (y > -FRAME_PX && y < this.height)
				drawFrame(context, look, box.label, box.x, y, box.width, box.blocked && !this.holders.has(box.label) ? 0.45 : 1);
			if (this.isFocused(box))
				outline(context, look, box.x, y, box.width, 2);
		}
		context.globalAlpha = 1;
		this.paintAxis(context);
	}

	// Room above the stacks: for times, and for marks if there are some.
	top() {
		return FRAME_PX + (this.side.data.marks.length ? MARK_PX : 0);
	}

	paintAxis(context) {
		const {from, to} = this.view, look = axisLook(), marks = this.side.data.marks;
		context.globalAlpha = 1;
		context.fillStyle = dark() ? "#18191b" : "#ffffff";
		context.fillRect(0, 0, this.width, this.top() - 1);
		paintTimes(context, from, to, this.width, look);
		paintMarks(context, marks, from, to, this.width, AXIS_PX, look);
		context.fillStyle = look.mark;
		context.globalAlpha = 0.5;
		for (const [time] of marks)
			context.fillRect((time - from) / (to - from) * this.width, this.top(), 1, this.height);
		context.globalAlpha = 1;
	}

	boxAt(at) {
		const depth = Math.floor((at.y + this.host.scrollTop - this.top()) / FRAME_PX);
		return at.y < this.top() ? null : this.boxes.find((box) =>
			box.depth === depth && at.x >= box.x && at.x < box.x + box.width) || null;
	}

	hover(event) {
		const box = this.boxAt(this.at(event));
		this.hovered = box;
		this.canvas.style.cursor = box && this.holders.has(box.label) ? "pointer" : "";
		if (box)
			showTip(this.describe(box), event.clientX, event.clientY);
		else
			hideTip();
	}

	describe(box) {
		const row = functions[box.label], time = [timeText(box.to - box.from) + "   at " +
			momentText(Math.round(box.from / 1000) * 1000) + momentUnit() + (box.blocked ? "   blocked" : ""), "numbers"];
		if (!row)
			return [time, ...describeHolderAt(this.side, this.holders.get(box.label), box.path[box.depth - 1], box.from, box.to)];
		const holder = box.path[box.depth + 1], object = waitOf(box.label);
		const held = !object ? [] : holder !== undefined ?
			describeHolderAt(this.side, this.holders.get(holder), box.label, box.from, box.to) : describeNoHolder(object);
		return [time, [row.name, "name"], ...(row.full !== row.name ? [[row.full, "full"]] : []),
			...(object ? held : [[placeOf(row), "dim"]]),
		];
	}

	click(event) {
		const box = this.boxAt(this.at(event));
		this.canvas.focus({preventScroll: true});
		if (box && this.holders.has(box.label))
			this.goToHolder(box);
		else if (box)
			setState({function: box.label});
	}

	// The thread that has what this one waits for, at the same time.
	goToHolder(box) {
		const thread = this.holders.get(box.label), run = this.side.runs[this.side.runOfThread[thread]];
		if (!run) {
			say("no sample of it");
			return;
		}
		const i = sampleAt(this.side, run, (box.from + box.to) / 2), shown = Math.min(i, run.last - 1);
		const label = this.side.stackFunction[stackOfSample(this.side, shown)];
		setState({thread: thread, function: label});
		hideTip();
		say(threadName(this.side, thread));
	}

	// --- keys ---

	isFocused(box) {
		const at = this.focused;
		return at !== null && box.depth === at.depth && box.from <= at.time && at.time < box.to;
	}

	// Of those in sight.
	boxBeside(box, dx, dy) {
		if (dy) {
			const time = this.focused.time, near = this.boxes.filter((other) =>
				other.depth === box.depth + dy && other.from < box.to && other.to > box.from);
			return near.find((other) => other.from <= time && time < other.to) || near[0];
		}
		const row = this.boxes.filter((other) => other.depth === box.depth &&
			(dx > 0 ? other.from >= box.to : other.to <= box.from));
		return row.reduce((best, other) => !best || (other.from < best.from) === dx > 0 ? other : best, undefined);
	}

	move(dx, dy) {
		const at = this.boxes.find((box) => this.isFocused(box));
		const middle = (this.view.from + this.view.to) / 2;
		const outer = this.boxes.filter((box) => box.depth === 0);
		const next = at ? this.boxBeside(at, dx, dy) : outer.find((box) => box.to > middle) || outer[0];
		if (next)
			this.focus(next);
		else if (dx)
			this.panBy(dx / 4);
	}

	// Moves to a box, brings it into sight and says what it is.
	focus(box) {
		const y = this.top() + box.depth * FRAME_PX, room = this.height - FRAME_PX;
		const middle = (box.from + box.to) / 2, size = (box.to - box.from) * this.width / 24;
		this.focused = {time: middle, depth: box.depth};
		if (box.width < 4) { // too narrow for its outline
			this.setView(middle - size / 2, middle + size / 2);
			this.keepView();
		}
		if (y - this.top() < this.host.scrollTop)
			this.host.scrollTop = y - this.top();
		else if (y > this.host.scrollTop + room)
			this.host.scrollTop = y - room;
		if (box.label >= 0)
			setState({function: box.label}, true);
		say(this.describe(box).map((line) => line[0]).join(", "));
		this.redraw();
	}

	key(event) {
		const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
		const target = this.boxes.find((box) => this.isFocused(box)) || this.hovered;
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (step && event.shiftKey)
			this.panBy(step[0] / 5);
		else if (step)
			this.move(...step);
		else if (event.key === "+" || event.key === "=" || event.key === "-")
			this.zoomBy(event.key === "-" ? 1.5 : 1 / 1.5, 0.5);
		else if (event.key === "Enter" && target && this.holders.has(target.label))
			this.goToHolder(target);
		else if (event.key === "Enter" && target)
			this.zoomTo(target.from, target.to);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	isKept(i) {
		return !this.kept || this.kept[stackOfSample(this.side, i)] === 1;
	}

	hasMatch(i) {
		return this.isKept(i) && this.pathOf(stackOfSample(this.side, i)).some(isMatch);
	}

	// The next stretch with a match: one of samples that all have one.
	find(step) {
		const starts = [];
		for (let i = this.run ? this.run.first : 0, was = false; this.run && i < this.run.last; i++) {
			const is = this.hasMatch(i);
			if (is && !was)
				starts.push(i);
			was = is;
		}
		if (!starts.length)
			return null;
		const middle = (this.view.from + this.view.to) / 2, end = this.side.samples.end;
		const size = this.view.to - this.view.from, slack = size * 1e-6 + 1;
		let next = step > 0 ? starts.findIndex((i) => end[i] > middle + slack) :
			starts.filter((i) => end[i] < middle - slack).length - 1;
		if (next < 0)
			next = step > 0 ? 0 : starts.length - 1;
		this.setView(end[starts[next]] - size / 2, end[starts[next]] + size / 2);
		this.keepView();
		return {at: next + 1, of: starts.length};
	}
}

// The thread of the time order: the one that was chosen, or the one with most samples of those
// that are selected.
function chosenThread() {
	const side = sides[0], chosen = state.threads;
	if (state.thread in side.threads && side.runOfThread[state.thread] >= 0)
		return state.thread;
	let best = -1, most = -1;
	for (const run of side.runs) {
		if ((!chosen || chosen.includes(run.thread)) && run.last - run.first > most) {
			best = run.thread;
			most = run.last - run.first;
		}
	}
	return best;
}

// What is in the order of time are states of threads, whatever the metric.
function chartNote() {
	if (isMemory(state.metric))
		return "Stacks of CPU time and waits, as in every metric: when memory was alive is in its track.";
	return ["advances", "calls"].includes(ROWS_OF[state.metric]) && state.metric !== "elapsed" ?
		"Stacks of CPU time and waits, as in every metric." : "";
}

function makeChartView(host) {
	const chart = new TimeChart(host.querySelector(".chart")), choice = byId("thread");
	for (const run of sides[0].runs)
		choice.append(new Option(threadName(sides[0], run.thread), run.thread));
	choice.addEventListener("change", () => setState({thread: Number(choice.value)}));
	return {
		update: () => { chart.update(); choice.value = String(chart.thread); byId("chart-note").textContent = chartNote(); },
		redraw: () => chart.redraw(), find: (step) => chart.find(step),
		focus: () => chart.canvas.focus(), key: (event) => chart.key(event),
	};
}
