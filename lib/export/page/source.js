// SPDX-License-Identifier: GPL-2.0-or-later
// A source file with what its lines cost.
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
			label: "Source", columns: () => this.columns(), cells: (i) => this.cells(i), pick: () => {},
			isPlain: true,
		});
		this.choice.addEventListener("change", () => setState({file: this.choice.value, line: 0, asm: false}));
		this.asm = byId("asm");
		this.asm.addEventListener("change", () => setState({asm: this.asm.checked}));
		this.codes = (side.data.code || []).map(([id, lines]) => ({
			id: side.functionOf[id], module: side.data.functions[id][3], lines: lines,
			first: lines[0][0], last: lines[lines.length - 1][0],
		}));
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
		this.isAsm = this.asm.checked;
		if (this.isAsm)
			this.updateCode();
		else
			this.updateLines();
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
		this.show(file + " " + this.wantedLine(), this.numbers.indexOf(this.wantedLine()));
	}

	show(what, row) {
		this.table.setRows(this.numbers.length, row);
		if (this.shown !== what)
			this.host.scrollTop = Math.max(0, (row - 3) * ROW_PX);
		this.shown = what;
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
			if (!costs.has(address))
				costs.set(address, {self: newTally(), line: side.frameLine[frame],
					file: side.frameFile[frame] - 1, id: side.functionOf[side.frameFunction[frame]]});
			addTally(costs.get(address).self, tallyAt(rows, i));
		}
		return costs;
	}

	updateCode() {
		this.costs = this.costsOf(this.code);
		this.numbers = this.code.lines.map(([address]) => address);
		this.note.textContent = "Instructions of " + functions[this.code.id].name + ", as objdump prints them" +
			(this.code.id === state.function || state.function < 0 ? "." : ": most of the function's own is inlined there.");
		let hottest = -1, most = 0;
		this.numbers.forEach((address, i) => {
			const cost = this.costs.get(address);
			if (cost && cost.self.weight > most) {
				most = cost.self.weight;
				hottest = i;
			}
		});
		this.show("code " + this.code.id, hottest);
	}

	codeColumns() {
		return [
			{title: "self", width: "84px", number: true}, {title: "%", width: "104px", number: true},
			{title: "address", width: "110px", number: true}, {title: "line", width: "150px"},
			{title: "instruction", width: "minmax(260px, 1fr)"},
		];
	}

	codeCells(i) {
		const [address, text] = this.code.lines[i], cost = this.costs.get(address);
		const whole = selection().total[0];
		const where = cost && cost.line ? baseName(sides[0].files[cost.file] || "") + ":" + cost.line : "";
		return [
			{text: cost ? amountText(state.metric, cost.self.weight) : ""},
			cost ? {text: shareText(cost.self, whole), bar: cost.self.weight / whole.weight} : {text: ""},
			{text: address.toString(16), className: "dim"}, {text: where, className: "dim"},
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
		if (sides[1])
			parts.push("Lines are those of the new profile.");
		if (!this.code)
			parts.push(sides[0].data.code ? "Instructions: choose one of the hottest functions." :
				"For instructions write the page with --asm.");
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
		update: () => view.update(), redraw: () => view.table.render(), find: (step) => view.find(step),
		focus: () => view.host.focus(), key: (event) => view.table.key(event, true),
		countMatches: () => view.hits().length,
	};
}
