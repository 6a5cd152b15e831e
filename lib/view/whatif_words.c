// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of what functions are worth, for texts and pages. */
#include "view/whatif_words.h"

#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "view/number.h"
#include "view/whatif_facts.h"
#include "whatif/plan.h"

/* More of the sleeps are worth a line. */
#define UNDECIDED_PART 0.05
#define SPARED_PERCENT 5.0
#define LATE_PART      0.1
/* More requests by the clock without holds are worth one, too. */
#define LOAD_PERCENT 5.0

const char *const whatif_shown_headers[WHATIF_NR_SHOWN] = {"25% faster", "50% faster", "at most"};

static size_t index_of_speed(double speed)
{
	size_t i = 0;

	while (whatif_speeds[i] < speed)
		i++;
	return i;
}

struct whatif_gain whatif_shown_gain(const struct whatif_function *function, size_t i)
{
	static const double speeds[] = {0.25, 0.5};
	const struct whatif_point *point;

	if (i == WHATIF_NR_SHOWN - 1)
		return whatif_function_verdict(function).most;
	point = &function->points[index_of_speed(speeds[i])];
	return whatif_point_counts(point) ? whatif_point_gain(point)
					  : (struct whatif_gain){.is_known = false};
}

/* Tenths of a percent, or whole ones where these are many. */
static int decimals_of(double percent)
{
	return percent > -99.95 && percent < 99.95;
}

double whatif_shown_percent(const struct whatif_gain *gain)
{
	return gain->is_of_time ? -gain->percent : gain->percent;
}

void whatif_append_gain(struct buf *out, const struct whatif_gain *gain)
{
	if (gain->is_known)
		buf_printf(out, "%+.*f%%", decimals_of(gain->percent), whatif_shown_percent(gain));
}

void whatif_append_half(struct buf *out, const struct whatif_gain *gain)
{
	if (gain->is_known)
		buf_printf(out, "\xc2\xb1 %.*f", decimals_of(gain->half_percent),
			   gain->half_percent);
}

const char *whatif_why_unknown(const struct whatif_point *point)
{
	if (point->nr_refused)
		return "it would need more than --max-slowdown";
	if (point->nr_drifting)
		return "the number of requests inside was not steady";
	if (point->nr_late)
		return "threads could not be held in time";
	return "too few trials";
}

void whatif_append_point(struct buf *out, const struct whatif_function *function, size_t speed)
{
	const struct whatif_point *point = &function->points[speed];
	struct whatif_gain gain = whatif_point_gain(point);

	buf_printf(out, "%.0f%% faster: ", 100 * whatif_speeds[speed]);
	if (!gain.is_known) {
		buf_printf(out, "not known, %s", whatif_why_unknown(point));
		return;
	}
	whatif_append_gain(out, &gain);
	buf_append_byte(out, ' ');
	whatif_append_half(out, &gain);
	buf_printf(out, ", %zu trials", point->nr);
}

double whatif_promised_percent(const struct whatif_facts *facts, size_t function, double faster)
{
	double left = fmax(1 - facts->rows[function].percent / 100 * faster, 0);

	return facts->time_ns > 0 ? 100 * left - 100 : 100 / left - 100;
}

enum style whatif_gain_style(const struct whatif_gain *gain)
{
	if (gain->percent - gain->half_percent > 0)
		return STYLE_GOOD;
	return gain->percent + gain->half_percent < 0 ? STYLE_HOT : STYLE_PLAIN;
}

/* "512 ms" */
static void append_ns(struct buf *text, double ns)
{
	struct unit unit = unit_of_time(TIME_UNIT_AUTO, ns);

	append_time(text, ns, &unit);
	buf_printf(text, " %s", unit.name);
}

void whatif_append_heading(struct buf *out, const struct whatif_facts *facts)
{
	buf_printf(out, "what if it were faster: %s of %s, ",
		   facts->time_ns > 0 ? "change" : "gain", facts->progress);
	if (facts->time_ns > 0)
		append_ns(out, facts->time_ns);
	else if (facts->run_ns)
		append_ns(out, (double)facts->run_ns);
	else
		buf_printf(out, facts->rate < 10 ? "%.2f/s" : "%.0f/s", facts->rate);
	if (facts->run_ns)
		buf_append_str(out, " each");
}

size_t whatif_nr_drifting(const struct whatif_facts *facts)
{
	size_t nr = 0;

	for (size_t i = 0; i < facts->nr * WHATIF_NR_SPEEDS; i++)
		nr += facts->functions[i / WHATIF_NR_SPEEDS]
			      .points[i % WHATIF_NR_SPEEDS]
			      .nr_drifting;
	return nr;
}

double whatif_load_percent(const struct whatif_point *point)
{
	double sum = 0;

	for (size_t i = 0; i < point->nr; i++)
		sum += whatif_pair_load(&point->pairs[i]);
	return point->nr ? 100 * (sum / (double)point->nr - 1) : NAN;
}

static double most_load_percent(const struct whatif_facts *facts)
{
	double most = 0;

	for (size_t i = 0; i < facts->nr * WHATIF_NR_SPEEDS; i++)
		most = fmax(most, whatif_load_percent(&facts->functions[i / WHATIF_NR_SPEEDS]
							       .points[i % WHATIF_NR_SPEEDS]));
	return most;
}

static void append_notes_of_time(struct buf *out, const struct whatif_facts *facts)
{
	size_t nr = whatif_nr_drifting(facts);
	double load = most_load_percent(facts);

	if (nr)
		buf_printf(out,
			   "%zu of them have no result, as the number of requests inside was not "
			   "steady\n",
			   nr);
	if (load > LOAD_PERCENT)
		buf_printf(out,
			   "up to %.0f%% more requests in a second without holds: if they come at "
			   "their own rate, times fall by more\n",
			   load);
}

size_t whatif_nr_late(const struct whatif_facts *facts)
{
	size_t nr = 0;

	for (size_t i = 0; i < facts->nr * WHATIF_NR_SPEEDS; i++)
		nr += facts->functions[i / WHATIF_NR_SPEEDS].points[i % WHATIF_NR_SPEEDS].nr_late;
	return nr;
}

void whatif_append_notes(struct buf *out, const struct whatif_facts *facts)
{
	size_t nr_late = whatif_nr_late(facts);

	append_count(out, facts->nr_trials);
	buf_printf(out, " trials in %.0f s, ", (double)facts->elapsed_ns / (double)NS_PER_SEC);
	append_count(out, facts->nr_holds);
	buf_printf(out, " holds: %.0f%% of that time is taken off the clock\n",
		   facts->slower_percent);
	if (facts->cut_short)
		buf_printf(out, "they ended early, as %s\n", facts->cut_short);
	if ((double)nr_late > LATE_PART * (double)facts->nr_trials)
		buf_printf(out,
			   "%zu of them have no result, as threads could not be held in time: is a "
			   "CPU idle?\n",
			   nr_late);
	if (facts->time_ns > 0)
		append_notes_of_time(out, facts);
	if ((double)facts->nr_undecided > UNDECIDED_PART * (double)facts->nr_sleeps)
		buf_printf(out,
			   "%.0f%% of the sleeps wait for a descriptor: taken as ended from "
			   "outside\n",
			   100.0 * (double)facts->nr_undecided / (double)facts->nr_sleeps);
	if (facts->spared_percent > SPARED_PERCENT)
		buf_printf(out,
			   "%.0f%% of the running threads were not held: a stop would cut "
			   "transfers short, or they are traced\n",
			   facts->spared_percent);
}
