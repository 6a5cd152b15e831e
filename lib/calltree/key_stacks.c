// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by key and stack. */
#include "calltree/key_stacks_priv.h"

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
