// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds call trees, callers and callees. */
#include "calltree/tree_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

#define ANY_END UINT32_MAX

/*
 * The stacks that lead to a selected sample with this end: those of such samples and all their
 * callers, found backwards as parents come first.
 */
static bool *needed_stacks(const struct weights *weights, uint32_t end)
{
	const struct stack_trie *trie = weights->selection->expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	bool *needed = xcalloc(nr, sizeof(*needed));

	for (size_t i = 0; i < weights->nr_stacks; i++)
		if (end == ANY_END || weights->stacks[i].end == end)
			needed[weights->stacks[i].stack.v] = true;
	for (uint32_t id = nr - 1; id > 0; id--)
		if (needed[id])
			needed[stack_trie_parent(trie, (struct stack_id){id}).v] = true;
	return needed;
}

/* Go one frame down, through all its levels. */
static struct tree_way descend(struct planter *planter, struct tree_way way, uint32_t stack,
			       uint32_t first)
{
	const struct expansion *expansion = planter->expansion;
	struct frame_id frame =
		stack_trie_frame(expansion->profile->stacks, (struct stack_id){stack});
	struct frame_levels levels = expansion->frames[frame.v];

	for (uint32_t i = first; i < levels.nr; i++)
		planter_go(planter, &way, &expansion->levels[levels.first + i]);
	return way;
}

/* Add the weight of a stack to the node of its leaf, or to the node for page faults below that. */
static void plant_row(struct planter *planter, uint32_t node, const struct stack_weight *row)
{
	if (row->is_fault && planter->has_faults)
		node = planter_child(planter, node, planter->expansion->page_fault.label, false);
	tally_add(&planter->tree->nodes[node].self, &row->tally);
}

