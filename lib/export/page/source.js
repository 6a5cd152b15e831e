// SPDX-License-Identifier: GPL-2.0-or-later
// A source file with what its lines cost, and the instructions of a function: in place of the lines, or where there is
// room for both beside them.
const BESIDE_PX = 860, CALLERS_SHOWN = 4;

// By instruction the file and the line that it was written on.
function placesOf(nr, positions) {
	const files = new Int32Array(nr).fill(-1), lines = new Uint32Array(nr);
	for (let i = 0; i < positions.length; i += 3) {
		const end = i + 3 < positions.length ? positions[i + 3] : nr;
		files.fill(positions[i + 1], positions[i], end);
		lines.fill(positions[i + 2], positions[i], end);
	}
	return {fileOf: files, lineOf: lines};
}

// The address of the instruction that another address is in: callers stand within their call.
function instructionAt(lines, address) {
	let low = 0, high = lines.length;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if (lines[middle][0] <= address)
			low = middle;
		else
			high = middle;
	}
	return lines[low][0];
}

class SourceView {
	constructor(host) {
		const side = sides[0];
		this.host = host.querySelector(".lines");
		this.note = host.querySelector(".note");
		this.choice = byId("file");
		this.texts = new Map((side.data.sources || []).map((source) => [source.file, source]));
		this.counts = this.countLines(side);
		this.hasCounts = this.counts.size > 0;
		this.fillChoice(side);
		this.table = new RowTable(this.host, {
			label: "Source", columns: () => this.columns(), cells: (i) => this.cells(i), pick: (i) => this.pickLine(i),
			isPlain: true, hue: (i) => this.isBeside ? this.hueOf(this.file, this.numbers[i]) : null,
		});
		this.panes = host.querySelector(".panes");
		this.codeHost = host.querySelector(".code-lines");
		this.codeTable = new RowTable(this.codeHost, {
			label: "Instructions", columns: () => this.codeColumns(), cells: (i) => this.codeCells(i),
			pick: (i) => this.pickInstruction(i), isPlain: true,
			hue: (i) => this.hueOf(this.code.fileOf[i], this.code.lineOf[i]),
		});
		this.expected = new Map(); // by pane: where this view has scrolled it to
		this.host.addEventListener("scroll", () => this.scrolled(this.host));
		this.codeHost.addEventListener("scroll", () => this.scrolled(this.codeHost));
		new ResizeObserver(() => {
			if (state.view === "source" && this.asm && this.asm.checked && this.isBeside !== this.hasRoom())
				this.update();
		}).observe(host);
		this.choice.addEventListener("change", () => setState({file: this.choice.value, line: 0, asm: false}));
		this.asm = byId("asm");
		this.asm.addEventListener("change", () => setState({asm: this.asm.checked}));
		this.codes = (side.data.code || []).map(([id, lines, positions]) => ({
			id: side.functionOf[id], module: side.data.functions[id][3], lines: lines,
			first: lines[0][0], last: lines[lines.length - 1][0], ...placesOf(lines.length, positions),
		}));
	}

	hasRoom() {
		return this.panes.clientWidth >= BESIDE_PX && !isPrinting;
	}

	// "file line" → exact calls.
	countLines(side) {
		const counts = new Map();
		for (const [file, line, calls] of side.data.callLines || [])
			counts.set(file + " " + line, calls);
		return counts;
	}

	// Files with lines that were met, by self time of all.
	fillChoice(side) {
		const used = new Map(), rows = weigh(side, [["all", side.threads.map((row, i) => i)]],
			isMemory(state.metric) || state.metric !== "calls" ? state.metric : "wall", null);
		for (let i = 0; i < side.frameFile.length; i++) {
			if (side.frameFile[i] && side.frameLine[i])
				used.set(side.frameFile[i] - 1, 0);
		}
		for (let i = 0; i < rows.nr; i++) {
			const file = side.frameFile[side.stackFrame[bareStack(side, rows.stack[i])]] - 1;
			if (used.has(file))
				used.set(file, used.get(file) + rows.weight[i]);
		}
		this.files = [...used].sort((a, b) => b[1] - a[1]).map(([file]) => file);
		for (const file of this.files)
			this.choice.append(new Option(side.files[file], side.files[file]));
	}

	chosenFile() {
		const side = sides[0], byName = side.files.indexOf(state.file);
		if (state.file && this.files.includes(byName))
			return byName;
		const ofFunction = state.function >= 0 ? side.files.indexOf(functions[state.function].file) : -1;
		if (this.files.includes(ofFunction))
			return ofFunction;
		if (state.function >= 0 || !this.files.length)
			return -1;
		return this.files.find((file) => this.hasText(file)) ?? this.files[0];
	}

