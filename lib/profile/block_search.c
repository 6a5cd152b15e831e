// SPDX-License-Identifier: GPL-2.0-or-later
/* What was found out of blocks by searching their process. */
#include "profile/block_search.h"

#include <stdlib.h>

#include "profile/profile.h"

void block_search_release(struct block_search *search)
{
	free(search->verdicts);
	free(search->why_not);
	*search = (struct block_search){0};
}

void block_search_add(const struct block_search *search, struct profile *profile,
		      const struct block_finder *blocks, uint32_t process, uint64_t time_ns)
{
	const char *why_not = search->why_not ? search->why_not : "";
	uint32_t row;

	for (size_t i = 0; i < search->nr; i++) {
		const struct block_verdict *verdict = &search->verdicts[i];

		if (blocks->find(blocks->owner, process, verdict->address, &row))
			profile_search_allocation(profile, row,
						  verdict->is_lost ? ALLOCATION_LOST
								   : ALLOCATION_POINTED_TO);
	}
	profile_add_search(profile,
			   &(struct profile_search){.time_ns = time_ns,
						    .process = process,
						    .stop_ns = search->stop_ns,
						    .nr_bytes = search->nr_bytes,
						    .why_not = profile_intern(profile, why_not)});
}
