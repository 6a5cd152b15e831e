// SPDX-License-Identifier: GPL-2.0-or-later
/* Sorted ranges of addresses, each with a value, and their lookup. */
#include "elf/elf_ranges.h"

#include <stdlib.h>

#include "base/alloc.h"

static int by_start(const void *a, const void *b)
{
	const struct elf_range *x = a;
	const struct elf_range *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
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
	for (size_t i = 0; i < ranges->nr; i++) {
		struct elf_range *range = &ranges->at[i];

		range->reach = range->end;
		if (i && range[-1].reach > range->reach)
			range->reach = range[-1].reach;
	}
}

/* Bounds the search if one range contains very many others. */
#define NESTED_MAX 1024

const struct elf_range *elf_ranges_range(const struct elf_ranges *ranges, uint64_t address)
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
	for (size_t tries = 0; low && tries < NESTED_MAX; low--, tries++) {
		const struct elf_range *range = &ranges->at[low - 1];

		if (address >= range->reach)
			return NULL;
		if (address < range->end)
			return range;
	}
	return NULL;
}

bool elf_ranges_find(const struct elf_ranges *ranges, uint64_t address, uint64_t *value)
{
	const struct elf_range *range = elf_ranges_range(ranges, address);

	if (range)
		*value = range->value;
	return range;
}

void elf_ranges_release(struct elf_ranges *ranges)
{
	free(ranges->at);
	*ranges = (struct elf_ranges){0};
}
