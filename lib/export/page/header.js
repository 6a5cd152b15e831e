// SPDX-License-Identifier: GPL-2.0-or-later
// What the recording is; the tool bar; the bar of the chosen function and what can be done with it.
function dateText(ms) {
	return ms ? new Date(ms).toISOString().replace("T", " ").slice(0, 16) + " UTC" : "";
}

function samplesText(side) {
	const seen = side.data.nrObservations;
	return countText(seen) + (seen === 1 ? " sample" : " samples") +
		(side.data.achieved ? " at " + Math.round(side.data.achieved) + " of " + side.data.frequency + " Hz" :
			side.data.frequency ? " at " + side.data.frequency + " Hz" : "");
}

function aboutSide(side) {
	const data = side.data;
	return [
		data.host, dateText(data.startMs), lengthText(data.durationNs) + (data.attached ? ", attached" : ""),
		samplesText(side), side.blocks ? countText(side.data.recordedBlocks) + " recorded blocks" : "",
		data.within ? "within " + data.within : "", data.filtered ? "filtered" : "",
		data.complete ? "" : "the recording did not finish",
	].filter(Boolean).join("  \u00b7  ");
}

// Of a comparison that of either side, in a line of its own.
function verdictText() {
	return recordings.map((side, i) => !side.data.verdict ? "" :
		(isOfTwo() ? ["new: ", "old: "][i] : "") + side.data.verdict).filter(Boolean).join("\n");
}

function showHeader() {
	byId("title").textContent = sides[0].data.title;
	byId("title").title = sides[0].data.title;
	byId("about").textContent = (isOfTwo() ? "new: " : "") + aboutSide(sides[0]);
	byId("about").title = [sides[0].data.cpu, sides[0].data.kernel].filter(Boolean).join(", ");
	if (isOfTwo())
		byId("about-old").textContent = "old: " + sides[1].data.title + "  \u00b7  " + aboutSide(sides[1]);
	byId("about-old").hidden = !isOfTwo();
	byId("verdict").textContent = verdictText();
	byId("verdict").hidden = !verdictText();
}

function showSum() {
	const total = selectedTotal(), all = selection().all[0], metric = state.metric, parts = [], [name, oldName] = sideNames();
	parts.push(metric + (sides[1] ? " " + name + " " : " ") + (sides[1] ? amountText(metric, total.weight) : amountInBlocks(metric, total, total)));
	if (metric === "calls" && !isAllSelected())
		parts.push("calls are those of the whole recording");
	else if (!isAllSelected())
		parts.push(shareText(total, all) + "% of " + amountText(metric, all.weight));
	if (sides[1])
		parts.push(oldName + " " + amountText(metric, selectedTotal(1).weight) + (diffMode === "shares" ?
			"   shares are compared" : "") + (state.view === "flame" ? "   a frame is as wide as " + oldName + " and " + name + " together" : ""));
	if (total.weight && metric !== "calls" && !isExact(total))
		parts.push(countText(total.seen) + (isMemory(metric) ? " recorded blocks" : " samples"));
	if (!total.weight)
		parts.push("nothing is selected");
	byId("sum").textContent = parts.join("   ");
}

// --- the tool bar ---

function fillChoices() {
	for (const metric of metrics)
		byId("metric").append(new Option(metric, metric));
	for (const [value, text] of [["process", "by process"], ["thread", "by thread"],
		["pattern", "by pattern"], ["none", "together"]])
		byId("group").append(new Option(text, value));
	for (const [value, text] of [["module", "colours: module"], ["heat", "colours: self"],
		["change", "colours: change"]])
		byId("colors").append(new Option(text, value));
}

