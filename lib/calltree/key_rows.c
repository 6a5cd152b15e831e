// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows for sums by key and stack, with the code of the stacks. */
#include "calltree/key_stacks_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/descent_priv.h"
#include "calltree/expand.h"
#include "calltree/tally.h"
#include "calltree/weights.h"

/*
 * A code in the frame of a stack. Totals count a stack once for each code in it: at the outermost
 * level of the code, which is the same for all keys.
 */
struct step {
	uint32_t code;
	bool is_outermost, is_inlined;
};

struct frame_steps {
	uint32_t first, nr;
};

/* The sums of one code for the current key. */
struct code_sum {
	struct tally self, total;
	bool is_met, is_inlined;
};

/* A stack, with the sum of its and its descendants' weights for the current key. */
struct node {
	uint32_t stack;
	struct tally below;
};

/* The rows of one key after the other. */
struct counter {
	struct key_rows *rows;
	const struct expansion *expansion;
	const struct stack_trie *trie;
	struct frame_steps *frames; /* by stack_id */
	struct step *steps;
	size_t nr_steps, cap_steps;
	struct code_sum *sums; /* by code */
	uint32_t *met_codes;   /* the codes that occur for this key */
	size_t nr_met_codes;
	/*
	 * The stacks of this key: paths up that end below a stack of another path, or at the root.
	 */
	struct node *nodes;
	size_t nr_nodes, cap_nodes;
	size_t *ways; /* the start of each path in `nodes` */
	size_t nr_ways, cap_ways;
	uint32_t *node_of; /* by stack_id, for stacks in `nodes` */
};

static struct frame_levels levels_of(const struct counter *counter, uint32_t stack)
{
	struct frame_id frame = stack_trie_frame(counter->trie, (struct stack_id){stack});

	return counter->expansion->frames[frame.v];
}

static void enter_stack(struct counter *counter, uint32_t stack, uint32_t *on_path)
{
	struct frame_levels levels = levels_of(counter, stack);
	struct frame_steps *frame = &counter->frames[stack];

	frame->first = (uint32_t)counter->nr_steps;
	for (uint32_t i = levels.first; i < levels.first + levels.nr; i++) {
		struct step step = {.code = counter->rows->code_of_level[i],
				    .is_inlined = counter->expansion->levels[i].inlined};

		if (step.code == FLAT_NONE)
			continue;
		step.is_outermost = on_path[step.code]++ == 0;
		if (!step.is_outermost && step.is_inlined)
			continue;
		ARRAY_GROW(counter->steps, counter->nr_steps, counter->cap_steps);
		counter->steps[counter->nr_steps++] = step;
	}
	frame->nr = (uint32_t)counter->nr_steps - frame->first;
}

static void leave_stack(const struct counter *counter, uint32_t stack, uint32_t *on_path)
{
	struct frame_levels levels = levels_of(counter, stack);

	for (uint32_t i = levels.first; i < levels.first + levels.nr; i++)
		if (counter->rows->code_of_level[i] != FLAT_NONE)
			on_path[counter->rows->code_of_level[i]]--;
}

/* Called once for all keys. */
static void make_steps(struct counter *counter)
{
	cleanup_free uint32_t *on_path = xcalloc(counter->rows->codes->nr, sizeof(*on_path));
	struct descent descent;

	counter->frames = xcalloc(stack_trie_nr(counter->trie), sizeof(*counter->frames));
	descent_init(&descent, counter->rows->flat->weights);
	while (descent_next(&descent)) {
		if (descent.is_left)
			leave_stack(counter, descent.at, on_path);
		else
			enter_stack(counter, descent.at, on_path);
	}
	descent_release(&descent);
}

static void counter_init(struct counter *counter, struct key_rows *rows)
{
	const struct expansion *expansion = flat_expansion(rows->flat);
	uint32_t nr_stacks = stack_trie_nr(expansion->profile->stacks);

	*counter = (struct counter){
		.rows = rows, .expansion = expansion, .trie = expansion->profile->stacks};
	counter->sums = xcalloc(rows->codes->nr, sizeof(*counter->sums));
	counter->met_codes = xcalloc(rows->codes->nr, sizeof(*counter->met_codes));
	counter->node_of = xcalloc(nr_stacks, sizeof(*counter->node_of));
	make_steps(counter);
}

static void counter_release(struct counter *counter)
{
	free(counter->frames);
	free(counter->steps);
	free(counter->sums);
	free(counter->met_codes);
	free(counter->nodes);
	free(counter->ways);
	free(counter->node_of);
}

/* The sums of a code in this key. */
static struct code_sum *sum_of(struct counter *counter, uint32_t code)
{
	struct code_sum *sum = &counter->sums[code];

	if (!sum->is_met) {
		*sum = (struct code_sum){.is_met = true, .is_inlined = true};
		counter->met_codes[counter->nr_met_codes++] = code;
	}
	return sum;
}

static void count_without_stack(struct counter *counter, const struct key_stack *row)
{
	uint32_t code = row->stack == KEY_STACK_UNATTRIBUTED ? counter->rows->code_unattributed
							     : counter->rows->code_no_stack;
	struct code_sum *sum;

	if (code == FLAT_NONE)
		return;
	sum = sum_of(counter, code);
	sum->is_inlined = false;
	tally_add(&sum->self, &row->tally);
	tally_add(&sum->total, &row->tally);
}

