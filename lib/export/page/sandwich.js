// SPDX-License-Identifier: GPL-2.0-or-later
// Callers and callees of one function, as graphs and as lists with exact calls where counted.
function directOf(tree) {
	const rows = [];
	for (let node = 2; tree.nr > 1 && node < tree.end[1]; node = tree.end[node])
		rows.push({label: tree.label[node], total: tallyAt(tree.total[0], node),
			old: sides[1] ? tallyAt(tree.total[1], node) : null});
	return rows;
}

// "caller callee" → exact calls.
function callsBetween() {
	return remember("edges", "", () => {
		const calls = new Map();
		addCalls(sides[0], (caller, callee, nr) => {
			const key = caller + " " + callee;
			calls.set(key, (calls.get(key) || 0) + nr);
		});
		return calls;
	});
}

function makeNeighbours(host, label, find, edge) {
	const ofWait = {callers: "waiting in", callees: "held by"}, title = () => waitOf(state.function) ? ofWait[label] : label;
	let rows = [], whole = newTally();
	const table = new RowTable(host, {
		label: label,
		columns: () => [
			{title: waitOf(state.function) && label === "callees" ? "had it" : state.metric, width: "84px", number: true},
			{title: "% of it", width: "100px", number: true},
			...(sides[1] ? [{title: sideNames()[1], width: "84px", number: true}] : []),
			...(sides[0].calls.length ? [{title: "calls", width: "80px", number: true}] : []),
			{title: title(), width: "minmax(120px, 1fr)"},
		],
		cells: (i) => {
			const row = rows[i], calls = callsBetween().get(edge(row.label));
			return [
				{text: amountText(state.metric, row.total.weight)}, {text: shareText(row.total, whole)},
				...(row.old ? [{text: amountText(state.metric, row.old.weight)}] : []),
				...(sides[0].calls.length ? [{text: calls === undefined ? "" : countText(calls)}] : []),
				{text: labelName(row.label), title: labelFullName(row.label), className: "name"},
			];
		},
		pick: () => {}, isPlain: true,
		open: (i) => { if (rows[i].label >= 0) setState({function: rows[i].label}); },
	});
	return {
		update: () => {
			const tree = find();
			rows = tree ? directOf(tree) : [];
			whole = tree && tree.nr > 1 ? tallyAt(tree.total[0], 1) : newTally();
			table.setRows(rows.length, -1);
		},
		redraw: () => table.render(),
	};
}

const EMPTY_TREE = {nr: 0, deepest: 0, width: [0], start: [0], label: [], depth: [], end: [], parent: [],
	total: [], self: []};

function makeSandwichView(host) {
	const up = new FlameGraph(host.querySelector(".callers"), {
		label: "Callers", flip: true,
		tree: () => state.function >= 0 ? callersTree(state.function) : EMPTY_TREE,
	});
	const down = new FlameGraph(host.querySelector(".callees"), {
		label: "Callees", tree: () => state.function >= 0 ? calleesTree(state.function) : EMPTY_TREE,
	});
	const choices = new FunctionTable(host.querySelector(".choices"));
	const hasChoices = () => choices.host.clientWidth > 0;
	const lists = [
		makeNeighbours(host.querySelector(".caller-list"), "callers",
			() => state.function >= 0 ? callersTree(state.function) : null,
			(label) => label + " " + state.function),
		makeNeighbours(host.querySelector(".callee-list"), "callees",
			() => state.function >= 0 ? calleesTree(state.function) : null,
			(label) => state.function + " " + label),
	];
	return {
		update: () => {
			host.classList.toggle("none", state.function < 0);
			choices.update();
			up.update();
			down.update();
			lists.forEach((list) => list.update());
		},
		redraw: () => { choices.redraw(); up.redraw(); down.redraw(); lists.forEach((list) => list.redraw()); },
		find: (step) => hasChoices() ? choices.find(step) : down.find(step),
		focus: () => hasChoices() ? choices.host.focus() : down.canvas.focus(),
		key: (event) => hasChoices() ? choices.table.key(event, true) : down.key(event),
		hasPicked: () => choices.table.reveal(choices.table.cursor),
	};
}
