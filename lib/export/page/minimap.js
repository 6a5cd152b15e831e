// SPDX-License-Identifier: GPL-2.0-or-later
// The whole of a graph, small, below it while only a part is in sight: dragging moves that part.
//
// graph: view {from, to}, whole() → {from, to}, wholeKey(), paintWhole(context, width, height), setView(from, to), keepView()
const MINIMAP_PX = 30;

class Minimap {
	constructor(graph) {
		this.graph = graph;
		this.box = element("div", "minimap");
		this.canvas = element("canvas");
		this.image = element("canvas");
		this.box.hidden = true;
		this.box.tabIndex = 0;
		this.box.title = "all of it: drag to move what is in sight";
		this.box.setAttribute("role", "scrollbar");
		this.box.setAttribute("aria-orientation", "horizontal");
		this.box.setAttribute("aria-label", "part of the graph that is in sight");
		this.box.setAttribute("aria-controls", graph.host.id = graph.host.id || "graph" + nrTables++);
		this.box.setAttribute("aria-valuemin", 0);
		this.box.setAttribute("aria-valuemax", 100);
		this.box.append(this.canvas);
		graph.host.after(this.box);
		this.listen();
	}

	listen() {
		let grip = null; // where in the part it is held, from 0 to 1
		const at = (event) => {
			const box = this.canvas.getBoundingClientRect(), all = this.graph.whole();
			return all.from + (event.clientX - box.left) / box.width * (all.to - all.from);
		};
		const move = (event) => {
			const {from, to} = this.graph.view, size = to - from, start = at(event) - size * grip;
			this.graph.setView(start, start + size);
		};
		this.canvas.addEventListener("pointerdown", (event) => {
			const {from, to} = this.graph.view, part = (at(event) - from) / (to - from);
			grip = part >= 0 && part <= 1 ? part : 0.5;
			this.canvas.setPointerCapture(event.pointerId);
			move(event);
		});
		this.canvas.addEventListener("pointermove", (event) => {
			if (grip !== null)
				move(event);
		});
		for (const kind of ["pointerup", "pointercancel"])
			this.canvas.addEventListener(kind, () => { grip = null; this.graph.keepView(); });
		this.box.addEventListener("keydown", (event) => this.key(event));
	}

	key(event) {
		const {from, to} = this.graph.view, all = this.graph.whole(), size = to - from;
		const start = {ArrowLeft: from - size / 5, ArrowRight: from + size / 5, Home: all.from, End: all.to - size}[event.key];
		if (start === undefined || event.ctrlKey || event.altKey || event.metaKey)
			return;
		this.graph.setView(start, start + size);
		this.graph.keepView();
		event.preventDefault();
		event.stopPropagation();
	}

	drawWhole(width, scale) {
		const key = this.graph.wholeKey() + width + " " + scale + dark();
		if (this.drawn === key)
			return;
		this.drawn = key;
		for (const canvas of [this.image, this.canvas]) {
			canvas.width = Math.round(width * scale);
			canvas.height = Math.round(MINIMAP_PX * scale);
		}
		const context = this.image.getContext("2d");
		context.scale(scale, scale);
		this.graph.paintWhole(context, width, MINIMAP_PX);
	}

	draw() {
		const {from, to} = this.graph.view, all = this.graph.whole(), size = all.to - all.from;
		this.box.hidden = !(size > 0 && to - from < size * 0.999);
		const width = this.box.hidden ? 0 : this.canvas.clientWidth, scale = devicePixelRatio || 1;
		if (!width)
			return;
		this.drawWhole(width, scale);
		const context = this.canvas.getContext("2d"), left = (from - all.from) / size * width;
		const right = Math.max(left + 2, (to - all.from) / size * width);
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.clearRect(0, 0, this.canvas.width, this.canvas.height);
		context.drawImage(this.image, 0, 0);
		context.scale(scale, scale);
		context.fillStyle = dark() ? "rgb(24 25 27 / 68%)" : "rgb(255 255 255 / 68%)";
		context.fillRect(0, 0, left, MINIMAP_PX);
		context.fillRect(right, 0, width - right, MINIMAP_PX);
		context.strokeStyle = dark() ? "#8ab4f8" : "#1a56b0";
		context.lineWidth = 2;
		context.strokeRect(left + 1, 1, Math.max(right - left - 2, 1), MINIMAP_PX - 2);
		this.box.setAttribute("aria-valuenow", Math.round(100 * Math.min(1, (from - all.from) / (size - (to - from)))));
	}
}
