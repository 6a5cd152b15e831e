// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by key and stack. */
#include "calltree/key_stacks_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/descent_priv.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/tally.h"
#include "calltree/weights.h"

static bool same_pair(const void *owner, uint32_t index, const void *key)
{
	const struct key_stack *have = &((const struct key_stacks *)owner)->rows[index];
	const struct key_stack *want = key;

	return have->key == want->key && have->stack == want->stack;
}

void key_stacks_add(struct key_stacks *stacks, uint32_t key, const struct observation *part)
{
	bool is_unattributed = part->sample.kind == SAMPLE_UNATTRIBUTED;
	struct key_stack row = {.key = key,
				.stack = is_unattributed ? KEY_STACK_UNATTRIBUTED
							 : part->sample.stack.v};
	uint64_t hash = hash_u64((uint64_t)row.key << 32 | row.stack);
	uint32_t found = index_set_find(&stacks->set, hash, same_pair, stacks, &row);

	if (found == INDEX_NONE) {
		found = (uint32_t)stacks->nr;
		ARRAY_GROW(stacks->rows, stacks->nr, stacks->cap);
		stacks->rows[stacks->nr++] = row;
		index_set_add(&stacks->set, hash, found);
	}
	tally_add_observation(&stacks->rows[found].tally, part);
}

/* The rows in the order of a descent, those without a stack first. The caller frees the array. */
static uint32_t *rows_by_stack(const struct key_stacks *stacks, const struct weights *weights)
{
	uint32_t nr_all = stack_trie_nr(weights->selection->expansion->profile->stacks);
	uint32_t *list = xmalloc(stacks->nr * sizeof(*list));
	/*
	 * first: by stack, its first row + 1; next: by row, the next row of its stack + 1. 0: none.
	 */
	cleanup_free uint32_t *first = xcalloc(nr_all, sizeof(*first));
	cleanup_free uint32_t *next = xcalloc(stacks->nr, sizeof(*next));
	struct descent descent;
	size_t nr = 0;

	for (size_t i = 0; i < stacks->nr; i++) {
		uint32_t stack = stacks->rows[i].stack;

		if (stack == KEY_STACK_NONE || stack == KEY_STACK_UNATTRIBUTED) {
			list[nr++] = (uint32_t)i;
			continue;
		}
		next[i] = first[stack];
		first[stack] = (uint32_t)i + 1;
	}
	descent_init(&descent, weights);
	while (descent_next(&descent))
		for (uint32_t i = descent.is_left ? 0 : first[descent.at]; i; i = next[i - 1])
			list[nr++] = i - 1;
	descent_release(&descent);
	return list;
}

uint32_t *key_stacks_by_key(struct key_stacks *stacks, size_t nr_keys,
			    const struct weights *weights, size_t **begins)
{
	cleanup_free uint32_t *rows = rows_by_stack(stacks, weights);
	uint32_t *list = xmalloc(stacks->nr * sizeof(*list));
	size_t *at = xcalloc(nr_keys + 2, sizeof(*at));

	index_set_release(&stacks->set);
	for (size_t i = 0; i < stacks->nr; i++)
		at[stacks->rows[i].key + 2]++;
	for (size_t i = 2; i < nr_keys + 2; i++)
		at[i] += at[i - 1];
	/* at[key + 1] advances from a key's first place to the one after its last. */
	for (size_t i = 0; i < stacks->nr; i++)
		list[at[stacks->rows[rows[i]].key + 1]++] = rows[i];
	*begins = at;
	return list;
}

void key_stacks_release(struct key_stacks *stacks)
{
	index_set_release(&stacks->set);
	free(stacks->rows);
}
