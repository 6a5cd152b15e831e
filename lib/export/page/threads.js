// SPDX-License-Identifier: GPL-2.0-or-later
// The tracks of threads: those of a process below it, where it has several. Processes fold, and all are in the
// order of CPU time, begin or name.
const KEPT_THREADS = 64; // as many have their sums by pixel kept, in sight or not
const FOLD_ROWS = 40;	 // more than these: processes are folded at first
const INDENT_PX = 16, LIST_PX = 140, LIST_LEAST_PX = 41;

const TRACK_ORDERS = {
	cpu: (a, b) => b.cpu - a.cpu || b.nr - a.nr,
	start: (a, b) => a.start - b.start || b.cpu - a.cpu,
	name: (a, b) => a.name.localeCompare(b.name, "en", {numeric: true}) || a.start - b.start,
};

// A thread that executes a program of the same name is another row, with the same ids.
function startText(row) {
	return " from " + momentText(Math.round(row.start / 1000) * 1000) + momentUnit();
}

class ThreadList {
	constructor(tracks, host) {
		this.tracks = tracks;
		this.side = tracks.side;
		this.keys = tracks.keys;
		this.host = host;
		this.body = element("div", "body");
		host.append(this.body);
		this.findAll();
		this.found = null; // those that match what is searched for, or null: all
		this.host.hidden = this.threads.length < 2;
		this.listRows();
	}

	// Most of the wall time first would put sleepers on top: it is CPU time, then samples.
	findAll() {
		const side = this.side;
		this.threads = side.runs.map((run) => ({
			thread: run.thread, run: run, cpu: run.cpu, nr: run.last - run.first, start: run.start,
			name: threadName(side, run.thread),
		})).sort(TRACK_ORDERS.cpu);
		const byProcess = new Map();
		for (const row of this.threads) {
			const process = side.threads[row.thread][0];
			byProcess.set(process, [...(byProcess.get(process) || []), row]);
		}
		this.processes = byProcess.size < 2 ? [] : [...byProcess].filter(([, rows]) => rows.length > 1)
			.map(([process, rows]) => this.processRow(process, rows));
		this.nameThreads(byProcess.size);
	}

	processRow(process, rows) {
		const [name, pid] = this.side.processes[process], sum = (key) => rows.reduce((all, row) => all + row[key], 0);
		const made = {process: process, rows: rows, cpu: sum("cpu"), nr: sum("nr"), start: Math.min(...rows.map((row) => row.start)),
			name: name + " (" + processIds(this.side, process) + ")", short: name + " " + pid};
		for (const row of rows)
			row.above = made;
		return made;
	}

	// As short as tells the threads apart: with the process, or an id, where there are several of a name.
	nameThreads(nrProcesses) {
		const side = this.side, processes = new Set(this.threads.map((row) => side.threads[row.thread][0]));
		const called = [...processes].map((process) => side.processes[process][0]), count = new Map(), names = new Map();
		const isTwin = (name) => called.indexOf(name) !== called.lastIndexOf(name);
		for (const row of this.threads) {
			const [process, name] = side.threads[row.thread], [processName, pid, , unseen] = side.processes[process];
			const id = pid || (unseen ? "\u00d7" + countText(unseen) : "short-lived");
			const prefix = nrProcesses < 2 || row.above ? "" : processName + (isTwin(processName) ? " " + id : "");
			const isOwn = !name || name === processName;
			row.short = !prefix ? name || processName : isOwn ? prefix : prefix + "/" + name;
			row.twins = (row.above ? row.above.process : "") + " " + row.short;
			count.set(row.twins, (count.get(row.twins) || 0) + 1);
			names.set(row.name, (names.get(row.name) || 0) + 1);
		}
		for (const row of this.threads)
			row.short += names.get(row.name) > 1 ? startText(row) : count.get(row.twins) > 1 ? " " + side.threads[row.thread][2] : "";
		for (const row of this.threads)
			row.name += names.get(row.name) > 1 ? startText(row) : "";
	}

