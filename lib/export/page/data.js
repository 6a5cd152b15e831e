// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the data blocks, unpacked by reader.js: a line of JSON and columns of stacks, `nrStackColumns`, in one; the columns
// of rows in the other. Written by page_data.c, page_stacks.c, page_samples.c, page_waits.c, page_blocks.c, page_spans.c,
// page_chain.c (see chain.js).
// Columns, of which `columns` has name, how many numbers, bytes of one and the least one (see page_columns_priv.h):
//
//	frameFunction, frameFile (and 1), frameLine, frameInlined   levels of inline chains
//	frameAddress (delta)   where the page has instructions
//	nodeUp, nodeRows   the tree of functions as it is drawn first: how many levels each node stands
//		above a child of the one before, and how many rows of stacks are of it
//	stackPrefix (which row of the node above), frameNext, nextFrame, stackNext   the frames that
//		follow each frame in any stack, last those of roots, and which of them is that of a row
//	leafStack   rows of stacks that samples or blocks have; they have the number in this column
//	sampleThread, threadSamples, threadStart, threadCpu   runs of samples of a thread, in time order: how many, since
//		when, and their CPU time
//	groupThread, groupSums   of a large page: a thread of each group that the page shows first, and how many sums it has
//	sumLeaf (delta), sumWeight, sumNr, sumKnown, sumSquare (zigzag, by how much it is more than that of even
//		observations), sumJoint (twice)   those, as StackSums makes them of samples
//	sampleGap, sampleEnd (from the end before in the thread), sampleLeaf, sampleCpu, sampleRunq,
//	sampleBlocked, sampleNr
//	sampleWait (0: none)   which row of `waits` it is blocked by: [of waitObjects, thread that has it
//		or -1]; waitObjects are [name, name of its frame, of a lock, kind, process, is the thread a guess]
//	leafIn, leafScript (0: none)   by leaf: how many levels there are to the function that waits or works
//	kindBytes, kindEstimated, kindError, kindBlocks   what blocks of one kind stand for
//	kindSize, kindAllocator   the size of one, and which of `allocators` it is of
//	blockTime (delta), blockLife (in lifeGrainNs, and 1; 0: not freed), blockThread, blockLeaf,
//	blockKind, blockFlags (see FLAG_OF)
//	freedThread, freedLeaf   of those that were freed
//	blockLifetime   which of `lifetimes`
//	blockUnseen (in blockGrainNs), where blocks share rows   for how long they were alive in the mean beside the time of
//		their row
//	leftAge (in lifeGrainNs), leftLate, leftSearch (1: something points to it, 2: nothing does)   of those that
//		were not freed: how long that was, and by how many bytes they grew in the second half (lateNs)
//	residentTime (from the one before, in blockGrainNs), residentBytes   what is resident from then on, of all processes
//	leafSite (0: none)   by leaf: how many levels there are to the function that allocates, outside of libraries
//	advanceMetric (its number), advanceThread, advanceTime (delta, in advanceGrainNs), advanceLeaf,
//	advanceAmount, advanceNr (0: without a stack)   by how much counters advanced between samples
//	advanceSpan, advanceSpread, advanceSlack   of elapsed time alone, whose rows are the first: since
//		when, what it stands for, and by how much it may be more or less
//	callFunction, callInterval, callRange, callNr   how many calls of a function of `timedCalls` ended in an interval of
//		time and took as long as a range of lengths: `timedCalls` has the ends of both, and functions as [name, how
//		many began, ended, how long these took, the longest, when that began, its thread and 1 or 0]
//	slowFunction, slowThread (and 1; 0: not known), slowTime (from the one before), slowLength   calls that took long
// Zigzag, and each number what is to be added to the one before, in multiples of the scale.
function undoDeltas(column, scale) {
	let value = 0;
	for (let i = 0; i < column.length; i++) {
		value += column[i] % 2 ? -(column[i] + 1) / 2 : column[i] / 2;
		column[i] = value * scale;
	}
}

// Rows of samples and the like are read by `addRows`; until then it is known which columns there are.
async function readData(name) {
	const bytes = await unpack(textsOf(name)), end = bytes.indexOf(10);
	const data = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))), table = data.columns, nr = data.nrStackColumns;
	const columns = data.columns = new Columns().add(bytes, end + 1, table.slice(0, nr)).add(null, 0, table.slice(nr));
	data.addRows = () => addRows(columns, name + "-rows", table.slice(nr), [["sampleLeaf"], ["sampleNr"], ["sampleWait"],
		["sampleEnd", data.grainNs], ["sampleCpu", data.grainNs]]);
	return data;
}