static struct node *find_node(const struct counter *counter, uint32_t stack)
{
	uint32_t index = counter->node_of[stack];

	if (index < counter->nr_nodes && counter->nodes[index].stack == stack)
		return &counter->nodes[index];
	return NULL;
}

/* Add the nodes from a stack up to the first that this key already has. */
static void add_way(struct counter *counter, uint32_t stack)
{
	ARRAY_GROW(counter->ways, counter->nr_ways, counter->cap_ways);
	counter->ways[counter->nr_ways++] = counter->nr_nodes;
	while (stack != STACK_EMPTY.v && !find_node(counter, stack)) {
		ARRAY_GROW(counter->nodes, counter->nr_nodes, counter->cap_nodes);
		counter->node_of[stack] = (uint32_t)counter->nr_nodes;
		counter->nodes[counter->nr_nodes++] = (struct node){.stack = stack};
		stack = stack_trie_parent(counter->trie, (struct stack_id){stack}).v;
	}
}

static void take_row(struct counter *counter, const struct key_stack *row)
{
	if (row->stack == KEY_STACK_UNATTRIBUTED || row->stack == KEY_STACK_NONE) {
		count_without_stack(counter, row);
		return;
	}
	if (!find_node(counter, row->stack))
		add_way(counter, row->stack);
	tally_add(&find_node(counter, row->stack)->below, &row->tally);
}

/* All its descendants are summed. */
static void count_node(struct counter *counter, const struct node *node)
{
	struct frame_steps frame = counter->frames[node->stack];

	for (uint32_t i = frame.first; i < frame.first + frame.nr; i++) {
		const struct step *step = &counter->steps[i];
		struct code_sum *sum = sum_of(counter, step->code);

		if (step->is_outermost)
			tally_add(&sum->total, &node->below);
		sum->is_inlined = sum->is_inlined && step->is_inlined;
	}
}

/* From its stack up: each node is the caller of the one before it. */
static void count_way(struct counter *counter, size_t begin, size_t end)
{
	const struct node *last = &counter->nodes[end - 1];
	struct node *caller;

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
static void count_ways(struct counter *counter)
{
	size_t end = counter->nr_nodes;

	for (size_t way = counter->nr_ways; way-- > 0; end = counter->ways[way])
		count_way(counter, counter->ways[way], end);
	counter->nr_ways = counter->nr_nodes = 0;
}

static void add_self(struct counter *counter, const struct key_stack *row)
{
	struct frame_levels levels;
	uint32_t code;

	if (row->stack == KEY_STACK_UNATTRIBUTED || row->stack == KEY_STACK_NONE)
		return;
	levels = levels_of(counter, row->stack);
	code = counter->rows->code_of_level[levels.first + levels.nr - 1];
	if (code != FLAT_NONE)
		tally_add(&counter->sums[code].self, &row->tally);
}

static void emit_rows(struct counter *counter, uint32_t key)
{
	struct key_rows *rows = counter->rows;
	const struct flat_row *a = &rows->keys->rows[key];

	for (size_t i = 0; i < counter->nr_met_codes; i++) {
		struct code_sum *sum = &counter->sums[counter->met_codes[i]];
		const struct flat_row *b = &rows->codes->rows[counter->met_codes[i]];
		uint32_t group = rows->groups_are_codes ? b->group : a->group;
		struct flat_row joined;

		sum->is_met = false;
		if (!flat_best_wants(&rows->best, group, sum->self.weight, sum->total.weight))
			continue;
		joined = flat_join_keys(a, b);
		joined.group = group;
		joined.inlined = sum->is_inlined;
		joined.self = sum->self;
		joined.total = sum->total;
		flat_best_add(&rows->best, &joined);
	}
	counter->nr_met_codes = 0;
}

/* The numbers of the rows, key by key, and the start of each key. The caller frees both. */
static uint32_t *rows_by_key(const struct key_stacks *stacks, size_t nr_keys, size_t **begins)
{
	uint32_t *list = xmalloc(stacks->nr * sizeof(*list));
	size_t *at = xcalloc(nr_keys + 2, sizeof(*at));

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

void key_stacks_count(struct key_stacks *stacks, struct key_rows *rows)
{
	cleanup_free size_t *begins = NULL;
	cleanup_free uint32_t *list = NULL;
	struct counter counter;

	index_set_release(&stacks->set);
	list = rows_by_key(stacks, rows->keys->nr, &begins);
	counter_init(&counter, rows);
	for (uint32_t key = 0; key < rows->keys->nr; key++) {
		for (size_t i = begins[key]; i < begins[key + 1]; i++)
			take_row(&counter, &stacks->rows[list[i]]);
		count_ways(&counter);
		for (size_t i = begins[key]; i < begins[key + 1]; i++)
			add_self(&counter, &stacks->rows[list[i]]);
		emit_rows(&counter, key);
	}
	counter_release(&counter);
	free(stacks->rows);
	*stacks = (struct key_stacks){0};
}
