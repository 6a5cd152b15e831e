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

// A tree while it grows: nodes in the order in which they are met, parents first.
class Grower {
	constructor(nrSides) {
		const room = 4096;
		this.nr = 0;
		this.index = new ChildIndex();
		this.parent = new Int32Array(room);
		this.label = new Int32Array(room);
		this.notInlined = new Uint8Array(room); // is any of its frames not?
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
		this.notInlined = larger(this.notInlined, room);
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
		self.joint[node] += rows.joint[i];
	}
}

// Sums of each node and all below it, in drawing order: those that are not asked for at once are
// added up when they are. `self` has the sums of nodes alone, where `self.order` says.
class Totals {
	constructor(tree, self, weight) {
		this.tree = tree;
		this.self = self;
		this.weight = weight;
		this.made = {};
	}

	sum(key) {
		if (!this.made[key])
			this.made[key] = addBelow(pick(this.self[key], this.self.order, Float64Array), this.tree.parent);
		return this.made[key];
	}

	get seen() {
		return this.sum("seen");
	}

	get square() {
		return this.sum("square");
	}

	get known() {
		return this.sum("known");
	}

	get joint() {
		return this.sum("joint");
	}
}

// From sums of nodes alone to those with all below. Parents come before their children.
function addBelow(sums, parent) {
	for (let node = sums.length - 1; node > 0; node--)
		sums[parent[node]] += sums[node];
	return sums;
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
	const {nr, parent, width} = tree;
	const depth = tree.depth = new Uint32Array(nr);
	const end = tree.end = new Int32Array(nr);
	const start = tree.start = new Float64Array(nr);
	let next = new Float64Array(256); // by depth: where the next one begins
	let deepest = 0;
	for (let i = nr - 1; i >= 0; i--) { // what is met first of the nodes below one is the last of them
		const above = parent[i];
		end[i] = end[i] || i + 1;
		if (above >= 0)
			end[above] = end[above] || end[i];
	}
	for (let i = 0; i < nr; i++) {
		const own = depth[i] = i ? depth[parent[i]] + 1 : 0;
		if (own > deepest)
			deepest = own;
		if (deepest + 1 >= next.length)
			next = larger(next, next.length * 2);
		const left = start[i] = next[own];
		next[own] = left + width[i];
		next[own + 1] = left;
	}
	tree.deepest = deepest;
}

function placesIn(order) {
	const place = new Int32Array(order.length);
	for (let i = 0; i < order.length; i++)
		place[order[i]] = i;
	return place;
}

function movedParents(parent, order) {
	const place = placesIn(order), moved = new Int32Array(order.length);
	for (let i = 0; i < order.length; i++)
		moved[i] = parent[order[i]] < 0 ? -1 : place[parent[order[i]]];
	return moved;
}

function finish(grower) {
	const weights = grower.self.map((self) => addBelow(self.weight.slice(0, grower.nr), grower.parent));
	const heavy = weights[0].slice();
	for (let node = 0; weights[1] && node < grower.nr; node++)
		heavy[node] += weights[1][node];
	const order = drawingOrder(grower, heavy);
	const tree = {
		nr: grower.nr, label: pick(grower.label, order, Int32Array), parent: movedParents(grower.parent, order),
		self: grower.self.map((sums) => ({...sums, order: order})), // see tallyAt()
		width: pick(heavy, order, Float64Array), notInlined: pick(grower.notInlined, order, Uint8Array),
	};
	tree.total = tree.self.map((self, i) => new Totals(tree, self, pick(weights[i], order, Float64Array)));
	layOut(tree);
	return tree;
}

// Of a node of a tree; of a function where there is no order.
function tallyAt(sums, node) {
	const at = sums.order ? sums.order[node] : node;
	return {
		weight: sums.weight[at], seen: sums.seen[at], square: sums.square[at], known: sums.known[at],
		joint: sums.joint[at]
	};
}

// --- from stacks to nodes ---

