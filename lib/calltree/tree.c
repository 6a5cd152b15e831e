// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds call trees, callers and callees. */
#include "calltree/tree_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

/*
 * Which stacks lead to a selected sample that ended so: those themselves and all
 * their callers, found backwards as parents come first.
 */
static bool *needed_stacks(const struct stack_trie *trie, const struct tally *by_stack)
{
	uint32_t nr = stack_trie_nr(trie);
	bool *needed = xcalloc(nr, sizeof(*needed));

	for (uint32_t id = nr - 1; id > 0; id--) {
		if (by_stack[id].weight > 0)
			needed[id] = true;
		if (needed[id])
			needed[stack_trie_parent(trie, (struct stack_id){id}).v] = true;
	}
	return needed;
}

/* One frame further down: through all its levels. */
static uint32_t descend(struct planter *planter, uint32_t node, uint32_t stack, uint32_t first)
{
	const struct expansion *expansion = planter->expansion;
	struct frame_id frame =
		stack_trie_frame(expansion->profile->stacks, (struct stack_id){stack});
	struct frame_levels levels = expansion->frames[frame.v];

	for (uint32_t i = first; i < levels.nr; i++) {
		const struct level *level = &expansion->levels[levels.first + i];

		node = planter_child(planter, node, level->label, level->inlined);
	}
	return node;
}

/* All stacks whose walk ended in one way, below the node that stands for it. */
static void plant_stacks(struct planter *planter, const struct tally *by_stack, uint32_t top)
{
	const struct stack_trie *trie = planter->expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	cleanup_free bool *needed = needed_stacks(trie, by_stack);
	cleanup_free uint32_t *node_of_stack = xmalloc(nr * sizeof(*node_of_stack));

	node_of_stack[STACK_EMPTY.v] = top;
	for (uint32_t id = 1; id < nr; id++) {
		struct stack_id parent;

		if (!needed[id])
			continue;
		parent = stack_trie_parent(trie, (struct stack_id){id});
		node_of_stack[id] = descend(planter, node_of_stack[parent.v], id, 0);
		tally_add(&planter->tree->nodes[node_of_stack[id]].self, &by_stack[id]);
	}
}

static void plant_leaf(struct planter *planter, const struct level *level,
		       const struct tally *tally)
{
	uint32_t node;

	if (tally->weight == 0)
		return;
	node = planter_child(planter, TREE_ROOT, level->label, false);
	tally_add(&planter->tree->nodes[node].self, tally);
}

struct tree *tree_new(const struct weights *weights)
{
	struct planter planter;

	planter_init(&planter, weights);
	for (int end = 0; end < STACK_END_COUNT; end++) {
		const struct level *level = &planter.expansion->truncated[end];
		uint32_t top = TREE_ROOT;

		if (!weights->by_stack[end])
			continue;
		if (!stack_end_is_complete((enum stack_end)end))
			top = planter_child(&planter, TREE_ROOT, level->label, false);
		plant_stacks(&planter, weights->by_stack[end], top);
	}
	plant_leaf(&planter, &planter.expansion->unattributed, &weights->unattributed);
	plant_leaf(&planter, &planter.expansion->no_stack, &weights->no_stack);
	tree_count_calls(&planter, NULL);
	return planter_finish(&planter);
}

/* The outermost wanted level of a stack's own frame, or its number of levels if there is none. */
static uint32_t first_wanted(const struct expansion *expansion, const bool *wanted, uint32_t stack)
{
	struct frame_id frame =
		stack_trie_frame(expansion->profile->stacks, (struct stack_id){stack});
	struct frame_levels levels = expansion->frames[frame.v];
	uint32_t i = 0;

	while (i < levels.nr && !wanted[expansion->levels[levels.first + i].label])
		i++;
	return i;
}

static uint32_t nr_levels(const struct expansion *expansion, uint32_t stack)
{
	struct frame_id frame =
		stack_trie_frame(expansion->profile->stacks, (struct stack_id){stack});

	return expansion->frames[frame.v].nr;
}

