// SPDX-License-Identifier: GPL-2.0-or-later
// All functions of the selection, one row each.

// The time of a call, [ns, half the width of its interval], of the whole recording; or undefined.
function perCallOf(side) {
	return remember("per call " + sides.indexOf(side), state.metric, () => {
		const found = [], rows = (side.data.perCall || {})[state.metric] || [];
		rows.forEach((row, i) => {
			if (row)
				found[side.functionOf[i]] = row;
		});
		return found;
	});
}

const COLUMNS = {
	self: {title: "self", width: "84px", value: (id, sums) => sums[0].self.weight[id],
		cell: (id, sums) => newCell(id, sums, "self"),
		hint: "in the function's own code"},
	selfShare: {title: "%", width: "104px", sort: "self", hint: "self, of the selection, \u00b1 with 95% confidence",
		cell: (id, sums) => shareCell(sums[0].self, id, selectedTotal())},
	selfOfAll: {title: "% of all", width: "104px", sort: "self", hint: "self, of the whole recording",
		cell: (id, sums) => shareCell(sums[0].self, id, selection().all[0])},
	oldSelf: {title: "old self", width: "84px", value: (id, sums) => sums[1].self.weight[id],
		cell: (id, sums) => oldCell(id, sums, "self")},
	change: {title: "change of self", width: "124px", hint: "of self; grey: within chance",
		value: (id, sums) => Math.abs(selfChange(id, sums).change) + (selfChange(id, sums).isSure ? 1e6 : 0),
		cell: (id, sums) => changeCell(selfChange(id, sums))},
	total: {title: "total", width: "84px", value: (id, sums) => sums[0].total.weight[id],
		cell: (id, sums) => newCell(id, sums, "total"),
		hint: "with all that it calls"},
	totalShare: {title: "%", width: "104px", sort: "total", hint: "total, of the selection",
		cell: (id, sums) => shareCell(sums[0].total, id, selectedTotal())},
	totalOfAll: {title: "% of all", width: "104px", sort: "total", hint: "total, of the whole recording",
		cell: (id, sums) => shareCell(sums[0].total, id, selection().all[0])},
	oldTotal: {title: "old total", width: "84px", value: (id, sums) => sums[1].total.weight[id],
		cell: (id, sums) => oldCell(id, sums, "total")},
	blocks: {title: "blocks", width: "84px", hint: "total: as many as the recorded ones stand for",
		value: (id, sums) => sums[0].total.joint[id], cell: (id, sums) => ({text: countText(sums[0].total.joint[id])})},
	calls: {title: "calls", width: "92px", hint: "exact, of the whole recording",
		value: (id) => known(sides[0].calls[id]),
		cell: (id) => ({text: sides[0].calls[id] === undefined ? "" : countText(sides[0].calls[id])})},
	oldCalls: {title: "old calls", width: "92px", value: (id) => known(sides[1].calls[id]),
		cell: (id) => ({text: sides[1].calls[id] === undefined ? "" : countText(sides[1].calls[id])})},
	perCall: {title: "per call", width: "120px", hint: "of the whole recording",
		value: (id) => known((perCallOf(sides[0])[id] || [])[0]),
		cell: (id) => ({text: perCallText(perCallOf(sides[0])[id])})},
	name: {title: "function", width: "minmax(160px, 3fr)", isText: true, value: (id) => functions[id].name,
		cell: (id) => ({text: functions[id].name, title: functions[id].full, className: "name"})},
	module: {title: "module", width: "minmax(60px, 1fr)", isText: true, value: (id) => functions[id].module,
		cell: (id) => ({text: functions[id].module, className: "dim"})},
	file: {title: "location", width: "minmax(60px, 1fr)", isText: true, value: (id) => locationOf(functions[id]),
		cell: (id) => ({text: baseName(locationOf(functions[id])), title: locationOf(functions[id]),
			className: "dim"})},
};

const OF_TWO = ["oldSelf", "change", "oldTotal", "oldCalls"];

// Of a comparison: a function that one side does not have is new, or gone.
function newCell(id, sums, key) {
	const text = amountText(state.metric, sums[0][key].weight[id]);
	if (sides[1])
		return {text: sums[0].total.weight[id] ? text : "gone"};
	return {text: text, title: amountWithError(state.metric, tallyAt(sums[0][key], id), selectedTotal())};
}

function oldCell(id, sums, key) {
	return {text: !sums[1].total.weight[id] ? "new" : amountText(state.metric, sums[1][key].weight[id])};
}

// What is not known is less than nothing.
function known(value) {
	return value === undefined ? -1 : value;
}

function perCallText(row) {
	return row ? timeText(row[0]) + " \u00b1" + timeText(row[1]) : "";
}

function shareCell(sums, id, whole) {
	const tally = tallyAt(sums, id);
	return {text: shareText(tally, whole), bar: whole.weight ? tally.weight / whole.weight : 0};
}

function selfChange(id, sums) {
	return changeOf(tallyAt(sums[0].self, id), selectedTotal(), tallyAt(sums[1].self, id), selectedTotal(1));
}

