// SPDX-License-Identifier: GPL-2.0-or-later
// What is shown. All of it stands in the address behind #, so that a link shows the same and Back
// undoes what was done. Functions stand there by number, which is theirs in this page alone.
const VIEWS = ["flame", "chart", "sandwich", "tree", "table", "source", "waits", "memory", "spans"];
const DEFAULTS = {
	view: "flame", metric: "", from: null, to: null, threads: null, focus: -1, only: "", drop: [], dropModules: [], without: "", hide: [],
	hideModules: [], merge: [], steps: [], collapse: false, invert: false, group: "process", pattern: "[0-9]+",
	zoom: [], left: null, right: null, function: -1, search: "", sort: "-self", waitSort: "-blocked", memorySort: "-amount", slowSort: "-length", timed: -1, resident: true, size: -1, life: -1, colors: "module", thread: -1, line: 0, asm: false,
	file: "", folded: null, trackSort: "cpu", tall: 0, process: -1, shut: null, ofOld: false, heat: false, column: 0,
	oldFrom: null, oldTo: null, oldThreads: null, oldFolded: null, theme: "",
};
const NUMBERS = ["from", "to", "oldFrom", "oldTo", "left", "right"]; // or null
const LISTS = ["threads", "folded", "oldThreads", "oldFolded", "shut"]; // or null
let state = {...DEFAULTS};
let defaults = {...DEFAULTS};
const listeners = [];

function encodeValue(value) {
	if (Array.isArray(value))
		return value.map((part) => encodeURIComponent(part)).join(",");
	return encodeURIComponent(value === true ? "1" : value === false ? "0" : String(value));
}

function encodeState(what) {
	const parts = [];
	for (const key of Object.keys(DEFAULTS)) {
		const text = encodeValue(what[key]);
		if (what[key] !== null && text !== encodeValue(defaults[key]))
			parts.push(key + "=" + text);
	}
	return parts.join("&");
}

function isNumberText(text) {
	return text !== "" && Number.isFinite(Number(text));
}

function decodeList(key, text) {
	const words = text === "" ? [] : text.split(",").map(decodeURIComponent);
	return ["hideModules", "dropModules", "merge", "steps", "zoom"].includes(key) ? words : words.filter(isNumberText).map(Number);
}

function decodeValue(key, text) {
	if (Array.isArray(DEFAULTS[key]) || LISTS.includes(key))
		return decodeList(key, text);
	const word = decodeURIComponent(text);
	if (typeof DEFAULTS[key] === "boolean")
		return word === "1";
	if (typeof DEFAULTS[key] === "number" || NUMBERS.includes(key))
		return isNumberText(word) ? Number(word) : defaults[key];
	return word;
}

// What makes no sense in an address, as one of another page, is as if it was not there.
function decodeState(hash) {
	const read = {...defaults};
	for (const part of hash.replace(/^#/, "").split("&")) {
		const [key, text] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
		try {
			if (key in DEFAULTS)
				read[key] = decodeValue(key, text);
		} catch (error) {
			if (!(error instanceof URIError))
				throw error;
		}
	}
	return checkState(read);
}

// Waits are blocked time, whatever the metric was; the first of memory is that of the worst moment.
function metricOfView(view, metric) {
	if (view === "memory" && !isMemory(metric))
		return ["peak", "live", ...metrics].find((other) => metrics.includes(other) && isMemory(other)) || metric;
	return view === "waits" && metrics.includes("blocked") ? "blocked" : metric;
}

function checkState(read) {
	const isFunction = (id) => Number.isInteger(id) && id >= 0 && id < functions.length;
	if (!VIEWS.includes(read.view))
		read.view = defaults.view;
	for (const key of ["focus", "function"])
		read[key] = isFunction(read[key]) ? read[key] : -1;
	for (const key of ["hide", "drop"])
		read[key] = read[key].filter(isFunction);
	for (const key of ["only", "without"])
		read[key] = regexOf(read[key]) ? read[key] : "";
	if (!metrics.includes(read.metric))
		read.metric = defaults.metric;
	if (!(read.trackSort in TRACK_ORDERS))
		read.trackSort = defaults.trackSort;
	if (!["", "light", "dark"].includes(read.theme))
		read.theme = "";
	read.ofOld = read.ofOld && isOfTwo();
	const ordered = recordings[read.ofOld ? 1 : 0];
	if (!ordered.runs.some((run) => ordered.threads[run.thread][0] === read.process))
		read.process = -1;
	if (!HEAT_COLUMNS_S.includes(read.column))
		read.column = 0;
	for (const key of ["size", "life"])
		read[key] = sides[0].blocks && Number.isInteger(read[key]) && read[key] >= 0 ? read[key] : -1;
	read.tall = Math.max(0, Math.min(2000, read.tall));
	read.metric = metricOfView(read.view, read.metric);
	SELECTS.forEach(({threads}, i) => {
		const isThread = (id) => Number.isInteger(id) && id in recordings[i].threads;
		read[threads] = read[threads] && recordings[i] ? read[threads].filter(isThread) : null;
	});
	for (const [from, to] of [["from", "to"], ["oldFrom", "oldTo"], ["left", "right"]]) {
		if (read[from] === null || read[to] === null || !(read[from] < read[to]))
			read[from] = read[to] = null;
	}
	return read;
}

function apply(next) {
	const before = state;
	state = next;
	chooseSides();
	for (const listener of listeners)
		listener(before);
}

let waiters = null; // calls that wait until rows of samples are read; null: they are

function withRows(call) {
	if (waiters)
		waiters.push(call);
	else
		call();
}

// Browsers refuse, or ignore, more than some changes of the address a second, as of an arrow key that
// is held: what is too much is put together.
const CHANGES_MAX = 30, CHANGE_MS = 300;
let nrChanges = 0, lastChange = 0, waiting = 0;

function replaceAddress() {
	const now = performance.now();
	nrChanges = Math.max(0, nrChanges - (now - lastChange) / CHANGE_MS);
	lastChange = now;
	clearTimeout(waiting);
	if (nrChanges >= CHANGES_MAX) {
		waiting = setTimeout(replaceAddress, 2 * CHANGE_MS);
		return;
	}
	nrChanges++;
	history.replaceState(null, "", "#" + encodeState(state));
}

// A step that Back undoes; with `quietly`, as while one types, the last step is changed. A patch that depends on the state is
// a function: what is clicked before rows are read is done later, one after the other.
function setState(patch, quietly) {
	if (waiters) {
		withRows(() => setState(patch, quietly));
		return;
	}
	const next = {...state, ...(typeof patch === "function" ? patch() : patch)}, hash = "#" + encodeState(next);
	const changed = hash !== "#" + encodeState(state);
	apply(next);
	if (!changed)
		return;
	if (quietly) {
		replaceAddress();
		return;
	}
	clearTimeout(waiting);
	history.pushState(null, "", hash);
}

addEventListener("popstate", () => withRows(() => apply(decodeState(location.hash))));
