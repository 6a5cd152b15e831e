// SPDX-License-Identifier: GPL-2.0-or-later
// Flame graphs on a canvas: of callees with the root on top, or (options.flip) of callers with the
// root at the bottom.
//
// options: label, tree(), flip, zooms (clicks zoom and stand in the address; else they choose only)
const FRAME_PX = 18, NARROW_PX = 0.4, ANIMATION_MS = 160, DRAG_PX = 4, TEXT_PX = 18;
const FONT = "12px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace";
const isPlainText = /^[ -~\u00a0-\u017f\u2026\u2192]*$/;
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
let charPx = 7.25;

// What frames look like just now.
function frameLook() {
	return {colors: functionColors(), grey: grey(), matches: matches(), text: dark() ? "#f4f4f4" : "#111",
		match: dark() ? "#a03ea0" : "#ef82ef", line: dark() ? "#fff" : "#000"};
}

// Without what it is in (`std::`), as far as that is too long, and with an ellipsis where that does not do. Names of
// one letter say nothing.
function nameFor(name, nr) {
	let rest = name;
	while (rest.length > nr && /^[\w~]+::./.test(rest))
		rest = rest.slice(rest.indexOf("::") + 2);
	return rest.length <= nr ? rest : nr < 3 ? "" : rest.slice(0, nr - 1) + "\u2026";
}

// `full` stands there where there is room for all of it.
function drawName(context, name, full, x, y, width) {
	const nr = Math.floor((width - 5) / charPx), text = full.length <= nr ? full : nameFor(name, nr);
	if (!isPlainText.test(text)) { // letters that may be wider
		context.save();
		context.beginPath();
		context.rect(x, y, width - 2, FRAME_PX);
		context.clip();
		context.fillText(text, x + 3, y + 12.5);
		context.restore();
	} else if (text) {
		context.fillText(text, x + 3, y + 12.5);
	}
}

function drawFrame(context, look, label, x, y, width, alpha, full) {
	const isFound = look.matches && label >= 0 && look.matches[label];
	context.globalAlpha = look.matches && !isFound ? alpha * 0.35 : alpha;
	context.fillStyle = isFound ? look.match : label < 0 ? look.grey : look.colors[label];
	context.fillRect(x, y, Math.max(width - 0.6, 0.4), FRAME_PX - 1);
	if (label >= 0 && label === state.function)
		outline(context, look, x, y, width, Math.min(2, width / 4));
	if (width > TEXT_PX) {
		context.fillStyle = look.text;
		drawName(context, labelName(label), full || labelName(label), x, y, width);
	}
}

function outline(context, look, x, y, width, thick) {
	context.lineWidth = thick;
	context.strokeStyle = look.line;
	context.strokeRect(x + thick / 2, y + thick / 2, Math.max(width - thick - 0.6, 0.5),
		FRAME_PX - 1 - thick);
}

// A canvas as wide and high as its scrolling host, with room below for what is to be scrolled.
class Sheet {
	constructor(host, label) {
		this.host = host;
		this.canvas = element("canvas");
		this.spacer = element("div", "spacer");
		this.context = this.canvas.getContext("2d");
		this.isWaiting = false;
		host.classList.add("sheet");
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute("role", "application");
		this.canvas.setAttribute("aria-label", label + ": arrow keys move, Enter zooms, ? for help");
		this.canvas.setAttribute("aria-describedby", "said");
		host.append(this.canvas, this.spacer);
		host.addEventListener("scroll", () => this.redraw());
		new ResizeObserver(() => this.resize()).observe(host);
	}

	resize() {
		const scale = devicePixelRatio || 1, below = this.height ? this.hiddenBelow() : 0;
		this.width = this.host.clientWidth;
		this.height = this.host.clientHeight;
		this.canvas.width = Math.round(this.width * scale);
		this.canvas.height = Math.round(this.height * scale);
		this.canvas.style.width = this.width + "px";
		this.canvas.style.height = this.height + "px";
		this.setContentHeight(this.wanted || 0);
		if (this.isUpsideDown)
			this.host.scrollTop = this.content - this.height - below;
		if (this.width && this.height)
			this.draw();
	}

	// Before it was resized. Where there is more room now the browser has scrolled to the end already.
	hiddenBelow() {
		const {scrollHeight, clientHeight, scrollTop} = this.host;
		return scrollHeight - clientHeight - scrollTop <= 1 ? 0 : Math.max(0, this.content - this.height - scrollTop);
	}

	setContentHeight(height) {
		this.wanted = height;
		this.content = Math.max(height, this.host.clientHeight);
		this.spacer.style.height = this.content - this.host.clientHeight + "px";
	}

