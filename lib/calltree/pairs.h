/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_PAIRS_H
#define PROFC_CALLTREE_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"

/* Sums by two numbers, such as the times of functions in each of many tables. */
struct pair {
	uint32_t a, b;
	uint64_t amount;
	uint32_t id; /* in the order in which they were added, from 0 */
};

/* Begins as all 0. */
struct pairs {
	struct pair *rows; /* distinct; owned */
	size_t nr, cap;
	struct index_set set;
};

void pairs_release(struct pairs *pairs);
/* The id of the pair; not after pairs_sort(). */
uint32_t pairs_add(struct pairs *pairs, uint32_t a, uint32_t b, uint64_t amount);
/* Sort by `a`, and for each `a` by amount, the largest first. */
void pairs_sort(struct pairs *pairs);
/* The pairs with this `a`, which must be sorted; borrowed. */
const struct pair *pairs_of(const struct pairs *pairs, uint32_t a, size_t *nr);

#endif
