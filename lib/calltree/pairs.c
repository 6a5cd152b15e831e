// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by two numbers. */
#include "calltree/pairs.h"

#include <stdlib.h>

#include "base/alloc.h"

void pairs_release(struct pairs *pairs)
{
	free(pairs->rows);
	index_set_release(&pairs->set);
	*pairs = (struct pairs){0};
}

static bool same_pair(const void *owner, uint32_t index, const void *key)
{
	const struct pairs *pairs = owner;
	const struct pair *wanted = key;

	return pairs->rows[index].a == wanted->a && pairs->rows[index].b == wanted->b;
}

uint32_t pairs_add(struct pairs *pairs, uint32_t a, uint32_t b, uint64_t amount)
{
	const struct pair wanted = {.a = a, .b = b, .id = (uint32_t)pairs->nr};
	uint64_t hash = hash_u64((uint64_t)a << 32 | b);
	uint32_t found = index_set_find(&pairs->set, hash, same_pair, pairs, &wanted);

	if (found == INDEX_NONE) {
		ARRAY_GROW(pairs->rows, pairs->nr, pairs->cap);
		found = (uint32_t)pairs->nr++;
		pairs->rows[found] = wanted;
		index_set_add(&pairs->set, hash, found);
	}
	pairs->rows[found].amount += amount;
	return found;
}

static int compare(const void *left, const void *right)
{
	const struct pair *x = left, *y = right;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->amount != y->amount)
		return x->amount > y->amount ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

void pairs_sort(struct pairs *pairs)
{
	if (pairs->nr)
		qsort(pairs->rows, pairs->nr, sizeof(*pairs->rows), compare);
}

/* The number of rows with a smaller `a`. */
static size_t nr_below(const struct pairs *pairs, uint64_t a)
{
	size_t low = 0, high = pairs->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pairs->rows[middle].a < a)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct pair *pairs_of(const struct pairs *pairs, uint32_t a, size_t *nr)
{
	size_t first = nr_below(pairs, a);

	*nr = nr_below(pairs, (uint64_t)a + 1) - first;
	return *nr ? &pairs->rows[first] : NULL;
}