	redraw() {
		if (!this.isWaiting)
			requestAnimationFrame(() => this.draw());
		this.isWaiting = true;
	}

	draw() {
		const scale = devicePixelRatio || 1, context = this.context;
		this.isWaiting = false;
		if (!this.width || !this.height)
			return;
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, this.width, this.height);
		context.font = FONT;
		charPx = context.measureText("MMMMMMMMMM").width / 10;
		this.paint(context);
		context.globalAlpha = 1;
		if (this.minimap)
			this.minimap.draw();
	}

	at(event) {
		const box = this.canvas.getBoundingClientRect();
		return {x: event.clientX - box.left, y: event.clientY - box.top};
	}
}

// Dragging of a sheet, and clicks that were no drags.
function listenToPointer(sheet, moves) {
	let down = null;
	const canvas = sheet.canvas;
	canvas.addEventListener("pointerdown", (event) => {
		if (event.button !== 0)
			return;
		down = {x: event.clientX, y: event.clientY, top: sheet.host.scrollTop, dragged: false};
		moves.begin();
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!down) {
			moves.hover(event);
			return;
		}
		const dx = event.clientX - down.x, dy = event.clientY - down.y;
		if (!down.dragged && Math.hypot(dx, dy) > DRAG_PX) {
			down.dragged = true;
			canvas.setPointerCapture(event.pointerId);
			hideTip();
		}
		if (down.dragged) {
			sheet.host.scrollTop = down.top - dy;
			moves.drag(dx);
		}
	});
	const up = (event) => {
		const was = down;
		down = null;
		if (was && was.dragged)
			moves.end();
		else if (was && event.type === "pointerup")
			moves.click(event);
	};
	canvas.addEventListener("pointerup", up);
	canvas.addEventListener("pointercancel", up);
	canvas.addEventListener("pointerleave", () => moves.leave());
	canvas.addEventListener("contextmenu", (event) => {
		event.preventDefault();
		moves.menu(event);
	});
	canvas.addEventListener("wheel", (event) => {
		if (event.ctrlKey || event.metaKey)
			moves.zoom(Math.exp(event.deltaY / 300), sheet.at(event).x / sheet.width);
		else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
			moves.pan((event.deltaX || event.deltaY) / sheet.width);
		else
			return; // the host scrolls
		event.preventDefault();
	}, {passive: false});
}

class FlameGraph extends Sheet {
	constructor(host, options) {
		super(host, options.label);
		this.options = options;
		this.isUpsideDown = Boolean(options.flip); // what matters is at its end
		this.skipped = options.zooms ? 0 : 1; // the root says nothing where all is of one function
		this.root = 0;
		this.view = {from: 0, to: 1};
		this.hovered = this.focused = -1;
		listenToPointer(this, {
			begin: () => { this.dragFrom = {...this.view}; },
			drag: (dx) => {
				const by = -dx * (this.dragFrom.to - this.dragFrom.from) / this.width;
				this.setView(this.dragFrom.from + by, this.dragFrom.to + by);
			},
			end: () => this.keepView(), hover: (event) => this.hover(event),
			leave: () => this.leave(), click: (event) => this.click(event),
			menu: (event) => {
				const node = this.nodeAt(this.at(event));
				if (node >= 0 && this.tree.label[node] >= 0) {
					setState({function: this.tree.label[node]}, true);
					showMenu(event.clientX, event.clientY, stackOf(this.tree, node));
				}
			},
			zoom: (by, part) => this.zoomBy(by, part),
			pan: (part) => this.panBy(part),
		});
		this.canvas.addEventListener("keydown", (event) => this.key(event));
		this.canvas.addEventListener("blur", () => { this.focused = -1; this.redraw(); });
		this.minimap = options.zooms ? new Minimap(this) : null;
	}

	whole() {
		return {from: 0, to: this.tree ? this.tree.width[0] : 0};
	}

	wholeKey() {
		return keyOf(...TREE, "invert", "colors");
	}

	// In rows as high as there is room for.
	paintWhole(context, width, height) {
		const tree = this.tree, colors = functionColors(), scale = width / (tree.width[0] || 1);
		const nr = tree.deepest + 1 - this.skipped, row = Math.min(4, height / nr);
		for (let i = 0; i < tree.nr;) {
			const size = tree.width[i] * scale, depth = tree.depth[i] - this.skipped;
			if (size < NARROW_PX || depth * row >= height) {
				i = tree.end[i];
				continue;
			}
			context.fillStyle = tree.label[i] < 0 ? grey() : colors[tree.label[i]];
			context.fillRect(tree.start[i] * scale, depth * row, Math.max(size, 0.5), row);
			i++;
		}
	}

