// SPDX-License-Identifier: GPL-2.0-or-later
// The tab of what threads wait for, and the stacks of those that had it.
const WAIT_COLUMNS = {
	blocked: {title: "blocked", width: "84px", value: (row) => row.tally.weight,
		cell: (row) => ({text: timeText(row.tally.weight)})},
	share: {title: "%", width: "104px", sort: "blocked", hint: "of the selection, \u00b1 with 95% confidence",
		cell: (row) => ({text: shareText(row.tally, selectedTotal()),
			bar: row.tally.weight / selectedTotal().weight})},
	samples: {title: "samples", width: "70px", value: (row) => row.tally.seen,
		cell: (row) => ({text: countText(row.tally.seen)})},
	threads: {title: "threads", width: "66px", hint: "that waited", value: (row) => row.blame.threads.size,
		cell: (row) => ({text: countText(row.blame.threads.size)})},
	kind: {title: "kind", width: "72px", isText: true, value: (row) => row.kind, cell: (row) => ({text: row.kind})},
	name: {title: "waits for", width: "minmax(130px, 3fr)", isText: true, value: (row) => row.name,
		cell: (row) => ({text: row.name, className: "name"})},
	in: {title: "waiting in", width: "minmax(90px, 2fr)", isText: true, value: (row) => waitingInText(row.object),
		cell: (row) => ({text: waitingInText(row.object), className: "name"})},
	by: {title: "held by", width: "minmax(80px, 2fr)", isText: true, value: (row) => ownersText(row.object),
		hint: "the thread that had it, with its share of the waiting", cell: (row) => ({text: ownersText(row.object)})},
	heldIn: {title: "held in", width: "minmax(90px, 2fr)", isText: true, value: (row) => heldInText(row.object),
		hint: "what the first of them did meanwhile", cell: (row) => ({text: heldInText(row.object), className: "name"})},
};
const WAITS_NARROW = ["share", "name", "by"], WAITS_MIDDLE = ["blocked", "share", "kind", "name", "by", "heldIn"];
const WAITS_NARROW_PX = 640, WAITS_MIDDLE_PX = 1000;

// Stacks of a wait, as Callers has them: above those that wait, below those of the threads that had it.
function showWait(id) {
	setState({view: "sandwich", metric: "blocked", function: id, left: null, right: null});
}

class WaitTable {
	constructor(host) {
		this.rows = [];
		this.host = host.querySelector(".list");
		this.note = host.querySelector(".note");
		this.table = new RowTable(this.host, {
			label: "Waits", columns: () => this.columns(), cells: (i) => this.cells(i), pick: (i) => this.pick(i),
			click: (i) => this.open(i), open: (i) => this.open(i), sortBy: (key) => this.sortBy(key), sortKey: "waitSort",
		});
	}

	columns() {
		const width = this.host.clientWidth || innerWidth;
		this.names = width < WAITS_NARROW_PX ? WAITS_NARROW : width < WAITS_MIDDLE_PX ? WAITS_MIDDLE : Object.keys(WAIT_COLUMNS);
		return this.names.map((name) => ({
			title: WAIT_COLUMNS[name].title, width: WAIT_COLUMNS[name].width, number: !WAIT_COLUMNS[name].isText,
			hint: WAIT_COLUMNS[name].hint, sort: WAIT_COLUMNS[name].sort || name, follows: Boolean(WAIT_COLUMNS[name].sort),
		}));
	}

	cells(i) {
		return this.names.map((name) => WAIT_COLUMNS[name].cell(this.rows[i]));
	}

	open(i) {
		showWait(this.rows[i].function);
	}

	pick(i) {
		const row = this.rows[i];
		setState({function: row.function}, true);
		say(describeSums(row.function, row.tally, null, selectedTotal()).map((line) => line[0]).join(", "));
	}

	sortBy(key) {
		const down = "-" + key, isText = WAIT_COLUMNS[key].isText;
		setState({waitSort: state.waitSort === down ? key : state.waitSort === key ? down : isText ? key : down});
	}

