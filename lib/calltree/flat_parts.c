// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables by two keys, and of the facts of samples and blocks. */
#include "calltree/flat_division_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat_best_priv.h"
#include "calltree/weights.h"

static void divide_all(struct flat_division *division)
{
	const struct weights *weights = division->flat->weights;
	struct flat_row key = flat_no_row;
	struct observation observation;

	observation_walk_init(&division->walk, weights->selection, weights->metric);
	if (division->flat->phases && metric_is_of_samples(weights->metric))
		selection_walk_tell_begins(&division->walk.samples);
	while (observation_walk_next(&division->walk, &observation))
		flat_divide(division, &observation, &key);
	observation_walk_release(&division->walk);
}

/* The row of a level among those of code; FLAT_NONE: none. */
static uint32_t intern_code(struct flat_division *division, const struct level *level)
{
	const struct place *place = &division->expansion->places[level->place];
	struct flat_row key = flat_no_row;

	for (size_t i = 0; i < division->nr_dimensions; i++) {
		struct flat_row own = flat_no_row;

		if (!dimension_is_code(division->dimensions[i]))
			continue;
		if (!flat_code_key(division->expansion, division->dimensions[i], place, &own))
			return FLAT_NONE;
		if (i == 0)
			own.group = flat_intern_row(&division->groups, &division->group_set, &own);
		own = flat_join_keys(&key, &own);
		own.group = i == 0 ? own.group : key.group;
		key = own;
	}
	return flat_intern_row(&division->codes, &division->code_set, &key);
}

static void count_stacks(struct flat_division *division, const struct flat_order *order,
			 size_t limit)
{
	const struct expansion *expansion = division->expansion;
	size_t nr_levels = expansion->nr_levels;
	cleanup_free uint32_t *code_of_level = xmalloc(nr_levels * sizeof(*code_of_level));
	struct key_rows rows = {.flat = division->flat,
				.keys = &division->keys,
				.codes = &division->codes,
				.code_of_level = code_of_level,
				.groups_are_codes = dimension_is_code(division->dimensions[0])};

	for (size_t i = 0; i < nr_levels; i++)
		code_of_level[i] = intern_code(division, &expansion->levels[i]);
	rows.code_unattributed = intern_code(division, &expansion->unattributed);
	rows.code_no_stack = intern_code(division, &expansion->no_stack);
	flat_best_init(&rows.best, order, division->groups.nr, limit);
	key_stacks_count(&division->stacks, &rows);
	flat_best_finish(&rows.best, division->flat);
}

uint32_t *flat_programs(const struct profile *profile)
{
	uint32_t *programs = xcalloc(profile->nr_processes, sizeof(*programs));
	cleanup_free uint32_t *first_of_name =
		xcalloc(strtab_nr(profile->strings), sizeof(*first_of_name));

	for (uint32_t i = (uint32_t)profile->nr_processes; i-- > 0;)
		first_of_name[profile->processes[i].name.v] = i;
	for (uint32_t i = 0; i < profile->nr_processes; i++)
		programs[i] = first_of_name[profile->processes[i].name.v];
	return programs;
}

static void divide_by_nothing(struct flat_division *division, const struct observation *observation,
			      struct flat_row *key)
{
	flat_divide(division, observation, key);
}

/* Levels of stacks are told apart later. */
static void choose_divide(struct flat_division *division, size_t number)
{
	enum dimension dimension = division->dimensions[number];
	bool is_code = dimension_is_code(dimension);

	division->divide[number] =
		is_code ? divide_by_nothing : dimension_info(dimension)->of_observation;
	division->has_code = division->has_code || is_code;
}

/* None of the dimensions is part of a stack, so self is total. */
static void finish_rows(struct flat_division *division)
{
	struct flat *flat = division->flat;

	for (size_t i = 0; i < flat->nr; i++)
		flat->rows[i].total = flat->rows[i].self;
	if (division->waits)
		wait_sums_finish(division->waits, flat);
	if (flat->blame)
		blame_finish(flat->blame);
}

/* With two keys rows have all times, as each may be the only one of a row. */
static unsigned int times_of(const struct flat *flat)
{
	if (!metric_is_of_samples(flat->weights->metric))
		return 0;
	return flat->groups ? METRIC_HAS_CPU | METRIC_HAS_RUNQ | METRIC_HAS_BLOCKED
			    : dimension_info(flat->dimension)->times;
}

void flat_count_parts(struct flat *flat, const struct flat_order *order, size_t limit)
{
	struct flat_division division = {
		.flat = flat,
		.expansion = flat_expansion(flat),
		.dimensions = {flat->dimension, flat->second},
		.nr_dimensions = flat->groups ? 2 : 1,
		.groups_are_keys = flat->groups && !dimension_is_code(flat->dimension),
		.times = times_of(flat),
		.programs = flat_programs(flat_expansion(flat)->profile),
	};

	choose_divide(&division, 0);
	choose_divide(&division, 1);
	if (dimension_is_of_waits(flat->dimension))
		flat->blame = blame_new(flat_expansion(flat), flat->dimension == BY_LOCK);
	if (flat_has_waits(flat))
		division.waits = wait_sums_new(flat);
	divide_all(&division);
	if (division.has_code)
		count_stacks(&division, order, limit);
	else
		finish_rows(&division);
	if (flat->groups)
		flat_find_groups(flat->groups, &division.groups, &division.group_set);
	index_set_release(&division.key_set);
	index_set_release(&division.code_set);
	index_set_release(&division.group_set);
	free(division.keys.rows);
	free(division.codes.rows);
	free(division.groups.rows);
	free(division.programs);
}
