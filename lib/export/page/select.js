// SPDX-License-Identifier: GPL-2.0-or-later
// The selected samples, or blocks of memory, added up by group of threads and stack.
let recordings = [];	    // the profile; of a comparison the new one and the old one
let sides = [];	    // that are shown: those, or of one profile a range of time and its baseline, another range
let metrics = [];   // those that any side has
let diffNoise = {};  // of a comparison, by metric: {isKnown, factor, spread, quantile}
let diffMode = "amounts";  // or "shares" of a comparison

// What the address selects of either side. Of a baseline the threads are those of the range.
const SELECTS = [{from: "from", to: "to", threads: "threads", folded: "folded"},
	{from: "oldFrom", to: "oldTo", threads: "oldThreads", folded: "oldFolded"}];

function isOfTwo() {
	return recordings.length > 1;
}

function hasBaseline() {
	return !isOfTwo() && state.oldFrom !== null;
}

function chooseSides() {
	sides = hasBaseline() ? [recordings[0], remember("baseline", "", () => ({...recordings[0]}))] : recordings;
}

// The words for the first and the second side.
function sideNames() {
	return isOfTwo() ? ["new", "old"] : [state.from === null ? "all" : "range", "baseline"];
}

// Of blocks: of which metrics they are.
const FLAG_OF = {live: 1, leaked: 2, temporary: 4, peak: 8, alloc: 16, allocs: 16, freed: 32};

function isMemory(metric) {
	return ROWS_OF[metric] === "blocks";
}

function findMetrics(side) {
	const {columns} = side.data, hasAny = (name) => columns.hasAny(name);
	const has = {
		cpu: () => hasAny("sampleCpu"), wall: () => hasAny("sampleCpu") || hasAny("sampleBlocked"),
		runq: () => hasAny("sampleRunq"), blocked: () => hasAny("sampleBlocked"),
		samples: () => hasAny("sampleNr"), calls: () => side.calls.length > 0,
	};
	const test = {
		samples: (metric) => has[metric](), calls: (metric) => has[metric](),
		blocks: (metric) => side.blocks && side.blocks.flags.some((flags) => flags & FLAG_OF[metric]),
		advances: (metric) => side.advances[metric],
	};
	return Object.keys(UNITS).filter((metric) => test[ROWS_OF[metric]](metric));
}

// --- groups of threads ---

function groupName(side, thread, kind, pattern) {
	const [process, name] = side.threads[thread];
	if (kind === "thread") // of two recordings no two ids are the same
		return isOfTwo() ? name || side.processes[process][0] : threadName(side, thread);
	if (kind === "process")
		return side.processes[process][0];
	return kind === "pattern" ? (name || side.processes[process][0]).replace(pattern, "*") : "all";
}

// A pattern that is none groups by whole names, and its field says so.
function patternOf(text) {
	try {
		return new RegExp(text || "$^", "g");
	} catch (error) {
		return /$^/g;
	}
}

// Of all groups ever made; a node of a tree has -2 - its index as function.
const groupNames = [], groupIds = new Map();

function groupId(name) {
	if (!groupIds.has(name))
		groupIds.set(name, groupNames.push(name) - 1);
	return groupIds.get(name);
}

function labelName(label) {
	if (label >= 0)
		return functions[label].name;
	return label === -1 ? "all" : groupNames[-2 - label];
}

function labelFullName(label) {
	return label >= 0 ? functions[label].full : labelName(label);
}

function groupsOf(side) {
	const pattern = patternOf(state.pattern), groups = new Map();
	const threads = threadsOf(side), chosen = threads ? new Set(threads) : null;
	for (let thread = 0; thread < side.threads.length; thread++) {
		if (chosen && !chosen.has(thread))
			continue;
		const name = groupName(side, thread, state.group, pattern);
		if (!groups.has(name))
			groups.set(name, []);
		groups.get(name).push(thread);
	}
	return groups;
}

// --- weights ---

const SUMS = ["weight", "seen", "square", "known", "joint"];

function larger(column, room) {
	const grown = new column.constructor(room);
	grown.set(column);
	return grown;
}

