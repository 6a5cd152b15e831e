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

// Threads in time order, one or all of a process, each in a lane: its stacks side by side. At each pixel stands the
// sample that was taken of that moment; what was blocked is pale.
const LANES_OPEN = 6; // of more than these stacks are not shown at first

class TimeChart extends Sheet {
	constructor(host) {
		super(host, "Time order");
		this.side = orderedSide();
		this.view = {from: 0, to: 1};
		this.lanes = []; // {run, thread, name, row: where it begins, head: 1 if it has one, isShut, nr: of rows}
		this.made = null; // see boxes()
		[this.openLabel, this.openX, this.openSample] = [[], [], []]; // of layOut(), by depth
		this.pixels = new Pixels();
		this.holders = new Map(); // by label of a frame of a holder: its thread
		this.hovered = null;
		this.focused = null; // {time, thread, depth}: boxes are laid out anew each time
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
		return rangeOf(this.side) || {from: this.side.data.fromNs, to: this.side.data.toNs};
	}

	whole() {
		return this.bounds();
	}

	wholeKey() {
		return keyOf("from", "to", "oldFrom", "oldTo", "ofOld") + this.lanes.map((lane) => lane.thread).join();
	}

	// When the threads ran. Sleepers beside others would leave no room for those.
	paintWhole(context, width, height) {
		const at = this.bounds(), sums = newBuckets(at, width);
		for (const lane of this.lanes)
			bucketsOf(this.side, lane.run, at, width, sums);
		if (this.lanes.length > 1) {
			sums.blocked.fill(0);
			sums.most = sums.cpu.reduce((most, cpu, x) => Math.max(most, cpu + sums.runq[x]), 1);
		}
		paintTrack(context, sums, width, height, trackColors());
	}

	update() {
		this.side = orderedSide();
		const bounds = this.bounds(), key = keyOf("from", "to", "oldFrom", "oldTo", "ofOld", "thread", "process", "left", "right");
		this.hidden = hiddenFunctions();
		this.kept = keptStacks(this.side);
		this.paths = new Map();
		this.findLanes();
		if (key !== this.shown) {
			const size = bounds.to - bounds.from;
			this.shown = key;
			if (state.left === null)
				this.setView(bounds.from, bounds.to);
			else
				this.setView(bounds.from + state.left * size, bounds.from + state.right * size);
		}
		this.redraw();
	}