	hasText(file) {
		return this.texts.has(file) && this.texts.get(file).text !== undefined;
	}

	update() {
		this.code = this.chosenCode();
		byId("asm-label").hidden = !this.code;
		this.asm.checked = Boolean(state.asm && this.code);
		this.isBeside = this.asm.checked && this.hasRoom();
		this.isAsm = this.asm.checked && !this.isBeside;
		this.panes.classList.toggle("beside", this.isBeside);
		this.showCallers();
		if (this.isAsm)
			this.updateCode();
		else
			this.updateLines();
	}

	// Who calls the chosen function, with their parts of its cost.
	showCallers() {
		const id = state.function, host = byId("called-by"), tree = id >= 0 && !waitOf(id) ? callersTree(id) : null;
		const rows = tree ? directOf(tree).filter((row) => row.label >= 0).slice(0, CALLERS_SHOWN) : [];
		host.replaceChildren(...(rows.length ? [functions[id].name + " is called by"] : []), ...rows.map((row) => {
			const button = element("button", "", labelName(row.label) + " " + shareText(row.total, tallyAt(tree.total[0], 1)) + "%");
			button.title = amountWithError(state.metric, row.total, selectedTotal()) + ": its part of " + functions[id].name;
			button.addEventListener("click", () => setState({function: row.label, file: "", line: 0}));
			return button;
		}));
	}

	updateLines() {
		const file = this.chosenFile(), side = sides[0];
		this.file = file;
		this.source = this.texts.get(file);
		this.text = this.source && this.source.text !== undefined ? this.source.text.split("\n") : null;
		this.costs = file < 0 ? new Map() : sumLines(side, selection().rows[0], file);
		this.numbers = this.text ? this.text.map((line, i) => i + 1) : [...this.costs.keys()].sort((a, b) => a - b);
		this.choice.value = file < 0 ? "" : side.files[file];
		this.sayNote();
		if (this.isBeside)
			this.showBeside();
		else
			this.show(file + " " + this.wantedLine(), this.numbers.indexOf(this.wantedLine()));
	}

	show(what, row) {
		this.table.setRows(this.numbers.length, row);
		if (this.shown !== what)
			this.host.scrollTop = Math.max(0, (row - 3) * ROW_PX);
		this.shown = what;
	}

	// --- both panes ---

	// Begins where most of the function's cost is.
	showBeside() {
		const {code} = this, what = "both " + this.file + " " + code.id + " " + state.function + " " + state.line;
		this.codeCosts = this.costsOf(code);
		if (this.shown !== what) {
			const row = this.hottestOf(code);
			this.linesOfCode(code);
			this.marked = state.line || (code.fileOf[row] === this.file ? code.lineOf[row] : this.wantedLine());
			this.table.setRows(this.numbers.length, this.numbers.indexOf(this.marked));
			this.codeTable.setRows(code.lines.length, row < 0 ? this.firstOf.get(this.marked) : row);
			this.center(this.host, this.table.cursor);
			this.center(this.codeHost, this.codeTable.cursor);
		} else {
			this.table.setRows(this.numbers.length);
			this.codeTable.setRows(code.lines.length);
		}
		this.shown = what;
	}

	// By line of the shown file its first instruction, and a hue.
	linesOfCode(code) {
		this.firstOf = new Map();
		code.lineOf.forEach((line, i) => {
			if (line && code.fileOf[i] === this.file && !this.firstOf.has(line))
				this.firstOf.set(line, i);
		});
		this.hues = new Map([...this.firstOf.keys()].sort((a, b) => a - b).map((line, i) => [line, Math.round(200 + i * 137.508) % 360]));
	}

	hueOf(file, line) {
		return file === this.file && this.hues.has(line) ? [this.hues.get(line), line === this.marked] : null;
	}

	center(host, row) {
		host.scrollTop = Math.max(0, (row + 1.5) * ROW_PX - host.clientHeight / 2);
		this.expected.set(host, host.scrollTop);
	}

	rowInMiddle(host) {
		return Math.floor((host.scrollTop + host.clientHeight / 2) / ROW_PX - 1);
	}

