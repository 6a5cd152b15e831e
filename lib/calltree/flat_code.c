// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables by code: functions, lines, files and modules. */
#include "calltree/flat_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "calltree/counts.h"
#include "calltree/descent_priv.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"

/*
 * A table under construction: the rows by key, and the row that each level of the expansion counts
 * for (FLAT_NONE: none).
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

/* Running sums along the current path, and of finished subtrees. */
struct path {
	uint32_t *sum_of;    /* by stack_id: one more than its first row of weights.stacks, or 0 */
	struct tally *below; /* by depth */
	uint32_t *on_path;   /* by row: levels of the current path that count for it */
	uint32_t *on_called; /* the same, without inlined ones; NULL: no calls are counted */
};

static uint64_t greatest_depth(const struct weights *weights)
{
	const struct stack_trie *trie = weights->selection->expansion->profile->stacks;
	uint64_t depth = 0;

	for (size_t i = 0; i < weights->nr_stacks; i++)
		depth = max_u64(depth, stack_trie_depth(trie, weights->stacks[i].stack));
	return depth;
}

static void path_init(struct path *path, const struct weights *weights, size_t nr_rows,
		      bool with_calls)
{
	uint32_t nr = stack_trie_nr(weights->selection->expansion->profile->stacks);

	path->sum_of = xcalloc(nr, sizeof(*path->sum_of));
	for (size_t i = weights->nr_stacks; i-- > 0;)
		path->sum_of[weights->stacks[i].stack.v] = (uint32_t)i + 1;
	path->below = xcalloc(greatest_depth(weights) + 1, sizeof(*path->below));
	path->on_path = xcalloc(nr_rows, sizeof(*path->on_path));
	path->on_called = with_calls ? xcalloc(nr_rows, sizeof(*path->on_called)) : NULL;
}

static void path_release(struct path *path)
{
	free(path->sum_of);
	free(path->below);
	free(path->on_path);
	free(path->on_called);
}

static struct frame_levels levels_of(const struct builder *builder, struct stack_id stack)
{
	const struct expansion *expansion = builder->expansion;

	return expansion->frames[stack_trie_frame(expansion->profile->stacks, stack).v];
}

static void enter_stack(struct builder *builder, struct path *path, struct stack_id stack)
{
	const struct expansion *expansion = builder->expansion;
	struct frame_levels frame = levels_of(builder, stack);
	struct tally *below = &path->below[stack_trie_depth(expansion->profile->stacks, stack)];
	uint32_t row = FLAT_NONE;

	*below = (struct tally){0};
	for (uint32_t i = 0; i < frame.nr; i++) {
		row = builder->row_of_level[frame.first + i];
		if (row == FLAT_NONE)
			continue;
		path->on_path[row]++;
		if (!expansion->levels[frame.first + i].inlined)
			builder->flat->rows[row].inlined = false;
	}
	if (path->sum_of[stack.v]) {
		size_t next = path->sum_of[stack.v] - 1;
		struct stack_weight sum;

		weights_next_stack(builder->flat->weights, &next, &sum);
		*below = sum.tally;
		if (row != FLAT_NONE)
			tally_add(&builder->flat->rows[row].self, &sum.tally);
	}
	row = builder->row_of_level[frame.first];
	if (path->on_called && row != FLAT_NONE)
		path->on_called[row]++;
}

/* Everything below the stack is summed: add it to the outermost level of each row. */
static void leave_stack(struct builder *builder, struct path *path, struct stack_id stack)
{
	struct frame_levels frame = levels_of(builder, stack);
	struct tally *below =
		&path->below[stack_trie_depth(builder->expansion->profile->stacks, stack)];

	for (uint32_t i = 0; i < frame.nr; i++) {
		uint32_t row = builder->row_of_level[frame.first + i];

		if (row == FLAT_NONE)
			continue;
		if (--path->on_path[row] == 0)
			tally_add(&builder->flat->rows[row].total, below);
		if (path->on_called && i == 0 && --path->on_called[row] == 0)
			tally_add(&builder->flat->rows[row].called, below);
	}
	tally_add(below - 1, below);
}

static void count_stacks(struct builder *builder, const struct weights *weights)
{
	struct descent descent;
	struct path path;

	path_init(&path, weights, builder->flat->nr, flat_has_counts(builder->flat));
	descent_init(&descent, weights);
	while (descent_next(&descent)) {
		if (descent.is_left)
			leave_stack(builder, &path, (struct stack_id){descent.at});
		else
			enter_stack(builder, &path, (struct stack_id){descent.at});
	}
	descent_release(&descent);
	path_release(&path);
}

/* Self weight belongs to the innermost level. */
static void count_waits(struct builder *builder, const struct weights *weights)
{
	struct wait_sums *sums = wait_sums_new(builder->flat);
	struct stack_weight sum;

	for (size_t next = 0; weights_next_stack(weights, &next, &sum);) {
		struct frame_levels frame = levels_of(builder, sum.stack);

		wait_sums_add(sums, builder->row_of_level[frame.first + frame.nr - 1], sum.stack,
			      sum.tally.weight);
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

/* After the times: the exact counts, and the part of the time that they cover. */
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
		/* Inlined copies cannot be called, so there is another copy. */
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
