// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of weights, and their confidence intervals. */
#include "calltree/tally.h"

#include <math.h>

#include "calltree/values.h"
#include "profile/heap_estimate.h"

/* The smallest interval: clocks, skid and the target's own variation remain. */
static const double least_percent = 0.1;

/* The part of a sample's weight that is a fact rather than an estimate. */
static uint64_t known_weight(const struct sample *sample, uint64_t weight)
{
	return sample->kind == SAMPLE_BLOCKED && !sample->nr ? weight : 0;
}

/*
 * The squares of the weights that observations estimate: a sample without one has a part of what
 * another stands for.
 */
static double square_of(const struct sample *sample, double estimated, enum metric metric)
{
	double stands =
		metric == METRIC_CPU || metric == METRIC_WALL ? (double)sample->stands_ns : 0;

	return estimated * fmax(estimated, stands) / (sample->nr ? sample->nr : 1);
}

void observation_weigh(struct observation *observation, enum metric metric)
{
	const struct sample *sample = &observation->sample;
	double estimated;

	observation->weight = sample_weight(sample, metric);
	observation->known = known_weight(sample, observation->weight);
	observation->square = observation->blocks = observation->slack = 0;
	observation->row = 0;
	/* Unattributed time is not an estimate of any function. */
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return;
	estimated = (double)(observation->weight - observation->known);
	observation->square = square_of(sample, estimated, metric);
}

void observe_sample(struct observation *observation, const struct sample *sample,
		    enum metric metric)
{
	observation->sample = *sample;
	observation_weigh(observation, metric);
}

void tally_add_observation(struct tally *tally, const struct observation *observation)
{
	if (observation->weight == 0 && observation->blocks <= 0)
		return;
	tally->weight += observation->weight;
	tally->samples += observation->sample.nr;
	tally->known += observation->known;
	tally->square += observation->square;
	tally->blocks += observation->blocks;
	tally->slack += observation->slack;
}

void tally_add_sample(struct tally *tally, const struct sample *sample, enum metric metric)
{
	/* Not by an observation, as it is done for millions of samples. */
	uint64_t weight = sample_weight(sample, metric);
	uint64_t known = known_weight(sample, weight);
	double estimated = (double)(weight - known);

	if (weight == 0)
		return;
	tally->weight += weight;
	tally->samples += sample->nr;
	tally->known += known;
	if (sample->kind != SAMPLE_UNATTRIBUTED)
		tally->square += square_of(sample, estimated, metric);
}

void tally_join(struct tally *tally, const struct sample *before, const struct sample *sample,
		enum metric metric)
{
	double first = (double)sample_weight(before, metric);
	double second = (double)sample_weight(sample, metric);

	tally->joint += (first * first + second * second) / 2;
}

void tally_add(struct tally *tally, const struct tally *other)
{
	tally->weight += other->weight;
	tally->samples += other->samples;
	tally->known += other->known;
	tally->square += other->square;
	tally->blocks += other->blocks;
	tally->system += other->system;
	tally->joint += other->joint;
	tally->fixed += other->fixed;
	tally->lost += other->lost;
	tally->slack += other->slack;
}