// Rows of (group, stack) with their sums.
class StackRows {
	constructor(room) {
		this.nr = 0;
		this.group = new Int32Array(room);
		this.stack = new Int32Array(room);
		for (const key of SUMS)
			this[key] = new Float64Array(room);
	}

	add(group, stack, weight, seen, square, known, joint) {
		const row = this.nr++;
		if (row === this.stack.length) {
			for (const key of ["group", "stack", ...SUMS])
				this[key] = larger(this[key], row * 2);
		}
		this.group[row] = group;
		this.stack[row] = stack;
		this.weight[row] = weight;
		this.seen[row] = seen;
		this.square[row] = square;
		this.known[row] = known;
		this.joint[row] = joint;
	}
}

// Sums by stack of one group after the other. Those of a row are beside each other, as leaves come in any order.
class StackSums {
	constructor(leafStack) {
		const room = leafStack.length + 1; // a second group may need more
		this.leafStack = leafStack;
		this.rowOf = new Int32Array(leafStack.length).fill(-1);
		this.nr = 0;
		this.groupOf = new Int32Array(room); // by row
		this.stackOf = new Int32Array(room);
		this.sums = new Float64Array(room * SUMS.length);
		this.first = 0; // row of the group
		this.group = 0;
	}

	begin(group) {
		this.group = group;
		this.first = this.nr;
	}

	newRow(leaf) {
		const row = this.nr++;
		if (row === this.stackOf.length) {
			this.groupOf = larger(this.groupOf, row * 2);
			this.stackOf = larger(this.stackOf, row * 2);
			this.sums = larger(this.sums, row * 2 * SUMS.length);
		}
		this.rowOf[leaf] = row;
		this.groupOf[row] = this.group;
		this.stackOf[row] = this.leafStack[leaf];
		return row;
	}

	// Where the sums of a leaf begin, in the order of SUMS.
	placeOf(leaf) {
		const row = this.rowOf[leaf];
		return (row < this.first ? this.newRow(leaf) : row) * SUMS.length;
	}

	add(leaf, weight, seen, square, known, joint) {
		const at = this.placeOf(leaf), sums = this.sums;
		sums[at] += weight;
		sums[at + 1] += seen;
		sums[at + 2] += square;
		sums[at + 3] += known;
		sums[at + 4] += joint;
	}

	finish() {
		const rows = new StackRows(0), nr = rows.nr = this.nr;
		rows.group = this.groupOf.subarray(0, nr);
		rows.stack = this.stackOf.subarray(0, nr);
		SUMS.forEach((key, which) => {
			const column = rows[key] = new Float64Array(nr);
			for (let row = 0, at = which; row < nr; row++, at += SUMS.length)
				column[row] = this.sums[at];
		});
		return rows;
	}
}

// Part of a sample, [start, end) of its thread, that is in the range.
function partIn(range, start, end) {
	if (!range)
		return 1;
	if (end <= start)
		return end >= range.from && end <= range.to ? 1 : 0;
	const inside = Math.min(end, range.to) - Math.max(start, range.from);
	return inside <= 0 ? 0 : inside / (end - start);
}

// By sample.
function weightsOf(samples, metric) {
	if (metric !== "wall")
		return metric === "samples" ? samples.seen : samples[metric];
	if (!samples.wall)
		samples.wall = samples.cpu.map((cpu, i) => cpu + samples.runq[i] + samples.blocked[i]);
	return samples.wall;
}