	findLanes() {
		const side = this.side, threads = shownThreads(side), isOne = state.process < 0;
		let row = 0;
		this.lanes = threads.map(({thread, name, short, cpu}, i) => {
			const run = side.runs[side.runOfThread[thread]], isShut = !isOne && isLaneShut(thread, i);
			const lane = {run: run, thread: thread, name: name, short: short, cpu: cpu, row: row, head: isOne ? 0 : 1,
				isShut: isShut, nr: (isOne ? 0 : 1) + (isShut ? 0 : deepestOf(side, run) + 1)};
			row += lane.nr;
			return lane;
		});
		this.setContentHeight(this.top() + (row + 1) * FRAME_PX);
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

	// Neighbours with equal callers are one box. Calls visit(label, depth, x, end, blocked, sample of the first pixel) for
	// each, a box before what is above it, and of those in rows [first, last) alone. Of a lane with a head that is a box of
	// depth -1, too, and `states` says what the thread did at which pixels.
	layOut(lane, first, last, visit) {
		const {run} = lane, per = (this.view.to - this.view.from) / this.width, {start} = this.side.samples;
		const least = Math.max(0, first - lane.row - lane.head), most = last - lane.row - lane.head, {openLabel, openX, openSample} = this;
		let nr = 0, wasBlocked = false;
		const close = (depth, x) => {
			while (nr > depth) {
				nr--;
				if (nr >= least && nr < most)
					visit(openLabel[nr], nr, openX[nr], x, wasBlocked, openSample[nr]);
			}
		};
		lane.states = [];
		if (lane.head && first <= lane.row && lane.row < last)
			visit(-1, -1, 0, this.width, false, -1);
		for (let x = 0, i = -1; x < this.width; x++) {
			const time = this.view.from + (x + 0.5) * per, before = i;
			i = sampleAt(this.side, run, time);
			const isThere = i < run.last && start[i] <= time;
			if (lane.head)
				addState(lane.states, x, isThere ? kindAt(this.side, i) : "");
			if (!isThere || lane.isShut || !this.isKept(i)) {
				close(0, x);
				i = -1;
				continue;
			}
			if (i === before)
				continue;
			const path = this.pathAt(i), blocked = isBlocked(this.side, i);
			let same = 0;
			while (blocked === wasBlocked && same < path.length && same < nr && openLabel[same] === path[same])
				same++;
			close(same, x);
			wasBlocked = blocked;
			for (; nr < path.length; nr++) {
				openLabel[nr] = path[nr];
				openX[nr] = x;
				openSample[nr] = i;
			}
		}
		close(0, this.width);
	}

	// {label, depth, x, width, from, to, blocked, path, lane, row} of what layOut() visits.
	boxOf(lane, label, depth, x, end, blocked, sample) {
		const per = (this.view.to - this.view.from) / this.width, row = lane.row + lane.head + depth;
		if (depth < 0)
			return {label: label, depth: depth, x: 0, width: this.width, ...this.view, lane: lane, row: row};
		return {label: label, depth: depth, x: x, width: end - x, from: this.view.from + (x + 0.5) * per,
			to: end === this.width ? this.view.to : this.view.from + (end + 0.5) * per, blocked: blocked,
			path: this.pathAt(sample), lane: lane, row: row};
	}

	// Those of lanes in sight and beside them, whether they are in sight or not.
	get boxes() {
		if (!this.made) {
			this.made = [];
			for (const lane of this.nearLanes())
				this.layOut(lane, lane.row, lane.row + lane.nr, (...box) => this.made.push(this.boxOf(lane, ...box)));
		}
		return this.made;
	}

	yOf(row) {
		return this.top() + row * FRAME_PX - this.scrolled;
	}

	// Lanes in sight, and those beside them: keys go there, however far it is.
	nearLanes() {
		const isVisible = (lane) => lane && this.yOf(lane.row + lane.nr) > 0 && this.yOf(lane.row) < this.height;
		return this.lanes.filter((lane, i) => [this.lanes[i - 1], lane, this.lanes[i + 1]].some(isVisible));
	}

	redraw() {
		this.made = null;
		super.redraw();
	}

	paint(context) {
		const look = frameLook(), wide = [], {pixels} = this;
		this.made = null;
		this.scrolled = this.host.scrollTop;
		const first = Math.floor(this.scrolled / FRAME_PX), last = Math.ceil((this.scrolled + this.height - this.top()) / FRAME_PX);
		const lanes = this.lanes.filter((lane) => lane.row < last && lane.row + lane.nr > first);
		pixels.begin(this.canvas, context, look);
		for (const lane of lanes) {
			this.layOut(lane, first, last, (label, depth, x, end, blocked) => {
				const y = this.top() + (lane.row + lane.head + depth) * FRAME_PX - this.scrolled, width = end - x;
				if (width < NARROW_BOX_PX && label >= 0 && label !== state.function)
					pixels.add(label, x, y, width, blocked);
				else if (depth >= 0)
					wide.push(label, x, y, width, blocked && !this.holders.has(label) ? 0.45 : 1);
			});
		}
		pixels.put(context);
		for (let i = 0; i < wide.length; i += 5)
			drawFrame(context, look, wide[i], wide[i + 1], wide[i + 2], wide[i + 3], wide[i + 4]);
		lanes.filter((lane) => lane.head && lane.row >= first).forEach((lane) => this.paintHead(context, lane, this.yOf(lane.row)));
		const focused = this.focused && this.boxes.find((box) => this.isFocused(box));
		if (focused)
			outline(context, look, focused.x, this.yOf(focused.row), focused.width, 2);
		this.paintArrow(context, look);
		this.paintAxis(context);
	}

	// What the thread did, and its name above that.
	paintHead(context, lane, y) {
		const colors = trackColors(), back = dark() ? "#18191b" : "#ffffff";
		context.globalAlpha = lane.isShut ? 0.8 : 0.5;
		for (const {kind, x, width} of lane.states) {
			context.fillStyle = colors[kind] || back;
			context.fillRect(x, y + 1, width, FRAME_PX - 2);
		}
		const text = (lane.isShut ? "\u25b8 " : "\u25be ") + lane.short + "   CPU " + timeText(lane.cpu);
		context.globalAlpha = 1;
		context.fillStyle = back;
		context.fillRect(2, y + 2, context.measureText(text).width + 6, FRAME_PX - 4);
		context.fillStyle = dark() ? "#f4f4f4" : "#111";
		context.fillText(text, 5, y + 12.5);
	}

	// From a frame of a holder below the cursor to the lane of that thread, at the end of the wait.
	paintArrow(context, look) {
		const box = this.hovered, lane = box && this.lanes.find((one) => one.thread === this.holders.get(box.label));
		if (!lane || box.lane === lane)
			return;
		const x = box.x + box.width - 1, from = this.yOf(box.row) + FRAME_PX / 2, to = this.yOf(lane.row) + FRAME_PX / 2;
		const down = to > from ? 5 : -5;
		context.strokeStyle = look.line;
		context.lineWidth = 2;
		context.beginPath();
		context.moveTo(x, from);
		context.lineTo(x, to);
		context.moveTo(x - 4, to - down);
		context.lineTo(x, to);
		context.lineTo(x + 4, to - down);
		context.stroke();
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
		paintMarkLines(context, marks, from, to, this.width, this.top(), this.height, look);
	}

	boxAt(at) {
		const row = Math.floor((at.y + this.host.scrollTop - this.top()) / FRAME_PX);
		const lane = at.y < this.top() ? undefined : this.lanes.find((one) => row >= one.row && row < one.row + one.nr);
		let found = null;
		if (lane) {
			this.layOut(lane, row, row + 1, (label, depth, x, end, blocked, sample) => {
				if (at.x >= x && at.x < end)
					found = this.boxOf(lane, label, depth, x, end, blocked, sample);
			});
		}
		return found;
	}

	hover(event) {
		const box = this.boxAt(this.at(event)), isArrow = box && this.holders.has(box.label);
		if (isArrow || (this.hovered && this.holders.has(this.hovered.label)))
			this.redraw();
		this.hovered = box;
		this.canvas.style.cursor = box && (isArrow || box.depth < 0) ? "pointer" : "";
		if (box)
			showTip(this.describe(box), event.clientX, event.clientY);
		else
			hideTip();
	}

	describeHead(lane) {
		return [["CPU " + timeText(lane.cpu), "numbers"], [lane.name, ""],
			[(lane.isShut ? "shows" : "hides") + " its stacks: click, or Enter", "dim"]];
	}

	describe(box) {
		if (box.depth < 0)
			return this.describeHead(box.lane);
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
		if (box)
			this.choose(box);
	}

	choose(box) {
		if (box.depth < 0)
			this.shut(box.lane, !box.lane.isShut);
		else if (this.holders.has(box.label))
			this.goToHolder(box);
		else
			setState({function: box.label});
	}

	shut(lane, is) {
		const shut = new Set(this.lanes.filter((one) => one.isShut).map((one) => one.thread));
		if (is)
			shut.add(lane.thread);
		else
			shut.delete(lane.thread);
		setState({shut: [...shut]});
	}

	// The thread that has what this one waits for, at the same time.
	goToHolder(box) {
		const thread = this.holders.get(box.label), run = this.side.runs[this.side.runOfThread[thread]];
		const lane = this.lanes.find((one) => one.thread === thread);
		if (!run) {
			say("no sample of it");
			return;
		}
		const i = sampleAt(this.side, run, (box.from + box.to) / 2), shown = Math.min(i, run.last - 1);
		const label = this.side.stackFunction[stackOfSample(this.side, shown)];
		if (lane && lane.isShut)
			this.shut(lane, false);
		setState(lane ? {function: label} : {...onlyThread(this.side, thread), function: label});
		if (lane)
			this.reveal(lane);
		hideTip();
		say(threadName(this.side, thread));
	}

	// As much of it as there is room for.
	reveal({thread}) {
		const lane = this.lanes.find((one) => one.thread === thread), room = this.height - this.top();
		const top = lane.row * FRAME_PX, end = top + lane.nr * FRAME_PX;
		this.host.scrollTop = Math.min(top, Math.max(this.host.scrollTop, end - room));
	}

	// --- keys ---

	isFocused(box) {
		const at = this.focused;
		return at !== null && box.lane.thread === at.thread && box.depth === at.depth && box.from <= at.time && at.time < box.to;
	}

	// In sight: to the left or right, or the nearest row above or below that has one then.
	boxBeside(box, dx, dy) {
		if (dy) {
			const time = this.focused.time, beyond = this.boxes.filter((other) => (other.row - box.row) * dy > 0 &&
				(box.depth < 0 ? other.from <= time && time < other.to : other.from < box.to && other.to > box.from));
			const row = dy * beyond.reduce((least, other) => Math.min(least, other.row * dy), Infinity);
			const near = beyond.filter((other) => other.row === row);
			return near.find((other) => other.from <= time && time < other.to) || near[0];
		}
		const row = this.boxes.filter((other) => other.row === box.row &&
			(dx > 0 ? other.from >= box.to : other.to <= box.from));
		return row.reduce((best, other) => !best || (other.from < best.from) === dx > 0 ? other : best, undefined);
	}

	move(dx, dy) {
		const at = this.boxes.find((box) => this.isFocused(box));
		const middle = (this.view.from + this.view.to) / 2;
		const outer = this.boxes.filter((box) => box.depth === 0);
		const next = at ? this.boxBeside(at, dx, dy) : outer.find((box) => box.to > middle) || outer[0] || this.boxes[0];
		if (next)
			this.focus(next);
		else if (dx)
			this.panBy(dx / 4);
	}

	// Moves to a box, brings it into sight and says what it is.
	focus(box) {
		const y = this.top() + box.row * FRAME_PX, room = this.height - FRAME_PX, isHead = box.depth < 0;
		const middle = (box.from + box.to) / 2, size = (box.to - box.from) * this.width / 24;
		this.focused = {time: isHead && this.focused ? this.focused.time : middle, thread: box.lane.thread, depth: box.depth};
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
		else if (event.key === "Enter" && target && (target.depth < 0 || this.holders.has(target.label)))
			this.choose(target);
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

	// Stretches of samples that all have a match: [end of the first one, lane], in order of time.
	stretches() {
		const found = [], {end} = this.side.samples;
		for (const lane of this.lanes) {
			for (let i = lane.run.first, was = false; i < lane.run.last; i++) {
				const is = this.hasMatch(i);
				if (is && !was)
					found.push([end[i], lane]);
				was = is;
			}
		}
		return this.lanes.length < 2 ? found : found.sort((a, b) => a[0] - b[0]);
	}

	find(step) {
		const found = this.stretches(), nr = found.length;
		if (!nr)
			return null;
		const middle = (this.view.from + this.view.to) / 2, size = this.view.to - this.view.from, slack = size * 1e-6 + 1;
		let next = step > 0 ? found.findIndex(([time]) => time > middle + slack) :
			found.filter(([time]) => time < middle - slack).length - 1;
		if (next < 0)
			next = step > 0 ? 0 : nr - 1;
		const [time, lane] = found[next];
		this.setView(time - size / 2, time + size / 2);
		this.keepView();
		if (lane.isShut)
			this.shut(lane, false);
		if (lane.head)
			this.reveal(lane);
		return {at: next + 1, of: nr};
	}
}

// Boxes without a name have no gap, and are written as pixels: there may be one for each pixel of each row.
const NARROW_BOX_PX = 5;

class Pixels {
	begin(canvas, context, look) {
		const {width, height} = canvas;
		if (!this.image || this.image.width !== width || this.image.height !== height) {
			this.image = context.createImageData(width, height);
			this.words = new Uint32Array(this.image.data.buffer);
		} else {
			this.words.fill(0);
		}
		if (this.colors !== look.colors || this.matches !== look.matches || this.match !== look.match) {
			this.known = new Uint32Array(2 * functions.length); // by function, and is it blocked?
			[this.colors, this.matches, this.match] = [look.colors, look.matches, look.match];
		}
		this.context = context;
		this.scale = devicePixelRatio || 1;
		this.rows = []; // by first line: behind the last one
	}

	// As words in memory, where red comes first. The context says what a colour is in numbers.
	colorOf(label, blocked) {
		const at = 2 * label + (blocked ? 1 : 0);
		if (!this.known[at]) {
			const isFound = this.matches && this.matches[label], {context} = this;
			context.fillStyle = isFound ? this.match : this.colors[label];
			const rgb = parseInt(context.fillStyle.slice(1), 16);
			const alpha = (blocked ? 0.45 : 1) * (this.matches && !isFound ? 0.35 : 1);
			const bytes = [rgb >> 16, rgb >> 8 & 255, rgb & 255, Math.round(255 * alpha)];
			this.known[at] = new Uint32Array(Uint8Array.from(bytes).buffer)[0];
		}
		return this.known[at];
	}

	// Into the first line of its row alone: all are alike.
	add(label, x, y, width, blocked) {
		const {words, scale, image} = this, top = Math.max(0, Math.round(y * scale));
		const bottom = Math.min(image.height, Math.round((y + FRAME_PX - 1) * scale));
		if (top >= bottom)
			return;
		const left = Math.round(x * scale), end = top * image.width + Math.round((x + width) * scale), color = this.colorOf(label, blocked);
		this.rows[top] = bottom;
		for (let i = top * image.width + left; i < end; i++)
			words[i] = color;
	}

	put(context) {
		const {words, image: {width}} = this;
		this.rows.forEach((bottom, top) => {
			for (let line = top + 1; line < bottom; line++)
				words.copyWithin(line * width, top * width, (top + 1) * width);
		});
		context.putImageData(this.image, 0, 0);
	}
}

// What of the samples that a pixel stands for is most.
function kindAt(side, i) {
	const {cpu, runq} = side.samples;
	return isBlocked(side, i) ? "blocked" : cpu[i] >= runq[i] ? "cpu" : "runq";
}

function addState(states, x, kind) {
	const last = states[states.length - 1];
	if (last && last.kind === kind)
		last.width++;
	else
		states.push({kind: kind, x: x, width: 1});
}

function isLaneShut(thread, i) {
	return state.shut ? state.shut.includes(thread) : i >= LANES_OPEN;
}

// How many frames the deepest stack of a thread has.
const deepest = new WeakMap();

function deepestOf(side, run) {
	const depths = remember("depths " + recordings.indexOf(side), "", () => {
		const depth = new Uint16Array(side.nrStacks);
		for (let i = 0; i < depth.length; i++)
			depth[i] = side.stackPrefix[i] < 0 ? 1 : depth[side.stackPrefix[i]] + 1;
		return depth;
	});
	if (!deepest.has(run)) {
		let most = 0;
		for (let i = run.first; i < run.last; i++)
			most = Math.max(most, depths[stackOfSample(side, i)]);
		deepest.set(run, most);
	}
	return deepest.get(run);
}

// What the address says of a thread alone, and of all threads of a process; of two recordings in either of them.
function onlyThread(side, thread) {
	return {thread: thread, process: -1, ...inOrderOf(side)};
}

function allOfProcess(side, process) {
	return {thread: -1, process: process, ...inOrderOf(side)};
}

function inOrderOf(side) {
	const isOld = recordings.indexOf(side) > 0;
	return isOld === state.ofOld ? {} : {ofOld: isOld, shut: null};
}

// The recording that is shown in time order.
function orderedSide() {
	return recordings[state.ofOld && isOfTwo() ? 1 : 0];
}

// The thread of the time order: the one that was chosen, or the one with most samples of those
// that are selected.
function chosenThread() {
	const side = orderedSide(), chosen = threadsOf(side);
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

// Rows of the list of threads, in its order: the chosen thread, or those of the chosen process that are selected.
function shownThreads(side) {
	const {list} = tracks[recordings.indexOf(side)], rows = list.threads.filter((row) => list.isChosen(row.thread) && side.threads[row.thread][0] === state.process);
	if (state.process >= 0)
		return rows.sort(TRACK_ORDERS[state.trackSort] || TRACK_ORDERS.cpu);
	return list.threads.filter((row) => row.thread === chosenThread());
}

// What is in the order of time are states of threads, whatever the metric.
function chartNote() {
	return ["advances", "calls"].includes(ROWS_OF[state.metric]) && state.metric !== "elapsed" ?
		"Stacks of CPU time and waits, as in every metric." : "";
}

// Threads by process, and before those of each all of them. `word` begins their values, and `name` their names.
function fillThreads(choice, side, word, before) {
	const byProcess = new Map();
	for (const run of side.runs) {
		const process = side.threads[run.thread][0];
		byProcess.set(process, [...(byProcess.get(process) || []), run.thread]);
	}
	for (const [process, threads] of byProcess) {
		const [name] = side.processes[process], group = element("optgroup");
		group.label = before + name + " (" + processIds(side, process) + ")";
		if (threads.length > 1)
			group.append(new Option(before + "all " + threads.length + " threads of " + name, word + "process " + process));
		group.append(...threads.map((thread) => new Option(before + threadName(side, thread), word + thread)));
		choice.append(...(threads.length > 1 ? [group] : group.children));
	}
}

function makeChartView(host) {
	const chart = new TimeChart(host.querySelector(".chart")), choice = byId("thread");
	recordings.forEach((side, i) => fillThreads(choice, side, i ? "old " : "", isOfTwo() ? sideNames()[i] + ": " : ""));
	choice.addEventListener("change", () => {
		const words = choice.value.split(" "), side = recordings[words[0] === "old" ? 1 : 0], number = Number(words[words.length - 1]);
		setState((words.includes("process") ? allOfProcess : onlyThread)(side, number));
	});
	return {
		update: () => {
			chart.update();
			choice.value = (recordings.indexOf(orderedSide()) ? "old " : "") +
				(state.process >= 0 ? "process " + state.process : chosenThread());
			byId("chart-note").textContent = chartNote();
		},
		redraw: () => chart.redraw(), find: (step) => chart.find(step),
		focus: () => chart.canvas.focus(), key: (event) => chart.key(event),
	};
}