	update() {
		const tree = this.options.tree(), isOther = tree !== this.tree;
		this.tree = tree;
		this.setContentHeight((tree.deepest + 1 - this.skipped) * FRAME_PX + 2);
		if (isOther) {
			this.hovered = this.focused = -1;
			if (this.options.flip)
				this.host.scrollTop = this.content;
		}
		this.follow(isOther);
		this.redraw();
	}

	// Goes where the address says, when that says something else than before.
	follow(isOther) {
		const place = keyOf("zoom", "left", "right");
		if (place === this.place && !isOther)
			return;
		this.place = place;
		const tree = this.tree, root = this.options.zooms ? findPath(tree, state.zoom) : 0;
		const isFree = this.options.zooms && state.left !== null;
		const from = isFree ? state.left * tree.width[0] : tree.start[root];
		const to = isFree ? state.right * tree.width[0] : tree.start[root] + tree.width[root];
		const isMove = root !== this.root && !isOther && !isFree;
		this.root = root;
		if (isMove && !isStill.matches)
			this.animate(from, to);
		else
			this.setView(from, to);
	}

	animate(from, to) {
		const was = {...this.view}, began = performance.now(), goal = {};
		this.goal = goal; // a later one replaces it
		const step = (now) => {
			const part = Math.min(1, Math.max(0, now - began) / ANIMATION_MS);
			const eased = part * (2 - part);
			if (this.goal !== goal)
				return;
			this.view = {from: was.from + (from - was.from) * eased, to: was.to + (to - was.to) * eased};
			this.draw();
			if (part < 1)
				requestAnimationFrame(step);
			else
				this.goal = null;
		};
		requestAnimationFrame(step);
	}

	setView(from, to) {
		const all = this.tree.width[0] || 1, size = Math.max(Math.min(to - from, all), all * 1e-9);
		const start = Math.max(0, Math.min(from, all - size));
		this.goal = null;
		this.view = {from: start, to: start + size};
		this.redraw();
	}

