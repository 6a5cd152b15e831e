// SPDX-License-Identifier: GPL-2.0-or-later
// What is said of a frame: the tooltip at the cursor, and the same in words for screen readers.
const tip = byId("tip");

// "12.3% of ..." of each whole that there is: what was zoomed to, the selection, all.
function sharesText(total, whole, zoomed) {
	const all = selection().all[0], parts = [];
	if (zoomed)
		parts.push(shareText(total, zoomed) + "% of the zoomed frame");
	parts.push(shareText(total, whole) + "%" + (zoomed || !isAllSelected() ? " of the selection" : ""));
	if (!isAllSelected() && state.metric !== "calls")
		parts.push(shareText(total, all) + "% of all");
	return parts.join(", ");
}

// [text, class] of each line: numbers first, then the short name, then the full one.
function describeSums(label, total, self, whole, zoomed) {
	const metric = state.metric;
	const lines = [[amountInBlocks(metric, total, whole) + "   " + sharesText(total, whole, zoomed), "numbers"]];
	if (self)
		lines.push(["self " + amountWithError(metric, self, whole) + "   " + shareText(self, whole) + "%", ""]);
	lines.push([labelName(label), "name"]);
	if (labelFullName(label) !== labelName(label))
		lines.push([labelFullName(label), "full"]);
	if (label >= 0) {
		const row = functions[label];
		if (row.module || row.file)
			lines.push([placeOf(row), "dim"]);
	}
	return lines.concat(describeHolder(label));
}

function describeChange(total, whole, oldTotal, oldWhole) {
	const metric = state.metric, changed = changeOf(total, whole, oldTotal, oldWhole);
	const [name, oldName] = sideNames(), rate = isOfTwo() ? "" : ", per second";
	return [[oldName + " " + amountText(metric, oldTotal.weight) + "   " + name + " " + amountText(metric, total.weight) +
		"   " + changeText(changed) + (diffMode === "amounts" ? "% of the " + oldName + " total" + rate : " points") +
		(changed.isSure ? "" : ", within chance"), "numbers"]];
}

// Of the time in which a thread had what others waited for.
function describeHeld(tree, node) {
	const total = tallyAt(tree.total[0], node), label = tree.label[node];
	return [[timeText(total.weight) + "   " + shareText(total, tallyAt(tree.total[0], 0)) +
		"% of the time in which it was held", "numbers"], [labelName(label), "name"],
		...(label >= 0 ? [[placeOf(functions[label]), "dim"]] : [])];
}

function describeNode(tree, node, root) {
	if (tree.isOfHolders)
		return describeHeld(tree, node);
	const total = tallyAt(tree.total[0], node), isInside = root > 0 && node >= root && node < tree.end[root];
	const zoomed = isInside ? tallyAt(tree.total[0], root) : null;
	const lines = describeSums(tree.label[node], total, tallyAt(tree.self[0], node), selectedTotal(), zoomed);
	lines.filter((line) => line[1] === "name").slice(0, 1).forEach((line) => { line[0] = nodeName(tree, node); });
	if (!sides[1])
		return lines;
	return describeChange(total, selectedTotal(), tallyAt(tree.total[1], node), selectedTotal(1)).concat(lines);
}

function showTip(lines, x, y) {
	tip.replaceChildren(...lines.map(([text, className]) => element("div", className, text)));
	tip.hidden = false;
	const box = tip.getBoundingClientRect(), room = document.documentElement;
	tip.style.left = Math.max(4, x + 14 + box.width > room.clientWidth ? x - box.width - 10 : x + 14) + "px";
	tip.style.top = Math.max(4, y + 16 + box.height > room.clientHeight ? y - box.height - 10 : y + 16) + "px";
}

function hideTip() {
	tip.hidden = true;
}

function say(text) {
	byId("said").textContent = text;
}
