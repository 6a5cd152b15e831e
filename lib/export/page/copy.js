// SPDX-License-Identifier: GPL-2.0-or-later
// Names and stacks for the clipboard: what is drawn cannot be marked with the mouse.
let textToCopy = "";

// Of labels, leaf first: one line each, as debuggers print them.
function stackText(labels) {
	return labels.map((label) => {
		const row = label >= 0 ? functions[label] : null;
		return row ? [row.full, row.module ? "(" + row.module + ")" : "", locationOf(row)].filter(Boolean).join("  ") :
			labelName(label);
	}).join("\n") + "\n";
}

// Labels from a node of a tree to its root; leaf first, unless the tree is inverted and has the leaf on top.
function stackOf(tree, node) {
	const labels = [];
	for (; node > 0; node = tree.parent[node])
		labels.push(tree.label[node]);
	return tree === mergedTree() || !state.invert ? labels : labels.reverse();
}

function copyText(text) {
	textToCopy = text;
	const done = document.execCommand("copy");
	textToCopy = "";
	say(done ? "copied" : "the browser does not let the page copy");
}

// What is marked with the mouse, or typed in a field, goes first.
document.addEventListener("copy", (event) => {
	const isMarked = String(getSelection()) !== "" || isTyping(document.activeElement);
	const name = state.function >= 0 && !isMarked ? functions[state.function].full : "";
	if (!textToCopy && !name)
		return;
	event.clipboardData.setData("text/plain", textToCopy || name);
	event.preventDefault();
});
