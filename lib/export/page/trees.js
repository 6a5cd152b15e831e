// SPDX-License-Identifier: GPL-2.0-or-later
// Trees of functions, and sums of functions and of lines, of the selected stacks.
//
// A finished tree is columns in drawing order: a node before its children, the heaviest child
// first. So the children of a node are found by walking, the subtree of a node is a run of nodes
// (up to `end`), and drawing skips every run that is too narrow to see.

// Children by (parent, label), with open addressing.
class ChildIndex {
	constructor() {
		this.clear(1 << 12);
	}

	clear(size) {
		this.mask = size - 1;
		this.slots = new Int32Array(size); // node + 1
	}

	slotOf(parents, labels, parent, label) {
		let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(label, 0x85ebca6b)) >>> 0;
		slot = (slot ^ (slot >>> 15)) & this.mask;
		for (let node; (node = this.slots[slot]); slot = (slot + 1) & this.mask) {
			if (parents[node - 1] === parent && labels[node - 1] === label)
				break;
		}
		return slot;
	}
}

// By row: the first one that is the same by functions, lines and copies apart. Most have no
// neighbours: only the others are looked up.
function sameStacks(side) {
	const nr = side.nrStacks, label = side.stackFunction, prefix = side.stackPrefix;
	const same = new Int32Array(nr), parents = new Int32Array(nr), eldest = new Int32Array(nr + 1).fill(-1);
	const index = new ChildIndex();
	index.clear(1 << Math.max(12, 32 - Math.clz32(nr)));
	for (let i = 0; i < nr; i++) {
		const parent = parents[i] = prefix[i] < 0 ? nr : same[prefix[i]], first = eldest[parent];
		same[i] = i;
		if (first < 0) {
			eldest[parent] = i;
		} else if (label[first] === label[i]) {
			same[i] = first;
		} else {
			const slot = index.slotOf(parents, label, parent, label[i]);
			if (index.slots[slot])
				same[i] = index.slots[slot] - 1;
			else
				index.slots[slot] = i + 1;
		}
	}
	return same;
}

// A tree while it grows: nodes in the order in which they are met, parents first.
class Grower {
	constructor(nrSides) {
		const room = 4096;
		this.nr = 0;
		this.index = new ChildIndex();
		this.parent = new Int32Array(room);
		this.label = new Int32Array(room);
		this.self = [];	 // by side: by sum: by node
		for (let side = 0; side < nrSides; side++)
			this.self.push(Object.fromEntries(SUMS.map((key) => [key, new Float64Array(room)])));
		this.root = this.add(-1, -1);
	}

	add(parent, label) {
		const node = this.nr++;
		if (node === this.parent.length)
			this.grow(node * 2);
		this.parent[node] = parent;
		this.label[node] = label;
		return node;
	}

	grow(room) {
		this.parent = larger(this.parent, room);
		this.label = larger(this.label, room);
		for (const sums of this.self) {
			for (const key of SUMS)
				sums[key] = larger(sums[key], room);
		}
	}

	child(parent, label) {
		let slot = this.index.slotOf(this.parent, this.label, parent, label);
		if (this.index.slots[slot])
			return this.index.slots[slot] - 1;
		const node = this.add(parent, label);
		this.index.slots[slot] = node + 1;
		if (this.nr * 2 > this.index.mask)
			this.rehash();
		return node;
	}

	rehash() {
		this.index.clear((this.index.mask + 1) * 4);
		for (let node = 1; node < this.nr; node++) {
			const slot = this.index.slotOf(this.parent, this.label, this.parent[node], this.label[node]);
			this.index.slots[slot] = node + 1;
		}
	}

	addSelf(side, node, rows, i) {
		const self = this.self[side];
		self.weight[node] += rows.weight[i];
		self.seen[node] += rows.seen[i];
		self.square[node] += rows.square[i];
		self.known[node] += rows.known[i];
	}
}

// Totals of each sum, by node. Parents come before their children.
function totalsOf(grower, side) {
	const totals = {};
	for (const key of SUMS) {
		const total = grower.self[side][key].slice(0, grower.nr);
		for (let node = grower.nr - 1; node > 0; node--)
			total[grower.parent[node]] += total[node];
		totals[key] = total;
	}
	return totals;
}

// Lightest first: most nodes have one child or few.
function sortRun(children, first, last, heavy) {
	if (last - first > 12) {
		children.subarray(first, last).sort((a, b) => heavy[a] - heavy[b] || b - a);
		return;
	}
	for (let i = first + 1; i < last; i++) {
		const child = children[i];
		let at = i;
		for (; at > first && heavy[children[at - 1]] > heavy[child]; at--)
			children[at] = children[at - 1];
		children[at] = child;
	}
}

