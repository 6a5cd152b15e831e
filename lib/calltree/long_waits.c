// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up blocked time by what threads waited for. */
#include "calltree/long_waits.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "calltree/pairs.h"
#include "calltree/wait_function.h"
#include "profile/profile.h"

/* While rows are summed up. Each of `keys` is a row: its id is the index. */
struct adding {
	struct long_waits *waits;
	size_t cap;
	struct pairs keys;	       /* by kind and number */
	struct pairs calls, functions; /* of each row */
	uint32_t *function_of_stack;   /* wait_functions_of_stacks() */
};

static bool is_object(struct blame *blame, const struct observation *observation, uint32_t *number)
{
	if (!blame)
		return false;
	*number = blame_add(blame, observation);
	return blame_object(blame, *number)->what == BLAME_OBJECT;
}

static uint32_t row_of(struct adding *adding, const struct observation *observation)
{
	struct long_waits *waits = adding->waits;
	struct long_wait row = {.kind = LONG_WAIT_CALL,
				.number = (uint32_t)observation->sample.syscall_nr};
	uint32_t id;

	if (is_object(waits->locks, observation, &id))
		row = (struct long_wait){.kind = LONG_WAIT_LOCK, .number = id};
	else if (is_object(waits->descriptors, observation, &id))
		row = (struct long_wait){.kind = LONG_WAIT_DESCRIPTOR, .number = id};
	id = pairs_add(&adding->keys, (uint32_t)row.kind, row.number, observation->weight);
	if (id == waits->nr) {
		ARRAY_GROW(waits->rows, waits->nr, adding->cap);
		waits->rows[waits->nr++] = row;
	}
	return id;
}

static void add(struct adding *adding, const struct observation *observation)
{
	const struct sample *sample = &observation->sample;
	uint32_t row, function;

	tally_add_observation(&adding->waits->total, observation);
	if (!observation->weight || sample->kind != SAMPLE_BLOCKED)
		return;
	row = row_of(adding, observation);
	tally_add_observation(&adding->waits->rows[row].tally, observation);
	if (sample->syscall_nr >= 0)
		pairs_add(&adding->calls, row, (uint32_t)sample->syscall_nr, observation->weight);
	function = adding->function_of_stack[sample->stack.v];
	if (function != WAIT_FUNCTION_NONE)
		pairs_add(&adding->functions, row, function, observation->weight);
}

static void name_rows(struct adding *adding)
{
	pairs_sort(&adding->calls);
	pairs_sort(&adding->functions);
	for (uint32_t i = 0; i < adding->waits->nr; i++) {
		struct long_wait *row = &adding->waits->rows[i];
		size_t nr_calls, nr_functions;
		const struct pair *calls = pairs_of(&adding->calls, i, &nr_calls);
		const struct pair *functions = pairs_of(&adding->functions, i, &nr_functions);

		row->syscall_nr = nr_calls ? (int)calls[0].b : LONG_WAIT_NO_CALL;
		row->function = nr_functions ? functions[0].b : WAIT_FUNCTION_NONE;
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct long_wait *a = left, *b = right;

	if (a->tally.weight != b->tally.weight)
		return a->tally.weight < b->tally.weight ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

struct long_waits *long_waits_new(const struct selection *selection)
{
	const struct expansion *expansion = selection->expansion;
	struct long_waits *waits = xcalloc(1, sizeof(*waits));
	struct adding adding = {.waits = waits,
				.function_of_stack = wait_functions_of_stacks(expansion)};
	struct observation_walk walk;
	struct observation observation;

	waits->selection = selection;
	if (expansion->profile->meta.knows_waits) {
		waits->locks = blame_new(expansion, true);
		waits->descriptors = blame_new(expansion, false);
	}
	observation_walk_init(&walk, selection, METRIC_BLOCKED);
	while (observation_walk_next(&walk, &observation))
		add(&adding, &observation);
	observation_walk_release(&walk);
	if (waits->locks) {
		blame_finish(waits->locks);
		blame_finish(waits->descriptors);
	}
	name_rows(&adding);
	if (waits->nr)
		qsort(waits->rows, waits->nr, sizeof(*waits->rows), compare_rows);
	pairs_release(&adding.keys);
	pairs_release(&adding.calls);
	pairs_release(&adding.functions);
	free(adding.function_of_stack);
	return waits;
}

void long_waits_free(struct long_waits *waits)
{
	if (!waits)
		return;
	blame_free(waits->locks);
	blame_free(waits->descriptors);
	free(waits->rows);
	free(waits);
}