// Is it in the selection? Called functions need not have been sampled.
function isThere(id, sums) {
	return sums.some((sum) => sum.total.weight[id] > 0) ||
		(isAllSelected() && functions[id].isFunction && sides.some((side) => side.calls[id] > 0));
}

// In the order in which they stand.
const ORDER = ["self", "selfShare", "selfOfAll", "oldSelf", "change", "total", "totalShare", "totalOfAll", "oldTotal",
	"blocks", "calls", "oldCalls", "perCall", "name", "module", "file"];
const NAME_PX = 250, TEXT_COLUMN_PX = 110;

// Those that there is something in, the most important first.
function usefulColumns() {
	const isTwo = Boolean(sides[1]), isCounted = sides.some((side) => side.calls.length > 0);
	const hasPart = !isAllSelected() && state.metric !== "calls";
	return ["self", "selfShare", ...(isTwo ? ["oldSelf", "change"] : []), "total", "totalShare",
		...(hasPart ? ["selfOfAll", "totalOfAll"] : []), ...(isTwo ? ["oldTotal"] : isMemory(state.metric) && UNITS[state.metric] === "bytes" ? ["blocks"] : []),
		...(isCounted ? ["calls"] : []), ...(isCounted && UNITS[state.metric] === "ns" ? ["perCall"] : []),
		"module", "file", ...(isCounted && isTwo ? ["oldCalls"] : [])];
}

// As many as there is room for beside the name, but two (or those of a comparison) always.
function columnNames(width) {
	const chosen = new Set(["name"]), least = sides[1] ? 4 : 2;
	let room = width - NAME_PX;
	for (const name of usefulColumns()) {
		room -= (parseInt(COLUMNS[name].width, 10) || TEXT_COLUMN_PX) + 6;
		if (room >= 0 || chosen.size <= least)
			chosen.add(name);
	}
	return ORDER.filter((name) => chosen.has(name));
}

class FunctionTable {
	constructor(host) {
		this.rows = [];
		this.host = host;
		this.table = new RowTable(host, {
			label: "Functions", columns: () => this.columns(), cells: (i) => this.cells(i),
			pick: (i) => this.pick(i), open: () => setState({view: "sandwich", left: null, right: null}),
			sortBy: (key) => this.sortBy(key),
		});
	}

	columns() {
		this.names = columnNames(this.host.clientWidth || innerWidth);
		return this.names.map((name) => ({
			title: COLUMNS[name].title.replace("old", sideNames()[1]), width: COLUMNS[name].width, number: !COLUMNS[name].isText,
			hint: COLUMNS[name].hint, sort: COLUMNS[name].sort || name,
			follows: Boolean(COLUMNS[name].sort),
		}));
	}

	cells(i) {
		const sums = sumFunctions();
		return this.names.map((name) => COLUMNS[name].cell(this.rows[i], sums));
	}

	pick(i) {
		const id = this.rows[i], sums = sumFunctions();
		setState({function: id}, true);
		say(describeSums(id, tallyAt(sums[0].total, id), tallyAt(sums[0].self, id), selectedTotal())
			.map((line) => line[0]).join(", "));
	}

	sortBy(key) {
		const isText = COLUMNS[key].isText, down = "-" + key;
		setState({sort: state.sort === down ? key : state.sort === key ? down : isText ? key : down});
	}

	update() {
		const sums = sumFunctions(), found = matches();
		this.rows = remember("table", keyOf(...TREE, "search", "sort"), () => {
			const rows = [];
			for (let id = 0; id < functions.length; id++) {
				if (isThere(id, sums) && (!found || found[id]))
					rows.push(id);
			}
			return this.sorted(rows, sums);
		});
		this.table.setRows(this.rows.length, this.rows.indexOf(state.function));
	}

	sorted(rows, sums) {
		const key = state.sort.replace(/^-/, ""), column = sides[1] || !OF_TWO.includes(key) ? COLUMNS[key] || COLUMNS.self : COLUMNS.self;
		const sign = state.sort[0] === "-" ? -1 : 1;
		const values = new Map(rows.map((id) => [id, column.value ? column.value(id, sums) : 0]));
		const less = (a, b) => a < b ? -1 : a > b ? 1 : 0;
		return rows.sort((a, b) => sign * less(values.get(a), values.get(b)) ||
			less(sums[0].total.weight[b], sums[0].total.weight[a]) ||
			less(functions[a].name, functions[b].name));
	}

	redraw() {
		this.table.setRows(this.rows.length);
	}

	find(step) {
		if (!this.rows.length || !matches())
			return null;
		const next = (this.table.cursor + (this.table.cursor < 0 && step < 0 ? 0 : step) + this.rows.length) %
			this.rows.length;
		this.table.moveTo(next, true);
		return {at: next + 1, of: this.rows.length};
	}
}

function makeTableView(host) {
	const view = new FunctionTable(host.querySelector(".list"));
	return {
		update: () => view.update(), redraw: () => view.redraw(),
		find: (step) => view.find(step), focus: () => view.host.focus(), key: (event) => view.table.key(event, true),
		hasPicked: () => view.table.reveal(view.table.cursor),
	};
}