function sumsBefore(numbers) {
	const sums = new Uint32Array(numbers.length);
	for (let i = 1; i < sums.length; i++)
		sums[i] = sums[i - 1] + numbers[i - 1];
	return sums;
}

// A column that is read when it is asked for: the first screen may do without it.
function readLater(object, name, read) {
	const keep = (value) => {
		Object.defineProperty(object, name, {configurable: true, enumerable: true, writable: true, value: value});
		return value;
	};
	Object.defineProperty(object, name, {configurable: true, enumerable: true, get: () => keep(read()), set: keep});
}

// The tree of functions: `nodeParent` (-1: a root), `nodeDepth`, `nodeFirst` (its first row), `nodeLabel` (its function),
// and by row `nodeOf` and `stackFrame`. Nodes and rows stand after those above them.
function decodeNodes(side, columns, functionOfFrame) {
	const up = columns.ids("nodeUp"), rows = columns.ids("nodeRows"), nr = up.length, open = [];
	const above = columns.ids("stackPrefix"), next = columns.ids("stackNext"), nrStacks = side.nrStacks = next.length;
	const nextFrame = columns.ids("nextFrame"), firstNext = sumsBefore(columns.ids("frameNext"));
	const nextOfRoots = firstNext[functionOfFrame.length];
	const parents = side.nodeParent = new Int32Array(nr);
	const depths = side.nodeDepth = new Int32Array(nr);
	const firsts = side.nodeFirst = new Int32Array(nr);
	const labels = side.nodeLabel = new Int32Array(nr);
	const nodeOf = side.nodeOf = new Int32Array(nrStacks);
	const frames = side.stackFrame = new Uint32Array(nrStacks);
	let deepest = 0;
	for (let node = 0, row = 0, depth = 0; node < nr; node++) {
		depth -= up[node];
		const parent = depth ? open[depth - 1] : -1, base = parent < 0 ? 0 : firsts[parent], last = row + rows[node];
		parents[node] = parent;
		depths[node] = depth;
		firsts[node] = row;
		for (; row < last; row++) {
			const first = parent < 0 ? nextOfRoots : firstNext[frames[base + above[row]]];
			frames[row] = nextFrame[first + next[row]];
			nodeOf[row] = node;
		}
		labels[node] = functionOfFrame[frames[row - 1]];
		deepest = depth > deepest ? depth : deepest;
		open[depth++] = node;
	}
	side.deepest = deepest;
	readLater(side, "stackPrefix", () => prefixesOf(side, above));
	readLater(side, "stackFunction", () => labelsOf(side));
}

// By row: that of its caller, or -1.
function prefixesOf({nrStacks, nodeOf, nodeParent, nodeFirst}, above) {
	const prefixes = new Int32Array(nrStacks);
	for (let row = 0; row < nrStacks; row++) {
		const parent = nodeParent[nodeOf[row]];
		prefixes[row] = parent < 0 ? -1 : nodeFirst[parent] + above[row];
	}
	return prefixes;
}

// By row: its function.
function labelsOf({nrStacks, nodeOf, nodeLabel}) {
	const labels = new Uint32Array(nrStacks);
	for (let row = 0; row < nrStacks; row++)
		labels[row] = nodeLabel[nodeOf[row]];
	return labels;
}

function decodeStacks(side, columns) {
	const frameFunction = columns.ids("frameFunction"), nrFrames = frameFunction.length;
	const functionOfFrame = new Uint32Array(nrFrames);
	for (let frame = 0; frame < nrFrames; frame++)
		functionOfFrame[frame] = side.functionOf[frameFunction[frame]];
	decodeNodes(side, columns, functionOfFrame);
	side.leafStack = columns.ids("leafStack");
	side.frameFile = columns.ids("frameFile");
	side.frameLine = columns.ids("frameLine");
	side.frameInlined = columns.ids("frameInlined");
	side.frameFunction = frameFunction;
	side.frameAddress = columns.has("frameAddress") ? columns.numbers("frameAddress") : null;
	if (side.frameAddress)
		undoDeltas(side.frameAddress, 1);
}

// From distances to moments: where the time that a sample covers ends.
function placeEnds(end, runs) {
	for (const {first, last} of runs) {
		for (let i = first + 1; i < last; i++)
			end[i] += end[i - 1];
	}
	return end;
}

// And where it begins.
function placeStarts(start, end, runs) {
	for (const {first, last} of runs) {
		for (let i = first + 1; i < last; i++)
			start[i] += end[i - 1];
	}
	return start;
}