// Where a stack ends in a tree of callees. `top` is the function that trees stand on, or -1: then
// stacks stand on their group.
class Planter {
	constructor(grower, side, hidden, top) {
		this.grower = grower;
		this.side = side;
		this.hidden = hidden;
		this.merged = mergedModules();
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
			node = this.step(node, at);
			this.node[at] = node;
			this.stamp[at] = group;
		}
		return node;
	}

	step(node, stack) {
		const label = this.side.stackFunction[stack];
		if (this.hidden[label] || (state.collapse && this.grower.label[node] === label) ||
				(this.merged && isMergedAway(this.side, stack, this.merged)))
			return node;
		const child = this.grower.child(node, label);
		this.grower.notInlined[child] |= isInlined(this.side, stack) ? 0 : 1;
		return child;
	}
}

function isInlined(side, stack) {
	return side.frameInlined[side.stackFrame[stack]] !== 0;
}

// Are all stacks of a node of a profile inlined? Its rows follow each other.
function isNodeInlined(side, node) {
	const next = node + 1 < side.nodeFirst.length ? side.nodeFirst[node + 1] : side.nrStacks;
	for (let stack = side.nodeFirst[node]; stack < next; stack++) {
		if (!isInlined(side, stack))
			return false;
	}
	return true;
}

// A tree of a part of the nodes of a profile as they are. Where the page begins they are in drawing
// order already, and need no sorting.
class PlainTree {
	constructor(side, rows) {
		const nr = side.nodeParent.length;
		this.side = side;
		this.rows = rows;
		this.weight = new Float64Array(nr);
		this.place = new Int32Array(nr);
		this.mark = new Uint8Array(nr); // is it in the tree of the group?
		this.leaf = new Int32Array(rows.nr); // by row: its node of the profile
		for (let i = 0; i < rows.nr; i++)
			this.leaf[i] = side.nodeOf[rows.stack[i]];
		this.nr = 0;
		this.label = this.parent = this.slot = this.profileNode = new Int32Array(0);
		this.width = new Float64Array(0);
		this.self = {};
		for (const key of SUMS) {
			this.self[key] = new Float64Array(rows.nr + 1);
			this.self[key].set(rows[key].subarray(0, rows.nr), 1);
		}
		this.isSorted = true;
	}

	reserve(nr) {
		if (this.nr + nr <= this.label.length)
			return;
		for (const key of ["label", "parent", "width", "slot", "profileNode"])
			this[key] = larger(this[key], Math.max(this.nr + nr, this.label.length * 2));
	}

	add(parent, label, width) {
		const node = this.nr++;
		this.label[node] = label;
		this.parent[node] = parent;
		this.width[node] = width;
		this.profileNode[node] = -1;
		return node;
	}

	// Weighs and marks the nodes that rows [first, last) come to. Of few rows returns them, in drawing order; else null.
	reach(first, last) {
		const {leaf, weight, mark} = this, parent = this.side.nodeParent, own = this.rows.weight, nodes = [];
		const isFew = last - first < mark.length / 64;
		for (let i = first; i < last; i++) {
			weight[leaf[i]] += own[i];
			for (let node = leaf[i]; isFew && node >= 0 && !mark[node]; node = parent[node]) {
				mark[node] = 1;
				nodes.push(node);
			}
			mark[leaf[i]] = 1;
		}
		const sorted = isFew ? Int32Array.from(nodes).sort() : null;
		let nr = 0;
		for (let i = (isFew ? nodes : mark).length - 1; i >= 0; i--) {
			const node = isFew ? sorted[i] : i, above = parent[node];
			if (!mark[node])
				continue;
			nr++;
			if (above < 0)
				continue;
			mark[above] = 1;
			weight[above] += weight[node];
		}
		this.reserve(nr);
		return sorted;
	}

	// Rows of one group below a node. Are siblings still sorted by weight, heaviest first?
	addGroup(first, last, base) {
		const {nodeParent, nodeDepth, nodeLabel, nrSortedNodes, deepest} = this.side, {place, weight, mark} = this;
		const nodes = this.reach(first, last), nr = (nodes || mark).length, {label, parent, width, profileNode} = this;
		const before = new Float64Array(deepest + 3).fill(Infinity); // by depth: the weight of the sibling
		let at = this.nr, isSorted = this.isSorted;
		for (let i = 0; i < nr; i++) {
			const node = nodes ? nodes[i] : i;
			if (!mark[node])
				continue;
			const own = weight[node], above = nodeParent[node], depth = nodeDepth[node];
			isSorted = isSorted && own <= before[depth] && node < nrSortedNodes;
			before[depth] = own;
			before[depth + 1] = Infinity;
			weight[node] = mark[node] = 0;
			place[node] = at;
			profileNode[at] = node;
			label[at] = nodeLabel[node];
			parent[at] = above < 0 ? base : place[above];
			width[at++] = own;
		}
		this.isSorted = isSorted;
		this.nr = at;
		this.addSelf(first, last);
	}

