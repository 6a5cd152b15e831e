// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A curve: how much a program gains, by how much faster a function of it is. Between speeds with a
 * known gain is the curve in its band; where a gain is not known there is an area that says so.
 */
#include "export/whatif_chart_priv.h"

#include <math.h>

#include "base/buf.h"
#include "export/markup_priv.h"
#include "view/whatif_facts.h"
#include "view/whatif_words.h"
#include "whatif/plan.h"

/* Lengths are units of the drawing, which is as wide as its place in the page. */
#define WIDTH  360
#define HEIGHT 236
#define LEFT   62.0
#define RIGHT  340.0
#define TOP    10.0
#define BOTTOM 194.0

/* The scale is no smaller than what a profile would promise of this speed. */
#define PROMISED_SPEED 0.5
#define LEAST_HIGH     10.0
#define LINES	       8
/* Steps of the line of what was promised. */
#define PROMISED_STEPS 100

/* Speeds with 0 before them, for which the gain is known to be 0. */
#define NR_STOPS (WHATIF_NR_SPEEDS + 1)

struct stop {
	double faster;
	struct whatif_gain gain;
};

/* As it is shown. */
static struct stop stop_of(const struct whatif_function *function, size_t i)
{
	struct stop stop;

	if (i == 0)
		return (struct stop){.gain = {.is_known = true}};
	stop = (struct stop){.faster = whatif_speeds[i - 1],
			     .gain = whatif_point_gain(&function->points[i - 1])};
	stop.gain.percent = whatif_shown_percent(&stop.gain);
	return stop;
}

/* --- the scale --- */

/* 1, 2 or 5 times a power of 10. */
static double round_step(double at_least)
{
	double step = pow(10, floor(log10(at_least)));

	if (step * 2 < at_least)
		step *= 5;
	else if (step < at_least)
		step *= 2;
	return step < at_least ? 2 * step : step;
}

struct whatif_scale whatif_scale_of(const struct whatif_facts *facts)
{
	struct whatif_scale scale = {.is_of_time = facts->time_ns > 0};
	double margin;

	scale.high = scale.is_of_time ? 0 : LEAST_HIGH;
	scale.low = scale.is_of_time ? -LEAST_HIGH : 0;

	for (size_t i = 0; i < facts->nr * NR_STOPS; i++) {
		struct stop stop = stop_of(&facts->functions[i / NR_STOPS], i % NR_STOPS);
		/* A wide band is cut off, or it would leave no room for the others. */
		double half =
			fmin(stop.gain.half_percent, fmax(fabs(stop.gain.percent), LEAST_HIGH));

		if (!stop.gain.is_known)
			continue;
		scale.high = fmax(scale.high, stop.gain.percent + half);
		scale.low = fmin(scale.low, stop.gain.percent - half);
	}
	for (size_t i = 0; i < facts->nr; i++) {
		double promised = whatif_promised_percent(facts, i, PROMISED_SPEED);

		scale.high = fmax(scale.high, promised);
		scale.low = fmin(scale.low, promised);
	}
	margin = (scale.high - scale.low) / 50;
	scale.high += margin;
	scale.low -= margin;
	scale.step = round_step((scale.high - scale.low) / LINES);
	return scale;
}

static double x_of(double faster)
{
	return LEFT + faster * (RIGHT - LEFT);
}

static double y_of(const struct whatif_scale *scale, double percent)
{
	return TOP + (scale->high - percent) / (scale->high - scale->low) * (BOTTOM - TOP);
}

/* --- its parts --- */

