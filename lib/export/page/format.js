// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `profc export --html`. Its files are one script, in the order of asset.c:
//
//	format.js   numbers as text
//	data.js     reads what the page holds
//	state.js    what is shown, as it stands in the address
//	tally.js    sums, shares and their intervals
//	select.js   from samples to the weights of stacks that are selected
//	waits.js    what threads wait for, and who has it
//	trees.js    from stacks to trees of functions and sums of functions and lines
//	colors.js, tip.js, search.js, rows.js, copy.js   parts that views share
//	axis.js, minimap.js   the axis of time with marks, and the whole of a graph of which a part is in sight
//	memory_chart.js, memory.js   memory over time, and by function, size and length of life
//	spans.js   timed calls by time and length
//	flame.js, sandwich.js, chart.js, tree.js, table.js, source.js, waiting.js   the views
//	threads.js, chain.js, marks.js, heat.js, time.js   tracks by process and thread, the critical path, phases between
//		marks, the heat map, and the range of time
//	header.js   what the recording is, the tool bar and the bar of the chosen function
//	main.js     puts them together
const byId = (id) => document.getElementById(id);

function element(tag, className, text) {
	const made = document.createElement(tag);
	if (className)
		made.className = className;
	if (text !== undefined)
		made.textContent = text;
	return made;
}

function bytesText(value) {
	const size = Math.abs(value);
	if (size >= 2 ** 30)
		return (value / 2 ** 30).toFixed(2) + " GiB";
	if (size >= 2 ** 20)
		return (value / 2 ** 20).toFixed(1) + " MiB";
	if (size >= 2 ** 10)
		return (value / 2 ** 10).toFixed(1) + " KiB";
	return Math.round(value) + " B";
}

function timeText(ns) {
	const size = Math.abs(ns);
	if (size >= 1e9)
		return (ns / 1e9).toFixed(3) + " s";
	if (size >= 1e6)
		return (ns / 1e6).toFixed(2) + " ms";
	if (size >= 1e3)
		return (ns / 1e3).toFixed(2) + " \u00b5s";
	return (size && size < 100 ? ns.toFixed(1) : Math.round(ns)) + " ns";
}

function countText(value) {
	return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// By metric, as the data says: its unit, and which rows it adds up.
const UNITS = {}, ROWS_OF = {};

function readMetrics(data) {
	for (const [metric, unit, rows] of data.metrics) {
		UNITS[metric] = unit;
		ROWS_OF[metric] = rows;
	}
}

function amountText(metric, value) {
	if (UNITS[metric] === "ns")
		return timeText(value);
	return UNITS[metric] === "bytes" ? bytesText(value) : countText(value);
}

function percentText(percent) {
	return percent.toFixed(percent >= 99.995 ? 1 : 2);
}

function intervalText(half) {
	return half === 0 ? "\u00b10" : "\u00b1" + (half < 9.95 ? half.toFixed(1) : half.toFixed(0));
}

function secondsText(ns) {
	return (ns / 1e9).toFixed(6).replace(/\.?0+$/, "");
}

// From so long a recording on, moments are in hours, minutes and seconds.
const LONG_NS = 600e9;

function isLong() {
	return sides.some((side) => side.data.toNs >= LONG_NS);
}

// "1:02:03.4", below an hour "2:03.4".
function clockText(ns, digits) {
	const unit = 10 ** digits, all = Math.round(ns / 1e9 * unit), seconds = all / unit % 60;
	const minutes = Math.floor(all / unit / 60), two = (value) => String(value).padStart(2, "0");
	const whole = minutes < 60 ? String(minutes) : Math.floor(minutes / 60) + ":" + two(minutes % 60);
	return whole + ":" + (seconds < 10 ? "0" : "") + seconds.toFixed(digits);
}

function clockTextShort(ns) {
	return clockText(ns, 6).replace(/\.?0+$/, "");
}

// A moment of the recording, as it can be typed in again.
function momentText(ns) {
	return isLong() ? clockTextShort(ns) : secondsText(ns);
}

function momentUnit() {
	return isLong() ? "" : " s";
}

// In seconds: "1.25" or "1:02:03.5"; NaN: neither.
function secondsOf(text) {
	const parts = text.split(":").map((part) => part.trim() === "" ? NaN : Number(part));
	return parts.length > 3 ? NaN : parts.reduce((sum, part) => sum * 60 + part, 0);
}

function lengthText(ns) {
	return ns >= LONG_NS ? clockText(ns, 0) : timeText(ns);
}

// As short as it is exact: "1.5 h", "15 min", "2.5 s", "250 ms".
function offsetText(ns) {
	const [unit, scale] = ns >= 3600e9 && ns % 1800e9 === 0 ? ["h", 3600e9] : ns >= 60e9 && ns % 30e9 === 0 ? ["min", 60e9] :
		ns >= 1e9 || !ns ? ["s", 1e9] : ["ms", 1e6];
	return Number((ns / scale).toFixed(2)) + " " + unit;
}

// The time of day of a moment, or "": it is not known, or of no interest.
function dayTimeText(side, ns) {
	const {startMs} = side.data;
	return startMs && isLong() ? new Date(startMs + ns / 1e6).toISOString().slice(11, 19) + " UTC" : "";
}

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1);
}
