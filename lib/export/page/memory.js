// SPDX-License-Identifier: GPL-2.0-or-later
// Blocks of memory by the function that allocated them, by size and by length of life; and the tab of these.
const ALLOCATOR_NAMES = {map: "mmap"}; // as programs call it
const SIZE_LEAST_LOG = 3; // all of up to 8 bytes are one class

// Class of sizes: 0 up to 8 bytes, then one for each doubling.
function sizeClass(bytes) {
	return bytes <= 2 ** SIZE_LEAST_LOG ? 0 : Math.ceil(Math.log2(bytes)) - SIZE_LEAST_LOG;
}

function shortBytes(value) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"], power = value ? Math.min(4, Math.floor(Math.log2(value) / 10)) : 0;
	return value / 2 ** (10 * power) + " " + units[power];
}

// "17 to 32 B", "1 to 2 KiB"
function sizeName(number) {
	const most = 2 ** (number + SIZE_LEAST_LOG);
	if (!number)
		return "up to 8 B";
	return most <= 512 ? most / 2 + 1 + " to " + most + " B" : shortBytes(most / 2) + " to " + shortBytes(most);
}

function lifetimeName(number) {
	return sides[0].data.lifetimes[number].replace(/us\b/g, "\u00b5s").replace("<", "less than").replace(">=", "at least");
}

// Which blocks are looked at: {size, life}, either -1 for all.
function blockFilter() {
	return state.size < 0 && state.life < 0 ? null : {size: state.size, life: state.life};
}

function passesFilter(blocks, i, filter) {
	return !filter || ((filter.size < 0 || sizeClass(blocks.kinds.size[blocks.kind[i]]) === filter.size) &&
		(filter.life < 0 || blocks.lifetime[i] === filter.life));
}

// --- who allocates ---

// By leaf: the function that allocates there, of those that are not hidden; outside of libraries for that, if it is known.
function siteLabels() {
	return remember("sites", keyOf("hide", "hideModules", "merge", "collapse"), () => {
		const side = sides[0], hidden = hiddenFunctions(), labels = new Int32Array(side.leafSite.length);
		for (let leaf = 0; leaf < labels.length; leaf++) {
			let stack = side.leafStack[leaf];
			for (let i = 1; i < side.leafSite[leaf]; i++)
				stack = side.stackPrefix[stack];
			const shown = nextCaller(side, hidden, stack, -1);
			labels[leaf] = side.stackFunction[shown < 0 ? stack : shown];
		}
		return labels;
	});
}

function chosenThreads(side) {
	const isChosen = new Uint8Array(side.threads.length).fill(state.threads ? 0 : 1);
	for (const thread of state.threads || [])
		isChosen[thread] = 1;
	return isChosen;
}

// Calls visit(block, leaf) for those of the selected threads and stacks that have any of the flags; with the flag
// of METRIC_FREED alone where and when they were freed.
function eachBlock(flags, range, visit) {
	const side = sides[0], {blocks, freed, leafStack} = side;
	const isChosen = chosenThreads(side), kept = keptStacks(side), filter = blockFilter();
	const look = (i, leaf, thread, time) => {
		if (isChosen[thread] && isInside(range, time) && (!kept || kept[leafStack[leaf]]) && passesFilter(blocks, i, filter))
			visit(i, leaf);
	};
	if (flags === FLAG_OF.freed) {
		for (let i = 0; i < freed.nr; i++)
			look(freed.block[i], freed.leaf[i], freed.thread[i], blocks.end[freed.block[i]]);
		return;
	}
	for (let i = 0; i < blocks.nr; i++) {
		if (blocks.flags[i] & flags)
			look(i, blocks.leaf[i], blocks.thread[i], blocks.time[i]);
	}
}

function addBlockTo(tally, kinds, kind, inBlocks) {
	const bytes = kinds.bytes[kind], weight = inBlocks ? kinds.blocks[kind] : bytes, scale = bytes ? weight / bytes : 0;
	const error = kinds.error[kind] * scale;
	tally.weight += weight;
	tally.seen++;
	tally.square += error * error;
	tally.known += error ? kinds.known[kind] * scale : weight;
	tally.joint += kinds.blocks[kind];
}

