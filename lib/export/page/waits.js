// SPDX-License-Identifier: GPL-2.0-or-later
// What threads wait for: a frame below those of each sleep, and the threads that had it meanwhile.
// Objects have the names that page_waits.c gives them.
const SELF_ENDED = "join"; // the owner of such a lock is the thread whose end is awaited

function extended(column, values) {
	const grown = larger(column, column.length + values.length);
	grown.set(values, column.length);
	return grown;
}

// Leaves of stacks that have one more frame, for each pair of a leaf and an object.
class WaitLeaves {
	constructor(side, first) {
		this.side = side;
		this.first = first; // function of the object 0
		this.nrLeaves = side.leafStack.length;
		this.last = new Int32Array(this.nrLeaves).fill(-1); // by leaf: object
		this.lastLeaf = new Uint32Array(this.nrLeaves);
		this.known = new Map();
		this.nodes = new Map();
		this.rows = {leafStack: [], stackPrefix: [], stackFunction: [], stackFrame: [], nodeOf: [],
			nodeParent: [], nodeDepth: [], nodeFirst: [], nodeLabel: []};
	}

	leafOf(leaf, object) {
		if (this.last[leaf] !== object) {
			const key = leaf * this.side.waitObjects.length + object;
			if (!this.known.has(key))
				this.known.set(key, this.add(leaf, object));
			this.last[leaf] = object;
			this.lastLeaf[leaf] = this.known.get(key);
		}
		return this.lastLeaf[leaf];
	}

	add(leaf, object) {
		const {side, rows} = this, above = side.leafStack[leaf], stack = side.nrStacks + rows.stackPrefix.length;
		rows.leafStack.push(stack);
		rows.stackPrefix.push(above);
		rows.stackFunction.push(this.first + object);
		rows.stackFrame.push(side.frameFile.length); // no frame of code
		rows.nodeOf.push(this.nodeBelow(side.nodeOf[above], object, stack));
		return this.nrLeaves + rows.leafStack.length - 1;
	}

	nodeBelow(parent, object, stack) {
		const {side, rows} = this, key = parent * side.waitObjects.length + object;
		if (!this.nodes.has(key)) {
			this.nodes.set(key, side.nodeParent.length + rows.nodeParent.length);
			rows.nodeParent.push(parent);
			rows.nodeDepth.push(side.nodeDepth[parent] + 1);
			rows.nodeFirst.push(stack);
			rows.nodeLabel.push(this.first + object);
		}
		return this.nodes.get(key);
	}

	finish() {
		for (const key of Object.keys(this.rows))
			this.side[key] = extended(this.side[key], this.rows[key]);
		this.side.nrStacks = this.side.stackPrefix.length;
	}
}

function addObjects(side) {
	const first = functions.length;
	side.waitObjects = (side.data.waitObjects || []).map((row, object) => {
		const [name, frame, isLock, kind, process, isGuess] = row;
		functions.push({name: frame || name, full: frame || name, file: "", line: 0, module: "", isFunction: false,
			isScript: false, wait: object});
		return {name: name, isLock: Boolean(isLock), kind: kind || "", process: process, isGuess: Boolean(isGuess),
			function: first + object};
	});
	return first;
}

// Before anything is shown. Comparisons have no waits: locks of two recordings have other addresses.
function addWaits(side) {
	side.nrBareStacks = side.nrStacks;
	side.nrSortedNodes = side.nodeParent.length;
	side.waitObjects = [];
	if (side.data.columns.has("sampleWait") && !isOfTwo())
		side.firstObject = addObjects(side);
}

// When the rows are there.
function addWaitLeaves(side) {
	const {leaf, wait} = side.samples;
	side.leafOfSleep = leaf;
	if (!side.waitObjects.length)
		return;
	const leaves = new WaitLeaves(side, side.firstObject), objects = Int32Array.from(side.data.waits, (row) => row[0]);
	side.leafOfSleep = new Uint32Array(leaf);
	for (let i = 0; i < wait.length; i++) {
		if (wait[i])
			side.leafOfSleep[i] = leaves.leafOf(leaf[i], objects[wait[i] - 1]);
	}
	leaves.finish();
	forget();
}

// Without the frame of what it waits for.
function bareStack(side, stack) {
	return stack < side.nrBareStacks ? stack : side.stackPrefix[stack];
}

function waitOf(label) {
	return label >= 0 && functions[label].wait !== undefined ? sides[0].waitObjects[functions[label].wait] : null;
}

// The thread that a sleeping one waits for, by sample; -1: none is known.
function holderAt(side, i) {
	const wait = side.samples.wait ? side.samples.wait[i] : 0;
	return wait && !isOfTwo() ? side.data.waits[wait - 1][1] : -1;
}

// --- who had it, and what it did meanwhile, as lib/calltree/blame.c finds it ---

function addTo(map, key, amount) {
	map.set(key, (map.get(key) || 0) + amount);
}

function heaviest(map) {
	return [...map].sort((a, b) => b[1] - a[1]);
}

function newBlame() {
	return {weight: 0, threads: new Set(), waiting: new Map(), owners: new Map()};
}

function addHeld(blame, thread, weight, from, to) {
	const owner = blame.owners.get(thread) || {weight: 0, seen: 0, held: [], functions: new Map(), leaves: new Map(), times: new Map()};
	blame.owners.set(thread, owner);
	owner.weight += weight;
	if (from < to)
		owner.held.push([from, to]);
}

