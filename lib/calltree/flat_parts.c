// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flat tables by two keys, and by phase: samples are divided, and their parts joined by equal keys.
 */
#include "calltree/flat_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat_best_priv.h"
#include "calltree/key_stacks_priv.h"
#include "calltree/lifetime.h"
#include "calltree/observe.h"
#include "calltree/phases.h"
#include "calltree/weights.h"

struct builder {
	struct flat *flat;
	const struct expansion *expansion;
	enum dimension dimensions[2];
	size_t nr_dimensions;
	uint32_t *programs; /* by process */
	struct observation_walk walk;
	/* The keys of samples, and those of code, as tables, with the numbers of their groups. */
	struct flat keys, codes, groups;
	struct index_set key_set, code_set, group_set;
	struct key_stacks stacks;
};

static bool has_code(const struct builder *builder)
{
	return flat_is_code(builder->dimensions[0]) ||
	       flat_is_code(builder->dimensions[builder->nr_dimensions - 1]);
}

/* A part of an observation that belongs to one key. */
static void add_part(struct builder *builder, const struct observation *part,
		     const struct flat_row *key)
{
	const struct sample *sample = &part->sample;
	struct flat_row *row;
	uint32_t index;

	if (has_code(builder)) {
		if (part->weight)
			key_stacks_add(&builder->stacks,
				       flat_intern_row(&builder->keys, &builder->key_set, key),
				       part);
		return;
	}
	index = flat_intern_row(builder->flat, &builder->key_set, key);
	row = &builder->flat->rows[index];
	tally_add_observation(&row->self, part);
	if (metric_is_memory(builder->flat->weights->metric))
		return;
	tally_add_sample(&row->cpu, sample, METRIC_CPU);
	row->runq_ns += sample->runq_ns;
	row->blocked_ns += sample->blocked_ns;
}

static void divide(struct builder *builder, size_t next, const struct observation *observation,
		   const struct flat_row *key);

static void divide_sample(struct builder *builder, size_t next, const struct sample *part,
			  const struct flat_row *key)
{
	struct observation observation;

	observe_sample(&observation, part, builder->flat->weights->metric);
	divide(builder, next, &observation, key);
}

/* Divide by state; each part is a sample with the time of one state only. */
static void divide_by_state(struct builder *builder, size_t next,
			    const struct observation *observation, struct flat_row *key)
{
	struct sample parts[STATE_COUNT];
	bool has[STATE_COUNT];

	flat_divide_by_state(&observation->sample, builder->flat->weights->metric, parts, has);
	for (uint32_t state = 0; state < STATE_COUNT; state++) {
		if (!has[state])
			continue;
		key->state = state;
		divide_sample(builder, next, &parts[state], key);
	}
}

static uint64_t scale(uint64_t value, uint64_t part, uint64_t whole)
{
	return (uint64_t)((long double)value * (long double)part / (long double)whole);
}

/*
 * The part of a value for from … to of a whole. Adjacent parts add up to the value despite
 * rounding.
 */
static uint64_t part_of(uint64_t value, uint64_t from, uint64_t to, uint64_t whole)
{
	return scale(value, to, whole) - scale(value, from, whole);
}

static struct sample cut(const struct sample *sample, uint64_t begin_ns, uint64_t from_ns,
			 uint64_t to_ns)
{
	uint64_t from = from_ns - begin_ns, to = to_ns - begin_ns;
	uint64_t whole = sample->time_ns - begin_ns;
	struct sample part = *sample;

	part.time_ns = to_ns;
	part.cpu_ns = part_of(sample->cpu_ns, from, to, whole);
	part.runq_ns = part_of(sample->runq_ns, from, to, whole);
	part.blocked_ns = part_of(sample->blocked_ns, from, to, whole);
	part.nr = (uint32_t)part_of(sample->nr, from, to, whole);
	return part;
}

/* A sample covers the time since its thread's previous one, a block one moment. */
static void divide_by_phase(struct builder *builder, size_t next,
			    const struct observation *observation, struct flat_row *key)
{
	const struct phases *phases = builder->flat->phases;
	const struct sample *sample = &observation->sample;
	uint64_t begin_ns = builder->walk.samples.begin_ns;
	size_t last = phases_find(phases, sample->time_ns);

	if (metric_is_memory(builder->flat->weights->metric) || begin_ns >= sample->time_ns ||
	    phases->phases[last].from_ns <= begin_ns) {
		key->phase = (uint32_t)last;
		divide(builder, next, observation, key);
		return;
	}
	for (size_t i = phases_find(phases, begin_ns); i <= last; i++) {
		uint64_t from_ns = max_u64(begin_ns, phases->phases[i].from_ns);
		uint64_t to_ns = min_u64(sample->time_ns, phases->phases[i].to_ns);
		struct sample part;

		if (to_ns <= from_ns)
			continue;
		part = cut(sample, begin_ns, from_ns, to_ns);
		/* Without an observation, time off the CPU would count as known. */
		if (sample->kind == SAMPLE_BLOCKED && sample->nr &&
		    builder->flat->weights->metric != METRIC_SAMPLES)
			part.nr = part.nr ? part.nr : 1;
		key->phase = (uint32_t)i;
		divide_sample(builder, next, &part, key);
	}
}