function newSite(label) {
	return {label: label, tally: newTally(), lost: newTally(), oldest: 0, late: 0, allocators: new Map()};
}

function addLeft(site, left, row, kinds, kind, inBlocks) {
	site.oldest = Math.max(site.oldest, left.age[row]);
	site.late += left.late[row];
	if (left.search[row] === 2)
		addBlockTo(site.lost, kinds, kind, inBlocks);
}

// Of the selection: {sites, sizes: by class, lifetimes: by class}.
function memoryPicture() {
	return remember("memory", keyOf(...TREE), () => {
		const side = sides[0], {blocks, left} = side, {kinds} = blocks, labels = siteLabels();
		const inBlocks = state.metric === "allocs", sites = new Map(), sizes = [], lifetimes = [];
		eachBlock(FLAG_OF[state.metric], rangeOf(sides[0]), (i, leaf) => {
			const kind = blocks.kind[i], size = sizeClass(kinds.size[kind]), life = blocks.lifetime[i], label = labels[leaf];
			const site = sites.get(label) || newSite(label);
			sites.set(label, site);
			addBlockTo(site.tally, kinds, kind, inBlocks);
			addBlockTo(sizes[size] = sizes[size] || newTally(), kinds, kind, inBlocks);
			addBlockTo(lifetimes[life] = lifetimes[life] || newTally(), kinds, kind, inBlocks);
			addTo(site.allocators, kinds.allocator[kind], inBlocks ? kinds.blocks[kind] : kinds.bytes[kind]);
			if (left.row[i] >= 0)
				addLeft(site, left, left.row[i], kinds, kind, inBlocks);
		});
		return {sites: [...sites.values()], sizes: sizes, lifetimes: lifetimes};
	});
}

function allocatorText(site) {
	const names = heaviest(site.allocators).map(([kind, amount]) => {
		const name = sides[0].data.allocators[kind];
		return [ALLOCATOR_NAMES[name] || name, 100 * amount / (site.tally.weight || 1)];
	});
	return names.length === 1 ? names[0][0] : names.map(([name, percent]) => name + " " + percent.toFixed(0) + "%").join(", ");
}

// Bytes a second in the second half of the recording.
function growthOf(site) {
	return sides[0].data.lateNs ? site.late * 1e9 / sides[0].data.lateNs : 0;
}

const SITE_COLUMNS = {
	amount: {title: "amount", width: "150px", value: (row) => row.tally.weight, hint: "\u00b1 with 95% confidence",
		cell: (row) => ({text: amountWithError(state.metric, row.tally, selectedTotal())})},
	share: {title: "%", width: "104px", sort: "amount", hint: "of the selection, \u00b1 with 95% confidence",
		cell: (row) => ({text: shareText(row.tally, selectedTotal()), bar: row.tally.weight / (selectedTotal().weight || 1)})},
	blocks: {title: "blocks", width: "84px", value: (row) => row.tally.joint, cell: (row) => ({text: countText(row.tally.joint)})},
	mean: {title: "each", width: "76px", hint: "the mean size of a block", value: (row) => meanSize(row.tally),
		cell: (row) => ({text: bytesText(meanSize(row.tally))})},
	oldest: {title: "oldest", width: "76px", hint: "how long the oldest was alive", value: (row) => row.oldest,
		cell: (row) => ({text: timeText(row.oldest)})},
	growth: {title: "growing by", width: "98px", hint: "in the second half of the recording: leaks grow to its end",
		value: growthOf, cell: (row) => ({text: growthOf(row) >= 0.5 ? bytesText(growthOf(row)) + "/s" : ""})},
	lost: {title: "lost", width: "92px", hint: "nothing points to it any more", value: (row) => row.lost.weight,
		cell: (row) => ({text: row.lost.weight ? amountText(state.metric, row.lost.weight) : "", className: "more"})},
	name: {title: "function that allocates", width: "minmax(140px, 3fr)", isText: true, value: (row) => labelName(row.label),
		cell: (row) => ({text: labelName(row.label), title: labelFullName(row.label), className: "name"})},
	by: {title: "by", width: "minmax(60px, 1fr)", isText: true, value: allocatorText, hint: "what it was allocated by",
		cell: (row) => ({text: allocatorText(row), className: "dim"})},
	file: {title: "location", width: "minmax(60px, 1fr)", isText: true, value: (row) => placeOfLabel(row.label),
		cell: (row) => ({text: baseName(placeOfLabel(row.label)), title: placeOfLabel(row.label), className: "dim"})},
};
const SITES_MIDDLE_PX = 560, SITE_NAME_PX = 170;