	// The other pane goes along.
	scrolled(host) {
		if (!this.isBeside || Math.abs(host.scrollTop - this.expected.get(host)) < 2)
			return;
		this.expected.set(host, host.scrollTop);
		const row = this.rowInMiddle(host), reach = Math.ceil(host.clientHeight / ROW_PX / 2);
		if (host === this.host) {
			for (let by = 0; by < reach; by++) {
				const at = [row - by, row + by].map((near) => this.firstOf.get(this.numbers[near])).find((first) => first !== undefined);
				if (at !== undefined) {
					this.center(this.codeHost, at);
					return;
				}
			}
			return;
		}
		const {code} = this, at = Math.max(0, Math.min(code.lines.length - 1, row));
		if (code.fileOf[at] === this.file && this.numbers.includes(code.lineOf[at]))
			this.center(this.host, this.numbers.indexOf(code.lineOf[at]));
	}

	mark(line) {
		this.marked = line;
		this.table.render();
		this.codeTable.render();
	}

	pickLine(i) {
		const line = this.numbers[i];
		if (!this.isBeside)
			return;
		if (this.firstOf.has(line))
			this.center(this.codeHost, this.codeTable.cursor = this.firstOf.get(line));
		this.mark(line);
	}

	pickInstruction(i) {
		const {code} = this, row = code.fileOf[i] === this.file ? this.numbers.indexOf(code.lineOf[i]) : -1;
		if (row >= 0)
			this.center(this.host, this.table.cursor = row);
		this.mark(row >= 0 ? code.lineOf[i] : 0);
	}

	// --- instructions ---

	// The code of the chosen function, or else that in which most of its inlined copies' time is.
	chosenCode() {
		const id = state.function, own = this.codes.find((code) => code.id === id);
		if (own || id < 0 || !this.codes.length)
			return own || (id < 0 ? this.codes[0] : undefined); // the hottest
		let best, most = 0;
		for (const code of this.codes) {
			const sum = [...this.costsOf(code).values()].reduce((all, cost) =>
				all + (cost.id === id ? cost.self.weight : 0), 0);
			if (sum > most) {
				most = sum;
				best = code;
			}
		}
		return best;
	}

	// By address: {self, line, id of the function that is written there}.
	costsOf(code) {
		const side = sides[0], rows = selection().rows[0], costs = new Map();
		for (let i = 0; i < rows.nr; i++) {
			const frame = side.stackFrame[bareStack(side, rows.stack[i])], address = side.frameAddress[frame];
			if (address < code.first || address > code.last ||
					side.data.functions[side.frameFunction[frame]][3] !== code.module)
				continue;
			const at = instructionAt(code.lines, address);
			if (!costs.has(at))
				costs.set(at, {self: newTally(), line: side.frameLine[frame],
					file: side.frameFile[frame] - 1, id: side.functionOf[side.frameFunction[frame]]});
			addTally(costs.get(at).self, tallyAt(rows, i));
		}
		return costs;
	}

	codeNote() {
		return "Instructions of " + functions[this.code.id].name + ", as objdump prints them" +
			(this.code.id === state.function || state.function < 0 ? "." : ": most of the function's own is inlined there.");
	}

	updateCode() {
		this.codeCosts = this.costsOf(this.code);
		this.numbers = this.code.lines.map(([address]) => address);
		this.note.textContent = this.codeNote();
		this.show("code " + this.code.id, this.hottestOf(this.code));
	}

	// The instruction with most cost, or -1.
	hottestOf(code) {
		let hottest = -1, most = 0;
		code.lines.forEach(([address], i) => {
			const cost = this.codeCosts.get(address);
			if (cost && cost.self.weight > most) {
				most = cost.self.weight;
				hottest = i;
			}
		});
		return hottest;
	}

	codeColumns() {
		return [
			...(this.isBeside ? [] : [{title: "self", width: "84px", number: true}]), {title: "%", width: "104px", number: true},
			{title: "address", width: this.isBeside ? "72px" : "110px", number: true},
			{title: "line", width: this.isBeside ? "120px" : "150px"},
			{title: "instruction", width: "minmax(260px, 1fr)"},
		];
	}

	codeCells(i) {
		const {code} = this, [address, text] = code.lines[i], cost = this.codeCosts.get(address);
		const whole = selection().total[0], file = sides[0].files[code.fileOf[i]];
		const where = code.lineOf[i] ? baseName(file || "") + ":" + code.lineOf[i] : "";
		return [
			...(this.isBeside ? [] : [{text: cost ? amountText(state.metric, cost.self.weight) : ""}]),
			cost ? {text: shareText(cost.self, whole), bar: cost.self.weight / whole.weight,
				title: amountText(state.metric, cost.self.weight)} : {text: ""},
			{text: address.toString(16), className: "dim"}, {text: where, title: file, className: "dim"},
			{text: text.replace(/\s+/g, " "), className: "code", match: searchPattern()},
		];
	}

