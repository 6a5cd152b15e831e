// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/tally.h"

#include <math.h>

static const double z_95 = 1.959964;

/* The part of a sample's weight that is an estimate rather than a fact. */
static uint64_t estimated_weight(const struct sample *sample, enum metric metric,
				 uint64_t period_ns)
{
	uint64_t certain = 0, once_ns = sample->nr * period_ns;

	if ((metric == METRIC_BLOCKED || metric == METRIC_WALL) && period_ns != 0 &&
	    sample->blocked_ns > once_ns)
		certain = sample->blocked_ns - once_ns;
	return sample_weight(sample, metric) - certain;
}

void tally_add_sample(struct tally *tally, const struct sample *sample, enum metric metric,
		      uint64_t period_ns)
{
	uint64_t weight = sample_weight(sample, metric);
	double estimated;

	if (weight == 0)
		return;
	tally->weight += weight;
	tally->samples += sample->nr;
	if (sample->nr == 0)
		return;
	estimated = (double)estimated_weight(sample, metric, period_ns);
	tally->square += estimated * estimated / sample->nr;
}

void tally_add(struct tally *tally, const struct tally *other)
{
	tally->weight += other->weight;
	tally->samples += other->samples;
	tally->square += other->square;
}

double tally_percent(const struct tally *part, const struct tally *whole)
{
	if (whole->weight == 0)
		return 0;
	return 100.0 * (double)part->weight / (double)whole->weight;
}

double tally_interval(const struct tally *part, const struct tally *whole)
{
	double total = (double)whole->weight;
	double share = tally_percent(part, whole) / 100, rest = 1 - share;
	double outside = whole->square > part->square ? whole->square - part->square : 0;
	double variance, per_sample;

	if (whole->weight == 0 || whole->samples == 0)
		return 100;
	if (whole->square <= 0) /* all of it is known: nothing was estimated */
		return 0;
	variance = (rest * rest * part->square + share * share * outside) / (total * total);
	per_sample = whole->square / (total * total); /* 1/n */
	return 100 * z_95 * sqrt(variance + z_95 * z_95 * per_sample * per_sample / 4) /
	       (1 + z_95 * z_95 * per_sample);
}