function blameSleeps(side, run, range, kept, blames) {
	const {samples, leafOfSleep, leafStack} = side, {start, end, blocked, wait, leaf} = samples;
	for (let i = run.first; i < run.last; i++) {
		const part = wait[i] && blocked[i] ? partIn(range, start[i], end[i]) : 0;
		if (!part || (kept && !kept[leafStack[leafOfSleep[i]]]))
			continue;
		const [object, thread] = side.data.waits[wait[i] - 1], weight = blocked[i] * part, blame = blames[object];
		blame.weight += weight;
		blame.threads.add(run.thread);
		addTo(blame.waiting, side.leafIn[leaf[i]] - 1, weight);
		if (thread >= 0)
			addHeld(blame, thread, weight, Math.max(end[i] - blocked[i], range ? range.from : 0),
				Math.min(end[i], range ? range.to : Infinity));
	}
}

// Times that overlap are one: several threads waited at once.
function joinHeld(held) {
	const joined = [];
	for (const [from, to] of held.sort((a, b) => a[0] - b[0])) {
		const last = joined[joined.length - 1];
		if (last && from <= last[1])
			last[1] = Math.max(last[1], to);
		else
			joined.push([from, to]);
	}
	return joined;
}

// The owner's samples of one time; not those in which it waits for the object itself.
function lookAtOwner(side, run, owner, object, [from, to]) {
	const {end, wait, leaf} = side.samples, isGil = side.waitObjects[object].kind === "gil";
	for (let i = sampleAt(side, run, from); i < run.last; i++) {
		const before = i > run.first ? end[i - 1] : 0, in_ = side.leafIn[leaf[i]];
		if (before >= to)
			break;
		const amount = Math.min(end[i], to) - Math.max(before, from);
		if (amount <= 0 || !in_ || (wait[i] && side.data.waits[wait[i] - 1][0] === object))
			continue;
		owner.seen += amount;
		addTo(owner.functions, (isGil ? side.leafScript[leaf[i]] : in_) - 1, amount);
		addTo(owner.leaves, leaf[i], amount);
		addTo(owner.times, leaf[i], 1);
	}
}

// By object, of the selection.
function blames() {
	return remember("blames", keyOf(...SELECTION), () => {
		const side = sides[0], found = side.waitObjects.map(newBlame), kept = keptStacks(side);
		for (const run of found.length ? side.runs : []) {
			if (!state.threads || state.threads.includes(run.thread))
				blameSleeps(side, run, rangeOf(side), kept, found);
		}
		found.forEach((blame, object) => blame.owners.forEach((owner, thread) => {
			const run = side.runs[side.runOfThread[thread]];
			for (const held of run ? joinHeld(owner.held) : [])
				lookAtOwner(side, run, owner, object, held);
		}));
		return found;
	});
}

// --- the same in words ---
const NAMES_TOLD = 3;

function ownersOf(object) {
	return [...blames()[object].owners].sort((a, b) => b[1].weight - a[1].weight);
}

// "worker ×4 71%, main 29%"
function ownersText(object) {
	const names = new Map(), {weight} = blames()[object], mark = sides[0].waitObjects[object].isGuess ? "?" : "";
	for (const [thread, owner] of ownersOf(object)) {
		const name = sides[0].threads[thread][1], same = names.get(name) || {nr: 0, weight: 0};
		names.set(name, {nr: same.nr + 1, weight: same.weight + owner.weight});
	}
	const parts = [...names].slice(0, NAMES_TOLD).map(([name, same]) => name + mark +
		(same.nr > 1 ? " \u00d7" + same.nr : "") + " " + (100 * same.weight / weight).toFixed(0) + "%");
	return parts.concat(names.size > NAMES_TOLD ? ["\u2026"] : []).join(", ");
}

// "Logger::info > fdatasync 94%": what the first owner did meanwhile.
function heldInText(object) {
	const side = sides[0], [first] = ownersOf(object);
	if (!first || !first[1].seen)
		return "";
	const leaves = new Map();
	for (const [leaf, amount] of first[1].leaves)
		addTo(leaves, side.stackFunction[side.leafStack[leaf]], amount);
	const [id] = heaviest(first[1].functions)[0], [leafId, amount] = heaviest(leaves)[0];
	return functions[id].name + (leafId === id ? "" : " > " + functions[leafId].name + " " +
		(100 * amount / first[1].seen).toFixed(0) + "%");
}

function waitingInText(object) {
	const [first] = heaviest(blames()[object].waiting);
	return first && first[0] >= 0 ? functions[first[0]].name : "";
}

// Lines about the holder of what a frame waits for.
function describeHolder(label) {
	const object = waitOf(label), id = object ? functions[label].wait : -1;
	if (!object || !blames()[id].weight)
		return [];
	const owners = ownersText(id), heldIn = heldInText(id), of = sides[0].processes[object.process];
	const process = of ? [["of " + of[0] + " (pid " + of[1] + ")", "dim"]] : [];
	if (owners)
		return [...process, [(object.kind === SELF_ENDED ? "it is " : "held by ") + owners, ""],
			...(heldIn ? [["meanwhile in " + heldIn, "name"]] : [])];
	return [...process, ...describeNoHolder(object)];
}

function describeNoHolder(object) {
	return object.isLock ? [["no thread is known to hold it", ""]] : [];
}

// Of one sleep, from one moment to another: the thread, and where it was in most of that time.
function describeHolderAt(side, thread, label, from, to) {
	const object = waitOf(label), owner = {seen: 0, functions: new Map(), leaves: new Map(), times: new Map()};
	const run = side.runs[side.runOfThread[thread]], verb = object && object.kind === SELF_ENDED ? "it is " : "held by ";
	if (run && object)
		lookAtOwner(side, run, owner, functions[label].wait, [from, to]);
	const [first] = heaviest(owner.functions);
	return [[verb + threadName(side, thread) + (object && object.isGuess ? "?" : ""), ""], ...(first ? [["meanwhile in " + functions[first[0]].name, "name"]] : [])];
}