function listenToTools() {
	byId("metric").addEventListener("change", () => { metricBefore = ""; });
	for (const id of ["metric", "group", "colors"])
		byId(id).addEventListener("change", () => setState({[id]: byId(id).value, zoom: [], left: null, right: null}));
	byId("pattern").addEventListener("input", () => setState({pattern: byId("pattern").value}, true));
	for (const id of ["invert", "collapse"])
		byId(id).addEventListener("change", () => setState({[id]: byId(id).checked, zoom: [], left: null, right: null}));
	for (const tab of document.querySelectorAll("#views [role=tab]"))
		tab.addEventListener("click", () => showView(tab.dataset.view));
	byId("views").addEventListener("keydown", (event) => {
		const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
		if (!step)
			return;
		const next = VIEWS[(VIEWS.indexOf(state.view) + step + VIEWS.length) % VIEWS.length];
		showView(next);
		byId("tab-" + next).focus();
		event.stopPropagation();
	});
	search.addEventListener("input", () => setState({search: search.value}, true));
	search.addEventListener("keydown", (event) => {
		if (event.key === "Enter") {
			event.preventDefault();
			goToMatch(event.shiftKey ? -1 : 1);
		}
	});
	byId("next").addEventListener("click", () => goToMatch(1));
	byId("previous").addEventListener("click", () => goToMatch(-1));
	for (const id of ["only", "without"])
		byId(id).addEventListener("click", () =>
			takeStep({[id]: state.search, search: ""}));
	byId("reset").addEventListener("click", resetAll);
	byId("theme").addEventListener("click", () =>
		setState(() => ({theme: dark() === isDark.matches ? (dark() ? "light" : "dark") : ""}), true));
	byId("show-help").addEventListener("click", () => byId("help").showModal());
}

let metricBefore = ""; // that of the view from which one went to one whose metric is another

function showView(view) {
	const metric = metricBefore && ["waits", "memory"].includes(state.view) ? metricBefore : state.metric;
	const metricOf = metricOfView(view, metric);
	metricBefore = metricOf === metric ? "" : metric;
	setState({view: view, metric: metricOf, left: null, right: null});
}

function resetAll() {
	setState({...defaults, view: state.view, metric: state.metric, sort: state.sort, theme: state.theme});
}

function goToMatch(step) {
	const found = matches() && views[state.view].find(step);
	byId("place").textContent = found ? found.at + " of " + found.of + (found.what ? " " + found.what : "") : matches() ? "none here" : "";
}

const NO_TRANSFORMS = {focus: -1, only: "", drop: [], dropModules: [], without: "", hide: [], hideModules: [], merge: [],
	size: -1, life: -1, steps: []};

function hasTransforms() {
	return Object.keys(NO_TRANSFORMS).some((key) => encodeValue(state[key]) !== encodeValue(NO_TRANSFORMS[key]));
}

// What is left out of stacks, or kept alone: [word of the address, text, title, patch that takes it back], the last
// one last.
function steps() {
	const found = [], lists = [["drop", "dropped: ", "count its stacks again", (id) => functions[id].name],
		["dropModules", "dropped: all of ", "count its stacks again", (module) => module],
		["hide", "hidden: ", "show it again", (id) => functions[id].name],
		["hideModules", "hidden: all of ", "show it again", (module) => module],
		["merge", "merged: ", "show each of its functions again", (module) => module]];
	if (state.focus >= 0)
		found.push(["focus", "focus: " + functions[state.focus].name, "show all again", {focus: -1}]);
	if (state.only)
		found.push(["only", "focus: /" + state.only + "/", "show all again", {only: ""}]);
	if (state.without)
		found.push(["without", "dropped: /" + state.without + "/", "count them again", {without: ""}]);
	if (state.size >= 0)
		found.push(["size", "blocks of " + sizeName(state.size), "look at all blocks again", {size: -1}]);
	if (state.life >= 0)
		found.push(["life", "blocks that lived " + lifetimeName(state.life), "look at all blocks again", {life: -1}]);
	for (const [key, text, title, name] of lists) {
		for (const value of state[key])
			found.push([key + " " + value, text + name(value), title, {[key]: state[key].filter((other) => other !== value)}]);
	}
	return found.sort((a, b) => state.steps.indexOf(a[0]) - state.steps.indexOf(b[0]));
}