	isFolded(row) {
		if (this.found)
			return false;
		const folded = state[this.keys.folded];
		return folded ? folded.includes(row.process) : this.threads.length + this.processes.length > FOLD_ROWS;
	}

	// The rows in their order; those of a process below it.
	listRows() {
		const order = TRACK_ORDERS[state.trackSort] || TRACK_ORDERS.cpu;
		const isFound = (row) => !this.found || this.found.has(row.thread);
		const outer = [...this.processes.filter((row) => row.rows.some(isFound)),
			...this.threads.filter((row) => !row.above && isFound(row))].sort(order);
		this.listed = outer.flatMap((row) => !row.rows || this.isFolded(row) ? [row] :
			[row, ...row.rows.filter(isFound).sort(order)]);
		this.listed.forEach((row, i) => { row.top = i * TRACK_PX; });
		this.body.style.height = this.listed.length * TRACK_PX + "px";
		this.shown = keyOf(this.keys.folded, "trackSort");
	}

	// Selects the threads whose name matches, and lists them alone.
	find(text) {
		const pattern = regexOf(text), found = this.threads.filter((row) => !pattern || pattern.test(row.name));
		const isWrong = text !== "" && (!pattern || !found.length), isAll = found.length === this.threads.length;
		this.tracks.byId("thread-search").setAttribute("aria-invalid", String(isWrong));
		if (isWrong)
			return;
		this.found = isAll ? null : new Set(found.map((row) => row.thread));
		this.listRows();
		this.host.scrollTop = 0;
		setState({[this.keys.threads]: isAll ? null : [...this.found], thread: -1}, true);
	}

	isChosen(thread) {
		const chosen = state[this.keys.threads];
		return !chosen || chosen.includes(thread);
	}

	// More or less of them; or those alone.
	toggle(threads, isAlone) {
		const chosen = new Set(isAlone ? [] : state[this.keys.threads] || this.threads.map((row) => row.thread));
		const isOn = !isAlone && threads.every((thread) => chosen.has(thread));
		for (const thread of threads) {
			if (isOn)
				chosen.delete(thread);
			else
				chosen.add(thread);
		}
		setState({[this.keys.threads]: chosen.size === this.threads.length || !chosen.size ? null : [...chosen], thread: -1});
	}

	// Opens or closes a process; is_folded: what it is to be, if not the other.
	fold(row, isFolded) {
		const folded = new Set(this.processes.filter((other) => this.isFolded(other)).map((other) => other.process));
		if (isFolded === undefined ? folded.has(row.process) : !isFolded)
			folded.delete(row.process);
		else
			folded.add(row.process);
		setState({[this.keys.folded]: [...folded]});
	}

	// --- what is drawn ---

	sumThread(row, width) {
		if (!row.sumsAt || row.sumsAt.width !== width)
			row.sumsAt = {width: width, sums: bucketsOf(this.side, row.run, this.tracks, width, newBuckets(this.tracks, width))};
		return row.sumsAt.sums;
	}

	// Of several threads. Sleepers would leave no room for what runs.
	sumRows(rows, width) {
		const buckets = newBuckets(this.tracks, width), isKept = this.threads.length <= KEPT_THREADS;
		for (const row of rows) {
			if (!isKept) {
				bucketsOf(this.side, row.run, this.tracks, width, buckets);
				continue;
			}
			const own = this.sumThread(row, width);
			for (let x = 0; x < width; x++) {
				buckets.cpu[x] += own.cpu[x];
				buckets.runq[x] += own.runq[x];
			}
		}
		let most = 0;
		for (let x = 0; x < width; x++)
			most = Math.max(most, buckets.cpu[x] + buckets.runq[x]);
		buckets.blocked.fill(0);
		buckets.most = most || 1;
		return buckets;
	}

