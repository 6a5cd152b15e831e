// SPDX-License-Identifier: GPL-2.0-or-later
/* Bounds on what a file may hold, for readers and writers alike. */
#include "store/bounds_priv.h"

#include "profile/profile.h"

bool sample_sums_add(struct sample_sums *sums, const struct sample *sample)
{
	const uint64_t max = WEIGHT_TOTAL_MAX_NS;

	if (sample->time_ns > TIME_MAX_NS || sample->cpu_ns > max || sample->runq_ns > max ||
	    sample->blocked_ns > max)
		return false;
	/* Four numbers of at most 2^61: their sum cannot overflow. */
	sums->weight_ns += sample->cpu_ns + sample->runq_ns + sample->blocked_ns;
	sums->nr_observations += sample->nr;
	return sums->weight_ns <= max && sums->nr_observations <= max;
}

bool calls_sum_replace(uint64_t *sum, uint64_t before, uint64_t now)
{
	uint64_t others = *sum - before;

	if (now > CALLS_TOTAL_MAX || others + now > CALLS_TOTAL_MAX)
		return false;
	*sum = others + now;
	return true;
}