// The words of the steps in the order in which they were taken.
function stepsAfter(patch) {
	const before = steps().map(([word]) => word), was = state;
	state = {...state, ...patch};
	const now = steps().map(([word]) => word);
	state = was;
	return {...patch, steps: [...before.filter((word) => now.includes(word)), ...now.filter((word) => !before.includes(word))]};
}

function takeStep(patch) {
	setState({...stepsAfter(patch), zoom: [], left: null, right: null});
}

function takeBackLast() {
	takeStep(steps().pop()[3]);
}

// Each with a button that takes it back.
function showTransforms() {
	byId("transforms").replaceChildren(...steps().map(([, text, title, patch]) => {
		const chip = element("button", "chip", text + " \u00d7");
		chip.title = title;
		chip.addEventListener("click", () => takeStep(patch));
		return chip;
	}));
}

// In which views a control changes anything.
const EFFECTS = {group: ["flame", "tree"], colors: ["flame", "chart", "sandwich"], invert: ["flame", "tree"],
	collapse: ["flame", "chart", "sandwich", "tree"]};

function showEffects() {
	for (const [id, where] of Object.entries(EFFECTS)) {
		const control = byId(id), isMemoryChart = state.view === "chart" && isMemory(state.metric);
		const is = where.includes(state.view) && !isMemoryChart && (state.metric !== "calls" || id === "colors");
		control.disabled = !is;
		(control.closest("label") || control).classList.toggle("idle", !is);
		control.title = is ? TITLES[id] : "has no effect in this view";
	}
	byId("pattern").disabled = !EFFECTS.group.includes(state.view);
}

const TITLES = {group: "how threads are put together", colors: "what colours of frames say: module, self time, change",
	invert: "callers below what they call (i)", collapse: "a function that calls itself is one frame"};

function showTools() {
	for (const id of ["metric", "group", "colors"])
		byId(id).value = state[id];
	byId("colors").querySelector("[value=change]").hidden = !sides[1];
	byId("metric").disabled = state.view === "waits";
	for (const option of byId("metric").options)
		option.disabled = state.view === "memory" && !isMemory(option.value);
	if (document.activeElement !== byId("pattern"))
		byId("pattern").value = state.pattern;
	byId("pattern").hidden = state.group !== "pattern";
	byId("pattern").setAttribute("aria-invalid", String(!isPattern(state.pattern)));
	document.documentElement.dataset.theme = state.theme;
	byId("theme").setAttribute("aria-label", dark() ? "light colours" : "dark colours");
	byId("theme").title = (dark() ? "light" : "dark") + " colours (l)";
	byId("invert").checked = state.invert;
	byId("collapse").checked = state.collapse;
	if (search.value !== state.search)
		search.value = state.search;
	for (const tab of document.querySelectorAll("#views [role=tab]")) {
		const is = tab.dataset.view === state.view;
		tab.setAttribute("aria-selected", String(is));
		tab.tabIndex = is ? 0 : -1;
	}
	showTransforms();
	showEffects();
}

function isPattern(text) {
	try {
		return Boolean(new RegExp(text));
	} catch (error) {
		return false;
	}
}

// --- what can be done with a function ---

