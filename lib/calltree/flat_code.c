// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables by code: functions, lines, files and modules. */
#include "calltree/flat_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"

/*
 * A table in the making: the rows by key, and which row each level of the expansion
 * counts for (FLAT_NONE: for none).
 */
struct builder {
	struct flat *flat;
	const struct expansion *expansion;
	struct index_set rows;
	uint32_t *row_of_level;
};

static uint32_t intern_row(struct builder *builder, const struct flat_row *key)
{
	struct flat_row row = *key;

	row.inlined = true; /* until a copy that is not inlined is found */
	return flat_intern_row(builder->flat, &builder->rows, &row);
}

static uint32_t row_of(struct builder *builder, const struct place *place)
{
	struct flat_row key = flat_no_row;

	return flat_code_key(builder->expansion, builder->flat->dimension, place, &key)
		       ? intern_row(builder, &key)
		       : FLAT_NONE;
}

/* The inlined label, and where it is inlined: at the level before it in the chain. */
static uint32_t row_of_inlined(struct builder *builder, size_t level)
{
	const struct expansion *expansion = builder->expansion;
	struct flat_row key = flat_no_row;
	const struct place *site;

	if (!expansion->levels[level].inlined || level == 0)
		return FLAT_NONE;
	site = &expansion->places[expansion->levels[level - 1].place];
	key.label = expansion->levels[level].label;
	key.file = site->file;
	key.line = site->line;
	return site->line == 0 ? FLAT_NONE : intern_row(builder, &key);
}

static void map_levels(struct builder *builder)
{
	const struct expansion *expansion = builder->expansion;
	bool sites = builder->flat->dimension == BY_INLINE_SITE;

	builder->row_of_level = xmalloc(expansion->nr_levels * sizeof(*builder->row_of_level));
	for (size_t i = 0; i < expansion->nr_levels; i++)
		builder->row_of_level[i] =
			sites ? row_of_inlined(builder, i)
			      : row_of(builder, &expansion->places[expansion->levels[i].place]);
}

/* The stack trie as a tree that can be walked downwards, with the weight below each stack. */
struct descent {
	struct tally *self, *below; /* by stack_id */
	uint32_t *first_child, *next_sibling;
	uint32_t *on_path;   /* by row: levels of the current path that count for it */
	uint32_t *on_called; /* the same, without inlined ones; NULL: no calls are counted */
};

static void descent_init(struct descent *descent, const struct weights *weights, size_t nr_rows,
			 bool with_calls)
{
	const struct stack_trie *trie = weights->selection->expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);

	descent->self = weights_sum_by_stack(weights);
	descent->below = xmemdup(descent->self, nr * sizeof(*descent->below));
	descent->first_child = xcalloc(nr, sizeof(*descent->first_child));
	descent->next_sibling = xcalloc(nr, sizeof(*descent->next_sibling));
	descent->on_path = xcalloc(nr_rows, sizeof(*descent->on_path));
	descent->on_called = with_calls ? xcalloc(nr_rows, sizeof(*descent->on_called)) : NULL;
	/* Children have greater ids than their parents: backwards, every sum is ready in time. */
	for (uint32_t id = nr - 1; id > 0; id--) {
		uint32_t parent = stack_trie_parent(trie, (struct stack_id){id}).v;

		if (descent->below[id].weight == 0)
			continue;
		tally_add(&descent->below[parent], &descent->below[id]);
		descent->next_sibling[id] = descent->first_child[parent];
		descent->first_child[parent] = id;
	}
}

static void descent_release(struct descent *descent)
{
	free(descent->self);
	free(descent->below);
	free(descent->first_child);
	free(descent->next_sibling);
	free(descent->on_path);
	free(descent->on_called);
}

static struct frame_levels levels_of(const struct builder *builder, uint32_t stack)
{
	const struct expansion *expansion = builder->expansion;
	struct stack_id id = {stack};

	return expansion->frames[stack_trie_frame(expansion->profile->stacks, id).v];
}

