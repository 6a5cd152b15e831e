// SPDX-License-Identifier: GPL-2.0-or-later
// The axis of time, with round numbers, and marks with their text below it.
const AXIS_PX = 16, MARK_PX = 15, TICK_PX = 96;

// Multiples of minutes where times are in minutes.
const CLOCK_STEPS = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

function niceStep(least) {
	const clock = isLong() && least > 5e9 ? CLOCK_STEPS.find((step) => step * 1e9 >= least) : 0;
	if (clock)
		return clock * 1e9;
	const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

function axisText(ns, step) {
	const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(step))));
	return isLong() ? clockText(ns, digits) : (ns / 1e9).toFixed(digits) + " s";
}

// As much of a text as there is room for, with an ellipsis; "" where not even that fits.
function cutText(context, text, room) {
	if (room < 12)
		return "";
	if (context.measureText(text).width <= room)
		return text;
	let low = 0, high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (context.measureText(text.slice(0, middle) + "\u2026").width <= room)
			low = middle;
		else
			high = middle - 1;
	}
	return low ? text.slice(0, low) + "\u2026" : "";
}

function axisLook() {
	return {text: dark() ? "#b4b8be" : "#55595f", line: dark() ? "#4a4d52" : "#c4c7cb", mark: trackColors().mark,
		markText: dark() ? "#ff9bce" : "#a3175f"};
}

function paintTimes(context, from, to, width, look) {
	const size = to - from, step = niceStep(size / Math.max(1, width / TICK_PX));
	context.font = FONT;
	for (let i = Math.ceil(from / step); i * step <= to; i++) {
		const x = (i * step - from) / size * width, text = axisText(i * step, step);
		context.fillStyle = look.text;
		context.fillRect(Math.min(x, width - 1), 0, 1, 5);
		if (x + 3 + context.measureText(text).width <= width)
			context.fillText(text, x + 3, 12);
	}
}

// The text of a mark ends where the next one begins.
function paintMarks(context, marks, from, to, width, top, look) {
	const at = (time) => (time - from) / (to - from) * width;
	context.font = FONT;
	marks.forEach(([time, text], i) => {
		const x = at(time), end = i + 1 < marks.length ? Math.min(width, at(marks[i + 1][0])) : width;
		if (end < 0 || x > width)
			return;
		context.fillStyle = look.mark;
		if (x >= 0)
			context.fillRect(x, top, 1, MARK_PX);
		context.fillStyle = look.markText;
		const shown = cutText(context, text, end - Math.max(x, 0) - 8);
		if (shown)
			context.fillText(shown, Math.max(x, 0) + 4, top + 11);
	});
}

// Lines of marks through what is drawn below the axis.
function paintMarkLines(context, marks, from, to, width, top, height, look) {
	context.fillStyle = look.mark;
	context.globalAlpha = 0.5;
	for (const [time] of marks)
		context.fillRect((time - from) / (to - from) * width, top, 1, height);
	context.globalAlpha = 1;
}