// Time off the CPU without an observation of its own is known: there the thread slept on.
function addSamples(side, sums, run, metric, range) {
	const samples = side.samples, counts = side.data.countSamples, weights = weightsOf(samples, metric);
	const hasKnown = !counts && (metric === "blocked" || metric === "wall"), {end} = samples;
	const start = range ? samples.start : null, blocked = hasKnown ? samples.blocked : null;
	const leaves = metric === "blocked" ? side.leafOfSleep : samples.leaf;
	let last = -1, lastSquare = 0; // the one before that is one observation
	for (let i = range ? sampleAt(side, run, range.from) : run.first; i < run.last; i++) {
		if (range && start[i] > range.to)
			break; // they are in order
		const part = range ? partIn(range, start[i], end[i]) : 1, seen = samples.seen[i];
		if (!part)
			continue;
		let weight = weights[i] * (metric === "samples" ? 1 : part);
		if (!weight)
			continue;
		const known = hasKnown && !seen ? Math.min(weight, blocked[i] * part) : 0;
		if (counts)
			weight = seen;
		const estimated = weight - known, square = seen ? estimated * estimated / seen : 0;
		const stays = seen === 1 && last >= 0 && leaves[last] === leaves[i] && end[last] < end[i];
		if (weight) {
			const at = sums.placeOf(leaves[i]), into = sums.sums;
			into[at] += weight;
			into[at + 1] += seen;
			into[at + 2] += square;
			if (known)
				into[at + 3] += known;
			if (stays)
				into[at + 4] += (lastSquare + square) / 2;
		}
		if (seen) {
			last = seen === 1 ? i : -1;
			lastSquare = square;
		}
	}
}

// The number of blocks is in `joint`, which metrics of memory have no other use for.
function addBlock(sums, leaf, kinds, kind, inBlocks) {
	const bytes = kinds.bytes[kind], weight = inBlocks ? kinds.blocks[kind] : bytes;
	const scale = inBlocks ? (bytes ? weight / bytes : 0) : 1, error = kinds.error[kind] * scale;
	sums.add(leaf, weight, 1, error * error, error ? kinds.known[kind] * scale : weight, kinds.blocks[kind]);
}

function isInside(range, time) {
	return !range || (time >= range.from && time <= range.to);
}

function addBlocks(side, sums, isChosen, metric, range, filter) {
	const blocks = side.blocks, flag = FLAG_OF[metric];
	for (let i = 0; blocks && i < blocks.nr; i++) {
		if ((blocks.flags[i] & flag) && isChosen[blocks.thread[i]] && isInside(range, blocks.time[i]) &&
				passesFilter(blocks, i, filter))
			addBlock(sums, blocks.leaf[i], blocks.kinds, blocks.kind[i], metric === "allocs");
	}
}

// Where they were freed.
function addFreed(side, sums, isChosen, range, filter) {
	const blocks = side.blocks, freed = side.freed;
	for (let i = 0; freed && i < freed.nr; i++) {
		const block = freed.block[i];
		if (isChosen[freed.thread[i]] && isInside(range, blocks.end[block]) && passesFilter(blocks, block, filter))
			addBlock(sums, freed.leaf[i], blocks.kinds, blocks.kind[block], false);
	}
}

// Elapsed time: parts of the time since a moment. The sum of what has an unknown order is in `joint`,
// which other metrics use for what elapsed time does not have.
function addElapsed(parts, sums, isChosen, range) {
	for (let i = 0; i < parts.nr; i++) {
		const part = isChosen[parts.thread[i]] ?
			partIn(range, parts.time[i] - parts.span[i], parts.time[i]) : 0;
		if (part > 0)
			sums.add(parts.leaf[i], parts.amount[i] * part, parts.seen[i], (parts.spread[i] * part) ** 2,
				0, parts.slack[i] * part);
	}
}

// Counters of the kernel: what they advanced by between two samples.
function addAdvances(advances, sums, isChosen, range) {
	if (advances && advances.span.length) {
		addElapsed(advances, sums, isChosen, range);
		return;
	}
	for (let i = 0; advances && i < advances.nr; i++) {
		const amount = advances.amount[i], seen = advances.seen[i];
		if (isChosen[advances.thread[i]] && isInside(range, advances.time[i]))
			sums.add(advances.leaf[i], amount, seen, seen ? amount * amount : 0, 0, 0);
	}
}

// Calls are known by function, not by thread or time: the caller is all there is of their stack.
function addCalls(side, add) {
	for (const [caller, callee, calls] of side.data.callEdges || [])
		add(side.functionOf[caller], callee < 0 ? -1 : side.functionOf[callee], calls);
}

// The selected range of time of a side, or null: all.
function rangeOf(side) {
	const keys = SELECTS[Math.max(0, sides.indexOf(side))];
	return state[keys.from] === null ? null : {from: state[keys.from], to: state[keys.to]};
}

