// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the data, makes the views, and shows what the address says.
const views = {};
const MAKERS = {flame: makeFlameView, chart: makeTimeOrderView, sandwich: makeSandwichView, tree: makeTreeView,
	table: makeTableView, source: makeSourceView, waits: makeWaitsView, memory: makeMemoryView, spans: makeSpansView};
let tracks = []; // of each recording

function viewOf(name) {
	views[name] = views[name] || MAKERS[name](byId("view-" + name));
	return views[name];
}

// Parts of the state that a view shows; what only marks a function needs no more than drawing.
function showAll(before) {
	const isOtherView = !before || before.view !== state.view;
	for (const name of VIEWS)
		byId("view-" + name).hidden = name !== state.view;
	showTools();
	showMatches();
	if (before && before.search !== state.search)
		byId("place").textContent = "";
	if (before && before.theme !== state.theme)
		redrawAll();
	showSum();
	showLegend();
	showChosen();
	byId("legend").hidden = ["table", "tree", "source", "waits", "memory", "spans"].includes(state.view) ||
		(state.view === "chart" && isMemory(state.metric));
	tracks.forEach((one) => one.update());
	viewOf(state.view).update();
	if (state.view === "source")
		showMatches(); // the lines are known now
	if (isOtherView && views[state.view].hasPicked)
		views[state.view].hasPicked();
}

function redrawAll() {
	for (const name of Object.keys(views))
		views[name].redraw();
	tracks.forEach((one) => one.draw());
	showLegend();
	showTrackLegend();
}

// The last of what was done: menu, search, choice of a part of the graph, of functions, of time.
function escape() {
	if (!menu.hidden)
		hideMenu();
	else if (state.search)
		setState({search: ""});
	else if (state.zoom.length || state.left !== null)
		setState({zoom: [], left: null, right: null});
	else if (state.function >= 0)
		setState({function: -1});
	else if (hasTransforms())
		takeBackLast();
	else if (state.from !== null)
		setState({from: null, to: null});
	else if (isOfTwo() && state.oldFrom !== null)
		setState({oldFrom: null, oldTo: null});
	else if (state.oldFrom !== null)
		chooseBaseline(null, null);
}

function isTyping(target) {
	return target.matches("input:not([type=checkbox]), select, textarea");
}

// What nothing else has taken is for the view, wherever the focus is; buttons keep theirs.
function forward(event) {
	const isButton = event.target.matches("button, input, label") && ["Enter", " "].includes(event.key);
	if (!isButton && views[state.view].key)
		views[state.view].key(event);
}

function onKey(event) {
	if (event.ctrlKey || event.altKey || event.metaKey || byId("help").open)
		return;
	if (event.key === "Escape") {
		if (document.activeElement === search)
			search.blur();
		escape();
	} else if (isTyping(event.target)) {
		return;
	} else if (event.key === "/") {
		search.focus();
		search.select();
	} else if (event.key === "?") {
		byId("help").showModal();
	} else if (event.key === "n" || event.key === "N") {
		goToMatch(event.key === "n" ? 1 : -1);
	} else if (event.key >= "1" && event.key <= String(VIEWS.length)) {
		showView(VIEWS[Number(event.key) - 1]);
		views[state.view].focus();
	} else if (event.key === "l") {
		byId("theme").click();
	} else if (event.key === "b") {
		takeBaseline();
	} else if (event.key === "i") {
		byId("invert").click();
	} else {
		const action = ACTIONS.find((row) => row.key === event.key);
		if (!action) {
			forward(event);
			return;
		}
		hideMenu();
		act(action);
	}
	event.preventDefault();
}

function printing(is) {
	isPrinting = is;
	document.body.classList.toggle("printing", is);
	if (state.view in views) {
		views[state.view].update();
		views[state.view].redraw();
	}
	showLegend();
}

function widestDefault(data) {
	return metrics.includes(data.metric) ? data.metric : metrics[0];
}

// What a page has no use for.
function leaveOut(view) {
	VIEWS.splice(VIEWS.indexOf(view), 1);
	byId("tab-" + view).hidden = true;
}

// May it be shown before its rows of samples are read? Then what is shown first is what a page without an address shows.
function canShowEarly(side) {
	const {columns, timedCalls} = side.data;
	return recordings.length === 1 && columns.has("sumLeaf") && location.hash.length < 2 && !columns.has("blockTime") &&
		!columns.has("advanceTime") && !timedCalls && findMetrics(side).includes(side.data.metric);
}

async function readRows() {
	await Promise.all(recordings.map((side) => side.data.addRows()));
	recordings.forEach(decodeRows);
	recordings.forEach(addWaitLeaves);
}

async function readSides() {
	const data = await readData("data");
	readMetrics(data);
	recordings.push(decodeSide(data));
	if (document.querySelector("div.old-data")) {
		const oldData = await readData("old-data");
		diffMode = oldData.diffMode;
		diffNoise = oldData.noise;
		recordings.push(decodeSide(oldData));
		leaveOut("waits");
	}
	sides = recordings;
	recordings.forEach(addWaits);
	if (canShowEarly(recordings[0]))
		waiters = [];
	else
		await readRows();
	if (recordings[1] || !recordings[0].blocks)
		leaveOut("memory");
	recordings[0].spans = recordings[1] ? null : decodeSpans(data);
	if (!recordings[0].spans)
		leaveOut("spans");
	metrics = Object.keys(UNITS).filter((metric) => sides.some((side) => findMetrics(side).includes(metric)));
	if (data.countSamples)
		UNITS[data.metric] = "samples";
	defaults = {...DEFAULTS, metric: widestDefault(data), group: isOfTwo() ? "none" : data.group,
		colors: isOfTwo() ? "change" : "module", sort: isOfTwo() ? "-change" : "-self"};
}

// After the first frame, in which all views have found out how large they are. Tracks have their room, and are drawn
// after that: of a large recording that takes some time.
function isDrawn() {
	document.body.dataset.ready = "1";
	performance.mark("ready");
	setTimeout(() => complete().catch(sayWrong));
}

// Then what was clicked meanwhile is done.
async function complete() {
	const calls = waiters || [];
	if (waiters) {
		await readRows();
		waiters = null;
	}
	for (const call of calls) {
		try {
			call();
		} catch (error) {
			reportError(error);
		}
	}
	tracks.forEach((one) => one.draw());
	document.body.dataset.complete = "1";
	performance.mark("complete");
}

async function start() {
	await readSides();
	fillChoices();
	showHeader();
	listenToTools();
	listenToMenu();
	state = decodeState(location.hash);
	chooseSides();
	tracks = makeTracks();
	listeners.push(showAll);
	showAll(null);
	document.addEventListener("keydown", onKey);
	isDark.addEventListener("change", redrawAll);
	addEventListener("beforeprint", () => printing(true));
	addEventListener("afterprint", () => printing(false));
	addEventListener("blur", hideTip);
	document.body.classList.remove("loading");
	requestAnimationFrame(() => setTimeout(isDrawn));
}

function sayWrong(error) {
	delete document.body.dataset.ready;
	byId("loading").textContent = typeof DecompressionStream === "undefined" ?
		"This browser is too old for the page: it needs DecompressionStream (2023)." :
		"The page cannot be shown: " + error.message;
	throw error;
}

start().catch(sayWrong);
