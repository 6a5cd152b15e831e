// SPDX-License-Identifier: GPL-2.0-or-later
// Which functions match what is searched for.
const search = byId("search");

function searchPattern() {
	return state.search ? regexOf(state.search) || undefined : null; // undefined: not a regular expression
}

// By function, or null: nothing is searched for.
function matches() {
	return remember("matches", state.search, () => {
		const pattern = searchPattern();
		return pattern ? functions.map((row) => pattern.test(row.full)) : null;
	});
}

function isMatch(label) {
	const found = matches();
	return Boolean(found && label >= 0 && found[label]);
}

// Of the stacks that have a match, each counted once.
function sumMatches() {
	const tree = mergedTree(), sum = newTally();
	for (let i = 0; i < tree.nr;) {
		const found = isMatch(tree.label[i]);
		if (found)
			addTally(sum, tallyAt(tree.total[0], i));
		i = found ? tree.end[i] : i + 1;
	}
	return sum;
}

function showMatches() {
	const found = matches(), text = byId("found");
	const isWrong = searchPattern() === undefined;
	search.setAttribute("aria-invalid", String(isWrong));
	byId("next").disabled = byId("previous").disabled = !found;
	byId("only").hidden = byId("without").hidden = !found || !found.includes(true);
	text.className = isWrong ? "wrong" : "";
	if (isWrong) {
		text.textContent = "not a regular expression";
	} else if (!found) {
		text.textContent = "";
	} else if (state.view === "source") { // whose matches are in lines
		const nr = views.source ? views.source.countMatches() : 0;
		text.textContent = nr ? countText(nr) + (nr === 1 ? " line" : " lines") : "no line";
	} else {
		const sums = sumFunctions(), sum = sumMatches();
		const nr = found.filter((is, id) => is && isThere(id, sums)).length;
		text.textContent = !nr ? "no function" : nr + (nr === 1 ? " function, " : " functions, ") +
			amountText(state.metric, sum.weight) + ", " + shareText(sum, selectedTotal()) + "%";
	}
}