	draw() {
		if (this.host.hidden || !this.host.clientHeight)
			return;
		const first = Math.max(0, Math.floor(this.host.scrollTop / TRACK_PX) - 2);
		const last = Math.min(this.listed.length, first + Math.ceil(this.host.clientHeight / TRACK_PX) + 4);
		const rows = this.listed.slice(first, last), focused = document.activeElement;
		const lines = rows.map((row) => this.placeLine(row));
		if (lines.some((line) => line.parentNode !== this.body) || lines.length !== this.body.children.length ||
				lines.some((line, i) => this.body.children[i] !== line)) {
			this.body.replaceChildren(...lines);
			if (this.body.contains(focused)) // which it lost
				focused.focus({preventScroll: true});
		}
		for (const row of rows)
			this.tracks.drawRow(row, TRACK_PX, (width) => row.rows ? this.sumRows(row.rows, width) : this.sumThread(row, width));
		rows.forEach((row) => this.sayMost(row));
	}

	// The full height of the track of a process, which is that of its busiest moment; how busy a thread was at most.
	sayMost(row) {
		if (!row.sumsAt || row.most.of === row.sumsAt)
			return;
		const {cpu, most} = row.sumsAt.sums, per = (this.tracks.to - this.tracks.from) / row.sumsAt.width;
		const percent = Math.min(100, 100 * cpu.reduce((all, one) => Math.max(all, one), 0) / per);
		row.most.of = row.sumsAt;
		row.most.span.textContent = row.rows ? (most / per).toFixed(1) : percent.toFixed(0) + "%";
		row.most.span.title = row.rows ? "full height: " + row.most.span.textContent + " threads that run or wait for a CPU" :
			"at most so much of a pixel on a CPU; full height is all of the time";
	}

	// Above the columns of names.
	heads() {
		return [element("span", "name"), element("span", "dim", "CPU"), element("span", "dim most", "up to")];
	}

	placeLine(row) {
		const line = row.line = row.line || this.makeLine(row), box = line.querySelector("input");
		const threads = row.rows || [row], nr = threads.filter((one) => this.isChosen(one.thread)).length;
		line.style.top = row.top + "px";
		box.checked = nr === threads.length;
		box.indeterminate = nr > 0 && nr < threads.length;
		line.classList.toggle("off", nr === 0);
		if (row.rows) {
			const button = line.querySelector("button"), isFolded = this.isFolded(row);
			button.textContent = isFolded ? "\u25b8" : "\u25be";
			button.setAttribute("aria-expanded", String(!isFolded));
			button.disabled = Boolean(this.found);
		}
		return line;
	}

	makeLine(row) {
		const line = element("div", "track"), label = element("label", "track-name"), box = element("input");
		const button = row.rows ? element("button", "fold") : null;
		row.most = {span: element("span", "dim most"), of: null};
		box.type = "checkbox";
		box.value = row.rows ? "" : row.thread;
		label.append(box, element("span", "name", row.short), element("span", "dim", timeText(row.cpu)), row.most.span);
		label.title = row.name + (row.rows ? ", " + row.rows.length + " threads" : "") + ", CPU " + timeText(row.cpu) +
			(row.rows ? "" : "; full height is all of the time") + "; with Shift: " + (row.rows ? "these" : "this one") + " alone";
		row.canvas = element("canvas");
		row.canvas.setAttribute("role", "img");
		row.canvas.setAttribute("aria-label", row.name + " over time: CPU " + timeText(row.cpu));
		if (row.rows) {
			button.setAttribute("aria-label", "threads of " + row.name);
			button.addEventListener("click", () => this.fold(row));
			label.prepend(button);
		} else {
			row.canvas.dataset.thread = row.thread;
		}
		label.style.paddingLeft = row.above ? INDENT_PX + "px" : "";
		line.append(label, row.canvas);
		box.addEventListener("click", (event) =>
			this.toggle((row.rows || [row]).map((one) => one.thread), event.altKey || event.shiftKey));
		return line;
	}

