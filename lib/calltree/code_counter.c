// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums over stacks by the code in them, for one key after the other. */
#include "calltree/code_counter_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

static uint64_t greatest_depth(const struct stack_trie *trie, const struct weights *weights)
{
	uint64_t depth = 0;

	for (size_t i = 0; i < weights->nr_stacks; i++)
		depth = max_u64(depth, stack_trie_depth(trie, weights->stacks[i].stack));
	return depth;
}

void code_counter_init(struct code_counter *counter, const struct weights *weights,
		       const struct code_map *map)
{
	const struct expansion *expansion = weights->selection->expansion;
	const struct stack_trie *trie = expansion->profile->stacks;
	uint64_t depth = greatest_depth(trie, weights);

	*counter = (struct code_counter){.map = *map, .expansion = expansion, .trie = trie};
	counter->sums = xcalloc(map->nr_codes, sizeof(*counter->sums));
	counter->met_codes = xcalloc(map->nr_codes, sizeof(*counter->met_codes));
	counter->path = xcalloc(depth + 1, sizeof(*counter->path));
	counter->charged = xcalloc(depth + 1, sizeof(*counter->charged));
	counter->charged[0] = map->charges_callers ? map->of_others : CODE_NONE;
	counter->below = xcalloc(depth + 1, sizeof(*counter->below));
}

void code_counter_release(struct code_counter *counter)
{
	free(counter->sums);
	free(counter->met_codes);
	free(counter->path);
	free(counter->charged);
	free(counter->below);
}

static struct frame_levels levels_of(const struct code_counter *counter, uint32_t stack)
{
	struct frame_id frame = stack_trie_frame(counter->trie, (struct stack_id){stack});

	return counter->expansion->frames[frame.v];
}

/* The code of the innermost level of a stack, or where callers are charged, of its leaf. */
static uint32_t own_code(const struct code_counter *counter, uint32_t stack)
{
	struct frame_levels levels = levels_of(counter, stack);
	uint32_t code = CODE_NONE;

	for (uint32_t i = levels.first + levels.nr; i-- > levels.first;) {
		code = counter->map.of_level[i];
		if (code != CODE_NONE || !counter->map.charges_callers)
			break;
	}
	return code;
}

uint32_t code_counter_leaf(const struct code_counter *counter, struct stack_id stack)
{
	uint32_t code = own_code(counter, stack.v);

	while (code == CODE_NONE && counter->map.charges_callers) {
		stack = stack_trie_parent(counter->trie, stack);
		if (stack.v == STACK_EMPTY.v)
			return counter->map.of_others;
		code = own_code(counter, stack.v);
	}
	return code;
}

struct code_sum *code_counter_meet(struct code_counter *counter, uint32_t code)
{
	struct code_sum *sum = &counter->sums[code];

	if (!sum->is_met) {
		*sum = (struct code_sum){.is_met = true, .is_inlined = true};
		counter->met_codes[counter->nr_met_codes++] = code;
	}
	return sum;
}

/* Enter the stack at this depth of the path. */
static void enter(struct code_counter *counter, uint32_t depth)
{
	struct frame_levels levels = levels_of(counter, counter->path[depth]);

	counter->below[depth] = (struct tally){0};
	counter->charged[depth] = own_code(counter, counter->path[depth]);
	if (counter->charged[depth] == CODE_NONE && counter->map.charges_callers)
		counter->charged[depth] = counter->charged[depth - 1];
	for (uint32_t i = levels.first; i < levels.first + levels.nr; i++) {
		struct code_sum *sum;

		if (counter->map.of_level[i] == CODE_NONE)
			continue;
		sum = code_counter_meet(counter, counter->map.of_level[i]);
		sum->nr_on_path++;
		if (counter->expansion->levels[i].inlined)
			continue;
		sum->nr_called_on_path++;
		sum->is_inlined = false;
	}
}

/*
 * Leave a stack. All below it is summed up: add that to each code that has its outermost level
 * here.
 */
static void leave(struct code_counter *counter, uint32_t depth)
{
	struct frame_levels levels = levels_of(counter, counter->path[depth]);
	const struct tally *below = &counter->below[depth];

	for (uint32_t i = levels.first; i < levels.first + levels.nr; i++) {
		struct code_sum *sum;

		if (counter->map.of_level[i] == CODE_NONE)
			continue;
		sum = &counter->sums[counter->map.of_level[i]];
		if (--sum->nr_on_path == 0)
			tally_add(&sum->total, below);
		if (!counter->expansion->levels[i].inlined && --sum->nr_called_on_path == 0 &&
		    counter->map.with_calls)
			tally_add(&sum->called, below);
	}
	tally_add(&counter->below[depth - 1], below);
}

/*
 * Make the path lead to a stack: leave those that are not its callers, and enter its missing ones.
 */
static void go_to(struct code_counter *counter, struct stack_id stack)
{
	uint32_t depth = stack_trie_depth(counter->trie, stack), common = depth;

	while (counter->depth > depth)
		leave(counter, counter->depth--);
	for (; common > counter->depth; common--) {
		counter->path[common] = stack.v;
		stack = stack_trie_parent(counter->trie, stack);
	}
	for (; counter->path[common] != stack.v; common--) {
		leave(counter, common);
		counter->path[common] = stack.v;
		stack = stack_trie_parent(counter->trie, stack);
	}
	while (common < depth)
		enter(counter, ++common);
	counter->depth = depth;
}

void code_counter_add(struct code_counter *counter, struct stack_id stack,
		      const struct tally *tally)
{
	uint32_t code;

	go_to(counter, stack);
	tally_add(&counter->below[counter->depth], tally);
	code = counter->charged[counter->depth];
	if (counter->map.charges_callers && code == counter->map.of_others)
		code_counter_add_alone(counter, code, tally);
	else if (code != CODE_NONE)
		tally_add(&counter->sums[code].self, tally);
}

void code_counter_add_alone(struct code_counter *counter, uint32_t code, const struct tally *tally)
{
	struct code_sum *sum;

	if (code == CODE_NONE)
		return;
	sum = code_counter_meet(counter, code);
	sum->is_inlined = false;
	tally_add(&sum->self, tally);
	tally_add(&sum->total, tally);
}

void code_counter_finish(struct code_counter *counter)
{
	go_to(counter, STACK_EMPTY);
}

void code_counter_clear(struct code_counter *counter)
{
	for (size_t i = 0; i < counter->nr_met_codes; i++)
		counter->sums[counter->met_codes[i]].is_met = false;
	counter->nr_met_codes = 0;
}
