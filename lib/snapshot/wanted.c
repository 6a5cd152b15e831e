// SPDX-License-Identifier: GPL-2.0-or-later
/* Which memory the next snapshot should have. */
#include "snapshot/wanted.h"

#include "base/minmax.h"

static bool join(struct wanted_memory *wanted, struct wanted_range *range, uint64_t start,
		 uint64_t end)
{
	uint64_t joined_start = min_u64(range->start, start);
	uint64_t joined_end = max_u64(range->start + range->nr_bytes, end);
	uint64_t nr_more = joined_end - joined_start - range->nr_bytes;

	if (wanted->nr_bytes + nr_more > WANTED_BYTES_MAX)
		return false;
	range->start = joined_start;
	range->nr_bytes = (uint32_t)(joined_end - joined_start);
	wanted->nr_bytes += (uint32_t)nr_more;
	return true;
}

bool wanted_memory_add(struct wanted_memory *wanted, uint64_t start, uint64_t nr_bytes)
{
	uint64_t end = start + nr_bytes;

	if (!nr_bytes)
		return true;
	if (nr_bytes > WANTED_BYTES_MAX || end < start)
		return false;
	for (size_t i = 0; i < wanted->nr; i++) {
		struct wanted_range *range = &wanted->at[i];

		if (start <= range->start + range->nr_bytes && range->start <= end)
			return join(wanted, range, start, end);
	}
	if (wanted->nr == SNAPSHOT_WANTED_MAX || wanted->nr_bytes + nr_bytes > WANTED_BYTES_MAX)
		return false;
	wanted->at[wanted->nr++] =
		(struct wanted_range){.start = start, .nr_bytes = (uint32_t)nr_bytes};
	wanted->nr_bytes += (uint32_t)nr_bytes;
	return true;
}

static bool overlaps(const struct wanted_memory *wanted, const struct wanted_range *range)
{
	for (size_t i = 0; i < wanted->nr; i++) {
		const struct wanted_range *other = &wanted->at[i];

		if (range->start < other->start + other->nr_bytes &&
		    other->start < range->start + range->nr_bytes)
			return true;
	}
	return false;
}

void wanted_memory_unite(struct wanted_memory *wanted, const struct wanted_memory *more)
{
	for (size_t i = 0; i < more->nr; i++) {
		const struct wanted_range *range = &more->at[i];

		if (overlaps(wanted, range))
			wanted_memory_add(wanted, range->start, range->nr_bytes);
		else if (wanted->nr < SNAPSHOT_WANTED_MAX &&
			 wanted->nr_bytes + range->nr_bytes <= WANTED_BYTES_MAX) {
			wanted->at[wanted->nr++] = *range;
			wanted->nr_bytes += range->nr_bytes;
		}
	}
}

/* They are few, and mostly in order already. */
void wanted_memory_sort(struct wanted_memory *wanted)
{
	for (size_t i = 1; i < wanted->nr; i++) {
		struct wanted_range range = wanted->at[i];
		size_t to = i;

		for (; to && wanted->at[to - 1].start > range.start; to--)
			wanted->at[to] = wanted->at[to - 1];
		wanted->at[to] = range;
	}
}