// The nodes in drawing order. `heavy` is what children are sorted by.
function drawingOrder(grower, heavy) {
	const nr = grower.nr, first = new Int32Array(nr + 1), children = new Int32Array(nr);
	for (let node = 1; node < nr; node++)
		first[grower.parent[node] + 1]++;
	for (let node = 0; node < nr; node++)
		first[node + 1] += first[node];
	const at = first.slice();
	for (let node = 1; node < nr; node++)
		children[at[grower.parent[node]]++] = node;
	const order = new Int32Array(nr), open = [0];
	let nrDone = 0;
	while (open.length) {
		const node = open.pop();
		order[nrDone++] = node;
		sortRun(children, first[node], first[node + 1], heavy);
		for (let i = first[node]; i < first[node + 1]; i++)
			open.push(children[i]);
	}
	return order;
}

function pick(column, order, Type) {
	const picked = new Type(order.length);
	for (let i = 0; i < order.length; i++)
		picked[i] = column[order[i]];
	return picked;
}

// Widths are those of both sides together where there are two, so that nothing is missing.
function layOut(tree) {
	const nr = tree.nr, open = [];
	tree.depth = new Uint32Array(nr);
	tree.end = new Int32Array(nr);
	tree.start = new Float64Array(nr);
	tree.deepest = 0;
	for (let i = 0; i < nr; i++) {
		tree.depth[i] = i ? tree.depth[tree.parent[i]] + 1 : 0;
		tree.deepest = Math.max(tree.deepest, tree.depth[i]);
		while (open.length > tree.depth[i])
			tree.end[open.pop()] = i;
		open.push(i);
	}
	while (open.length)
		tree.end[open.pop()] = nr;
	const next = new Float64Array(tree.deepest + 2);
	for (let i = 0; i < nr; i++) {
		tree.start[i] = next[tree.depth[i]];
		next[tree.depth[i]] += tree.width[i];
		next[tree.depth[i] + 1] = tree.start[i];
	}
}

function finish(grower) {
	const totals = sides.map((side, i) => totalsOf(grower, i));
	const heavy = totals[0].weight.slice();
	if (totals[1])
		heavy.forEach((weight, node) => { heavy[node] = weight + totals[1].weight[node]; });
	const order = drawingOrder(grower, heavy), place = new Int32Array(grower.nr);
	order.forEach((node, i) => { place[node] = i; });
	const tree = {
		nr: grower.nr, label: pick(grower.label, order, Int32Array),
		parent: pick(grower.parent, order, Int32Array).map((node) => node < 0 ? -1 : place[node]),
		order: order, // of what `total` and `self` have by side: see tallyAt()
		total: totals.map((sums) => ({...sums, order: order})),
		self: grower.self.map((sums) => ({...sums, order: order})),
		width: pick(heavy, order, Float64Array),
	};
	layOut(tree);
	return tree;
}

// Of a node of a tree; of a function where there is no order.
function tallyAt(sums, node) {
	const at = sums.order ? sums.order[node] : node;
	return {weight: sums.weight[at], seen: sums.seen[at], square: sums.square[at], known: sums.known[at]};
}

// --- from stacks to nodes ---

// Where a stack ends in a tree of callees. `top` is the function that trees stand on, or -1: then
// stacks stand on their group.
class Planter {
	constructor(grower, side, hidden, top) {
		this.grower = grower;
		this.side = side;
		this.hidden = hidden;
		this.top = top;
		this.node = new Int32Array(side.nrStacks);
		this.stamp = new Int32Array(side.nrStacks).fill(-1);
		this.below = top < 0 ? null : stacksWith(side, top);
		this.way = [];
	}

	base(group) {
		const root = this.grower.root, grouped = state.group !== "none";
		return this.top < 0 && grouped ? this.grower.child(root, -2 - group) : root;
	}

	nodeOf(stack, group) {
		const side = this.side, way = this.way;
		let at = stack;
		while (at >= 0 && this.stamp[at] !== group && !(this.below && !this.below[at])) {
			way.push(at);
			at = side.stackPrefix[at];
		}
		let node = at >= 0 && this.stamp[at] === group ? this.node[at] : this.base(group);
		while (way.length) {
			at = way.pop();
			node = this.step(node, side.stackFunction[at]);
			this.node[at] = node;
			this.stamp[at] = group;
		}
		return node;
	}

	step(node, label) {
		if (this.hidden[label] || (state.collapse && this.grower.label[node] === label))
			return node;
		return this.grower.child(node, label);
	}
}