	// --- lines ---

	// Where the chosen function begins, or else the line that costs most.
	wantedLine() {
		if (state.line)
			return state.line;
		const row = state.function >= 0 ? functions[state.function] : null;
		if (row && row.line && row.file === sides[0].files[this.file])
			return row.line;
		let best = 0, most = 0;
		for (const [line, cost] of this.costs) {
			if (cost.self.weight > most) {
				most = cost.self.weight;
				best = line;
			}
		}
		return best;
	}

	sayNote() {
		const parts = [];
		if (this.file < 0)
			parts.push(state.function >= 0 ?
				"The source lines of " + functions[state.function].name + " are not known: its module has no " +
				"line numbers." : "No line numbers were recorded.");
		else if (!this.source)
			parts.push("The file was not found when the page was written: lines without text.");
		else if (!this.text)
			parts.push("The file is too large for the page: lines without text.");
		if (this.source && this.source.warning)
			parts.push(this.source.warning);
		if (isOfTwo())
			parts.push("Lines are those of the new profile.");
		if (!this.code)
			parts.push(sides[0].data.code ? "Instructions: choose one of the hottest functions." :
				"For instructions write the page with --asm.");
		if (this.isBeside)
			parts.push(this.codeNote());
		this.note.textContent = parts.join(" ");
	}

	textAt(i) {
		return this.isAsm ? this.code.lines[i][1] : this.text ? this.text[this.numbers[i] - 1] : "";
	}

	// The lines with what is searched for in their text.
	hits() {
		const pattern = searchPattern(), hits = [];
		for (let i = 0; pattern && this.numbers && i < this.numbers.length; i++) {
			if (pattern.test(this.textAt(i)))
				hits.push(i);
		}
		return hits;
	}

	find(step) {
		const hits = this.hits(), at = this.table.cursor;
		if (!hits.length)
			return null;
		let next = step > 0 ? hits.findIndex((i) => i > at) : hits.filter((i) => i < at).length - 1;
		if (next < 0)
			next = step > 0 ? 0 : hits.length - 1;
		this.table.moveTo(hits[next], false);
		return {at: next + 1, of: hits.length, what: "lines"};
	}

	columns() {
		if (this.isAsm)
			return this.codeColumns();
		const isWide = this.isWide = this.host.clientWidth > 640;
		return [
			{title: "self", width: "84px", number: true}, {title: "%", width: "104px", number: true},
			...(isWide ? [{title: "total", width: "84px", number: true},
				{title: "%", width: "104px", number: true}] : []),
			...(this.hasCounts ? [{title: "calls", width: "92px", number: true},
				...(isWide ? [{title: "per call", width: "84px", number: true}] : [])] : []),
			{title: "line", width: "56px", number: true}, {title: "source", width: "minmax(" + this.widest() + "ch, 1fr)"},
		];
	}

	// A tab is eight columns wide.
	widest() {
		const lines = (this.text || []).map((line) => line.length + 7 * (line.split("\t").length - 1));
		return Math.min(400, lines.reduce((most, nr) => Math.max(most, nr), 20)) + 2;
	}

	cells(i) {
		if (this.isAsm)
			return this.codeCells(i);
		const line = this.numbers[i], cost = this.costs.get(line), whole = selection().total[0];
		const isWide = this.isWide, calls = this.counts.get(this.file + " " + line);
		const of = (tally) => !tally || !tally.weight ? [{text: ""}, {text: ""}] :
			[{text: amountText(state.metric, tally.weight)},
				{text: shareText(tally, whole), bar: tally.weight / whole.weight}];
		return [
			...of(cost && cost.self), ...(isWide ? of(cost && cost.total) : []),
			...(this.hasCounts ? [{text: calls >= 0 ? countText(calls) : ""},
				...(isWide ? [{text: this.perCall(cost, calls)}] : [])] : []),
			{text: String(line), className: "dim"},
			{text: this.text ? this.text[line - 1] : "", className: "code", match: searchPattern()},
		];
	}

	// Only where both are of the whole recording.
	perCall(cost, calls) {
		return cost && calls > 0 && isAllSelected() && UNITS[state.metric] === "ns" ?
			timeText(cost.total.weight / calls) : "";
	}
}

function makeSourceView(host) {
	const view = new SourceView(host);
	return {
		update: () => view.update(), redraw: () => { view.table.render(); view.codeTable.render(); }, find: (step) => view.find(step),
		focus: () => view.host.focus(), key: (event) => view.table.key(event, true),
		countMatches: () => view.hits().length,
	};
}