// By leaf: the function, and 1, that is so many levels up in its stack, with its own; 0: none.
function functionsAbove(side, levels) {
	const above = new Uint32Array(levels.length);
	for (let leaf = 0; leaf < levels.length; leaf++) {
		let stack = side.leafStack[leaf];
		for (let i = 1; i < levels[leaf]; i++)
			stack = side.stackPrefix[stack];
		if (levels[leaf])
			above[leaf] = side.stackFunction[stack] + 1;
	}
	return above;
}

function decodeRuns(side, data) {
	const columns = data.columns, grain = data.grainNs, start = columns.numbers("threadStart", grain);
	const cpu = columns.numbers("threadCpu", grain);
	const threads = columns.ids("sampleThread"), nrOfThread = columns.ids("threadSamples");
	side.runs = [];
	side.runOfThread = new Int32Array(data.threads.length).fill(-1);
	let first = 0;
	for (let run = 0; run < threads.length; run++) {
		const last = first + nrOfThread[run];
		side.runs.push({thread: threads[run], first: first, last: last, start: start[run], cpu: cpu[run]});
		side.runOfThread[threads[run]] = run;
		first = last;
	}
}

function decodeSamples(side, data) {
	const columns = data.columns, grain = data.grainNs;
	const samples = side.samples = {
		nr: columns.at.get("sampleEnd").nr, end: placeEnds(columns.numbers("sampleEnd", grain), side.runs), leaf: columns.ids("sampleLeaf"),
		seen: columns.ids("sampleNr"), wait: columns.has("sampleWait") ? columns.ids("sampleWait") : null,
	};
	for (const [name, column] of [["cpu", "sampleCpu"], ["runq", "sampleRunq"], ["blocked", "sampleBlocked"]])
		readLater(samples, name, () => columns.numbers(column, grain));
	readLater(samples, "start", () => placeStarts(columns.numbers("sampleGap", grain), samples.end, side.runs));
	if (!side.samples.wait)
		return;
	side.leafIn = functionsAbove(side, columns.ids("leafIn"));
	side.leafScript = functionsAbove(side, columns.ids("leafScript"));
}

// The row of the stack of a sample, with what it waits for.
function stackOfSample(side, sample) {
	return side.leafStack[side.leafOfSleep[sample]];
}

// What they stand for is known by kind. `end` is when they were freed, or Infinity; `gone` that, or when their
// process ended.
function decodeBlocks(data) {
	const columns = data.columns, grain = data.lifeGrainNs;
	if (!columns.has("blockTime"))
		return null;
	const time = columns.numbers("blockTime"), end = columns.numbers("blockLife");
	undoDeltas(time, data.blockGrainNs);
	for (let i = 0; i < end.length; i++)
		end[i] = end[i] ? Math.max(time[i], (Math.floor(time[i] / grain) + end[i] - 1) * grain) : Infinity;
	const bytes = columns.numbers("kindBytes"), known = columns.numbers("kindEstimated");
	for (let i = 0; i < bytes.length; i++)
		known[i] = bytes[i] - known[i];
	const thread = columns.ids("blockThread"), gone = Float64Array.from(end);
	for (let i = 0; i < gone.length; i++)
		gone[i] = Math.min(gone[i], data.processes[data.threads[thread[i]][0]][2] || Infinity);
	return {
		nr: time.length, time: time, end: end, gone: gone, thread: thread, leaf: columns.ids("blockLeaf"),
		kind: columns.ids("blockKind"), flags: columns.ids("blockFlags"), lifetime: columns.ids("blockLifetime"),
		unseen: columns.has("blockUnseen") ? columns.numbers("blockUnseen", data.blockGrainNs) : null,
		kinds: {bytes: bytes, known: known, error: columns.numbers("kindError"), blocks: columns.numbers("kindBlocks"),
			size: columns.numbers("kindSize"), allocator: columns.ids("kindAllocator")},
	};
}

// What all processes have resident: by number the moment from which on, and the bytes. Or null: it is not known.
function decodeResident(data) {
	const {columns, blockGrainNs} = data;
	if (!columns.has("residentTime"))
		return null;
	const time = columns.numbers("residentTime", blockGrainNs);
	for (let i = 1; i < time.length; i++)
		time[i] += time[i - 1];
	return {time: time, bytes: columns.numbers("residentBytes")};
}

const FLAG_LEFT = 64;

// Those that were not freed; `row` is by block theirs here, or -1.
function decodeLeft(data, blocks) {
	if (!blocks)
		return null;
	const columns = data.columns, row = new Int32Array(blocks.nr).fill(-1), search = columns.ids("leftSearch");
	for (let i = 0, nr = 0; i < blocks.nr; i++) {
		if (blocks.flags[i] & FLAG_LEFT)
			row[i] = nr++;
	}
	return {row: row, age: columns.numbers("leftAge", data.lifeGrainNs), late: columns.numbers("leftLate"), search: search,
		isSearched: search.some((verdict) => verdict > 0)};
}