function placeOfLabel(label) {
	return label >= 0 ? locationOf(functions[label]) || functions[label].module : "";
}

function meanSize(tally) {
	return tally.joint && UNITS[state.metric] === "bytes" ? tally.weight / tally.joint : 0;
}

class SiteTable {
	constructor(host) {
		this.rows = [];
		this.host = host;
		this.table = new RowTable(host, {
			label: "Functions that allocate", columns: () => this.columns(), cells: (i) => this.cells(i), pick: (i) => this.pick(i),
			open: (i) => this.open(i), sortBy: (key) => this.sortBy(key), sortKey: "memorySort",
		});
	}

	// The most important first, as many as there is room for.
	useful() {
		const {left} = sides[0], isLeft = ["live", "leaked"].includes(state.metric), inBytes = UNITS[state.metric] === "bytes";
		return [...(inBytes ? ["blocks"] : []), ...(isLeft && left.isSearched ? ["lost"] : []), ...(isLeft ? ["growth", "oldest"] : []),
			...(inBytes ? ["mean"] : []), "by", "file"];
	}

	columns() {
		const width = this.host.clientWidth || innerWidth, chosen = new Set(["name", "share"]);
		const isPlain = isExact(selectedTotal()), widthOf = (name) => name === "amount" && isPlain ? "84px" : SITE_COLUMNS[name].width;
		let room = width - SITE_NAME_PX - 118;
		for (const name of ["amount", ...this.useful()]) {
			room -= (parseInt(widthOf(name), 10) || TEXT_COLUMN_PX) + 6;
			if (room >= 0 || (width >= SITES_MIDDLE_PX && name === "amount"))
				chosen.add(name);
		}
		this.names = Object.keys(SITE_COLUMNS).filter((name) => chosen.has(name));
		return this.names.map((name) => ({
			title: name === "amount" ? state.metric : SITE_COLUMNS[name].title, width: widthOf(name),
			number: !SITE_COLUMNS[name].isText, hint: SITE_COLUMNS[name].hint, sort: SITE_COLUMNS[name].sort || name,
			follows: Boolean(SITE_COLUMNS[name].sort),
		}));
	}

	cells(i) {
		return this.names.map((name) => SITE_COLUMNS[name].cell(this.rows[i]));
	}

	open(i) {
		setState({view: "sandwich", function: this.rows[i].label, left: null, right: null});
	}

	pick(i) {
		const row = this.rows[i];
		setState({function: row.label}, true);
		say(describeSums(row.label, row.tally, null, selectedTotal()).map((line) => line[0]).join(", "));
	}

	sortBy(key) {
		const down = "-" + key, isText = SITE_COLUMNS[key].isText;
		setState({memorySort: state.memorySort === down ? key : state.memorySort === key ? down : isText ? key : down});
	}

	list() {
		const key = state.memorySort.replace(/^-/, ""), {value} = SITE_COLUMNS[key] || SITE_COLUMNS.amount;
		const sign = state.memorySort[0] === "-" ? -1 : 1, less = (a, b) => a < b ? -1 : a > b ? 1 : 0;
		return memoryPicture().sites.filter((row) => !matches() || isMatch(row.label))
			.sort((a, b) => sign * less(value(a), value(b)) || b.tally.weight - a.tally.weight);
	}

