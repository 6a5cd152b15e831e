// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of tables of code: functions, lines, files and modules. */
#include "calltree/flat_division_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/code_counter_priv.h"
#include "calltree/counts.h"
#include "calltree/descent_priv.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat_best_priv.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"

/*
 * A table under construction. A code is the function, line or the like of a level; each row is a
 * key and a code in the stacks of that key.
 */
struct code_table {
	struct flat_division *division;
	struct flat codes;
	struct index_set code_set;
	uint32_t *code_of_level; /* a row of `codes`, or CODE_NONE */
	uint32_t code_unattributed, code_no_stack;
	bool charges_callers;
	uint32_t code_native; /* of stacks without any code, where callers are charged */
	struct code_counter counter;
	struct flat_best best; /* gets the rows */
};

/* The row of a level among the codes. */
static uint32_t intern_code(struct code_table *table, const struct level *level)
{
	struct flat_division *division = table->division;
	struct flat_row key = flat_no_row;

	for (size_t i = 0; i < division->nr_dimensions; i++) {
		if (!division->dimensions[i]->of_level)
			continue;
		if (!flat_code_key(division->expansion, division->dimensions[i], level, &key))
			return CODE_NONE;
		if (i == 0 && division->nr_dimensions == 2)
			key.group = flat_intern_row(&division->groups, &division->group_set, &key);
	}
	return flat_intern_row(&table->codes, &table->code_set, &key);
}

static void intern_codes(struct code_table *table)
{
	const struct expansion *expansion = table->division->expansion;

	table->code_of_level = xmalloc(expansion->nr_levels * sizeof(*table->code_of_level));
	for (size_t i = 0; i < expansion->nr_levels; i++)
		table->code_of_level[i] = intern_code(table, &expansion->levels[i]);
	table->code_unattributed = intern_code(table, &expansion->unattributed);
	table->code_no_stack = intern_code(table, &expansion->no_stack);
	for (size_t i = 0; i < table->division->nr_dimensions; i++)
		table->charges_callers |= table->division->dimensions[i]->charges_callers;
	if (table->charges_callers)
		table->code_native = intern_code(table, &expansion->native);
}

/* Add the rows of a key when all of its stacks were added. */
static void make_rows(struct code_table *table, const struct flat_row *key)
{
	struct code_counter *counter = &table->counter;
	bool groups_are_keys = table->division->groups_are_keys;

	code_counter_finish(counter);
	for (size_t i = 0; i < counter->nr_met_codes; i++) {
		const struct code_sum *sum = &counter->sums[counter->met_codes[i]];
		const struct flat_row *code = &table->codes.rows[counter->met_codes[i]];
		uint32_t group = groups_are_keys ? key->group : code->group;
		struct flat_row row;

		if (!flat_best_wants(&table->best, group, sum->self.weight, sum->total.weight))
			continue;
		row = flat_join_keys(key, code);
		row.group = group;
		row.inlined = sum->is_inlined;
		row.self = sum->self;
		row.total = sum->total;
		row.called = sum->called;
		flat_best_add(&table->best, &row);
	}
	code_counter_clear(counter);
}

static void add_part(struct code_table *table, const struct key_stack *part)
{
	if (part->stack == KEY_STACK_UNATTRIBUTED)
		code_counter_add_alone(&table->counter, table->code_unattributed, &part->tally);
	else if (part->stack == KEY_STACK_NONE)
		code_counter_add_alone(&table->counter, table->code_no_stack, &part->tally);
	else
		code_counter_add(&table->counter, (struct stack_id){part->stack}, &part->tally);
}

/* Fill the table from samples that were divided by keys. */
static void count_keys(struct code_table *table)
{
	struct flat_division *division = table->division;
	cleanup_free size_t *begins = NULL;
	cleanup_free uint32_t *parts = key_stacks_by_key(&division->stacks, division->keys.nr,
							 division->flat->weights, &begins);

	for (uint32_t key = 0; key < division->keys.nr; key++) {
		for (size_t i = begins[key]; i < begins[key + 1]; i++)
			add_part(table, &division->stacks.rows[parts[i]]);
		make_rows(table, &division->keys.rows[key]);
	}
}

/* Counted functions have rows even without samples. */
static void meet_counted(struct code_table *table)
{
	const struct counts *counts = table->division->flat->weights->counts;
	uint64_t calls;

	for (uint32_t i = 0; i < table->codes.nr; i++)
		if (counts_find_function(counts, table->codes.rows[i].label, &calls))
			code_counter_meet(&table->counter, i);
}

static void add_stacks(struct code_counter *counter, const struct weights *weights)
{
	/* By stack_id: its first row of weights.stacks + 1, or 0. */
	cleanup_free uint32_t *rows = xcalloc(stack_trie_nr(counter->trie), sizeof(*rows));
	struct descent descent;

	for (size_t i = weights->nr_stacks; i-- > 0;)
		rows[weights->stacks[i].stack.v] = (uint32_t)i + 1;
	descent_init(&descent, weights);
	while (descent_next(&descent)) {
		size_t next = descent.is_left ? 0 : rows[descent.at];
		struct stack_weight sum;

		if (next-- == 0)
			continue;
		weights_next_stack(weights, &next, &sum);
		code_counter_add(counter, sum.stack, &sum.tally);
	}
	descent_release(&descent);
}

/* Self weight belongs to the innermost level. */
static void find_waits(struct code_table *table, const struct weights *weights)
{
	struct wait_sums *waits = wait_sums_new(table->division->flat);
	struct stack_weight sum;

	for (size_t next = 0; weights_next_stack(weights, &next, &sum);)
		wait_sums_add(waits, code_counter_leaf(&table->counter, sum.stack), sum.stack,
			      sum.tally.weight);
	wait_sums_finish(waits, &table->codes);
}

/* Fill the table with one key for all samples: weights has their sums. */
static void count_all(struct code_table *table)
{
	const struct flat *flat = table->division->flat;
	const struct weights *weights = flat->weights;

	add_stacks(&table->counter, weights);
	if (weights->unattributed.weight)
		code_counter_add_alone(&table->counter, table->code_unattributed,
				       &weights->unattributed);
	if (weights->no_stack.weight)
		code_counter_add_alone(&table->counter, table->code_no_stack, &weights->no_stack);
	if (flat_has_counts(flat))
		meet_counted(table);
	if (flat_has_waits(flat))
		find_waits(table, weights);
	make_rows(table, &flat_no_row);
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

void flat_count_code(struct flat_division *division, const struct flat_order *order, size_t limit)
{
	struct flat *flat = division->flat;
	struct code_table table = {.division = division};

	intern_codes(&table);
	flat_best_init(&table.best, order, division->groups.nr, limit);
	code_counter_init(&table.counter, flat->weights,
			  &(struct code_map){.of_level = table.code_of_level,
					     .nr_codes = table.codes.nr,
					     .charges_callers = table.charges_callers,
					     .of_others = table.code_native,
					     .with_calls = flat_has_counts(flat)});
	if (division->is_divided)
		count_keys(&table);
	else
		count_all(&table);
	code_counter_release(&table.counter);
	flat_best_finish(&table.best, flat);
	if (flat_has_counts(flat))
		count_calls(flat);
	index_set_release(&table.code_set);
	free(table.codes.rows);
	free(table.code_of_level);
}