	// Few nodes have sums of their own, mostly of one row: slots are rows and 1. The others share slot 0.
	addSelf(first, last) {
		const {slot, place, leaf, self, rows} = this;
		for (let i = first; i < last; i++) {
			const node = place[leaf[i]], other = slot[node];
			slot[node] = other || i + 1;
			if (!other)
				continue;
			for (const key of SUMS)
				self[key][other] += rows[key][i];
		}
	}

	finish() {
		const order = this.isSorted ? null : drawingOrder(this, this.width);
		const pickAll = (column) => order ? pick(column, order, column.constructor) : column.subarray(0, this.nr);
		const tree = {nr: this.nr, label: pickAll(this.label), width: pickAll(this.width),
			parent: order ? movedParents(this.parent, order) : this.parent.subarray(0, this.nr)};
		tree.profileNode = pickAll(this.profileNode);
		tree.self = [{...this.self, order: pickAll(this.slot)}];
		tree.total = [new Totals(tree, tree.self[0], tree.width)];
		layOut(tree);
		return tree;
	}
}

// Rows of each group, which follow each other, the heaviest group first.
function groupsOfRows(rows) {
	const groups = [];
	for (let i = 0; i < rows.nr; i++) {
		const last = groups[groups.length - 1];
		if (last && last.group === rows.group[i]) {
			last.last = i + 1;
			last.weight += rows.weight[i];
		} else {
			groups.push({group: rows.group[i], first: i, last: i + 1, weight: rows.weight[i]});
		}
	}
	return groups.sort((a, b) => b.weight - a.weight);
}

function growPlain(rows) {
	const tree = new PlainTree(sides[0], rows), groups = groupsOfRows(rows), isGrouped = state.group !== "none";
	tree.reserve(1 + groups.length);
	const root = tree.add(-1, -1, groups.reduce((sum, group) => sum + group.weight, 0));
	for (const {group, first, last, weight} of groups) {
		tree.reserve(1);
		tree.addGroup(first, last, isGrouped ? tree.add(root, -2 - group, weight) : root);
	}
	return tree.finish();
}

// The stacks of one profile as they are, nothing left out?
function isPlain() {
	return !sides[1] && !state.collapse && !state.hide.length && !state.hideModules.length && !state.merge.length;
}