	update() {
		this.rows = remember("site rows", keyOf(...TREE, "search", "memorySort"), () => this.list());
		this.table.setRows(this.rows.length, this.rows.findIndex((row) => row.label === state.function));
	}

	find(step) {
		if (!this.rows.length || !matches())
			return null;
		const next = (this.table.cursor + (this.table.cursor < 0 && step < 0 ? 0 : step) + this.rows.length) % this.rows.length;
		this.table.moveTo(next, true);
		return {at: next + 1, of: this.rows.length};
	}
}

// --- by size and by length of life ---

// A table with a bar for each class, whose button selects its blocks alone.
class Histogram {
	constructor(host, title, key, nameOf) {
		this.key = key;
		this.nameOf = nameOf;
		this.table = element("table", "bars");
		this.table.append(element("caption", "", title), element("tbody"));
		host.append(this.table);
	}

	row(number, tally, most) {
		const row = element("tr"), name = element("th"), button = element("button", "", this.nameOf(number));
		const bar = element("td", "long-bar"), is = state[this.key] === number, total = selectedTotal();
		name.scope = "row";
		button.setAttribute("aria-pressed", String(is));
		button.title = is ? "look at all blocks again" : "only these blocks";
		button.dataset.value = number;
		button.addEventListener("click", () => takeStep({[this.key]: is ? -1 : number}));
		name.append(button);
		bar.append(element("i"));
		bar.firstChild.style.width = (100 * tally.weight / (most || 1)).toFixed(1) + "%";
		row.append(name, bar, element("td", "number", amountText(state.metric, tally.weight)),
			element("td", "number", shareText(tally, total) + "%"),
			...(UNITS[state.metric] === "bytes" ? [element("td", "number dim", blocksText(tally))] : []));
		return row;
	}

	update(tallies) {
		const most = tallies.reduce((sum, tally) => Math.max(sum, tally.weight), 0), focused = document.activeElement;
		const value = this.table.contains(focused) ? focused.dataset.value : null, rows = [];
		tallies.forEach((tally, number) => rows.push(this.row(number, tally, most)));
		this.table.tBodies[0].replaceChildren(...rows);
		const again = value !== null && this.table.querySelector('button[data-value="' + value + '"]');
		if (again)
			again.focus();
	}
}

function makeMemoryView(host) {
	const chart = new MemoryChart(host.querySelector(".memory-chart"));
	const sites = new SiteTable(host.querySelector(".sites")), histograms = host.querySelector(".histograms");
	const sizes = new Histogram(histograms, "size of blocks", "size", sizeName);
	const lives = new Histogram(histograms, "how long blocks live", "life", lifetimeName);
	return {
		update: () => {
			chart.update();
			sites.update();
			sizes.update(memoryPicture().sizes);
			lives.update(memoryPicture().lifetimes);
		},
		redraw: () => { chart.redraw(); sites.table.setRows(sites.rows.length); },
		find: (step) => sites.find(step), focus: () => sites.host.focus(), key: (event) => sites.table.key(event, true),
		hasPicked: () => sites.table.reveal(sites.table.cursor),
	};
}

// Time order has threads, or memory where the metric is one of memory.
function makeTimeOrderView(host) {
	const threads = makeChartView(host);
	let memory = null;
	const shown = () => memory && isMemory(state.metric) ? memory : threads;
	return {
		update: () => {
			const is = isMemory(state.metric) && !sides[1];
			if (is && !memory) {
				host.append(element("div", "memory-chart"));
				memory = new MemoryChart(host.lastChild);
			}
			host.classList.toggle("of-memory", is);
			(is ? memory : threads).update();
		},
		redraw: () => shown().redraw(), find: (step) => shown().find(step), focus: () => shown().focus(),
		key: (event) => shown().key(event),
	};
}
