// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the program's functions that wait, for rows of blocked time. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "calltree/filter.h"
#include "calltree/flat_priv.h"
#include "calltree/wait_function.h"
#include "calltree/weights.h"

/* The weight of one wait function in one row. */
struct wait_sum {
	uint32_t row, label;
	uint64_t weight;
};

struct wait_sums {
	uint32_t *of_stack; /* wait_functions_of_stacks() */
	struct index_set set;
	struct wait_sum *sums;
	size_t nr, cap;
};

struct wait_sums *wait_sums_new(const struct flat *flat)
{
	struct wait_sums *sums = xcalloc(1, sizeof(*sums));

	sums->of_stack = wait_functions_of_stacks(flat_expansion(flat));
	return sums;
}

static bool sum_equal(const void *owner, uint32_t index, const void *key)
{
	const struct wait_sum *have = &((const struct wait_sums *)owner)->sums[index];
	const struct wait_sum *want = key;

	return have->row == want->row && have->label == want->label;
}

void wait_sums_add(struct wait_sums *sums, uint32_t row, struct stack_id stack, uint64_t weight)
{
	struct wait_sum sum = {.row = row, .label = sums->of_stack[stack.v]};
	uint64_t hash = hash_u64((uint64_t)row << 32 | sum.label);
	uint32_t index;

	if (row == FLAT_NONE || sum.label == WAIT_FUNCTION_NONE || !weight)
		return;
	index = index_set_find(&sums->set, hash, sum_equal, sums, &sum);
	if (index == INDEX_NONE) {
		index = (uint32_t)sums->nr;
		ARRAY_GROW(sums->sums, sums->nr, sums->cap);
		sums->sums[sums->nr++] = sum;
		index_set_add(&sums->set, hash, index);
	}
	sums->sums[index].weight += weight;
}

void wait_sums_finish(struct wait_sums *sums, struct flat *flat)
{
	cleanup_free uint64_t *most = xcalloc(flat->nr, sizeof(*most));

	for (size_t i = 0; i < sums->nr; i++) {
		const struct wait_sum *sum = &sums->sums[i];
		struct flat_row *row = &flat->rows[sum->row];

		if (sum->weight > most[sum->row]) {
			row->nr_other_waits += row->wait_function != FLAT_NONE;
			row->wait_function = sum->label;
			most[sum->row] = sum->weight;
		} else {
			row->nr_other_waits++;
		}
	}
	index_set_release(&sums->set);
	free(sums->of_stack);
	free(sums->sums);
	free(sums);
}