const ACTIONS = [
	{key: "f", text: "Focus", title: "only stacks that have it", patch: (id) => ({focus: id})},
	{key: "d", text: "Drop", title: "leave out stacks that have it, with their time",
		patch: (id) => ({drop: [...new Set([...state.drop, id])], function: -1})},
	{key: "h", text: "Hide", title: "leave it out of stacks: its time is charged to its caller",
		patch: (id) => ({hide: [...new Set([...state.hide, id])]})},
	{key: "m", text: "Hide module", title: "leave all functions of its module out of stacks",
		patch: (id) => functions[id].module ?
			{hideModules: [...new Set([...state.hideModules, functions[id].module])]} : {}},
	{key: "D", text: "Drop module", title: "leave out stacks that have a function of its module, with their time",
		patch: (id) => functions[id].module ?
			{dropModules: [...new Set([...state.dropModules, functions[id].module])], function: -1} : {}},
	{key: "g", text: "Merge module", title: "functions of its module that call each other are one frame: the first",
		patch: (id) => functions[id].module ? {merge: [...new Set([...state.merge, functions[id].module])]} : {}},
	{key: "c", text: "Callers", title: "its callers and callees", patch: (id) => ({view: "sandwich",
		...(waitOf(id) ? {metric: "blocked"} : {})})},
	{key: "s", text: "Source", title: "its lines", patch: () => ({view: "source", file: "", line: 0})},
	{key: "t", text: "In table", title: "its row in the table of functions", patch: () => ({view: "table"})},
];

function act(action) {
	if (state.function >= 0 && "fdhmDg".includes(action.key))
		takeStep(action.patch(state.function));
	else if (state.function >= 0)
		setState({...action.patch(state.function), left: null, right: null});
}

function actionButtons(after) {
	return ACTIONS.map((action) => {
		const button = element("button", "", action.text);
		button.title = action.title + " (" + action.key + ")";
		button.dataset.action = action.key;
		button.addEventListener("click", () => { act(action); after(); });
		return button;
	});
}

function showChosen() {
	const bar = byId("chosen-function"), id = state.function;
	bar.hidden = id < 0;
	if (id < 0)
		return;
	const sums = sumFunctions()[0], self = tallyAt(sums.self, id), total = tallyAt(sums.total, id);
	const whole = selectedTotal(), row = functions[id], text = byId("chosen-text");
	const changed = sides[1] ? ", change of self " + changeText(selfChange(id, sumFunctions())) : "";
	const numbers = amountInBlocks(state.metric, total, whole) + " " + shareText(total, whole) + "%, self " +
		amountWithError(state.metric, self, whole) + " " + shareText(self, whole) + "%" +
		(sides[0].calls[id] !== undefined ? ", " + countText(sides[0].calls[id]) + " calls" : "") + changed;
	text.replaceChildren(element("b", "", numbers), " ", element("span", "name", row.name), " ",
		element("span", "dim", placeOf(row) || describeHolder(id).filter(([, name]) => name !== "dim").map(([line]) => line).join(", ")));
	text.title = row.full;
}

const menu = byId("menu");

// With a stack, leaf first, that can be copied, too.
function showMenu(x, y, stack) {
	const copies = [["Copy name", functions[state.function].full], ...(stack ? [["Copy stack", stackText(stack)]] : [])];
	menu.replaceChildren(element("div", "name", functions[state.function].name), ...actionButtons(hideMenu),
		...copies.map(([title, text]) => {
			const button = element("button", "", title);
			button.addEventListener("click", () => { copyText(text); hideMenu(); });
			return button;
		}));
	menu.hidden = false;
	hideTip();
	const box = menu.getBoundingClientRect(), room = document.documentElement;
	menu.style.left = Math.max(0, Math.min(x, room.clientWidth - box.width)) + "px";
	menu.style.top = Math.max(0, Math.min(y, room.clientHeight - box.height)) + "px";
	menu.querySelector("button").focus();
}

function hideMenu() {
	menu.hidden = true;
}

function listenToMenu() {
	addEventListener("pointerdown", (event) => {
		if (!menu.hidden && !menu.contains(event.target))
			hideMenu();
	});
	menu.addEventListener("keydown", (event) => {
		const step = {ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling"}[event.key];
		const next = step && document.activeElement[step];
		if (next && next.tagName === "BUTTON")
			next.focus();
		if (step)
			event.preventDefault();
	});
	byId("actions").append(...actionButtons(() => {}));
	byId("no-function").addEventListener("click", () => setState({function: -1}));
}
