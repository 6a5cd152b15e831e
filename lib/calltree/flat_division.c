// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides samples and blocks by the dimensions of a flat table. */
#include "calltree/flat_division_priv.h"

#include <string.h>

#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/phases.h"
#include "calltree/weights.h"

/* A part of an observation that belongs to one key. */
static void add_part(struct flat_division *division, const struct observation *part,
		     const struct flat_row *key)
{
	const struct sample *sample = &part->sample;
	struct flat_row *row;
	uint32_t index;

	if (division->has_code) {
		if (part->weight)
			key_stacks_add(&division->stacks,
				       flat_intern_row(&division->keys, &division->key_set, key),
				       part);
		return;
	}
	index = flat_intern_row(division->flat, &division->key_set, key);
	row = &division->flat->rows[index];
	tally_add_observation(&row->self, part);
	if (division->waits)
		wait_sums_add(division->waits, index, sample->stack, part->weight);
	if (division->times & METRIC_HAS_CPU)
		row->times.cpu_ns += sample->cpu_ns;
	if (division->times & METRIC_HAS_RUNQ)
		row->times.runq_ns += sample->runq_ns;
	if (division->times & METRIC_HAS_BLOCKED)
		row->times.blocked_ns += sample->blocked_ns;
}

/* The first dimension alone makes the groups. Levels of stacks are distinguished later. */
void flat_divide(struct flat_division *division, const struct observation *observation,
		 struct flat_row *key)
{
	size_t number = division->next;
	const struct dimension_info *info;
	uint32_t ids[FLAT_NR_IDS];

	if (number == 1 && division->groups_are_keys)
		key->group = flat_intern_row(&division->groups, &division->group_set, key);
	if (number == division->nr_dimensions) {
		add_part(division, observation, key);
		return;
	}
	info = division->dimensions[number];
	memcpy(ids, key->ids, sizeof(ids));
	if (info->of_observation)
		info->of_observation(division, observation, key, &key->facts[number]);
	division->next = number + 1;
	if (info->divide)
		info->divide(division, observation, key, &key->facts[number]);
	else
		flat_divide(division, observation, key);
	division->next = number;
	memcpy(key->ids, ids, sizeof(ids));
}

static void divide_sample(struct flat_division *division, const struct sample *part,
			  struct flat_row *key)
{
	struct observation observation;

	observe_sample(&observation, part, division->flat->weights->metric);
	flat_divide(division, &observation, key);
}

/* Each part is a sample with the time of one state only. */
void flat_divide_by_state(struct flat_division *division, const struct observation *observation,
			  struct flat_row *key, uint32_t *state)
{
	const struct sample *sample = &observation->sample;
	struct sample running = *sample, runnable = *sample, blocked = *sample;
	bool counts = division->flat->weights->metric == METRIC_SAMPLES;

	if (sample->kind == SAMPLE_UNATTRIBUTED || division->walk.elapsed) {
		*state = sample->kind == SAMPLE_UNATTRIBUTED ? STATE_UNATTRIBUTED
			 : sample->cpu_ns		     ? STATE_RUNNING
			 : sample->runq_ns		     ? STATE_RUNNABLE
							     : STATE_BLOCKED;
		flat_divide(division, observation, key);
		return;
	}
	running.runq_ns = running.blocked_ns = 0;
	runnable.cpu_ns = runnable.blocked_ns = 0;
	blocked.cpu_ns = blocked.runq_ns = 0;
	if (!counts || sample->kind != SAMPLE_BLOCKED) {
		*state = STATE_RUNNING;
		divide_sample(division, &running, key);
	}
	if (!counts) {
		*state = STATE_RUNNABLE;
		divide_sample(division, &runnable, key);
	}
	if (!counts || sample->kind == SAMPLE_BLOCKED) {
		*state = STATE_BLOCKED;
		divide_sample(division, &blocked, key);
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

/* The part of an observation whose sample was cut. */
static struct observation scaled(const struct observation *observation, const struct sample *part)
{
	struct observation out = *observation;
	double share;

	out.sample = *part;
	out.weight = part->cpu_ns + part->runq_ns + part->blocked_ns;
	share = observation->weight ? (double)out.weight / (double)observation->weight : 0;
	out.known = observation->known ? out.weight : 0;
	out.square *= share;
	out.slack *= share;
	return out;
}

/* A sample covers the time since its thread's previous one, a block one moment. */
void flat_divide_by_phase(struct flat_division *division, const struct observation *observation,
			  struct flat_row *key, uint32_t *phase)
{
	const struct phases *phases = division->flat->phases;
	const struct sample *sample = &observation->sample;
	bool is_elapsed = division->walk.elapsed;
	uint64_t begin_ns = is_elapsed ? observation->begin_ns : division->walk.samples.begin_ns;
	uint32_t process =
		flat_expansion(division->flat)->profile->threads[sample->thread.v].process;
	size_t last = phases_find(phases, process, sample->time_ns);

	if ((!is_elapsed && !metric_is_of_samples(division->flat->weights->metric)) ||
	    begin_ns >= sample->time_ns || phases->phases[last].from_ns <= begin_ns) {
		*phase = (uint32_t)last;
		flat_divide(division, observation, key);
		return;
	}
	for (size_t i = phases_find(phases, process, begin_ns); i <= last; i++) {
		uint64_t from_ns = max_u64(begin_ns, phases->phases[i].from_ns);
		uint64_t to_ns = min_u64(sample->time_ns, phases->phases[i].to_ns);
		struct sample part;

		if (to_ns <= from_ns)
			continue;
		part = cut(sample, begin_ns, from_ns, to_ns);
		/* Without an observation, time off the CPU would count as known. */
		if (sample->kind == SAMPLE_BLOCKED && sample->nr &&
		    division->flat->weights->metric != METRIC_SAMPLES)
			part.nr = part.nr ? part.nr : 1;
		*phase = (uint32_t)i;
		if (is_elapsed) {
			struct observation cut_part = scaled(observation, &part);

			flat_divide(division, &cut_part, key);
		} else {
			divide_sample(division, &part, key);
		}
	}
}