static void enter_stack(struct builder *builder, struct descent *descent, uint32_t stack)
{
	const struct expansion *expansion = builder->expansion;
	struct frame_levels frame = levels_of(builder, stack);
	uint32_t row = FLAT_NONE;

	for (uint32_t i = 0; i < frame.nr; i++) {
		const struct level *level = &expansion->levels[frame.first + i];

		row = builder->row_of_level[frame.first + i];
		if (row == FLAT_NONE)
			continue;
		if (descent->on_path[row]++ == 0)
			tally_add(&builder->flat->rows[row].total, &descent->below[stack]);
		if (!level->inlined)
			builder->flat->rows[row].inlined = false;
	}
	if (row != FLAT_NONE)
		tally_add(&builder->flat->rows[row].self, &descent->self[stack]);
	row = builder->row_of_level[frame.first];
	if (descent->on_called && row != FLAT_NONE && descent->on_called[row]++ == 0)
		tally_add(&builder->flat->rows[row].called, &descent->below[stack]);
}

static void leave_stack(struct builder *builder, struct descent *descent, uint32_t stack)
{
	struct frame_levels frame = levels_of(builder, stack);

	for (uint32_t i = 0; i < frame.nr; i++) {
		uint32_t row = builder->row_of_level[frame.first + i];

		if (row == FLAT_NONE)
			continue;
		descent->on_path[row]--;
		if (descent->on_called && i == 0)
			descent->on_called[row]--;
	}
}

/* Depth first over all stacks with weight, without recursion: stacks may be very deep. */
static void count_stacks(struct builder *builder, const struct weights *weights)
{
	const struct stack_trie *trie = builder->expansion->profile->stacks;
	struct descent descent;
	uint32_t at;

	descent_init(&descent, weights, builder->flat->nr, flat_has_counts(builder->flat));
	at = descent.first_child[STACK_EMPTY.v];
	while (at != STACK_EMPTY.v) {
		enter_stack(builder, &descent, at);
		if (descent.first_child[at]) {
			at = descent.first_child[at];
			continue;
		}
		while (at != STACK_EMPTY.v) {
			leave_stack(builder, &descent, at);
			if (descent.next_sibling[at]) {
				at = descent.next_sibling[at];
				break;
			}
			at = stack_trie_parent(trie, (struct stack_id){at}).v;
		}
	}
	descent_release(&descent);
}

/* Self weight is of the innermost level. */
static void count_waits(struct builder *builder, const struct weights *weights)
{
	struct wait_sums *sums = wait_sums_new(builder->flat);
	uint32_t nr = stack_trie_nr(builder->expansion->profile->stacks);
	cleanup_free struct tally *by_stack = weights_sum_by_stack(weights);

	for (uint32_t id = 1; id < nr; id++) {
		struct frame_levels frame = levels_of(builder, id);

		wait_sums_add(sums, builder->row_of_level[frame.first + frame.nr - 1],
			      (struct stack_id){id}, by_stack[id].weight);
	}
	wait_sums_finish(sums, builder->flat);
}

/* Weight that has no stack counts for a row of its own. */
static void count_without_stack(struct builder *builder, const struct level *level,
				const struct tally *tally)
{
	uint32_t row;

	if (tally->weight == 0)
		return;
	row = row_of(builder, &builder->expansion->places[level->place]);
	if (row == FLAT_NONE)
		return;
	tally_add(&builder->flat->rows[row].self, tally);
	tally_add(&builder->flat->rows[row].total, tally);
	builder->flat->rows[row].inlined = false;
}

/* After the time: the exact counts, and of the time what they cover. */
static void count_calls(struct flat *flat)
{
	const struct counts *counts = flat->weights->counts;
	cleanup_free struct tally *uncovered = per_call_uncovered(flat->weights);

	for (size_t i = 0; i < flat->nr; i++) {
		struct flat_row *row = &flat->rows[i];

		row->counted = counts_find_function(counts, row->label, &row->calls);
		if (!row->counted)
			continue;
		tally_subtract(&row->called, &uncovered[row->label]);
		/* Inlined copies cannot be called: there is another one. */
		if (row->calls > 0 || row->total.weight == 0)
			row->inlined = false;
	}
}

void flat_count_code(struct flat *flat)
{
	const struct expansion *expansion = flat_expansion(flat);
	const struct weights *weights = flat->weights;
	struct builder builder = {.flat = flat, .expansion = expansion};

	map_levels(&builder);
	count_stacks(&builder, weights);
	count_without_stack(&builder, &expansion->unattributed, &weights->unattributed);
	count_without_stack(&builder, &expansion->no_stack, &weights->no_stack);
	if (flat_has_counts(flat))
		count_calls(flat);
	if (flat_has_waits(flat))
		count_waits(&builder, weights);
	index_set_release(&builder.rows);
	free(builder.row_of_level);
}