function lengthOf(side) {
	const {from, to} = rangeOf(side) || {from: side.data.fromNs, to: side.data.toNs};
	return to - from;
}

// The selected threads of a side, or null: all.
function threadsOf(side) {
	return state[SELECTS[Math.max(0, recordings.indexOf(side))].threads];
}

// What of one side is selected, before functions are looked at; of blocks of memory those that pass the filter.
function weigh(side, groups, metric, range, filter) {
	const sums = new StackSums(side.leafStack);
	for (const [name, threads] of groups) {
		sums.begin(groupId(name));
		const isChosen = new Uint8Array(side.threads.length);
		threads.forEach((thread) => { isChosen[thread] = 1; });
		if (ROWS_OF[metric] === "advances") {
			addAdvances(side.advances[metric], sums, isChosen, range);
		} else if (metric === "freed") {
			addFreed(side, sums, isChosen, range, filter);
		} else if (isMemory(metric)) {
			addBlocks(side, sums, isChosen, metric, range, filter);
		} else if (metric !== "calls") {
			for (const thread of threads) {
				if (side.runOfThread[thread] >= 0)
					addSamples(side, sums, side.runs[side.runOfThread[thread]], metric, range);
			}
		}
	}
	return sums.finish();
}

function sumOf(rows, data) {
	const tally = newTally();
	tally.fixed = (state.metric === "allocs" ? data.fixedBlocks : data.fixedBytes) || 0;
	tally.lost = isMemory(state.metric) ?
		(state.metric === "allocs" ? data.lostBlocks : data.lostBytes) || 0 : 0;
	for (let i = 0; i < rows.nr; i++) {
		tally.weight += rows.weight[i];
		tally.seen += rows.seen[i];
		tally.square += rows.square[i];
		tally.known += rows.known[i];
		tally.joint += rows.joint[i];
	}
	return tally;
}

// A pattern of the address or the user, or null: none, or not a regular expression.
function regexOf(text) {
	try {
		return text ? new RegExp(text, "i") : null;
	} catch (error) {
		return null;
	}
}

// By stack: is one of the functions, or one whose name matches, anywhere in it?
function stacksWithAny(side, ids, text) {
	const has = new Uint8Array(side.nrStacks), pattern = regexOf(text), wanted = new Uint8Array(functions.length);
	for (const id of ids)
		wanted[id] = 1;
	for (let id = 0; pattern && id < functions.length; id++)
		wanted[id] |= pattern.test(functions[id].full) ? 1 : 0;
	for (let i = 0; i < side.nrStacks; i++)
		has[i] = wanted[side.stackFunction[i]] || (side.stackPrefix[i] >= 0 && has[side.stackPrefix[i]]) ? 1 : 0;
	return has;
}

function stacksWith(side, id) {
	return stacksWithAny(side, [id], "");
}

// By stack: is it looked at? Or null: all are.
function keptStacks(side) {
	const filters = [];
	if (state.focus >= 0)
		filters.push([stacksWith(side, state.focus), 1]);
	if (regexOf(state.only))
		filters.push([stacksWithAny(side, [], state.only), 1]);
	if (state.drop.length || regexOf(state.without))
		filters.push([stacksWithAny(side, state.drop, state.without), 0]);
	if (state.dropModules.length)
		filters.push([stacksWithAny(side, functionsOf(state.dropModules), ""), 0]);
	if (!filters.length)
		return null;
	return new Uint8Array(side.nrStacks).map((zero, i) => filters.every(([has, wanted]) => has[i] === wanted) ? 1 : 0);
}

function keepStacks(rows, has) {
	const kept = new StackRows(1024);
	for (let i = 0; i < rows.nr; i++) {
		if (has[rows.stack[i]])
			kept.add(rows.group[i], rows.stack[i], ...SUMS.map((key) => rows[key][i]));
	}
	return kept;
}

// Those of any of the modules.
function functionsOf(modules) {
	return functions.map((row, id) => id).filter((id) => modules.includes(functions[id].module));
}

// By function: the number of its module, and 1, if successive functions of that are one frame; or null: none are.
function mergedModules() {
	return !state.merge.length ? null : remember("merge", keyOf("merge"), () =>
		functions.map((row) => state.merge.indexOf(row.module) + 1));
}