struct tree *tree_new_callees(const struct weights *weights, const bool *wanted)
{
	struct planter planter;
	const struct stack_trie *trie = weights->selection->expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	cleanup_free struct tally *by_stack = weights_sum_by_stack(weights);
	cleanup_free bool *needed = needed_stacks(trie, by_stack);
	/* TREE_ROOT: no wanted function was met yet. */
	cleanup_free uint32_t *node_of_stack = xcalloc(nr, sizeof(*node_of_stack));

	planter_init(&planter, weights);
	for (uint32_t id = 1; id < nr; id++) {
		uint32_t parent = stack_trie_parent(trie, (struct stack_id){id}).v;
		uint32_t first = 0;

		if (!needed[id])
			continue;
		if (node_of_stack[parent] == TREE_ROOT)
			first = first_wanted(planter.expansion, wanted, id);
		if (first == nr_levels(planter.expansion, id))
			continue;
		node_of_stack[id] = descend(&planter, node_of_stack[parent], id, first);
		tally_add(&planter.tree->nodes[node_of_stack[id]].self, &by_stack[id]);
	}
	tree_count_calls(&planter, wanted);
	return planter_finish(&planter);
}

/*
 * The way from the wanted level of a stack's frame up to the root as a path of the
 * callers' tree, ended by `missing` where the walk did not reach the root.
 */
static void plant_callers(struct planter *planter, uint32_t stack, const bool *wanted,
			  const struct level *missing, const struct tally *tally)
{
	const struct expansion *expansion = planter->expansion;
	const struct stack_trie *trie = expansion->profile->stacks;
	uint32_t count = first_wanted(expansion, wanted, stack) + 1, node = TREE_ROOT;

	while (stack != STACK_EMPTY.v) {
		struct frame_id frame = stack_trie_frame(trie, (struct stack_id){stack});
		struct frame_levels levels = expansion->frames[frame.v];

		while (count-- > 0) {
			const struct level *level = &expansion->levels[levels.first + count];

			node = planter_child(planter, node, level->label, level->inlined);
		}
		stack = stack_trie_parent(trie, (struct stack_id){stack}).v;
		count = stack == STACK_EMPTY.v ? 0 : nr_levels(expansion, stack);
	}
	if (missing)
		node = planter_child(planter, node, missing->label, false);
	tally_add(&planter->tree->nodes[node].self, tally);
}

/*
 * By stack: the stack on its callers' side at whose frame the outermost wanted
 * function is met; 0 where none is. The caller frees it.
 */
static uint32_t *find_wanted(const struct expansion *expansion, const bool *wanted)
{
	const struct stack_trie *trie = expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	uint32_t *met_at = xcalloc(nr, sizeof(*met_at));

	for (uint32_t id = 1; id < nr; id++) {
		met_at[id] = met_at[stack_trie_parent(trie, (struct stack_id){id}).v];
		if (!met_at[id] && first_wanted(expansion, wanted, id) < nr_levels(expansion, id))
			met_at[id] = id;
	}
	return met_at;
}

struct tree *tree_new_callers(const struct weights *weights, const bool *wanted)
{
	const struct expansion *expansion = weights->selection->expansion;
	uint32_t nr = stack_trie_nr(expansion->profile->stacks);
	cleanup_free uint32_t *met_at = find_wanted(expansion, wanted);
	cleanup_free struct tally *sums = xmalloc(nr * sizeof(*sums));
	struct planter planter;

	planter_init(&planter, weights);
	planter.tree->of_callers = true;
	for (int end = 0; end < STACK_END_COUNT; end++) {
		bool whole = stack_end_is_complete((enum stack_end)end);
		const struct level *missing = whole ? NULL : &expansion->truncated[end];

		if (!weights->by_stack[end])
			continue;
		memset(sums, 0, nr * sizeof(*sums));
		for (uint32_t id = 1; id < nr; id++)
			tally_add(&sums[met_at[id]], &weights->by_stack[end][id]);
		for (uint32_t id = 1; id < nr; id++)
			if (sums[id].weight > 0)
				plant_callers(&planter, id, wanted, missing, &sums[id]);
	}
	tree_count_calls(&planter, wanted);
	return planter_finish(&planter);
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree);
}
