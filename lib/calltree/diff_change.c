// SPDX-License-Identifier: GPL-2.0-or-later
/* Changes between two sides, and their confidence intervals. */
#include <math.h>

#include "base/alloc.h"
#include "calltree/diff_priv.h"
#include "calltree/weights.h"
#include "calltree/welch.h"

bool diff_has_runs(const struct diff *diff)
{
	return diff->nr_runs > 2;
}

static double mean_total(const struct diff_side *side)
{
	return (double)side->total.weight / (double)side->nr;
}

/* The ratio of a new run to an old one in compared amounts; 1 for shares. */
static double growth(const struct diff *diff)
{
	double before = mean_total(&diff->old_side);

	return diff->mode == DIFF_AMOUNTS && before > 0 ? mean_total(&diff->new_side) / before : 1;
}

/* The compared weights of runs: in percent of their own totals, or of the old ones. */
static void scale_values(const struct diff *diff, const double *values, double *scaled)
{
	for (size_t i = 0; i < diff->nr_runs; i++) {
		bool is_old = i < diff->old_side.nr;
		const struct weights *weights = is_old ? diff->old_side.runs[i]
						       : diff->new_side.runs[i - diff->old_side.nr];
		double whole = diff->mode == DIFF_SHARES ? (double)weights->total.weight
							 : mean_total(&diff->old_side);

		scaled[i] = whole > 0 ? 100 * values[i] / whole : 0;
	}
}

static double mean(const double *values, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += values[i];
	return sum / (double)nr;
}

/* Shares are in percent of their own totals; amounts in percent of the old total. */
void diff_compare(const struct diff *diff, const struct diff_parts *parts, double *change,
		  double *half)
{
	const struct diff_side *before = &diff->old_side, *after = &diff->new_side;
	double grown = growth(diff);
	double of_samples = hypot(tally_interval(parts->old_part, &before->total),
				  tally_interval(parts->new_part, &after->total) * grown);
	double *scaled;

	if (!diff_has_runs(diff)) {
		*change = tally_percent(parts->new_part, &after->total) * grown -
			  tally_percent(parts->old_part, &before->total);
		*half = of_samples;
		return;
	}
	scaled = xcalloc(diff->nr_runs, sizeof(*scaled));
	scale_values(diff, parts->values, scaled);
	*change = mean(scaled + before->nr, after->nr) - mean(scaled, before->nr);
	/* Runs that agree by chance do not make few samples more precise. */
	*half = fmax(of_samples, welch_half(scaled, before->nr, scaled + before->nr, after->nr));
	free(scaled);
}

double diff_total_change(const struct diff *diff)
{
	double before = mean_total(&diff->old_side);

	if (before <= 0)
		return 0;
	return 100 * (mean_total(&diff->new_side) - before) / before;
}

double diff_total_half(const struct diff *diff)
{
	double before = mean_total(&diff->old_side), half;
	double *totals;

	if (!diff_has_runs(diff) || before <= 0)
		return 0;
	totals = xcalloc(diff->nr_runs, sizeof(*totals));
	for (size_t i = 0; i < diff->old_side.nr; i++)
		totals[i] = (double)diff->old_side.runs[i]->total.weight;
	for (size_t i = 0; i < diff->new_side.nr; i++)
		totals[diff->old_side.nr + i] = (double)diff->new_side.runs[i]->total.weight;
	half = welch_half(totals, diff->old_side.nr, totals + diff->old_side.nr, diff->new_side.nr);
	free(totals);
	return 100 * half / before;
}
