// SPDX-License-Identifier: GPL-2.0-or-later
/* Results of searching a process for pointers to its blocks. */
#include "profile/block_search.h"

#include <stdlib.h>

#include "profile/heap_estimate.h"
#include "profile/profile.h"

void block_search_release(struct block_search *search)
{
	free(search->verdicts);
	free(search->why_not);
	*search = (struct block_search){0};
}

void block_search_add(const struct block_search *search, struct profile *profile,
		      const struct block_finder *blocks, const struct block_search_place *place)
{
	const char *why_not = search->why_not ? search->why_not : "";
	const char *mark = place->mark ? place->mark : "";
	uint32_t row;
	uint32_t own = profile_add_search(
		profile, &(struct profile_search){.time_ns = place->time_ns,
						  .process = place->process,
						  .stop_ns = search->stop_ns,
						  .nr_bytes = search->nr_bytes,
						  .why_not = profile_intern(profile, why_not),
						  .mark = profile_intern(profile, mark)});

	for (size_t i = 0; i < search->nr; i++) {
		const struct block_verdict *verdict = &search->verdicts[i];
		enum allocation_search found =
			verdict->is_lost ? ALLOCATION_LOST : ALLOCATION_POINTED_TO;

		if (!blocks->find(blocks->owner, place->process, verdict->address, &row))
			continue;
		if (place->mark)
			profile_add_verdict(profile,
					    &(struct profile_verdict){own, row, (uint8_t)found});
		else
			profile_search_allocation(profile, row, found);
	}
}

bool block_search_is_of(const struct profile_search *row, uint64_t at_ns)
{
	bool is_in_end = row->mark.v == STR_EMPTY.v;

	return at_ns == HEAP_AT_END ? is_in_end : !is_in_end && row->time_ns == at_ns;
}