// The same of all stacks of one profile as they are: those of equal functions are known.
function growPlain(rows) {
	const side = sides[0], nr = side.nrStacks, prefix = side.stackPrefix;
	const same = remember("same", "", () => sameStacks(side));
	const grower = new Grower(1), node = new Int32Array(nr), weight = new Float64Array(nr);
	const base = state.group !== "none" && rows.nr ? grower.child(0, -2 - rows.group[0]) : 0;
	for (let i = 0; i < rows.nr; i++)
		weight[same[rows.stack[i]]] += rows.weight[i];
	for (let i = nr - 1; i >= 0; i--) {
		if (weight[i] && prefix[i] >= 0)
			weight[same[prefix[i]]] += weight[i];
	}
	for (let i = 0; i < nr; i++) {
		if (weight[i])
			node[i] = grower.add(prefix[i] < 0 ? base : node[same[prefix[i]]], side.stackFunction[i]);
	}
	for (let i = 0; i < rows.nr; i++)
		grower.addSelf(0, node[same[rows.stack[i]]], rows, i);
	return finish(grower);
}

function isPlain(rows) {
	return !sides[1] && !state.collapse && !state.hide.length && !state.hideModules.length &&
		rows.nr > 0 && rows.group[0] === rows.group[rows.nr - 1];
}

function growCallees(top) {
	if (top < 0 && isPlain(selection().rows[0]))
		return growPlain(selection().rows[0]);
	const grower = new Grower(sides.length), hidden = hiddenFunctions();
	sides.forEach((side, i) => {
		const planter = new Planter(grower, side, hidden, top), rows = selection().rows[i];
		for (let row = 0; row < rows.nr; row++) {
			if (!planter.below || planter.below[rows.stack[row]])
				grower.addSelf(i, planter.nodeOf(rows.stack[row], rows.group[row]), rows, row);
		}
	});
	return finish(grower);
}

// Callers of less than this part of all are not followed: they could not be seen.
const CALLERS_LEAST = 1e-4;

// The stack in which the outermost call of a function is.
function outermost(side, has, stack) {
	while (side.stackPrefix[stack] >= 0 && has[side.stackPrefix[stack]])
		stack = side.stackPrefix[stack];
	return stack;
}

// The next stack up that has another function to show, or -1.
function nextCaller(side, hidden, stack, label) {
	while (stack >= 0 && (hidden[side.stackFunction[stack]] ||
			(state.collapse && side.stackFunction[stack] === label)))
		stack = side.stackPrefix[stack];
	return stack;
}

// Way points: [side, row, stack that stands next] of all that came to a node.
function divide(grower, node, ways, hidden, least, todo) {
	const byLabel = new Map(), label = grower.label[node];
	for (const way of ways) {
		const side = sides[way.side], rows = selection().rows[way.side];
		const stack = nextCaller(side, hidden, way.at, label);
		if (stack < 0) {
			grower.addSelf(way.side, node, rows, way.row);
			continue;
		}
		const next = side.stackFunction[stack];
		let group = byLabel.get(next);
		if (!group)
			byLabel.set(next, group = {label: next, weight: 0, ways: []});
		group.weight += rows.weight[way.row];
		group.ways.push({side: way.side, row: way.row, at: side.stackPrefix[stack]});
	}
	for (const group of byLabel.values()) {
		const child = grower.child(node, group.label);
		if (group.weight >= least)
			todo.push([child, group.ways]);
		else
			group.ways.forEach((way) =>
				grower.addSelf(way.side, child, selection().rows[way.side], way.row));
	}
}

// All from the leaves up, or from the outermost call of one function up.
function growCallers(top) {
	const grower = new Grower(sides.length), hidden = hiddenFunctions(), todo = [];
	const ways = [];
	sides.forEach((side, i) => {
		const has = top < 0 ? null : stacksWith(side, top), rows = selection().rows[i];
		for (let row = 0; row < rows.nr; row++) {
			const stack = rows.stack[row];
			if (!has || has[stack])
				ways.push({side: i, row: row, at: has ? outermost(side, has, stack) : stack});
		}
	});
	const least = selection().total.reduce((sum, tally) => sum + tally.weight, 0) * CALLERS_LEAST;
	const shown = top < 0 ? hidden : hidden.map((is, id) => id === top ? 0 : is);
	todo.push([grower.root, ways]);
	while (todo.length) {
		const [node, nodeWays] = todo.pop();
		divide(grower, node, nodeWays, node === grower.root ? shown : hidden, least, todo);
	}
	return finish(grower);
}