static uint64_t difference(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

struct tally tally_scaled(const struct tally *tally, double share)
{
	return (struct tally){
		.weight = (uint64_t)((double)tally->weight * share),
		.samples = (uint64_t)((double)tally->samples * share),
		.square = tally->square * share * share,
		.known = (uint64_t)((double)tally->known * share),
		.blocks = tally->blocks * share,
		.system = tally->system * share,
		.joint = tally->joint * share * share,
		.slack = tally->slack * share,
	};
}

void tally_subtract(struct tally *tally, const struct tally *part)
{
	tally->weight = difference(tally->weight, part->weight);
	tally->samples = difference(tally->samples, part->samples);
	tally->known = difference(tally->known, part->known);
	tally->square = fmax(tally->square - part->square, 0);
	tally->blocks = fmax(tally->blocks - part->blocks, 0);
	tally->system = fmax(tally->system - part->system, 0);
	tally->joint = fmax(tally->joint - part->joint, 0);
	tally->slack = fmax(tally->slack - part->slack, 0);
}

double tally_percent(const struct tally *part, const struct tally *whole)
{
	if (whole->weight == 0)
		return 0;
	return 100.0 * (double)part->weight / (double)whole->weight;
}

/* The variance of the share, from the weights inside and outside. */
static double variance_by_weights(const struct tally *part, const struct tally *whole)
{
	double share = tally_percent(part, whole) / 100, rest = 1 - share;
	double outside = whole->square > part->square ? whole->square - part->square : 0;

	return (rest * rest * part->square + share * share * outside) /
	       ((double)whole->weight * (double)whole->weight);
}

/* One by the effective number of samples: never more than the number of observations. */
static double one_by_samples(const struct tally *whole)
{
	double total = (double)whole->weight;
	double estimated = (double)(whole->weight - whole->known) / total;

	return fmax(whole->square / (total * total),
		    estimated * estimated / (double)whole->samples);
}

/*
 * `one` is the mean estimate beyond a recorded block, as for blocks that may have been missed. Even
 * a part that is nearly all of a known total may lack a few such blocks.
 */
static double half_by_blocks(double variance, const struct tally *part)
{
	double missed = (double)(part->weight - part->known), one, few;

	if (part->square <= 0 || missed <= 0)
		return Z_95 * sqrt(fmax(variance, 0));
	one = fmin(missed, part->square / missed);
	few = Z_95 * Z_95 * one * one / 4;
	return Z_95 * sqrt(fmax(variance * (1 + few / part->square), few));
}

/* For metrics of memory: the part and the rest are independent estimates. */
static double interval_of_blocks(const struct tally *part, const struct tally *whole)
{
	double share = tally_percent(part, whole) / 100, rest = 1 - share;
	double outside = fmax(whole->square - part->square, 0);
	/* The variance of the difference between the part and its share of the whole. */
	double variance = rest * rest * part->square + share * share * outside;
	double common = part->square - share * whole->square;

	if (whole->fixed > 0)
		variance -= common * common / whole->fixed;
	return 100 * (half_by_blocks(variance, part) / (double)whole->weight +
		      fmax(share, rest) * whole->lost / ((double)whole->weight + whole->lost));
}

/* How often the part is entered and left, beside what chance alone would do; 1 at most. */
static double roughness(const struct tally *part, double share)
{
	if (part->joint <= 0 || share >= 1)
		return 1;
	return fmin(1, fmax(1 - part->joint / part->square, 0) / (1 - share));
}

/* Time that the part may have more or less is that of the rest. */
static double slack_percent(const struct tally *part, const struct tally *whole)
{
	return 100 * fmax(fmin(part->slack, whole->slack - part->slack), 0) / (double)whole->weight;
}

double tally_half(const struct tally *part, const struct tally *whole)
{
	double share = tally_percent(part, whole) / 100, total = (double)whole->weight;
	double once, variance;

	if (whole->weight == 0)
		return 100;
	if (tally_is_exact(whole))
		return 0;
	if (whole->samples == 0)
		return 100;
	if (whole->blocks > 0)
		return interval_of_blocks(part, whole);
	once = one_by_samples(whole);
	variance = fmax(variance_by_weights(part, whole),
			share * (1 - share) * whole->square / (total * total));
	variance *= roughness(part, share);
	return slack_percent(part, whole) + 100 * Z_95 *
						    sqrt(variance + Z_95 * Z_95 * once * once / 4) /
						    (1 + Z_95 * Z_95 * once);
}

double tally_interval(const struct tally *part, const struct tally *whole)
{
	double half = tally_half(part, whole);

	return half <= 0 || whole->blocks > 0 ? half : fmax(half, least_percent);
}

bool tally_is_exact(const struct tally *tally)
{
	return tally->known == tally->weight && tally->square == 0 && tally->lost <= 0 &&
	       tally->slack <= 0;
}

double tally_error(const struct tally *part, const struct tally *whole)
{
	return half_by_blocks(heap_variance(part->square, whole->fixed), part) + whole->lost;
}

double tally_system_error(const struct tally *tally)
{
	double weight = (double)tally->weight, share, once;

	if (tally->square <= 0 || !tally->weight)
		return weight;
	share = fmin(tally->system / weight, 1);
	once = fmax(tally->square / (weight * weight), 1 / (double)tally->samples);
	return weight * Z_95 * sqrt(share * (1 - share) * once + Z_95 * Z_95 * once * once / 4) /
	       (1 + Z_95 * Z_95 * once);
}

uint64_t tally_blocks(const struct tally *tally)
{
	return (uint64_t)(tally->blocks + 0.5);
}
