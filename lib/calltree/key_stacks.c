// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by key and stack. */
#include "calltree/key_stacks_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/tally.h"

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

uint32_t *key_stacks_by_key(struct key_stacks *stacks, size_t nr_keys, size_t **begins)
{
	uint32_t *list = xmalloc(stacks->nr * sizeof(*list));
	size_t *at = xcalloc(nr_keys + 2, sizeof(*at));

	index_set_release(&stacks->set);
	for (size_t i = 0; i < stacks->nr; i++)
		at[stacks->rows[i].key + 2]++;
	for (size_t i = 2; i < nr_keys + 2; i++)
		at[i] += at[i - 1];
	/* at[key + 1] advances from a key's first place to the one after its last. */
	for (size_t i = 0; i < stacks->nr; i++)
		list[at[stacks->rows[i].key + 1]++] = (uint32_t)i;
	*begins = at;
	return list;
}

void key_stacks_release(struct key_stacks *stacks)
{
	index_set_release(&stacks->set);
	free(stacks->rows);
}
