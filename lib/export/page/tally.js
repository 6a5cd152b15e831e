// SPDX-License-Identifier: GPL-2.0-or-later
// Sums and the 95% confidence intervals of shares, as lib/calltree/tally.h defines them.
const Z = 1.959964, LEAST_PERCENT = 0.1;

function newTally() {
	return {weight: 0, seen: 0, square: 0, known: 0, joint: 0, fixed: 0, lost: 0};
}

function addTally(sum, tally) {
	sum.weight += tally.weight;
	sum.seen += tally.seen;
	sum.square += tally.square;
	sum.known += tally.known;
	sum.joint += tally.joint;
}

function percentOf(part, whole) {
	return whole.weight ? 100 * part.weight / whole.weight : 0;
}

function isExact(tally) {
	return tally.known === tally.weight && tally.square === 0 && !tally.lost;
}

// Of memory, whose blocks are recorded with chances that are known.
function intervalOfBlocks(part, whole) {
	const share = part.weight / whole.weight, rest = 1 - share;
	const outside = Math.max(whole.square - part.square, 0), common = part.square - share * whole.square;
	const variance = rest * rest * part.square + share * share * outside -
		(whole.fixed > 0 ? common * common / whole.fixed : 0);
	const missed = part.weight - part.known;
	const one = missed > 0 && part.square > 0 ? Math.min(missed, part.square / missed) : 0;
	const few = Z * Z * one * one / 4;
	return 100 * (Z * Math.sqrt(Math.max(one ? variance * (1 + few / part.square) : variance, few)) / whole.weight +
		Math.max(share, rest) * whole.lost / (whole.weight + whole.lost));
}

// How often the part is entered and left, beside what chance alone would do; 1 at most.
function roughness(part, share) {
	if (part.joint <= 0 || share >= 1 || state.metric === "elapsed")
		return 1;
	return Math.min(1, Math.max(1 - part.joint / part.square, 0) / (1 - share));
}

// Elapsed time that the part may have more or less is that of the rest.
function slackOf(part, whole) {
	return state.metric === "elapsed" ?
		100 * Math.max(Math.min(part.joint, whole.joint - part.joint), 0) / whole.weight : 0;
}

// Half the width, in percentage points, by the samples alone.
function halfOf(part, whole) {
	if (!whole.weight)
		return 100;
	if (isExact(whole))
		return 0;
	if (!whole.seen)
		return 100;
	if (isMemory(state.metric))
		return intervalOfBlocks(part, whole);
	const total = whole.weight, share = part.weight / total, rest = 1 - share;
	const outside = Math.max(whole.square - part.square, 0);
	const estimated = (total - whole.known) / total;
	const once = Math.max(whole.square / (total * total), estimated * estimated / whole.seen);
	const variance = Math.max(
		(rest * rest * part.square + share * share * outside) / (total * total),
		share * rest * whole.square / (total * total));
	return slackOf(part, whole) +
		100 * Z * Math.sqrt(Math.max(variance, 0) * roughness(part, share) + Z * Z * once * once / 4) /
		(1 + Z * Z * once);
}

function intervalOf(part, whole) {
	const half = halfOf(part, whole);
	return half <= 0 || isMemory(state.metric) ? half : Math.max(half, LEAST_PERCENT);
}

// Half the width of the interval of an amount of memory, as tally_error() has it.
function errorOf(part, whole) {
	const variance = whole.fixed > 0 ? Math.max(part.square - part.square ** 2 / whole.fixed, 0) : part.square;
	const missed = part.weight - part.known;
	if (part.square <= 0 || missed <= 0)
		return Z * Math.sqrt(Math.max(variance, 0)) + whole.lost;
	const one = Math.min(missed, part.square / missed), few = Z * Z * one * one / 4;
	return Z * Math.sqrt(Math.max(variance * (1 + few / part.square), few)) + whole.lost;
}

// "2.8 MiB ±829 KiB" of memory; time has its interval beside its share.
function amountWithError(metric, tally, whole) {
	const error = isMemory(metric) ? errorOf(tally, whole) : 0;
	return amountText(metric, tally.weight) + (error >= 0.5 ? " \u00b1" + amountText(metric, error) : "");
}

// Of memory, whose tallies have the number of blocks in `joint`.
function blocksText(tally) {
	return countText(tally.joint) + (Math.round(tally.joint) === 1 ? " block" : " blocks");
}

function amountInBlocks(metric, tally, whole) {
	return amountWithError(metric, tally, whole) + (isMemory(metric) && UNITS[metric] === "bytes" ? " in " + blocksText(tally) : "");
}

// "12.34 ±0.5" of a whole.
function shareText(part, whole) {
	if (!whole.weight)
		return "";
	return percentText(percentOf(part, whole)) + " " + intervalText(intervalOf(part, whole));
}

// The change from one side to the other in percent of the old total, or in percentage points, judged
// as lib/calltree/diff.h says.
const LEAST_SAMPLES = 8, NO_NOISE = {isKnown: false, factor: 1, spread: 0, quantile: Z};

// A baseline may be shorter or longer than what is compared with it: then amounts are compared per second.
function noiseOf(metric) {
	return isOfTwo() ? diffNoise[metric] || NO_NOISE : {...NO_NOISE, factor: lengthOf(sides[0]) / lengthOf(sides[1])};
}

function changeOf(part, whole, oldPart, oldWhole) {
	const noise = noiseOf(state.metric), half = noise.isKnown ? halfOf : intervalOf;
	const grown = (diffMode === "amounts" && oldWhole.weight ? whole.weight / oldWhole.weight : 1) / noise.factor;
	const before = percentOf(oldPart, oldWhole), after = percentOf(part, whole) * grown;
	const bySamples = Math.hypot(half(oldPart, oldWhole), half(part, whole) * grown) / Z;
	const width = noise.quantile * Math.hypot(bySamples, noise.spread * (before + after) / 2);
	const isTested = isExact(oldWhole) || oldPart.seen + part.seen >= LEAST_SAMPLES;
	const change = after - before;
	return {change: change, half: isTested ? width : Math.max(width, Math.abs(change)),
		isSure: isTested && Math.abs(change) > width};
}

function changeText(changed) {
	const sign = changed.change > 0 ? "+" : "\u2212";
	return (changed.change ? sign : "") + Math.abs(changed.change).toFixed(2) + " " +
		intervalText(changed.half);
}
