// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/signed_stacks.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"

void signed_stacks_release(struct signed_stacks *stacks)
{
	free(stacks->rows);
	index_set_release(&stacks->index);
	*stacks = (struct signed_stacks){0};
}

static bool is_same(const void *owner, uint32_t index, const void *key)
{
	const struct signed_stacks *stacks = owner;
	const struct signed_stack *wanted = key;

	return stacks->rows[index].signature == wanted->signature &&
	       stacks->rows[index].signer == wanted->signer;
}

const struct signed_stack *signed_stacks_find(struct signed_stacks *stacks, uint32_t signer,
					      uint64_t signature)
{
	const struct signed_stack wanted = {.signature = signature, .signer = signer};
	uint32_t *recent = &stacks->recent[signature % SIGNED_STACKS_RECENT];
	uint32_t at = *recent;

	if (at >= stacks->nr || !is_same(stacks, at, &wanted))
		at = index_set_find(&stacks->index, hash_mix(signer, signature), is_same, stacks,
				    &wanted);
	if (at == INDEX_NONE)
		return NULL;
	*recent = at;
	return &stacks->rows[at];
}

void signed_stacks_add(struct signed_stacks *stacks, const struct signed_stack *row)
{
	if (signed_stacks_find(stacks, row->signer, row->signature))
		return;
	ARRAY_GROW(stacks->rows, stacks->nr, stacks->cap);
	stacks->rows[stacks->nr] = *row;
	index_set_add(&stacks->index, hash_mix(row->signer, row->signature),
		      (uint32_t)stacks->nr++);
}
