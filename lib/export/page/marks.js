// SPDX-License-Identifier: GPL-2.0-or-later
// The menu of marks: a range from one to another, and what each phase took, as report --by mark has it.
const PHASES_MAX = 500;

// From each mark to the next one: {text, from, to}; first what was before all marks.
function phasesOf(side) {
	const {marks, fromNs, toNs} = side.data;
	const starts = [[fromNs, "[before the first mark]"], ...marks];
	return starts.map(([from, text], i) => ({text: text, from: from, to: i + 1 < starts.length ? starts[i + 1][0] : toNs}))
		.filter((phase) => phase.to > phase.from);
}

// By phase, of the threads and stacks that are selected.
function phaseSums(side) {
	const keys = ["metric", "threads", "oldThreads", "focus", "only", "drop", "dropModules", "without", "size", "life"];
	return remember("phases " + recordings.indexOf(side), keyOf(...keys), () => {
		const kept = keptStacks(side), groups = [["all", [...groupsOf(side).values()].flat()]];
		return phasesOf(side).slice(0, PHASES_MAX).map((phase) => {
			const found = weigh(side, groups, state.metric, phase, blockFilter());
			return {...sumOf(kept ? keepStacks(found, kept) : found, side.data), joint: 0}; // as reports by mark judge them
		});
	});
}

class MarkMenu {
	constructor(tracks) {
		this.tracks = tracks;
		this.side = tracks.side;
		this.box = tracks.byId("marks");
		this.body = tracks.byId("phases");
		this.isMerged = this.side.data.nrRuns > 1;
		this.fill(tracks.byId("from-mark"), "start");
		this.fill(tracks.byId("to-mark"), "end");
	}

	fill(choice, none) {
		choice.append(new Option(none, ""));
		this.side.data.marks.forEach(([time, text], i) =>
			choice.append(new Option(text + " (" + momentText(Math.round(time / 1e6) * 1e6) + momentUnit() + ")", i)));
		const other = new Option("another time", "other");
		other.hidden = true;
		choice.append(other);
		choice.addEventListener("change", () => this.choose());
	}

	choose() {
		const {tracks} = this, {marks} = this.side.data;
		const [from, to] = ["from", "to"].map((id) => tracks.byId(id + "-mark").value);
		const at = (value, none, kept) => value === "" ? none : value === "other" ? kept : marks[Number(value)][0];
		const start = at(from, tracks.from, tracks.chosenFrom()), end = at(to, tracks.to, tracks.chosenTo());
		if (from === "" && to === "")
			tracks.choose(null, null);
		else if (start < end)
			tracks.choose(start, end);
		else
			tracks.sayRange("\u201cfrom\u201d must be before \u201cto\u201d");
	}

	// Which mark a moment is, by number, as a choice has it.
	markAt(time, edge) {
		const at = this.side.data.marks.findIndex((mark) => Math.round(mark[0]) === time);
		return time === null || time === Math.round(edge) ? "" : at < 0 ? "other" : String(at);
	}

	row(phase, sum, whole) {
		const row = element("tr"), button = element("button", "", phase.text), is = this.isChosen(phase);
		const cell = (text) => element("td", "number", text);
		button.title = phase.text;
		button.setAttribute("aria-pressed", String(is));
		button.addEventListener("click", () => this.tracks.choose(...(is ? [null, null] : [phase.from, phase.to])));
		const name = element("th");
		name.scope = "row";
		name.append(button);
		row.append(name, cell(lengthText(phase.from)), cell(lengthText(phase.to - phase.from)),
			...(state.metric === "calls" ? [] : [cell(amountText(state.metric, sum.weight)), cell(shareText(sum, whole) + "%")]));
		return row;
	}

	isChosen(phase) {
		return this.tracks.chosenFrom() === Math.round(phase.from) && this.tracks.chosenTo() === Math.round(phase.to);
	}

	head() {
		const row = element("tr");
		for (const text of ["from mark", "begins", "lasts", ...(state.metric === "calls" ? [] : [state.metric, "share"])]) {
			const cell = element("th", text === "from mark" ? "" : "number", text);
			cell.scope = "col";
			row.append(cell);
		}
		return row;
	}

	update() {
		this.box.hidden = !this.side.data.marks.length;
		if (this.box.hidden || !this.box.open)
			return;
		const {tracks} = this;
		tracks.byId("from-mark").value = this.markAt(tracks.chosenFrom(), tracks.from);
		tracks.byId("to-mark").value = this.markAt(tracks.chosenTo(), tracks.to);
		tracks.byId("phases-note").textContent = this.isMerged ?
			"The runs of a merged recording have marks at times of their own: profc report --by mark adds up their phases." :
			this.side.data.marks.length >= PHASES_MAX ? "The first " + PHASES_MAX + " phases." : "";
		if (this.isMerged)
			return;
		const sums = phaseSums(this.side), phases = phasesOf(this.side).slice(0, PHASES_MAX), whole = newTally();
		sums.forEach((sum) => { addTally(whole, sum); Object.assign(whole, {fixed: sum.fixed, lost: sum.lost}); });
		const focused = this.body.contains(document.activeElement) ?
			[...this.body.querySelectorAll("button")].indexOf(document.activeElement) : -1;
		this.body.replaceChildren(this.head(), ...phases.map((phase, i) => this.row(phase, sums[i], whole)));
		if (focused >= 0)
			this.body.querySelectorAll("button")[focused].focus();
	}
}

function listenToMarks(tracks) {
	const menu = new MarkMenu(tracks), close = () => { menu.box.open = false; };
	tracks.marks = menu;
	menu.box.addEventListener("toggle", () => withRows(() => menu.update()));
	menu.box.addEventListener("keydown", (event) => {
		if (event.key === "Escape" && menu.box.open) {
			close();
			menu.box.querySelector("summary").focus();
		} else if (event.key !== "Enter" && event.key !== " " && !event.key.startsWith("Arrow")) {
			return;
		}
		event.stopPropagation();
	});
	addEventListener("pointerdown", (event) => {
		if (!menu.box.contains(event.target))
			close();
	});
}