// Is a stack no frame of its own, as its caller is of the same merged module?
function isMergedAway(side, stack, merged) {
	const above = side.stackPrefix[stack], own = merged ? merged[side.stackFunction[stack]] : 0;
	return own !== 0 && above >= 0 && merged[side.stackFunction[above]] === own;
}

// By function: is it left out of stacks?
function hiddenFunctions() {
	const modules = new Set(state.hideModules), hidden = new Uint8Array(functions.length);
	for (const id of state.hide)
		hidden[id] = 1;
	for (let id = 0; modules.size && id < functions.length; id++)
		hidden[id] |= modules.has(functions[id].module) ? 1 : 0;
	return hidden;
}

// One slot each: what is asked for again is what was asked for last.
const remembered = {};

function remember(what, key, make) {
	if (!remembered[what] || remembered[what].key !== key)
		remembered[what] = {key: key, value: make()};
	return remembered[what].value;
}

// All that was made before all rows of stacks were there.
function forget() {
	for (const what of Object.keys(remembered))
		delete remembered[what];
}

function keyOf(...names) {
	return JSON.stringify(names.map((name) => state[name]));
}

const SELECTION = ["metric", "from", "to", "threads", "oldFrom", "oldTo", "oldThreads", "focus", "only", "drop", "dropModules", "without", "group", "pattern",
	"size", "life"];

// Does a side have the sums of what is selected from the file?
function hasFileSums(side) {
	const {data} = side;
	return recordings.length === 1 && data.columns.has("sumLeaf") && state.metric === data.metric && state.group === data.group &&
		!rangeOf(side) && !threadsOf(side);
}

// Makes of them what weigh() makes of samples.
function fileSums(side) {
	const {columns, grainNs, group} = side.data, rows = new StackRows(0), leaf = columns.numbers("sumLeaf");
	undoDeltas(leaf, 1);
	rows.nr = leaf.length;
	rows.stack = Int32Array.from(leaf, (one) => side.leafStack[one]);
	rows.group = new Int32Array(rows.nr);
	const threads = columns.ids("groupThread"), nrs = columns.ids("groupSums");
	for (let i = 0, first = 0; i < threads.length; first += nrs[i++])
		rows.group.fill(groupId(groupName(side, threads[i], group, null)), first, first + nrs[i]);
	for (const [key, name, unit] of [["weight", "sumWeight", grainNs], ["seen", "sumNr", 1], ["known", "sumKnown", grainNs],
		["square", "sumSquare", 1], ["joint", "sumJoint", grainNs ** 2 / 2]])
		rows[key] = columns.numbers(name, unit);
	for (let row = 0; row < rows.nr; row++) {
		const seen = rows.seen[row], estimated = (rows.weight[row] - rows.known[row]) / grainNs, rest = rows.square[row];
		const even = seen ? Math.floor(estimated * estimated / seen) : 0;
		rows.square[row] = (even + (rest % 2 ? -(rest + 1) / 2 : rest / 2)) * grainNs ** 2;
	}
	return rows;
}

// {rows: by side, total: by side, all: by side}
function selection() {
	return remember("selection", keyOf(...SELECTION), () => {
		const rows = sides.map((side) => {
			const found = hasFileSums(side) ? fileSums(side) :
				weigh(side, groupsOf(side), state.metric, rangeOf(side), blockFilter()), kept = keptStacks(side);
			return kept ? keepStacks(found, kept) : found;
		});
		const total = rows.map((row, i) => sumOf(row, sides[i].data));
		return {rows: rows, total: total, all: isAllSelected() ? total : sumsOfAll(state.metric)};
	});
}

function sumsOfAll(metric) {
	return remember("all " + metric, String(sides.length), () => sides.map((side) =>
		sumOf(weigh(side, [["all", side.threads.map((row, i) => i)]], metric, null), side.data)));
}

function isAllSelected() {
	return state.from === null && state.oldFrom === null && !state.threads && !state.oldThreads && state.focus < 0 && !state.only && !state.drop.length && !state.dropModules.length &&
		!state.without && !(isMemory(state.metric) && blockFilter());
}
