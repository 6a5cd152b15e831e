// SPDX-License-Identifier: GPL-2.0-or-later
/* A walk down the stacks of samples, depth first. */
#include "calltree/descent_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

/* Children have greater ids than their parents, so going backwards visits children first. */
static void link_children(struct descent *descent, const struct weights *weights, uint32_t nr)
{
	size_t left = weights->nr_stacks;

	for (uint32_t id = nr - 1; id > 0; id--) {
		uint32_t parent = stack_trie_parent(descent->trie, (struct stack_id){id}).v;
		bool has_weight = left && weights->stacks[left - 1].stack.v == id;

		while (left && weights->stacks[left - 1].stack.v == id)
			left--;
		if (!has_weight && !descent->first_child[id])
			continue;
		descent->next_sibling[id] = descent->first_child[parent];
		descent->first_child[parent] = id;
	}
}

void descent_init(struct descent *descent, const struct weights *weights)
{
	const struct stack_trie *trie = weights->selection->expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);

	*descent = (struct descent){
		.trie = trie,
		.first_child = xcalloc(nr, sizeof(*descent->first_child)),
		.next_sibling = xcalloc(nr, sizeof(*descent->next_sibling)),
		.at = STACK_EMPTY.v,
	};
	link_children(descent, weights, nr);
}

void descent_release(struct descent *descent)
{
	free(descent->first_child);
	free(descent->next_sibling);
	*descent = (struct descent){0};
}

bool descent_next(struct descent *descent)
{
	uint32_t at = descent->at;

	if (!descent->is_left && descent->first_child[at]) {
		descent->at = descent->first_child[at];
		return true;
	}
	if (!descent->is_left && at != STACK_EMPTY.v) {
		descent->is_left = true;
		return true;
	}
	if (at == STACK_EMPTY.v)
		return false;
	descent->is_left = !descent->next_sibling[at];
	descent->at = descent->is_left ? stack_trie_parent(descent->trie, (struct stack_id){at}).v
				       : descent->next_sibling[at];
	return descent->at != STACK_EMPTY.v;
}