static uint32_t lifetime_of_block(struct builder *builder, const struct observation *observation)
{
	struct heap_life life =
		heap_life_of(observation_walk_lives(&builder->walk), observation->row);

	return (uint32_t)lifetime_of(&life);
}

/*
 * Divide an observation by the dimensions from number `next` on, except those of code: `key`
 * identifies the parts by the dimensions before. The first dimension alone makes the groups.
 */
static void divide(struct builder *builder, size_t next, const struct observation *observation,
		   const struct flat_row *key)
{
	const struct profile *profile = builder->expansion->profile;
	const struct sample *sample = &observation->sample;
	struct flat_row own = *key;

	if (next == 1 && !flat_is_code(builder->dimensions[0]))
		own.group = flat_intern_row(&builder->groups, &builder->group_set, key);
	if (next == builder->nr_dimensions) {
		add_part(builder, observation, &own);
		return;
	}
	switch (builder->dimensions[next]) {
	case BY_THREAD:
		own.thread = sample->thread.v;
		break;
	case BY_PROCESS:
		own.process = builder->programs[profile->threads[sample->thread.v].process];
		break;
	case BY_PID:
		own.process = profile->threads[sample->thread.v].process;
		break;
	case BY_STATE:
		divide_by_state(builder, next + 1, observation, &own);
		return;
	case BY_SYSCALL:
		own.syscall_nr = flat_syscall_of(profile, sample);
		break;
	case BY_LIFETIME:
		own.lifetime = lifetime_of_block(builder, observation);
		break;
	case BY_MARK:
		divide_by_phase(builder, next + 1, observation, &own);
		return;
	case BY_LOCK: /* alone: flat_keys_parse() */
	case BY_FD:
	case BY_FUNCTION:
	case BY_LINE:
	case BY_FILE:
	case BY_MODULE:
	case BY_SOURCE_LINE:
	case BY_INLINE_SITE:
		break;
	}
	divide(builder, next + 1, observation, &own);
}

static void divide_all(struct builder *builder)
{
	const struct weights *weights = builder->flat->weights;
	struct observation observation;

	observation_walk_init(&builder->walk, weights->selection, weights->metric);
	if (!metric_is_memory(weights->metric))
		selection_walk_tell_begins(&builder->walk.samples);
	while (observation_walk_next(&builder->walk, &observation))
		divide(builder, 0, &observation, &flat_no_row);
	observation_walk_release(&builder->walk);
}

/* The row of a level among those of code; FLAT_NONE: none. */
static uint32_t intern_code(struct builder *builder, const struct level *level)
{
	const struct place *place = &builder->expansion->places[level->place];
	struct flat_row key = flat_no_row;

	for (size_t i = 0; i < builder->nr_dimensions; i++) {
		struct flat_row own = flat_no_row;

		if (!flat_is_code(builder->dimensions[i]))
			continue;
		if (!flat_code_key(builder->expansion, builder->dimensions[i], place, &own))
			return FLAT_NONE;
		if (i == 0)
			own.group = flat_intern_row(&builder->groups, &builder->group_set, &own);
		own = flat_join_keys(&key, &own);
		own.group = i == 0 ? own.group : key.group;
		key = own;
	}
	return flat_intern_row(&builder->codes, &builder->code_set, &key);
}

static void count_stacks(struct builder *builder, const struct flat_order *order, size_t limit)
{
	const struct expansion *expansion = builder->expansion;
	size_t nr_levels = expansion->nr_levels;
	cleanup_free uint32_t *code_of_level = xmalloc(nr_levels * sizeof(*code_of_level));
	struct key_rows rows = {.flat = builder->flat,
				.keys = &builder->keys,
				.codes = &builder->codes,
				.code_of_level = code_of_level,
				.groups_are_codes = flat_is_code(builder->dimensions[0])};

	for (size_t i = 0; i < nr_levels; i++)
		code_of_level[i] = intern_code(builder, &expansion->levels[i]);
	rows.code_unattributed = intern_code(builder, &expansion->unattributed);
	rows.code_no_stack = intern_code(builder, &expansion->no_stack);
	flat_best_init(&rows.best, order, builder->groups.nr, limit);
	key_stacks_count(&builder->stacks, &rows);
	flat_best_finish(&rows.best, builder->flat);
}

void flat_count_parts(struct flat *flat, const struct flat_order *order, size_t limit)
{
	struct builder builder = {
		.flat = flat,
		.expansion = flat_expansion(flat),
		.dimensions = {flat->dimension, flat->second},
		.nr_dimensions = flat_has_two_keys(flat) ? 2 : 1,
		.programs = flat_programs(flat_expansion(flat)->profile),
	};

	divide_all(&builder);
	if (has_code(&builder))
		count_stacks(&builder, order, limit);
	for (size_t i = 0; i < flat->nr && !has_code(&builder); i++)
		flat->rows[i].total = flat->rows[i].self;
	if (flat->groups)
		flat_find_groups(flat->groups, &builder.groups, &builder.group_set);
	index_set_release(&builder.key_set);
	index_set_release(&builder.code_set);
	index_set_release(&builder.group_set);
	free(builder.keys.rows);
	free(builder.codes.rows);
	free(builder.groups.rows);
	free(builder.programs);
}