	hasMatch(row) {
		const pattern = searchPattern();
		return !pattern || [row.frame, waitingInText(row.object), ownersText(row.object), heldInText(row.object)]
			.some((text) => pattern.test(text));
	}

	list() {
		const sums = sumFunctions()[0].self, key = state.waitSort.replace(/^-/, ""), {value} = WAIT_COLUMNS[key] || WAIT_COLUMNS.blocked;
		const sign = state.waitSort[0] === "-" ? -1 : 1, less = (a, b) => a < b ? -1 : a > b ? 1 : 0;
		return sides[0].waitObjects.map((object, i) => ({...object, object: i, frame: functions[object.function].full,
			blame: blames()[i], tally: {...tallyAt(sums, object.function), joint: 0}})) // as reports by lock judge them
			.filter((row) => row.tally.weight && this.hasMatch(row))
			.sort((a, b) => sign * less(value(a), value(b)) || b.tally.weight - a.tally.weight);
	}

	update() {
		this.rows = remember("waits", keyOf(...TREE, "search", "waitSort"), () => this.list());
		this.host.hidden = !this.rows.length;
		this.note.textContent = this.noteText();
		this.table.setRows(this.rows.length, this.rows.findIndex((row) => row.function === state.function));
	}

	noteText() {
		const side = sides[0], sum = newTally(), of = (isLock) => this.rows.filter((row) => row.isLock === isLock).length;
		this.rows.forEach((row) => addTally(sum, row.tally));
		if (this.rows.length)
			return shareText(sum, selectedTotal()) + "% of the blocked time: " + [[of(true), "lock"], [of(false), "descriptor"]]
				.filter(([nr]) => nr).map(([nr, word]) => countText(nr) + " " + word + (nr === 1 ? "" : "s")).join(" and ") +
				". Click on one for its stacks.";
		if (!side.data.knowsWaits)
			return "The recording does not have what threads waited for.";
		if (!side.waitObjects.length)
			return "No thread was seen to wait for a lock or a descriptor.";
		return state.search ? "No match." : "Nothing that is selected waits for a lock or a descriptor.";
	}

	redraw() {
		this.table.setRows(this.rows.length);
	}

	find(step) {
		if (!this.rows.length || !searchPattern())
			return null;
		const from = this.table.cursor < 0 && step < 0 ? 0 : this.table.cursor;
		const next = (from + step + this.rows.length) % this.rows.length;
		this.table.moveTo(next, true);
		return {at: next + 1, of: this.rows.length};
	}
}

function makeWaitsView(host) {
	const view = new WaitTable(host);
	return {
		update: () => view.update(), redraw: () => view.redraw(), find: (step) => view.find(step),
		focus: () => view.host.focus(), key: (event) => view.table.key(event, true),
		hasPicked: () => view.table.reveal(view.table.cursor),
	};
}

// --- the stacks of the threads that had it ---

// Below the frame of the wait each thread that had it, and what it did while others waited.
function growHolders(id) {
	const side = sides[0], grower = new Grower(1), hidden = hiddenFunctions(), top = grower.child(grower.root, id);
	for (const [thread, owner] of ownersOf(functions[id].wait)) {
		const base = grower.child(top, -2 - groupId(threadName(side, thread)));
		for (const [leaf, ns] of owner.leaves) {
			const path = [];
			let node = base;
			for (let at = side.leafStack[leaf]; at >= 0; at = side.stackPrefix[at])
				path.push(side.stackFunction[at]);
			for (const label of path.reverse()) {
				if (!hidden[label] && !(state.collapse && grower.label[node] === label))
					node = grower.child(node, label);
			}
			const nr = owner.times.get(leaf);
			grower.addSelf(0, node, {weight: [ns], seen: [nr], square: [ns * ns / nr], known: [0], joint: [0]}, 0);
		}
	}
	return Object.assign(finish(grower), {isOfHolders: true});
}