function growCallees(top) {
	if (top < 0 && isPlain())
		return growPlain(selection().rows[0]);
	const grower = new Grower(sides.length), hidden = hiddenFunctions();
	sides.forEach((side, i) => {
		const planter = new Planter(grower, side, hidden, top), rows = selection().rows[i];
		for (let row = 0; row < rows.nr; row++) {
			if (!planter.below || planter.below[rows.stack[row]])
				grower.addSelf(i, planter.nodeOf(rows.stack[row], rows.group[row]), rows, row);
		}
	});
	return Object.assign(finish(grower), {isOfFrames: true});
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
	const merged = mergedModules();
	while (stack >= 0 && (hidden[side.stackFunction[stack]] || isMergedAway(side, stack, merged) ||
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
			byLabel.set(next, group = {label: next, weight: 0, ways: [], notInlined: 0});
		group.weight += rows.weight[way.row];
		group.notInlined |= isInlined(side, stack) ? 0 : 1;
		group.ways.push({side: way.side, row: way.row, at: side.stackPrefix[stack]});
	}
	for (const group of byLabel.values()) {
		const child = grower.child(node, group.label);
		grower.notInlined[child] |= group.notInlined;
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
	return Object.assign(finish(grower), {isOfFrames: true});
}

function addOwnCalls(grower, side, node, calls) {
	grower.addSelf(side, node, {weight: [calls], seen: [calls], square: [0], known: [calls], joint: [0]}, 0);
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

const TREE = [...SELECTION, "hide", "hideModules", "merge", "collapse"];

// Is a node of a tree one of a function that the compiler has inlined there?
function isInlinedNode(tree, node) {
	if (tree.label[node] < 0 || waitOf(tree.label[node])) // frames of waits are not of code
		return false;
	if (tree.profileNode)
		return isNodeInlined(sides[0], tree.profileNode[node]);
	return tree.isOfFrames === true && !tree.notInlined[node];
}

function nodeName(tree, node) {
	return labelName(tree.label[node]) + (isInlinedNode(tree, node) ? " (inlined)" : "");
}

function mergedTree() {
	if (state.metric === "calls")
		return remember("calls", String(sides.length), growCalls);
	return remember("merged", keyOf(...TREE), () => growCallees(-1));
}

function shownTree() {
	if (!state.invert || state.metric === "calls")
		return mergedTree();
	return remember("inverted", keyOf(...TREE), () => growCallers(-1));
}

function calleesTree(id) {
	return remember("callees", keyOf(...TREE) + id, () =>
		waitOf(id) ? growHolders(id) : state.metric === "calls" ? growNeighbours(id, false) : growCallees(id));
}

function callersTree(id) {
	return remember("callers", keyOf(...TREE) + id, () =>
		state.metric === "calls" ? growNeighbours(id, true) : growCallers(id));
}

// The whole of what a view's percentages are of.
function selectedTotal(side) {
	return state.metric === "calls" ? tallyAt(mergedTree().total[side || 0], 0) : selection().total[side || 0];
}

// --- sums ---

function emptyFunctionSums() {
	const sums = {};
	for (const key of SUMS)
		sums[key] = new Float64Array(functions.length);
	return sums;
}

function addAt(into, id, from, node) {
	into.weight[id] += from.weight[node];
	into.seen[id] += from.seen[node];
	into.square[id] += from.square[node];
	into.known[id] += from.known[node];
	into.joint[id] += from.joint[node];
}

// Total counts a function once in each stack: while it is open above, the same function below
// adds nothing.
function sumFunctionsOf(tree, side) {
	const self = tree.self[side], label = tree.label, total = tree.total[side];
	const totals = Object.fromEntries(SUMS.map((key) => [key, total[key]]));
	const sum = {self: emptyFunctionSums(), total: emptyFunctionSums()};
	const openUntil = new Int32Array(functions.length);
	for (let i = 0; i < tree.nr; i++) {
		const id = label[i], at = self.order[i];
		if (id < 0)
			continue;
		if (self.weight[at])
			addAt(sum.self, id, self, at);
		if (i < openUntil[id])
			continue;
		addAt(sum.total, id, totals, i);
		openUntil[id] = tree.end[i];
	}
	return sum;
}

function sumFunctions() {
	return remember("functions", keyOf(...TREE), () =>
		sides.map((side, i) => sumFunctionsOf(mergedTree(), i)));
}

// By function, of the first side: is it in the tree, and its weight alone. Without intervals, which
// take longer.
function seenFunctions() {
	return remember("seen", keyOf(...TREE), () => {
		const tree = mergedTree(), {weight, order} = tree.self[0], total = tree.total[0].weight;
		const isSeen = new Uint8Array(functions.length), self = new Float64Array(functions.length);
		for (let i = 0; i < tree.nr; i++) {
			const id = tree.label[i];
			if (id < 0 || !total[i])
				continue;
			isSeen[id] = 1;
			self[id] += weight[order[i]];
		}
		return {isSeen: isSeen, self: self};
	});
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
		const leaf = bareStack(side, rows.stack[i]);
		for (let stack = leaf; stack >= 0; stack = side.stackPrefix[stack]) {
			const frame = side.stackFrame[stack], line = side.frameLine[frame];
			if (side.frameFile[frame] !== file + 1 || !line)
				continue;
			if (stack === leaf)
				add(at(line).self, i);
			if (stamp.get(line) !== i)
				add(at(line).total, i);
			stamp.set(line, i);
		}
	}
	return lines;
}
