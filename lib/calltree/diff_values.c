// SPDX-License-Identifier: GPL-2.0-or-later
/* The compared values of runs, and their errors: from samples, and from their differences. */
#include <math.h>

#include "calltree/diff_priv.h"
#include "calltree/filter.h"
#include "calltree/moderate.h"
#include "calltree/values.h"
#include "calltree/weights.h"

bool diff_has_runs(const struct diff *diff)
{
	return diff->nr_runs > 2;
}

double diff_runs_freedom(const struct diff *diff)
{
	return (double)diff->nr_runs - 2;
}

double diff_mean_total(const struct diff_side *side)
{
	return (double)side->total.weight / (double)side->nr;
}

uint64_t diff_elapsed_ns(const struct diff_side *side)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < side->nr; i++)
		sum_ns += selection_elapsed_ns(side->runs[i]->selection);
	return sum_ns;
}

double diff_percent(const struct diff *diff, const struct diff_side *side,
		    const struct tally *tally)
{
	uint64_t elapsed_ns;

	if (diff->mode != DIFF_RATES)
		return tally_percent(tally, &side->total);
	elapsed_ns = diff_elapsed_ns(side);
	return elapsed_ns ? 100 * (double)tally->weight / (double)elapsed_ns : 0;
}

/* What the weight of a run is compared with. */
static double whole_of(const struct diff *diff, const struct weights *weights)
{
	switch (diff->mode) {
	case DIFF_AMOUNTS:
		break;
	case DIFF_SHARES:
		return (double)weights->total.weight;
	case DIFF_RATES:
		return (double)selection_elapsed_ns(weights->selection);
	}
	return diff_mean_total(&diff->old_side);
}

/* The compared weights of runs: in percent of their own totals, or of the old ones. */
void diff_scale_values(const struct diff *diff, const double *values, double *scaled)
{
	for (size_t i = 0; i < diff->nr_runs; i++) {
		bool is_old = i < diff->old_side.nr;
		const struct weights *weights = is_old ? diff->old_side.runs[i]
						       : diff->new_side.runs[i - diff->old_side.nr];
		double whole = whole_of(diff, weights);

		scaled[i] = whole > 0 ? 100 * values[i] / whole : 0;
	}
}

double diff_relative_error(const struct tally *part, const struct tally *whole)
{
	return tally_half(part, whole) / Z_95 / tally_percent(part, whole);
}

/* The variance of one run of a side, by its samples, relative to the square of the share. */
static double sampled_variance(const struct diff_side *side, const struct tally *part)
{
	double error = diff_relative_error(part, &side->total);

	return error * error * (double)side->nr;
}

bool diff_moderate_row(const struct diff *diff, const struct diff_parts *parts,
		       const double *scaled, struct moderate_row *row)
{
	const struct diff_side *before = &diff->old_side, *after = &diff->new_side;
	double old_mean, new_mean;

	if (parts->old_part->samples < DIFF_RATIO_SAMPLES ||
	    parts->new_part->samples < DIFF_RATIO_SAMPLES)
		return false;
	old_mean = values_mean(scaled, before->nr);
	new_mean = values_mean(scaled + before->nr, after->nr);
	/* Each side counts relative to its own mean. */
	row->variance = (values_squares(scaled, before->nr) / (old_mean * old_mean) +
			 values_squares(scaled + before->nr, after->nr) / (new_mean * new_mean)) /
			diff_runs_freedom(diff);
	row->sampled = (sampled_variance(before, parts->old_part) +
			sampled_variance(after, parts->new_part)) /
		       2;
	return true;
}