function addOwnCalls(grower, side, node, calls) {
	grower.addSelf(side, node, {weight: [calls], seen: [calls], square: [0], known: [calls]}, 0);
}

// Counted calls: below each caller what it calls; beside them what is entered from elsewhere.
function growCalls() {
	const grower = new Grower(sides.length);
	sides.forEach((side, i) => {
		const known = new Map(), calls = side.calls;
		addCalls(side, (caller, callee, nr) => {
			const label = callee < 0 ? -2 - groupId("[indirect]") : callee;
			addOwnCalls(grower, i, grower.child(grower.child(grower.root, caller), label), nr);
			known.set(label, (known.get(label) || 0) + nr);
		});
		calls.forEach((nr, id) => {
			const rest = nr - (known.get(id) || 0);
			if (rest > 0)
				addOwnCalls(grower, i, grower.child(grower.root, id), rest);
		});
	});
	return finish(grower);
}

// Below a function those that it calls, or those that call it.
function growNeighbours(id, isUp) {
	const grower = new Grower(sides.length), node = grower.child(grower.root, id);
	sides.forEach((side, i) => {
		let rest = isUp ? side.calls[id] || 0 : 0;
		addCalls(side, (caller, callee, nr) => {
			const label = callee < 0 ? -2 - groupId("[indirect]") : callee;
			if ((isUp ? label : caller) !== id)
				return;
			addOwnCalls(grower, i, grower.child(node, isUp ? caller : label), nr);
			rest -= nr;
		});
		if (rest > 0)
			addOwnCalls(grower, i, node, rest);
	});
	return finish(grower);
}

const TREE = [...SELECTION, "hide", "hideModules", "collapse"];

function mergedTree() {
	if (state.metric === "calls")
		return remember("calls", "", growCalls);
	return remember("merged", keyOf(...TREE), () => growCallees(-1));
}

function shownTree() {
	if (!state.invert || state.metric === "calls")
		return mergedTree();
	return remember("inverted", keyOf(...TREE), () => growCallers(-1));
}

function calleesTree(id) {
	return remember("callees", keyOf(...TREE) + id, () =>
		state.metric === "calls" ? growNeighbours(id, false) : growCallees(id));
}

function callersTree(id) {
	return remember("callers", keyOf(...TREE) + id, () =>
		state.metric === "calls" ? growNeighbours(id, true) : growCallers(id));
}

// The whole of what a view's percentages are of.
function selectedTotal(side) {
	const tree = mergedTree();
	return tallyAt(tree.total[side || 0], 0);
}

// --- sums ---

function emptyFunctionSums() {
	const sums = {};
	for (const key of SUMS)
		sums[key] = new Float64Array(functions.length);
	return sums;
}

// Total counts a function once in each stack: while it is open above, the same function below
// adds nothing.
function sumFunctionsOf(tree, side) {
	const self = tree.self[side], total = tree.total[side], label = tree.label, order = tree.order;
	const sum = {self: emptyFunctionSums(), total: emptyFunctionSums()};
	const openUntil = new Int32Array(functions.length);
	const add = (into, id, from, node) => {
		into.weight[id] += from.weight[node];
		into.seen[id] += from.seen[node];
		into.square[id] += from.square[node];
		into.known[id] += from.known[node];
	};
	for (let i = 0; i < tree.nr; i++) {
		const id = label[i], node = order[i];
		if (id < 0)
			continue;
		if (self.weight[node])
			add(sum.self, id, self, node);
		if (i < openUntil[id])
			continue;
		add(sum.total, id, total, node);
		openUntil[id] = tree.end[i];
	}
	return sum;
}

function sumFunctions() {
	return remember("functions", keyOf(...TREE), () =>
		sides.map((side, i) => sumFunctionsOf(mergedTree(), i)));
}

// By line of one file: {self, total} of the selected stacks, each stack once.
function sumLines(side, rows, file) {
	const lines = new Map(), stamp = new Map();
	const at = (line) => {
		if (!lines.has(line))
			lines.set(line, {self: newTally(), total: newTally()});
		return lines.get(line);
	};
	const add = (tally, i) => {
		for (const key of SUMS)
			tally[key] += rows[key][i];
	};
	for (let i = 0; i < rows.nr; i++) {
		for (let stack = rows.stack[i]; stack >= 0; stack = side.stackPrefix[stack]) {
			const frame = side.stackFrame[stack], line = side.frameLine[frame];
			if (side.frameFile[frame] !== file + 1 || !line)
				continue;
			if (stack === rows.stack[i])
				add(at(line).self, i);
			if (stamp.get(line) !== i)
				add(at(line).total, i);
			stamp.set(line, i);
		}
	}
	return lines;
}