// Which blocks were freed, by whom and where.
function decodeFreed(data, blocks) {
	if (!blocks)
		return null;
	const thread = data.columns.ids("freedThread"), block = new Uint32Array(thread.length);
	for (let i = 0, nr = 0; i < blocks.nr; i++) {
		if (blocks.flags[i] & FLAG_OF.freed)
			block[nr++] = i;
	}
	return {nr: thread.length, block: block, thread: thread, leaf: data.columns.ids("freedLeaf")};
}

// By metric: the advances of a counter.
function decodeAdvances(data) {
	const columns = data.columns, found = {};
	if (!columns.has("advanceTime"))
		return found;
	const ofRow = columns.ids("advanceMetric"), time = columns.numbers("advanceTime");
	undoDeltas(time, data.advanceGrainNs);
	const all = {time: time, thread: columns.ids("advanceThread"), leaf: columns.ids("advanceLeaf"),
		amount: columns.numbers("advanceAmount"), seen: columns.ids("advanceNr")};
	for (const [key, name] of [["span", "advanceSpan"], ["spread", "advanceSpread"], ["slack", "advanceSlack"]])
		all[key] = columns.has(name) ? columns.numbers(name) : new Float64Array(0);
	for (let first = 0, last = 0; first < ofRow.length; first = last) {
		while (last < ofRow.length && ofRow[last] === ofRow[first])
			last++;
		const own = found[data.metrics[ofRow[first]][0]] = {nr: last - first};
		for (const key of Object.keys(all))
			own[key] = all[key].subarray(first, last);
	}
	return found;
}

// Functions of all sides in one table: those of the first, then those that only the other has.
const functions = [];

function isNoCode(row) {
	return !row.isFunction && row.module === "";
}

function addFunctions(data, side) {
	side.functionOf = new Int32Array(data.functions.length);
	// What is no function, as [unattributed], is the same by its name alone.
	const named = new Map(functions.map((row, id) => [row.name, id]).filter(([, id]) => isNoCode(functions[id])));
	data.functions.forEach((row, i) => {
		const twin = row[4] || row[3] >= 0 ? undefined : named.get(row[0]);
		const same = data.sameAs && data.sameAs[i] >= 0 ? data.sameAs[i] : twin !== undefined ? twin : -1;
		side.functionOf[i] = same >= 0 ? same : functions.length;
		if (same >= 0)
			return;
		const module = row[3] >= 0 ? data.modules[row[3]] : null;
		functions.push({
			name: row[0], full: row[5] || row[0], file: row[1] >= 0 ? data.files[row[1]] : "",
			line: row[2], module: module ? module[0] : "", isFunction: Boolean(row[4]),
			isScript: Boolean(module && module[2]),
		});
	});
}

// Without rows.
function decodeSide(data) {
	const side = {data: data, threads: data.threads, processes: data.processes, files: data.files, blocks: null, advances: {}};
	addFunctions(data, side);
	decodeStacks(side, data.columns);
	decodeRuns(side, data);
	side.calls = callsByFunction(data, side);
	return side;
}

function decodeRows(side) {
	const data = side.data;
	decodeSamples(side, data);
	side.blocks = decodeBlocks(data);
	side.resident = decodeResident(data);
	side.freed = decodeFreed(data, side.blocks);
	side.left = decodeLeft(data, side.blocks);
	side.leafSite = side.blocks ? data.columns.ids("leafSite") : null;
	side.advances = decodeAdvances(data);
}

// By function: exact calls, or undefined where they were not counted.
function callsByFunction(data, side) {
	const calls = [];
	(data.calls || []).forEach((nr, i) => {
		if (nr !== null)
			calls[side.functionOf[i]] = nr;
	});
	return calls;
}

// The short-lived ones that no sample has met are together, without an id.
function processIds(side, process) {
	const [, pid, , unseen] = side.processes[process];
	if (pid)
		return "pid " + pid;
	return (unseen === 1 ? "1 process" : unseen ? countText(unseen) + " processes" : "processes") + " that no sample met";
}

function threadName(side, thread) {
	const [process, name, tid] = side.threads[thread];
	const [processName, pid] = side.processes[process];
	const both = name && name !== processName ? processName + "/" + name : processName;
	return both + " (" + processIds(side, process) + (pid ? ", tid " + tid : "") + ")";
}

function locationOf(row) {
	return row.file ? row.file + (row.line ? ":" + row.line : "") : "";
}

// The module of a function and its location; the module of a script is that file.
function placeOf(row) {
	return [row.isScript && row.file ? "" : row.module, locationOf(row)].filter(Boolean).join("   ");
}