void whatif_append_chart_parts(struct buf *out)
{
	buf_printf(out,
		   "<svg class=\"parts\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>"
		   "<clipPath id=\"plot\"><rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" "
		   "height=\"%.0f\"/></clipPath>"
		   "<pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
		   "patternTransform=\"rotate(45)\"><path d=\"M0,0V7\"/></pattern>"
		   "</defs></svg>\n",
		   LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
}

static void append_across(struct buf *out, const struct whatif_scale *scale)
{
	for (double at = ceil(scale->low / scale->step); at * scale->step <= scale->high; at++) {
		double y = y_of(scale, at * scale->step);

		buf_printf(out, "<path class=\"%s\" d=\"M%.0f,%.1fH%.0f\"/>",
			   at == 0 ? "zero" : "grid", LEFT, y, RIGHT);
		buf_printf(out, "<text class=\"end\" x=\"%.0f\" y=\"%.1f\">", LEFT - 6, y + 4);
		buf_printf(out, at == 0 ? "0</text>\n" : "%+.0f%%</text>\n", at * scale->step);
	}
}

static void append_axes(struct buf *out, const struct whatif_scale *scale)
{
	append_across(out, scale);
	for (size_t i = 0; i < NR_STOPS; i++) {
		double faster = i ? whatif_speeds[i - 1] : 0;

		buf_printf(out, "<path class=\"grid\" d=\"M%.1f,%.0fv5\"/>", x_of(faster), BOTTOM);
		buf_printf(out, "<text class=\"middle\" x=\"%.1f\" y=\"%.0f\">", x_of(faster),
			   BOTTOM + 17);
		buf_printf(out, i < WHATIF_NR_SPEEDS ? "%.0f</text>\n" : "%.0f%%</text>\n",
			   100 * faster);
	}
	buf_printf(out, "<text class=\"middle\" x=\"%.0f\" y=\"%d\">function faster by</text>\n",
		   (LEFT + RIGHT) / 2, HEIGHT - 8);
	buf_printf(
		out,
		"<text class=\"middle\" transform=\"translate(12,%.0f) rotate(-90)\">%s</text>\n",
		(TOP + BOTTOM) / 2,
		scale->is_of_time ? "change of the time" : "gain of the program");
}

static void append_unknown(struct buf *out, const struct whatif_function *function, size_t before,
			   size_t after)
{
	double left = x_of(stop_of(function, before).faster);
	double right = after < NR_STOPS ? x_of(stop_of(function, after).faster) : RIGHT;

	buf_append_str(out, "<g class=\"unknown\"><title>");
	for (size_t i = before + 1; i < after; i++) {
		whatif_append_point(out, function, i - 1);
		buf_append_str(out, i + 1 < after ? "\n" : "");
	}
	buf_printf(out,
		   "</title><rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\"/>"
		   "<text class=\"middle\" x=\"%.1f\" y=\"%.0f\">not known</text></g>\n",
		   left, TOP, right - left, BOTTOM - TOP, (left + right) / 2, (TOP + BOTTOM) / 2);
}

static void append_promised(struct buf *out, const struct whatif_facts *facts, size_t function,
			    const struct whatif_scale *scale)
{
	buf_append_str(out, "<path class=\"promised\" d=\"M");
	for (int i = 0; i <= PROMISED_STEPS; i++) {
		double faster = (double)i / PROMISED_STEPS;
		double percent = whatif_promised_percent(facts, function, faster);

		/* The first one beyond the edge is cut off there. */
		buf_printf(out, i ? "L%.1f,%.1f" : "%.1f,%.1f", x_of(faster),
			   y_of(scale, fmin(percent, 10 * scale->high)));
		if (percent > scale->high)
			break;
	}
	buf_append_str(out, "\"/>\n");
}

/* From one stop to another, with known gains in between. */
static void append_known(struct buf *out, const struct whatif_function *function, size_t first,
			 size_t last, const struct whatif_scale *scale)
{
	struct stop stop;

	buf_append_str(out, "<path class=\"band\" d=\"");
	for (size_t i = first; i <= last; i++) {
		stop = stop_of(function, i);
		buf_printf(out, "%c%.1f,%.1f", i == first ? 'M' : 'L', x_of(stop.faster),
			   y_of(scale, stop.gain.percent + stop.gain.half_percent));
	}
	for (size_t i = last + 1; i-- > first;) {
		stop = stop_of(function, i);
		buf_printf(out, "L%.1f,%.1f", x_of(stop.faster),
			   y_of(scale, stop.gain.percent - stop.gain.half_percent));
	}
	buf_append_str(out, "Z\"/><path class=\"curve\" d=\"");
	for (size_t i = first; i <= last; i++) {
		stop = stop_of(function, i);
		buf_printf(out, "%c%.1f,%.1f", i == first ? 'M' : 'L', x_of(stop.faster),
			   y_of(scale, stop.gain.percent));
	}
	buf_append_str(out, "\"/>\n");
}

/* The first stop from `i` on with a gain that is known, or is not; NR_STOPS: none. */
static size_t next_stop(const struct whatif_function *function, size_t i, bool is_known)
{
	while (i < NR_STOPS && stop_of(function, i).gain.is_known != is_known)
		i++;
	return i;
}

static void append_points(struct buf *out, const struct whatif_function *function,
			  const struct whatif_scale *scale)
{
	for (size_t i = 1; i < NR_STOPS; i++) {
		struct stop stop = stop_of(function, i);
		double x = x_of(stop.faster), half = stop.gain.half_percent;

		if (!stop.gain.is_known)
			continue;
		buf_append_str(out, "<g class=\"point\"><title>");
		whatif_append_point(out, function, i - 1);
		buf_printf(out,
			   "</title><path clip-path=\"url(#plot)\" d=\"M%.1f,%.1fV%.1f\"/>"
			   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/></g>\n",
			   x, y_of(scale, stop.gain.percent + half),
			   y_of(scale, stop.gain.percent - half), x,
			   y_of(scale, stop.gain.percent));
	}
}

void whatif_append_chart(struct buf *out, const struct whatif_facts *facts, size_t function,
			 const struct whatif_scale *scale)
{
	const struct whatif_function *of = &facts->functions[function];
	size_t first = 0, next, after;

	buf_printf(out, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
		   WIDTH, HEIGHT);
	buf_append_str(out, scale->is_of_time ? "change of the time by how much faster "
					      : "gain of the program by how much faster ");
	escape_target_markup(out, facts->rows[function].name);
	buf_append_str(out, " is: the numbers are below\">\n");
	append_axes(out, scale);
	for (next = next_stop(of, 0, false); next < NR_STOPS; next = next_stop(of, after, false)) {
		after = next_stop(of, next, true);
		append_unknown(out, of, next - 1, after);
	}
	buf_append_str(out, "<g clip-path=\"url(#plot)\">\n");
	append_promised(out, facts, function, scale);
	for (; first < NR_STOPS; first = next_stop(of, next, true)) {
		next = next_stop(of, first, false);
		append_known(out, of, first, next - 1, scale);
	}
	buf_append_str(out, "</g>\n");
	append_points(out, of, scale);
	buf_append_str(out, "</svg>\n");
}