	// --- keys and the mouse ---

	rowOfFocus() {
		return this.listed.findIndex((row) => row.line && row.line.contains(document.activeElement));
	}

	goTo(at) {
		const row = this.listed[Math.max(0, Math.min(this.listed.length - 1, at))];
		this.host.scrollTop = Math.max(row.top + TRACK_PX - this.host.clientHeight, Math.min(row.top, this.host.scrollTop));
		this.draw();
		row.line.querySelector("input").focus({preventScroll: true});
	}

	key(event) {
		if (waiters)
			return;
		const at = this.rowOfFocus(), row = this.listed[at], page = Math.max(1, Math.floor(this.host.clientHeight / TRACK_PX) - 1);
		const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.listed.length, End: this.listed.length};
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key in steps)
			this.goTo(at + steps[event.key]);
		else if (event.key === "ArrowLeft" && row && row.above)
			this.goTo(this.listed.indexOf(row.above));
		else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && row && row.rows && !this.found)
			this.fold(row, event.key === "ArrowLeft");
		else if (event.key === "Enter" && row)
			setState({...(row.rows ? allOfProcess(this.side, row.process) : onlyThread(this.side, row.thread)), view: "chart",
				left: null, right: null});
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	// Of the list, in pixels.
	setHeight(height) {
		const most = Math.max(LIST_LEAST_PX, Math.min(innerHeight * 0.6, this.listed.length * TRACK_PX + 1));
		setState({tall: Math.round(Math.max(LIST_LEAST_PX, Math.min(height, most)))}, true);
	}

	listenToGrip() {
		const grip = this.tracks.byId("track-grip");
		let from = null;
		grip.addEventListener("pointerdown", (event) => {
			from = {y: event.clientY, height: this.host.clientHeight};
			grip.setPointerCapture(event.pointerId);
		});
		grip.addEventListener("pointermove", (event) => {
			if (from)
				this.setHeight(from.height + event.clientY - from.y);
		});
		for (const kind of ["pointerup", "pointercancel"])
			grip.addEventListener(kind, () => { from = null; });
		grip.addEventListener("dblclick", () => setState({tall: 0}));
		grip.addEventListener("keydown", (event) => {
			const step = {ArrowDown: TRACK_PX, ArrowUp: -TRACK_PX}[event.key];
			if (!step)
				return;
			this.setHeight(this.host.clientHeight + step);
			event.preventDefault();
			event.stopPropagation();
		});
	}

	listen() {
		this.host.addEventListener("scroll", () => this.tracks.draw());
		this.host.addEventListener("keydown", (event) => this.key(event));
		const [search, sort, grip] = ["thread-search", "track-sort", "track-grip"].map((id) => this.tracks.byId(id));
		search.hidden = this.threads.length < MANY_THREADS;
		search.addEventListener("input", () => this.find(search.value));
		sort.addEventListener("change", () => setState({trackSort: sort.value}));
		grip.hidden = this.host.hidden;
		this.listenToGrip();
	}

	update() {
		const [search, sort, grip] = ["thread-search", "track-sort", "track-grip"].map((id) => this.tracks.byId(id));
		if (!state[this.keys.threads] && document.activeElement !== search && this.found) {
			search.value = "";
			search.setAttribute("aria-invalid", "false");
			this.found = null;
			this.shown = "";
		}
		this.host.hidden = grip.hidden = state.heat || this.threads.length < 2;
		if (this.shown !== keyOf(this.keys.folded, "trackSort"))
			this.listRows();
		sort.value = state.trackSort;
		sort.hidden = state.heat || this.threads.length < MANY_THREADS;
		this.host.style.maxHeight = state.tall ? state.tall + "px" : "";
		grip.setAttribute("aria-valuemin", LIST_LEAST_PX);
		grip.setAttribute("aria-valuemax", Math.round(innerHeight * 0.6));
		grip.setAttribute("aria-valuenow", this.host.clientHeight);
	}
}
