// SPDX-License-Identifier: GPL-2.0-or-later
/* Fills flat tables. */
#include "calltree/flat_division_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
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

void flat_count(struct flat *flat, const struct flat_order *order, size_t limit)
{
	struct flat_division division = {
		.flat = flat,
		.expansion = flat_expansion(flat),
		.dimensions = {dimension_info(flat->dimension), dimension_info(flat->second)},
		.nr_dimensions = flat->groups ? 2 : 1,
		.has_code = dimension_is_code(flat->dimension) || dimension_is_code(flat->second),
		.is_divided =
			!dimension_is_code(flat->dimension) || !dimension_is_code(flat->second),
		.groups_are_keys = flat->groups && !dimension_is_code(flat->dimension),
		.times = times_of(flat),
		.programs = flat_programs(flat_expansion(flat)->profile),
	};

	if (dimension_is_of_waits(flat->dimension))
		flat->blame = blame_new(flat_expansion(flat), flat->dimension == BY_LOCK);
	if (flat_has_waits(flat) && !division.has_code)
		division.waits = wait_sums_new(flat);
	if (division.is_divided)
		divide_all(&division);
	if (division.has_code)
		flat_count_code(&division, order, limit);
	else
		finish_rows(&division);
	if (flat->groups)
		flat_find_groups(flat->groups, &division.groups, &division.group_set);
	index_set_release(&division.key_set);
	key_stacks_release(&division.stacks);
	index_set_release(&division.group_set);
	free(division.keys.rows);
	free(division.groups.rows);
	free(division.programs);
}
