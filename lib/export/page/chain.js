// SPDX-License-Identifier: GPL-2.0-or-later
// The critical path: at each moment the one thread that the end of the program had to wait for, as page_chain.c
// writes it. Columns: chainLength, chainThread, chainFunction (0: none), chainState (0: not known; up to 256: on a
// CPU in so many 255ths, and 1; above: which of `chainWaits` it was blocked by).
const CHAIN_RAN = 255;

function chainOf(side) {
	const {data} = side, {columns} = data;
	const length = columns.numbers("chainLength"), start = new Float64Array(length.length + 1);
	start[0] = data.chainFromNs;
	length.forEach((ns, i) => { start[i + 1] = start[i] + ns; });
	return {nr: length.length, start: start, thread: columns.ids("chainThread"), state: columns.ids("chainState"),
		function: columns.ids("chainFunction"), waits: data.chainWaits};
}

// The part that covers a moment, or -1.
function chainAt(chain, time) {
	let low = 0, high = chain.nr;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (chain.start[middle + 1] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low < chain.nr && chain.start[low] <= time ? low : -1;
}

// By pixel, as for the track of a thread.
function chainBuckets(chain, at, width) {
	const sums = newBuckets(at, width), perNs = width / (at.to - at.from), nsPer = 1 / perNs;
	for (let i = Math.max(0, chainAt(chain, at.from)); i < chain.nr && chain.start[i] < at.to; i++) {
		const state = chain.state[i], ran = state && state <= CHAIN_RAN + 1 ? (state - 1) / CHAIN_RAN : 0;
		const from = (chain.start[i] - at.from) * perNs, to = (chain.start[i + 1] - at.from) * perNs;
		for (let x = Math.max(0, Math.floor(from)); state && x < Math.min(width, to); x++) {
			const ns = (Math.min(to, x + 1) - Math.max(from, x)) * nsPer;
			if (state > CHAIN_RAN + 1)
				sums.blocked[x] += ns;
			else {
				sums.cpu[x] += ns * ran;
				sums.runq[x] += ns * (1 - ran);
			}
		}
	}
	return sums;
}

// Of one moment: the thread, what it did, and in which function.
function describeChain(side, chain, time) {
	const i = chainAt(chain, time);
	if (i < 0)
		return [];
	const state = chain.state[i], label = chain.function[i] - 1;
	const how = !state ? "not known" : state > CHAIN_RAN + 1 ? "blocked: " + chain.waits[state - CHAIN_RAN - 2] :
		state > CHAIN_RAN / 2 ? "ran" : "waited for a CPU";
	return [["the end waited for " + threadName(side, chain.thread[i]), ""], [how, ""],
		...(label >= 0 ? [[functions[label].name, "name"]] : [])];
}

// Its height is all of the time: it has no scale.
function addChain(tracks) {
	if (isOfTwo() || !tracks.side.data.columns.has("chainLength"))
		return;
	const row = tracks.addRow("critical path", (width) => chainBuckets(row.chain, tracks, width));
	readLater(row, "chain", () => chainOf(tracks.side));
	row.scale.remove();
	row.scale = null;
}
