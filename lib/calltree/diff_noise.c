// SPDX-License-Identifier: GPL-2.0-or-later
/* Estimates how runs of one program differ, from the changes of all rows. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/diff_priv.h"
#include "calltree/moderate.h"
#include "calltree/values.h"
#include "calltree/weights.h"

/*
 * The median of |z| for a normal z, and the standard error of a median in units of that of a mean.
 */
static const double median_of_normal = 0.6744898;
static const double error_of_median = 1.2533141;

/* Fewer rows do not show how runs differ. */
#define LEAST_ROWS 8
/* A factor is common if it explains this share of the rows. */
#define COMMON_SHARE 0.8

/* The logarithm of the factor by which a row changed, and its standard error from samples. */
struct ratio {
	double log, error;
};

struct ratios {
	struct ratio *at; /* owned */
	size_t nr;
};

static void add_ratio(struct ratios *ratios, const struct diff *diff, const struct diff_row *row)
{
	const struct tally *old_total = &diff->old_side.total, *new_total = &diff->new_side.total;
	struct ratio *ratio = &ratios->at[ratios->nr];

	if (row->old_self.samples < DIFF_RATIO_SAMPLES ||
	    row->new_self.samples < DIFF_RATIO_SAMPLES)
		return;
	ratio->log = log((double)row->new_self.weight) - log((double)row->old_self.weight);
	if (diff->mode == DIFF_SHARES)
		ratio->log -= log((double)new_total->weight) - log((double)old_total->weight);
	if (diff->mode == DIFF_RATES)
		ratio->log -= log((double)diff_elapsed_ns(&diff->new_side)) -
			      log((double)diff_elapsed_ns(&diff->old_side));
	ratio->error = hypot(diff_relative_error(&row->old_self, old_total),
			     diff_relative_error(&row->new_self, new_total));
	ratios->nr++;
}

/* The median distance from `centre`, in units of what samples and `spread` explain. */
static double median_distance(const struct ratios *ratios, double centre, double spread)
{
	cleanup_free double *distances = xcalloc(ratios->nr, sizeof(*distances));

	for (size_t i = 0; i < ratios->nr; i++)
		distances[i] =
			fabs(ratios->at[i].log - centre) / hypot(ratios->at[i].error, spread);
	return values_median(distances, ratios->nr);
}

static double median_ratio(const struct ratios *ratios)
{
	cleanup_free double *logs = xcalloc(ratios->nr, sizeof(*logs));

	for (size_t i = 0; i < ratios->nr; i++)
		logs[i] = ratios->at[i].log;
	return values_median(logs, ratios->nr);
}

#define MOST_SPREAD   4.0 /* of logarithms: a factor of 50 */
#define NR_BISECTIONS 40

/* The spread at which the median distance from the centre is that of a normal distribution. */
static double spread_about(const struct ratios *ratios, double centre)
{
	double low = 0, high = MOST_SPREAD;

	if (median_distance(ratios, centre, 0) <= median_of_normal)
		return 0;
	for (int i = 0; i < NR_BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (median_distance(ratios, centre, middle) > median_of_normal)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static double error_of_centre(const struct ratios *ratios, double centre)
{
	cleanup_free double *distances = xcalloc(ratios->nr, sizeof(*distances));

	for (size_t i = 0; i < ratios->nr; i++)
		distances[i] = fabs(ratios->at[i].log - centre);
	return error_of_median * values_median(distances, ratios->nr) / median_of_normal /
	       sqrt((double)ratios->nr);
}

static double log_growth(const struct diff *diff)
{
	return log((double)diff->new_side.total.weight) - log((double)diff->old_side.total.weight);
}

/* A factor of all rows must also show in the total. */
static bool is_common(const struct diff *diff, const struct ratios *ratios, double centre,
		      const struct diff_noise *noise)
{
	size_t nr_explained = 0;

	if (fabs(centre) <= Z_95 * noise->factor_error || log_growth(diff) / centre < 0.5)
		return false;
	for (size_t i = 0; i < ratios->nr; i++)
		nr_explained += fabs(ratios->at[i].log - centre) <=
				Z_95 * hypot(ratios->at[i].error, noise->spread);
	return (double)nr_explained >= COMMON_SHARE * (double)ratios->nr;
}

/* Time on a CPU passes faster or slower with the machine; what waits for others does not. */
static bool may_have_factor(const struct diff *diff)
{
	enum metric metric = diff->old_side.runs[0]->metric;

	return diff->mode == DIFF_AMOUNTS && metric_is_time(metric) &&
	       (metric_info(metric)->parts & METRIC_HAS_CPU);
}

static struct diff_noise noise_of_two(const struct diff *diff)
{
	struct ratios ratios = {.at = xcalloc(diff->nr + 1, sizeof(*ratios.at))};
	struct diff_noise noise = {.factor = 1};
	double centre;

	for (size_t i = 0; i < diff->nr; i++)
		add_ratio(&ratios, diff, &diff->rows[i]);
	if (ratios.nr >= LEAST_ROWS) {
		centre = median_ratio(&ratios);
		noise.is_known = true;
		noise.spread = spread_about(&ratios, centre);
		noise.factor_error = error_of_centre(&ratios, centre);
		noise.is_common = may_have_factor(diff) && is_common(diff, &ratios, centre, &noise);
		noise.factor = noise.is_common ? exp(centre) : 1;
	}
	free(ratios.at);
	return noise;
}

static struct diff_noise noise_of_runs(const struct diff *diff)
{
	struct moderate_row *rows = xcalloc(diff->nr + 1, sizeof(*rows));
	double *scaled = xcalloc(diff->nr_runs, sizeof(*scaled));
	struct diff_noise noise = {.factor = 1};
	struct moderation moderation;
	size_t nr = 0;

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];
		const struct diff_parts parts = {.old_part = &row->old_self,
						 .new_part = &row->new_self,
						 .values = diff->values +
							   (size_t)row->values * diff->nr_runs};

		diff_scale_values(diff, parts.values, scaled);
		nr += diff_moderate_row(diff, &parts, scaled, &rows[nr]);
	}
	if (nr >= LEAST_ROWS) {
		moderation = moderation_of(rows, nr, diff_runs_freedom(diff));
		noise.is_known = true;
		noise.spread = moderation.spread;
		noise.freedom = moderation.freedom;
	}
	free(rows);
	free(scaled);
	return noise;
}

struct diff_noise diff_noise_of(const struct diff *diff)
{
	if (!metric_is_of_samples(diff->old_side.runs[0]->metric))
		return (struct diff_noise){.factor = 1};
	return diff_has_runs(diff) ? noise_of_runs(diff) : noise_of_two(diff);
}
