// SPDX-License-Identifier: GPL-2.0-or-later
/* Changes between two sides, and their confidence intervals. */
#include <math.h>

#include "base/alloc.h"
#include "calltree/diff_priv.h"
#include "calltree/moderate.h"
#include "calltree/values.h"
#include "calltree/weights.h"
#include "calltree/welch.h"

/* What shares of a side's total are multiplied by to be comparable. */
struct scales {
	double before, after;
};

static struct scales scales_of(const struct diff *diff)
{
	double before = diff_mean_total(&diff->old_side);

	if (diff->mode == DIFF_RATES)
		return (struct scales){
			diff_percent(diff, &diff->old_side, &diff->old_side.total) / 100,
			diff_percent(diff, &diff->new_side, &diff->new_side.total) / 100};
	return (struct scales){1, diff->mode == DIFF_AMOUNTS && before > 0
					  ? diff_mean_total(&diff->new_side) / before /
						    diff->noise.factor
					  : 1 / diff->noise.factor};
}

/* With fewer samples on both sides together, no change can be sure. */
#define LEAST_SAMPLES 8

static bool is_tested(const struct diff *diff, const struct diff_parts *parts)
{
	return tally_is_exact(&diff->old_side.total) ||
	       parts->old_part->samples + parts->new_part->samples >= LEAST_SAMPLES;
}

/*
 * The interval of a share has a least width, for the target's own variation. Several runs, and
 * known noise, show that variation themselves: then the width is that of samples alone.
 */
static double half_of_share(const struct diff *diff, const struct tally *part,
			    const struct tally *whole)
{
	return diff_has_runs(diff) || diff->noise.is_known ? tally_half(part, whole)
							   : tally_interval(part, whole);
}

/* Compare two runs as if both machines had been equally fast. */
static void compare_two(const struct diff *diff, const struct diff_parts *parts,
			const struct scales *scales, struct diff_estimate *estimate)
{
	double before = tally_percent(parts->old_part, &diff->old_side.total) * scales->before;
	double after = tally_percent(parts->new_part, &diff->new_side.total) * scales->after;

	estimate->change = after - before;
	estimate->of_samples =
		hypot(estimate->of_samples, diff->noise.spread * (before + after) / 2);
}

/* Estimate the error from the runs of all rows; false: only the own runs of the row can tell it. */
static bool moderate(const struct diff *diff, const struct diff_parts *parts, const double *scaled,
		     struct diff_estimate *estimate)
{
	const struct moderation moderation = {.spread = diff->noise.spread,
					      .freedom = diff->noise.freedom};
	size_t nr_before = diff->old_side.nr, nr_after = diff->new_side.nr;
	double before = values_mean(scaled, nr_before),
	       after = values_mean(scaled + nr_before, nr_after);
	double freedom = diff_runs_freedom(diff);
	struct moderate_row row;

	if (!diff->noise.is_known || !diff_moderate_row(diff, parts, scaled, &row))
		return false;
	estimate->of_runs =
		sqrt(moderated_variance(&moderation, &row, freedom) *
		     (before * before / (double)nr_before + after * after / (double)nr_after));
	estimate->freedom = moderation.freedom + freedom;
	return true;
}

static void compare_runs(const struct diff *diff, const struct diff_parts *parts,
			 struct diff_estimate *estimate)
{
	size_t nr_before = diff->old_side.nr, nr_after = diff->new_side.nr;
	double *scaled = xcalloc(diff->nr_runs, sizeof(*scaled));
	struct welch welch;

	diff_scale_values(diff, parts->values, scaled);
	estimate->change =
		values_mean(scaled + nr_before, nr_after) - values_mean(scaled, nr_before);
	if (!moderate(diff, parts, scaled, estimate)) {
		welch = welch_of(scaled, nr_before, scaled + nr_before, nr_after);
		estimate->of_runs = welch.error;
		estimate->freedom = welch.freedom;
	}
	free(scaled);
}

/*
 * Shares are in percent of their own totals, rates in percent of their time; amounts in percent of
 * the old total.
 */
struct diff_estimate diff_estimate_of(const struct diff *diff, const struct diff_parts *parts)
{
	const struct scales scales = scales_of(diff);
	double before = half_of_share(diff, parts->old_part, &diff->old_side.total);
	double after = half_of_share(diff, parts->new_part, &diff->new_side.total);
	struct diff_estimate estimate = {
		.of_samples = hypot(before * scales.before, after * scales.after) / Z_95,
		.is_tested = is_tested(diff, parts)};

	/* Runs that agree by chance do not make few samples more precise. */
	if (diff_has_runs(diff))
		compare_runs(diff, parts, &estimate);
	else
		compare_two(diff, parts, &scales, &estimate);
	return estimate;
}

double diff_total_change(const struct diff *diff)
{
	double before = diff_mean_total(&diff->old_side);
	double after = diff_mean_total(&diff->new_side);

	if (diff->mode == DIFF_RATES) {
		before = diff_percent(diff, &diff->old_side, &diff->old_side.total);
		after = diff_percent(diff, &diff->new_side, &diff->new_side.total);
	}
	return before > 0 ? 100 * (after - before) / before : 0;
}

/* Half the interval by which a faster or slower machine may have changed the total, of two runs. */
static double half_of_two(const struct diff *diff)
{
	const struct diff_noise *noise = &diff->noise;
	double grown = 100 * diff_mean_total(&diff->new_side) / diff_mean_total(&diff->old_side);

	return grown * fabs(1 - 1 / noise->factor) + Z_95 * grown * noise->factor_error;
}

double diff_total_half(const struct diff *diff)
{
	double before = diff_mean_total(&diff->old_side);
	struct welch welch;
	double *totals;

	if (before <= 0 || diff->mode == DIFF_RATES) /* what differs is the time, not the run */
		return 0;
	if (!diff_has_runs(diff))
		return diff->noise.is_known ? half_of_two(diff) : 0;
	totals = xcalloc(diff->nr_runs, sizeof(*totals));
	for (size_t i = 0; i < diff->old_side.nr; i++)
		totals[i] = (double)diff->old_side.runs[i]->total.weight;
	for (size_t i = 0; i < diff->new_side.nr; i++)
		totals[diff->old_side.nr + i] = (double)diff->new_side.runs[i]->total.weight;
	welch = welch_of(totals, diff->old_side.nr, totals + diff->old_side.nr, diff->new_side.nr);
	free(totals);
	return 100 * welch_half(&welch) / before;
}
