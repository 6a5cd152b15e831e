// SPDX-License-Identifier: GPL-2.0-or-later
// The call tree as a table whose rows open, with heat.
const OPEN_PERCENT = 50; // children of so much are open at first

class TreeView {
	constructor(host) {
		this.rows = [];
		this.table = new RowTable(host, {
			label: "Call tree", columns: () => this.columns(), cells: (i) => this.cells(i),
			pick: (i) => this.pick(i), open: (i) => this.toggle(i), level: (i) => this.levelOf(i),
			isOpen: (i) => this.isLeaf(i) ? null : this.open.has(this.rows[i]),
			toggle: (i, open) => this.toggle(i, open), openAll: (i) => this.openAll(i),
			stack: (i) => stackOf(this.tree, this.rows[i]),
		});
		this.host = host;
	}

	columns() {
		const isWide = this.isWide = this.host.clientWidth > 700;
		return [
			{title: "total", width: "84px", number: true},
			{title: "% of selection", width: "118px", number: true},
			...(isWide && !isAllSelected() ? [{title: "% of all", width: "112px", number: true}] : []),
			...(isWide ? [{title: "self", width: "84px", number: true},
				{title: "% self", width: "112px", number: true}] : []),
			...(sides[1] ? [{title: sideNames()[1], width: "84px", number: true},
				{title: "change", width: "124px", number: true}] : []),
			{title: state.invert ? "function, and its callers below" : "function", width: "minmax(140px, 1fr)"},
		];
	}

	cells(i) {
		const tree = this.tree, node = this.rows[i], label = tree.label[node];
		const isWide = this.isWide, whole = tallyAt(tree.total[0], 0);
		const total = tallyAt(tree.total[0], node), self = tallyAt(tree.self[0], node);
		const old = sides[1] ? tallyAt(tree.total[1], node) : null;
		return [
			{text: amountText(state.metric, total.weight)},
			{text: shareText(total, whole), bar: whole.weight ? total.weight / whole.weight : 0},
			...(isWide && !isAllSelected() ? [{text: shareText(total, selection().all[0])}] : []),
			...(isWide && !self.weight ? [{text: ""}, {text: ""}] :
				isWide ? [{text: amountText(state.metric, self.weight)},
					{text: shareText(self, whole), bar: self.weight / whole.weight}] : []),
			...(old ? [{text: amountText(state.metric, old.weight)},
				changeCell(changeOf(total, whole, old, tallyAt(tree.total[1], 0)))] : []),
			{text: nodeName(tree, node), title: labelFullName(label), className: "name",
				indent: this.columnOf(node), open: this.isLeaf(i) ? null : this.open.has(node)},
		];
	}

	// Chains of functions without a choice stand in one column, as reports with --tree have them.
	columnOf(node) {
		const {parent, end} = this.tree;
		let column = 0;
		for (let above = parent[node]; above >= 0; node = above, above = parent[node])
			column += above === 0 || end[above + 1] !== end[above] ? 1 : 0;
		return column;
	}

	isLeaf(i) {
		return this.tree.end[this.rows[i]] === this.rows[i] + 1;
	}

	levelOf(i) {
		return this.tree.depth[this.rows[i]] + 1;
	}

	update() {
		const tree = shownTree();
		if (tree !== this.tree) {
			this.tree = tree;
			this.open = new Set();
			this.openHeavy(0);
		}
		this.reveal(findPath(tree, state.zoom));
	}

	openHeavy(node) {
		const tree = this.tree, least = tree.width[0] * OPEN_PERCENT / 100;
		for (let at = node; at < tree.nr;) {
			if (tree.width[at] < least) {
				at = tree.end[at];
				continue;
			}
			this.open.add(at++);
		}
	}

	reveal(node) {
		for (let at = this.tree.parent[node]; at >= 0; at = this.tree.parent[at])
			this.open.add(at);
		this.list();
		this.table.setRows(this.rows.length, node ? this.rows.indexOf(node) : undefined);
		if (node)
			this.table.reveal(this.rows.indexOf(node));
		this.table.render();
	}

	list() {
		this.rows = [];
		for (let node = 0; node < this.tree.nr;) {
			this.rows.push(node);
			node = this.open.has(node) ? node + 1 : this.tree.end[node];
		}
	}

	pick(i) {
		const node = this.rows[i], label = this.tree.label[node];
		setState({zoom: pathOf(this.tree, node), function: label >= 0 ? label : state.function}, true);
		say(describeNode(this.tree, node, 0).map((line) => line[0]).join(", "));
	}

	toggle(i, open) {
		const node = this.rows[i], isOpen = this.open.has(node);
		if (open === false && (!isOpen || this.isLeaf(i))) {
			const parent = this.rows.indexOf(this.tree.parent[node]);
			this.table.moveTo(parent, true);
			return;
		}
		if (open === undefined ? isOpen : !open)
			this.open.delete(node);
		else
			this.openBelow(node);
		this.list();
		this.table.setRows(this.rows.length, i);
	}

	openAll(i) {
		const tree = this.tree, node = this.rows[i];
		for (let at = node; at < tree.end[node]; at++)
			this.open.add(at);
		this.list();
		this.table.setRows(this.rows.length, i);
	}

	// A chain of single calls opens at once.
	openBelow(node) {
		const tree = this.tree;
		this.open.add(node);
		while (node + 1 < tree.end[node] && tree.end[node + 1] === tree.end[node])
			this.open.add(++node);
	}

	find(step) {
		const hits = [];
		for (let i = 0; i < this.tree.nr; i++) {
			if (isMatch(this.tree.label[i]))
				hits.push(i);
		}
		const at = this.table.cursor < 0 ? -1 : this.rows[this.table.cursor];
		let next = step > 0 ? hits.findIndex((node) => node > at) : hits.filter((node) => node < at).length - 1;
		if (!hits.length)
			return null;
		if (next < 0)
			next = step > 0 ? 0 : hits.length - 1;
		this.reveal(hits[next]);
		this.pick(this.rows.indexOf(hits[next]));
		return {at: next + 1, of: hits.length};
	}
}

function changeCell(changed) {
	return {text: changeText(changed), className: !changed.isSure ? "dim" : changed.change > 0 ? "more" : "less",
		title: changed.isSure ? "" : "within chance"};
}

function makeTreeView(host) {
	const view = new TreeView(host.querySelector(".list"));
	return {
		update: () => view.update(), redraw: () => view.table.render(), find: (step) => view.find(step),
		focus: () => view.host.focus(), key: (event) => view.table.key(event, true),
	};
}
