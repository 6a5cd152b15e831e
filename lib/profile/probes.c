// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of what probes counted. */
#include "profile/probes.h"

#include <assert.h>

#include "base/alloc.h"
#include "profile/profile.h"

uint32_t profile_add_count(struct profile *profile, const struct profile_count *row)
{
	struct profile_probes *probes = &profile->probes;

	assert(row->process < profile->nr_processes && row->where.v < profile->nr_frames);
	assert(row->kind < COUNT_KIND_COUNT);
	assert(row->callee.v == COUNT_NO_CALLEE.v || row->callee.v < profile->nr_frames);
	ARRAY_GROW(probes->counts, probes->nr_counts, probes->cap_counts);
	probes->counts[probes->nr_counts] = *row;
	return (uint32_t)probes->nr_counts++;
}

void profile_add_refusal(struct profile *profile, const struct profile_refusal *row)
{
	struct profile_probes *probes = &profile->probes;

	assert(row->process < profile->nr_processes);
	ARRAY_GROW(probes->refusals, probes->nr_refusals, probes->cap_refusals);
	probes->refusals[probes->nr_refusals++] = *row;
}

bool profile_has_counts(const struct profile *profile)
{
	return profile->probes.nr_counts || profile->probes.nr_refusals;
}
