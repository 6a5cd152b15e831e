// SPDX-License-Identifier: GPL-2.0-or-later
/* The results of walks of script frames. */
#include "script/script_walk.h"

#include <assert.h>
#include <stdlib.h>

#include "base/minmax.h"

const char *script_outcome_name(enum script_outcome outcome)
{
	switch (outcome) {
	case SCRIPT_PROVED:
		return "proved";
	case SCRIPT_NO_THREAD:
		return "no thread state";
	case SCRIPT_NOT_COPIED:
		return "not copied";
	case SCRIPT_TOO_DEEP:
		return "too deep";
	case SCRIPT_TORN:
		return "torn";
	case SCRIPT_NOT_GENERATOR:
		return "not a generator";
	case SCRIPT_NO_NATIVE_FRAME:
		return "no native frame";
	case SCRIPT_OUTCOME_COUNT:
		break;
	}
	assert(!"an outcome");
	return "";
}

static bool join(struct script_ranges *ranges, struct script_range *range, uint64_t start,
		 uint64_t end)
{
	uint64_t joined_start = min_u64(range->start, start);
	uint64_t joined_end = max_u64(range->start + range->nr_bytes, end);
	uint64_t nr_more = joined_end - joined_start - range->nr_bytes;

	if (ranges->nr_bytes + nr_more > SCRIPT_RANGES_BYTES_MAX)
		return false;
	range->start = joined_start;
	range->nr_bytes = (uint32_t)(joined_end - joined_start);
	ranges->nr_bytes += (uint32_t)nr_more;
	return true;
}

bool script_ranges_add(struct script_ranges *ranges, uint64_t start, uint64_t nr_bytes)
{
	uint64_t end = start + nr_bytes;

	if (!nr_bytes)
		return true;
	if (nr_bytes > SCRIPT_RANGES_BYTES_MAX || end < start)
		return false;
	for (size_t i = 0; i < ranges->nr; i++) {
		struct script_range *range = &ranges->at[i];

		if (start <= range->start + range->nr_bytes && range->start <= end)
			return join(ranges, range, start, end);
	}
	if (ranges->nr == SCRIPT_RANGES_MAX ||
	    ranges->nr_bytes + nr_bytes > SCRIPT_RANGES_BYTES_MAX)
		return false;
	ranges->at[ranges->nr++] =
		(struct script_range){.start = start, .nr_bytes = (uint32_t)nr_bytes};
	ranges->nr_bytes += (uint32_t)nr_bytes;
	return true;
}

void script_walk_release(struct script_walk *walk)
{
	free(walk->frames);
	*walk = (struct script_walk){0};
}
