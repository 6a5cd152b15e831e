// SPDX-License-Identifier: GPL-2.0-or-later
// Colours of frames: by module, with one for all scripts, by heat (self time), by change; and their legend.
const isDark = matchMedia("(prefers-color-scheme: dark)");
let isPrinting = false;

function dark() {
	return (state.theme === "dark" || (isDark.matches && state.theme !== "light")) && !isPrinting;
}

function hashOf(text) {
	let hash = 0;
	for (let i = 0; i < text.length; i++)
		hash = (Math.imul(hash, 31) + text.charCodeAt(i)) >>> 0;
	return hash;
}

// One hue for a module, neighbours far apart, one shade for a function. All scripts have one of their
// own, which no module comes near.
const SCRIPT_HUE = 214, SCRIPT_DISTANCE = 25;
const moduleHues = new Map();
let nextHue = 28;

function hueOf(module) {
	if (!moduleHues.has(module)) {
		while (scripts().length && Math.abs(nextHue - SCRIPT_HUE) < SCRIPT_DISTANCE)
			nextHue = (nextHue + 137.508) % 360;
		moduleHues.set(module, nextHue);
		nextHue = (nextHue + 137.508) % 360;
	}
	return moduleHues.get(module);
}

function scripts() {
	return remember("scripts", "", () => functions.filter(row => row.isScript));
}

function hsl(hue, saturation, light, lightInDark) {
	return "hsl(" + hue.toFixed(0) + " " + saturation + "% " + (dark() ? lightInDark : light) + "%)";
}

function grey() {
	return hsl(0, 0, 78, 32);
}

const SHADES = 11;

// By module: its shades, lightest last.
function moduleShades() {
	return remember("shades", String(dark()), () => {
		const shades = new Map();
		return (module) => {
			if (!shades.has(module))
				shades.set(module, Array.from({length: SHADES}, (none, i) =>
					hsl(hueOf(module), 52, 74 + i - 5, 33 + i - 5)));
			return shades.get(module);
		};
	});
}

function scriptColor(shade) {
	return hsl(SCRIPT_HUE, 86, 74 + shade - 5, 40 + shade - 5);
}

function waitColor() {
	return hsl(220, 32, 82, 30);
}

function moduleColor(id) {
	const {module, name, isScript} = functions[id];
	if (functions[id].wait !== undefined)
		return waitColor();
	if (isScript)
		return scriptColor(hashOf(name) % SHADES);
	return module ? moduleShades()(module)[hashOf(name) % SHADES] : grey();
}

// Of a share of self time from 0 to 1; small ones differ, too.
function heatColor(share) {
	const heat = Math.sqrt(Math.min(1, share * 2.5));
	return hsl(54 - 50 * heat, 45 + 45 * heat, 88 - 30 * heat, 24 + 24 * heat);
}

// Of a change in percent: more is red, less is blue, grey what may be chance.
function changeColor(changed) {
	if (!changed.isSure)
		return grey();
	const size = Math.min(1, Math.sqrt(Math.abs(changed.change) / 20));
	return hsl(changed.change > 0 ? 4 : 214, 75, 82 - 26 * size, 30 + 18 * size);
}

// By function, of the current selection.
function functionColors() {
	return remember("colors", keyOf(...TREE, "colors") + dark(), () => {
		if (state.colors !== "heat" && !(state.colors === "change" && sides[1]))
			return functions.map((row, id) => moduleColor(id));
		const sums = sumFunctions(), whole = selectedTotal();
		return functions.map((row, id) => {
			if (state.colors === "heat")
				return heatColor(whole.weight ? sums[0].self.weight[id] / whole.weight : 0);
			return changeColor(changeOf(tallyAt(sums[0].self, id), whole,
				tallyAt(sums[1].self, id), selectedTotal(1)));
		});
	});
}

function legendItem(color, text, title) {
	const item = element("span", "key");
	const swatch = element("i");
	swatch.style.background = color;
	item.append(swatch, text);
	item.title = title || "";
	return item;
}

// Those that are to be seen, the one with most self time first; what only calls has none. All scripts
// are one, without a name.
function moduleShares() {
	const {isSeen, self} = seenFunctions(), shares = new Map();
	functions.forEach((row, id) => {
		const module = row.isScript ? null : row.module;
		if (row.module && isSeen[id])
			shares.set(module, (shares.get(module) || 0) + self[id]);
	});
	return [...shares].sort((a, b) => b[1] - a[1]);
}

const LEGEND_MODULES = 10;

function showLegend() {
	const legend = byId("legend"), items = [], whole = selectedTotal().weight;
	if (state.colors === "heat") {
		for (const percent of [0.1, 1, 5, 20, 40])
			items.push(legendItem(heatColor(percent / 100), percent + "% self"));
	} else if (state.colors === "change" && sides[1]) {
		for (const change of [-20, -5, -1])
			items.push(legendItem(changeColor({change: change, isSure: true}), change + "%"));
		items.push(legendItem(grey(), "within chance"));
		for (const change of [1, 5, 20])
			items.push(legendItem(changeColor({change: change, isSure: true}), "+" + change + "%"));
	} else {
		const shares = moduleShares();
		const modules = shares.filter(([module]) => module !== null);
		for (const [module, weight] of shares.filter(([module]) => module === null).concat(
			modules.slice(0, LEGEND_MODULES)))
			items.push(legendItem(module === null ? scriptColor(5) : hsl(hueOf(module), 52, 74, 33),
				module === null ? "scripts" : module, (100 * weight / whole).toFixed(1) + "% self"));
		if (modules.length > LEGEND_MODULES)
			items.push(legendItem("transparent", "and " + (modules.length - LEGEND_MODULES) + " more"));
		const {self} = seenFunctions();
		const isSeen = (isWait) => functions.some((row, id) => !row.module && self[id] && (row.wait !== undefined) === isWait);
		if (isSeen(true))
			items.push(legendItem(waitColor(), "what threads wait for"));
		if (isSeen(false))
			items.push(legendItem(grey(), "no module"));
	}
	legend.replaceChildren(...items);
}