/* Add all stacks with this end of their walks below the node for that end. */
static void plant_stacks(struct planter *planter, uint32_t end, uint32_t top)
{
	const struct weights *weights = planter->tree->weights;
	const struct stack_trie *trie = planter->expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	cleanup_free bool *needed = needed_stacks(weights, end);
	cleanup_free struct tree_way *ways = xmalloc(nr * sizeof(*ways));

	ways[STACK_EMPTY.v] = (struct tree_way){.node = top, .repeats = 1};
	for (uint32_t id = 1; id < nr; id++) {
		struct stack_id parent;

		if (!needed[id])
			continue;
		parent = stack_trie_parent(trie, (struct stack_id){id});
		ways[id] = descend(planter, ways[parent.v], id, 0);
	}
	for (size_t i = 0; i < weights->nr_stacks; i++) {
		const struct stack_weight *row = &weights->stacks[i];

		if (row->end == end)
			plant_row(planter, ways[row->stack.v].node, row);
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

static struct tree *plant_whole(const struct weights *weights, const struct tree_request *request)
{
	struct planter planter;

	planter_init(&planter, weights, request);
	for (uint32_t end = 0; end < STACK_END_COUNT; end++) {
		const struct level *level = &planter.expansion->truncated[end];
		uint32_t top = TREE_ROOT;

		if (!weights->ended[end].weight)
			continue;
		if (!stack_end_is_complete((enum stack_end)end))
			top = planter_child(&planter, TREE_ROOT, level->label, false);
		plant_stacks(&planter, end, top);
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

static struct tree *plant_all_callees(const struct weights *weights,
				      const struct tree_request *request)
{
	const bool *wanted = request->callees_of;
	struct planter planter;
	const struct stack_trie *trie = weights->selection->expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	cleanup_free bool *needed = needed_stacks(weights, ANY_END);
	/* TREE_ROOT until a wanted function is found. */
	cleanup_free struct tree_way *ways = xcalloc(nr, sizeof(*ways));

	planter_init(&planter, weights, request);
	for (uint32_t id = 1; id < nr; id++) {
		uint32_t parent = stack_trie_parent(trie, (struct stack_id){id}).v;
		uint32_t first = 0;

		if (!needed[id])
			continue;
		if (ways[parent].node == TREE_ROOT)
			first = first_wanted(planter.expansion, wanted, id);
		if (first == nr_levels(planter.expansion, id))
			continue;
		ways[id] = descend(&planter, ways[parent], id, first);
	}
	for (size_t i = 0; i < weights->nr_stacks; i++) {
		uint32_t node = ways[weights->stacks[i].stack.v].node;

		if (node != TREE_ROOT)
			plant_row(&planter, node, &weights->stacks[i]);
	}
	tree_count_calls(&planter, wanted);
	return planter_finish(&planter);
}

/*
 * Add the path from the wanted level of a stack's frame up to the root to the callers' tree, ended
 * by `missing` if the walk did not reach the root.
 */
static void plant_callers(struct planter *planter, uint32_t stack, const bool *wanted,
			  const struct level *missing, const struct tally *tally)
{
	const struct expansion *expansion = planter->expansion;
	const struct stack_trie *trie = expansion->profile->stacks;
	uint32_t count = first_wanted(expansion, wanted, stack) + 1;
	struct tree_way way = {.node = TREE_ROOT, .repeats = 1};

	while (stack != STACK_EMPTY.v) {
		struct frame_id frame = stack_trie_frame(trie, (struct stack_id){stack});
		struct frame_levels levels = expansion->frames[frame.v];

		while (count-- > 0)
			planter_go(planter, &way, &expansion->levels[levels.first + count]);
		stack = stack_trie_parent(trie, (struct stack_id){stack}).v;
		count = stack == STACK_EMPTY.v ? 0 : nr_levels(expansion, stack);
	}
	if (missing)
		planter_go(planter, &way, missing);
	tally_add(&planter->tree->nodes[way.node].self, tally);
}

/*
 * By stack: the ancestor that has the outermost wanted function in its frame; 0: there is none. The
 * caller frees the array.
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

static struct tree *plant_all_callers(const struct weights *weights,
				      const struct tree_request *request)
{
	const bool *wanted = request->callers_of;
	const struct expansion *expansion = weights->selection->expansion;
	uint32_t nr = stack_trie_nr(expansion->profile->stacks);
	cleanup_free uint32_t *met_at = find_wanted(expansion, wanted);
	cleanup_free struct tally *sums = xmalloc(nr * sizeof(*sums));
	struct planter planter;

	planter_init(&planter, weights, request);
	planter.tree->of_callers = true;
	for (uint32_t end = 0; end < STACK_END_COUNT; end++) {
		bool whole = stack_end_is_complete((enum stack_end)end);
		const struct level *missing = whole ? NULL : &expansion->truncated[end];

		if (!weights->ended[end].weight)
			continue;
		memset(sums, 0, nr * sizeof(*sums));
		for (size_t i = 0; i < weights->nr_stacks; i++)
			if (weights->stacks[i].end == end)
				tally_add(&sums[met_at[weights->stacks[i].stack.v]],
					  &weights->stacks[i].tally);
		for (uint32_t id = 1; id < nr; id++)
			if (sums[id].weight > 0)
				plant_callers(&planter, id, wanted, missing, &sums[id]);
	}
	tree_count_calls(&planter, wanted);
	return planter_finish(&planter);
}

struct tree *tree_new_as(const struct weights *weights, const struct tree_request *request)
{
	if (request->callees_of)
		return plant_all_callees(weights, request);
	if (request->callers_of)
		return plant_all_callers(weights, request);
	return plant_whole(weights, request);
}

struct tree *tree_new(const struct weights *weights)
{
	return tree_new_as(weights, &(struct tree_request){.is_folded = false});
}

struct tree *tree_new_callees(const struct weights *weights, const bool *wanted)
{
	return tree_new_as(weights, &(struct tree_request){.callees_of = wanted});
}

struct tree *tree_new_callers(const struct weights *weights, const bool *wanted)
{
	return tree_new_as(weights, &(struct tree_request){.callers_of = wanted});
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree);
}