	// Once it rests, it stands in the address.
	keepView() {
		clearTimeout(this.keeping);
		this.keeping = setTimeout(() => {
			const all = this.tree.width[0];
			if (this.options.zooms && all)
				setState({left: this.view.from / all, right: this.view.to / all}, true);
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

	top(node) {
		const at = (this.tree.depth[node] - this.skipped) * FRAME_PX;
		return (this.options.flip ? this.content - at - FRAME_PX : at) - this.scrolled;
	}

	// Calls visit(node, x, width, y) for all that is to be seen.
	forVisible(visit) {
		const tree = this.tree, scale = this.width / (this.view.to - this.view.from);
		let i = 0;
		this.scrolled = this.host.scrollTop;
		while (i < tree.nr) {
			const left = (tree.start[i] - this.view.from) * scale, y = this.top(i);
			const x = Math.max(left, 0), width = Math.min(left + tree.width[i] * scale, this.width) - x;
			const isBeyond = this.options.flip ? y < -FRAME_PX : y > this.height;
			if (!(width >= NARROW_PX) || isBeyond) {
				i = tree.end[i];
				continue;
			}
			if (y > -FRAME_PX && y < this.height && tree.depth[i] >= this.skipped)
				visit(i, x, width, y);
			i++;
		}
	}

	paint(context) {
		const tree = this.tree, look = frameLook();
		if (!tree)
			return;
		this.forVisible((node, x, width, y) => {
			drawFrame(context, look, tree.label[node], x, y, width, node < this.root ? 0.55 : 1,
				width > TEXT_PX ? nodeName(tree, node) : "");
			if (node === this.hovered || node === this.focused)
				outline(context, look, x, y, width, node === this.focused ? 2 : 1);
		});
	}

	nodeAt(at) {
		let found = -1;
		this.forVisible((node, x, width, y) => {
			if (at.x >= x && at.x < x + width && at.y >= y && at.y < y + FRAME_PX)
				found = node;
		});
		return found;
	}

	hover(event) {
		const node = this.nodeAt(this.at(event));
		if (node !== this.hovered)
			this.redraw();
		this.hovered = node;
		if (node < 0)
			hideTip();
		else
			showTip(describeNode(this.tree, node, this.root), event.clientX, event.clientY);
		this.canvas.style.cursor = node < 0 ? "" : "pointer";
	}

	leave() {
		this.hovered = -1;
		hideTip();
		this.redraw();
	}

	click(event) {
		const node = this.nodeAt(this.at(event));
		this.canvas.focus({preventScroll: true});
		if (node >= 0)
			this.choose(node);
	}

	choose(node) {
		const label = this.tree.label[node], patch = label >= 0 ? {function: label} : {};
		hideTip();
		if (this.options.zooms)
			setState({...patch, zoom: pathOf(this.tree, node), left: null, right: null});
		else
			setState(patch);
	}

	// --- keys ---

	firstChild(node) {
		return node + 1 < this.tree.end[node] ? node + 1 : node;
	}

	sibling(node, step) {
		const tree = this.tree, parent = tree.parent[node];
		if (parent < 0)
			return node;
		if (step > 0)
			return tree.end[node] < tree.end[parent] ? tree.end[node] : node;
		let before = node;
		for (let i = parent + 1; i < node; i = tree.end[i])
			before = i;
		return before;
	}

	key(event) {
		const at = Math.max(this.focused, this.focused < 0 ? this.root : 0, this.skipped), tree = this.tree;
		const isUp = event.key === (this.options.flip ? "ArrowDown" : "ArrowUp");
		const isDown = event.key === (this.options.flip ? "ArrowUp" : "ArrowDown");
		if (event.ctrlKey || event.altKey || event.metaKey || !tree || tree.nr <= this.skipped)
			return;
		if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight"))
			this.panBy(event.key === "ArrowLeft" ? -0.2 : 0.2);
		else if (isUp)
			this.focus(Math.max(this.skipped, tree.parent[at]));
		else if (isDown)
			this.focus(this.focused < 0 ? at : this.firstChild(at));
		else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
			this.focus(this.sibling(at, event.key === "ArrowLeft" ? -1 : 1));
		else if (event.key === "Enter")
			this.choose(at);
		else if (event.key === "Home")
			this.focus(this.skipped);
		else if (event.key === "+" || event.key === "=" || event.key === "-")
			this.zoomBy(event.key === "-" ? 1.5 : 1 / 1.5, this.middleOf(at));
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	middleOf(node) {
		const middle = this.tree.start[node] + this.tree.width[node] / 2;
		const part = (middle - this.view.from) / (this.view.to - this.view.from);
		return part > 0 && part < 1 ? part : 0.5;
	}

	// Moves to a frame, brings it into sight and says what it is.
	focus(node) {
		this.focused = node;
		this.scrolled = this.host.scrollTop;
		const y = this.top(node);
		if (y < 0)
			this.host.scrollTop += y;
		else if (y + FRAME_PX > this.height)
			this.host.scrollTop += y + FRAME_PX - this.height;
		this.bringIn(node);
		if (this.tree.label[node] >= 0)
			setState({function: this.tree.label[node]}, true);
		say(describeNode(this.tree, node, this.root).map((line) => line[0]).join(", "));
		this.redraw();
	}

	// Sideways, if nothing of it is in sight.
	bringIn(node) {
		const start = this.tree.start[node], end = start + this.tree.width[node];
		const size = this.view.to - this.view.from;
		if (end - start > size * 1.001 || (end - start) / size * this.width < 3)
			this.setView(start - (end - start), end + (end - start));
		else if (start < this.view.from || end > this.view.to)
			this.setView((start + end - size) / 2, (start + end + size) / 2);
	}

	find(step) {
		const tree = this.tree, hits = [];
		for (let i = 0; i < tree.nr; i++) {
			if (isMatch(tree.label[i]))
				hits.push(i);
		}
		return this.goTo(hits, step);
	}

	goTo(hits, step) {
		if (!hits.length)
			return null;
		const at = hits.findIndex((node) => node >= this.focused);
		let next = step > 0 ? hits.findIndex((node) => node > this.focused) :
			at < 0 ? hits.length - 1 : at - 1;
		next = (next + hits.length) % hits.length;
		if (step > 0 && hits[hits.length - 1] <= this.focused)
			next = 0;
		this.focus(hits[next]);
		return {at: next + 1, of: hits.length};
	}
}

// --- places in trees, as the address has them ---

function wordOf(label) {
	return label >= 0 ? String(label) : "=" + labelName(label);
}

function pathOf(tree, node) {
	const words = [];
	for (; node > 0; node = tree.parent[node])
		words.unshift(wordOf(tree.label[node]));
	return words;
}

// As far as the path is there.
function findPath(tree, words) {
	let node = 0;
	for (const word of words) {
		let child = node + 1;
		while (child < tree.end[node] && wordOf(tree.label[child]) !== word)
			child = tree.end[child];
		if (child >= tree.end[node])
			break;
		node = child;
	}
	return node;
}

function makeFlameView(host) {
	const graph = new FlameGraph(host.querySelector(".graph"), {label: "Flame graph", tree: shownTree, zooms: true});
	return {
		update: () => graph.update(), redraw: () => graph.redraw(), find: (step) => graph.find(step),
		focus: () => graph.canvas.focus(), key: (event) => graph.key(event),
	};
}
