// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums over stacks by the code in them, for one key after the other. */
#include "calltree/code_counter_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/descent_priv.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

/*
 * A code in the frame of a stack. Totals count a stack once for each code in it: at the outermost
 * level of the code, which is the same for all keys.
 */
struct code_step {
	uint32_t code;
	bool is_outermost, is_inlined;
	bool is_called; /* the outermost copy that is not inlined */
};

/* The steps of a stack's own frame. */
struct code_frame {
	uint32_t first, nr;
};

/* A stack, with the sum of its and its descendants' weights for the current key. */
struct code_node {
	uint32_t stack;
	struct tally below;
};

static struct frame_levels levels_of(const struct code_counter *counter, uint32_t stack)
{
	struct frame_id frame = stack_trie_frame(counter->trie, (struct stack_id){stack});

	return counter->expansion->frames[frame.v];
}

/* By code: how many levels of the current path have it, and those of them that are not inlined. */
struct on_path {
	uint32_t all, called;
};

static void enter_stack(struct code_counter *counter, uint32_t stack, struct on_path *on_path)
{
	struct frame_levels levels = levels_of(counter, stack);
	struct code_frame *frame = &counter->frames[stack];

	frame->first = (uint32_t)counter->nr_steps;
	for (uint32_t i = levels.first; i < levels.first + levels.nr; i++) {
		struct code_step step = {.code = counter->map.of_level[i],
					 .is_inlined = counter->expansion->levels[i].inlined};

		if (step.code == CODE_NONE)
			continue;
		step.is_outermost = on_path[step.code].all++ == 0;
		step.is_called = !step.is_inlined && on_path[step.code].called++ == 0;
		if (!step.is_outermost && step.is_inlined)
			continue;
		ARRAY_GROW(counter->steps, counter->nr_steps, counter->cap_steps);
		counter->steps[counter->nr_steps++] = step;
	}
	frame->nr = (uint32_t)counter->nr_steps - frame->first;
}

static void leave_stack(const struct code_counter *counter, uint32_t stack, struct on_path *on_path)
{
	struct frame_levels levels = levels_of(counter, stack);

	for (uint32_t i = levels.first; i < levels.first + levels.nr; i++) {
		uint32_t code = counter->map.of_level[i];

		if (code == CODE_NONE)
			continue;
		on_path[code].all--;
		on_path[code].called -= !counter->expansion->levels[i].inlined;
	}
}

/* Called once for all keys. */
static void make_steps(struct code_counter *counter, const struct weights *weights)
{
	cleanup_free struct on_path *on_path = xcalloc(counter->map.nr_codes, sizeof(*on_path));
	struct descent descent;

	counter->frames = xcalloc(stack_trie_nr(counter->trie), sizeof(*counter->frames));
	descent_init(&descent, weights);
	while (descent_next(&descent)) {
		if (descent.is_left)
			leave_stack(counter, descent.at, on_path);
		else
			enter_stack(counter, descent.at, on_path);
	}
	descent_release(&descent);
}

void code_counter_init(struct code_counter *counter, const struct weights *weights,
		       const struct code_map *map)
{
	const struct expansion *expansion = weights->selection->expansion;
	const struct stack_trie *trie = expansion->profile->stacks;

	*counter = (struct code_counter){.map = *map, .expansion = expansion, .trie = trie};
	counter->sums = xcalloc(map->nr_codes, sizeof(*counter->sums));
	counter->met_codes = xcalloc(map->nr_codes, sizeof(*counter->met_codes));
	counter->node_of = xcalloc(stack_trie_nr(trie), sizeof(*counter->node_of));
	make_steps(counter, weights);
}

void code_counter_release(struct code_counter *counter)
{
	free(counter->frames);
	free(counter->steps);
	free(counter->sums);
	free(counter->met_codes);
	free(counter->nodes);
	free(counter->ways);
	free(counter->node_of);
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

uint32_t code_counter_leaf(const struct code_counter *counter, struct stack_id stack)
{
	struct frame_levels levels = levels_of(counter, stack.v);

	return counter->map.of_level[levels.first + levels.nr - 1];
}

static struct code_node *find_node(const struct code_counter *counter, uint32_t stack)
{
	uint32_t index = counter->node_of[stack];

	if (index < counter->nr_nodes && counter->nodes[index].stack == stack)
		return &counter->nodes[index];
	return NULL;
}

/* Add the nodes from a stack up to the first that this key already has. */
static void add_way(struct code_counter *counter, uint32_t stack)
{
	ARRAY_GROW(counter->ways, counter->nr_ways, counter->cap_ways);
	counter->ways[counter->nr_ways++] = counter->nr_nodes;
	while (stack != STACK_EMPTY.v && !find_node(counter, stack)) {
		ARRAY_GROW(counter->nodes, counter->nr_nodes, counter->cap_nodes);
		counter->node_of[stack] = (uint32_t)counter->nr_nodes;
		counter->nodes[counter->nr_nodes++] = (struct code_node){.stack = stack};
		stack = stack_trie_parent(counter->trie, (struct stack_id){stack}).v;
	}
}

void code_counter_add(struct code_counter *counter, struct stack_id stack,
		      const struct tally *tally)
{
	uint32_t leaf = code_counter_leaf(counter, stack);

	if (leaf != CODE_NONE)
		tally_add(&code_counter_meet(counter, leaf)->self, tally);
	if (!find_node(counter, stack.v))
		add_way(counter, stack.v);
	tally_add(&find_node(counter, stack.v)->below, tally);
}

/* All its descendants are summed. */
static void count_node(struct code_counter *counter, const struct code_node *node)
{
	struct code_frame frame = counter->frames[node->stack];

	for (uint32_t i = frame.first; i < frame.first + frame.nr; i++) {
		const struct code_step *step = &counter->steps[i];
		struct code_sum *sum = code_counter_meet(counter, step->code);

		if (step->is_outermost)
			tally_add(&sum->total, &node->below);
		if (step->is_called && counter->map.with_calls)
			tally_add(&sum->called, &node->below);
		sum->is_inlined = sum->is_inlined && step->is_inlined;
	}
}

/* From its stack up: each node is the caller of the one before it. */
static void count_way(struct code_counter *counter, size_t begin, size_t end)
{
	const struct code_node *last = &counter->nodes[end - 1];
	struct code_node *caller;

	for (size_t i = begin; i < end; i++) {
		if (i > begin)
			tally_add(&counter->nodes[i].below, &counter->nodes[i - 1].below);
		count_node(counter, &counter->nodes[i]);
	}
	caller = find_node(counter,
			   stack_trie_parent(counter->trie, (struct stack_id){last->stack}).v);
	if (caller)
		tally_add(&caller->below, &last->below);
}

/* A later path may end below a stack of an earlier one, but never the reverse. */
void code_counter_finish(struct code_counter *counter)
{
	size_t end = counter->nr_nodes;

	for (size_t way = counter->nr_ways; way-- > 0; end = counter->ways[way])
		count_way(counter, counter->ways[way], end);
	counter->nr_ways = counter->nr_nodes = 0;
}

void code_counter_clear(struct code_counter *counter)
{
	for (size_t i = 0; i < counter->nr_met_codes; i++)
		counter->sums[counter->met_codes[i]].is_met = false;
	counter->nr_met_codes = 0;
}
