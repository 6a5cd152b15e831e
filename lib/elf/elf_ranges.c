// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_ranges.h"

#include <stdlib.h>

#include "base/alloc.h"

static int by_start(const void *a, const void *b)
{
	const struct elf_range *x = a;
	const struct elf_range *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void elf_ranges_add(struct elf_ranges *ranges, struct elf_range range)
{
	ARRAY_GROW(ranges->at, ranges->nr, ranges->cap);
	ranges->at[ranges->nr++] = range;
}

void elf_ranges_sort(struct elf_ranges *ranges)
{
	if (ranges->nr)
		qsort(ranges->at, ranges->nr, sizeof(*ranges->at), by_start);
}

bool elf_ranges_find(const struct elf_ranges *ranges, uint64_t address, uint64_t *value)
{
	size_t low = 0;
	size_t high = ranges->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= ranges->at[low - 1].end)
		return false;
	*value = ranges->at[low - 1].value;
	return true;
}

void elf_ranges_release(struct elf_ranges *ranges)
{
	free(ranges->at);
	*ranges = (struct elf_ranges){0};
}
