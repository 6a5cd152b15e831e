// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the path of calls that have most weight below them. A call of the path is several stacks: a
 * function calls another one from several of its lines.
 */
#include "verdict/hot_path_priv.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "profile/profile.h"

#define ROOT UINT32_MAX /* no label is that of the root */

/* A stack up to one level of its innermost frame, whose deeper levels are inlined calls. */
struct hot_place {
	uint32_t stack, level;
	uint32_t label;
};

struct hot_places {
	struct hot_place *rows; /* owned */
	size_t nr, cap;
};

struct hot_walk {
	const struct weights *weights;
	const struct expansion *expansion;
	const struct stack_trie *trie;
	uint64_t *below; /* by stack: its weight, and that of all stacks below it */
	uint32_t *first_child, *next_sibling; /* by stack, of those with weight; 0: none */
	struct hot_places here;		      /* where the path is */
	struct hot_places next;		      /* calls from there */
	uint64_t *sums;			      /* by label: of `next`; else 0 */
};

static void add_place(struct hot_places *places, uint32_t stack, uint32_t level, uint32_t label)
{
	ARRAY_GROW(places->rows, places->nr, places->cap);
	places->rows[places->nr++] = (struct hot_place){stack, level, label};
}

static void hot_walk_init(struct hot_walk *walk, const struct weights *weights)
{
	const struct expansion *expansion = weights->selection->expansion;
	uint32_t nr = stack_trie_nr(expansion->profile->stacks);

	*walk = (struct hot_walk){
		.weights = weights, .expansion = expansion, .trie = expansion->profile->stacks};
	walk->below = xcalloc(nr, sizeof(*walk->below));
	walk->first_child = xcalloc(nr, sizeof(*walk->first_child));
	walk->next_sibling = xcalloc(nr, sizeof(*walk->next_sibling));
	walk->sums = xcalloc(expansion->nr_labels, sizeof(*walk->sums));
	for (size_t i = 0; i < weights->nr_stacks; i++)
		walk->below[weights->stacks[i].stack.v] += weights->stacks[i].tally.weight;
	/*
	 * Numbers of callers are lower: from the last stack on, each is complete before its caller.
	 */
	for (uint32_t id = nr - 1; id > 0; id--) {
		uint32_t parent = stack_trie_parent(walk->trie, (struct stack_id){id}).v;

		if (!walk->below[id])
			continue;
		walk->below[parent] += walk->below[id];
		walk->next_sibling[id] = walk->first_child[parent];
		walk->first_child[parent] = id;
	}
}

static void hot_walk_release(struct hot_walk *walk)
{
	free(walk->below);
	free(walk->first_child);
	free(walk->next_sibling);
	free(walk->here.rows);
	free(walk->next.rows);
	free(walk->sums);
}

static const struct frame_levels *levels_of(const struct hot_walk *walk, uint32_t stack)
{
	return &walk->expansion->frames[stack_trie_frame(walk->trie, (struct stack_id){stack}).v];
}

/* Add a call from a place. If the function calls itself, the path stays where it is. */
static void add_call(struct hot_walk *walk, uint32_t caller, uint32_t stack, uint32_t level)
{
	uint32_t label = walk->expansion->levels[levels_of(walk, stack)->first + level].label;

	if (label == caller) {
		add_place(&walk->here, stack, level, label);
		return;
	}
	add_place(&walk->next, stack, level, label);
	walk->sums[label] += walk->below[stack];
}

/*
 * Add the calls from a stack. A frame that views leave out has no function: its calls count as the
 * caller's.
 */
static void add_callees(struct hot_walk *walk, uint32_t caller, uint32_t stack)
{
	for (uint32_t id = walk->first_child[stack]; id; id = walk->next_sibling[id]) {
		if (levels_of(walk, id)->nr)
			add_call(walk, caller, id, 0);
		else
			add_place(&walk->here, id, 0, caller);
	}
}

static void add_calls(struct hot_walk *walk)
{
	/* The loop adds places to these. */
	for (size_t i = 0; i < walk->here.nr; i++) {
		const struct hot_place place = walk->here.rows[i];

		if (place.stack && place.level + 1 < levels_of(walk, place.stack)->nr)
			add_call(walk, place.label, place.stack, place.level + 1);
		else
			add_callees(walk, place.label, place.stack);
	}
}

/* Follow the call with more than half of all weight; false: there is none. */
static bool go_on(struct hot_walk *walk, uint32_t *label)
{
	bool is_found = false;

	walk->next.nr = 0;
	add_calls(walk);
	for (size_t i = 0; i < walk->next.nr && !is_found; i++) {
		*label = walk->next.rows[i].label;
		is_found = 2 * walk->sums[*label] > walk->weights->total.weight;
	}
	walk->here.nr = is_found ? 0 : walk->here.nr;
	for (size_t i = 0; i < walk->next.nr; i++) {
		const struct hot_place *place = &walk->next.rows[i];

		walk->sums[place->label] = 0;
		if (is_found && place->label == *label)
			add_place(&walk->here, place->stack, place->level, place->label);
	}
	return is_found;
}

size_t hot_path_find(const struct weights *weights, uint32_t *labels, size_t max)
{
	struct hot_walk walk;
	size_t nr = 0;

	hot_walk_init(&walk, weights);
	add_place(&walk.here, STACK_EMPTY.v, 0, ROOT);
	while (nr < max && go_on(&walk, &labels[nr]))
		nr++;
	hot_walk_release(&walk);
	return nr;
}

struct tally hot_path_sum(const struct weights *weights, size_t nr)
{
	struct tally sum = {.weight = 0};
	struct hot_walk walk;
	bool *is_below;
	uint32_t label;

	hot_walk_init(&walk, weights);
	is_below = xcalloc(stack_trie_nr(walk.trie), sizeof(*is_below));
	add_place(&walk.here, STACK_EMPTY.v, 0, ROOT);
	while (nr-- > 0 && go_on(&walk, &label))
		;
	for (size_t i = 0; i < walk.here.nr; i++)
		is_below[walk.here.rows[i].stack] = true;
	for (uint32_t id = 1; id < stack_trie_nr(walk.trie); id++) {
		if (is_below[stack_trie_parent(walk.trie, (struct stack_id){id}).v])
			is_below[id] = true;
	}
	for (size_t i = 0; i < weights->nr_stacks; i++) {
		if (is_below[weights->stacks[i].stack.v])
			tally_add(&sum, &weights->stacks[i].tally);
	}
	free(is_below);
	hot_walk_release(&walk);
	return sum;
}
