// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks over samples, or over blocks of memory, with their weights in a metric. */
#include "calltree/observe.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "calltree/elapsed.h"
#include "calltree/expand.h"

static const struct profile *profile_of(const struct observation_walk *walk)
{
	return walk->selection->expansion->profile;
}

static uint64_t moment_of(const struct observation_walk *walk)
{
	const struct selection *selection = walk->selection;

	if (walk->metric == METRIC_PEAK || (walk->metric == METRIC_LIVE && selection->heap.at_peak))
		return heap_peak_ns(&walk->estimate, selection->processes, NULL);
	return walk->metric == METRIC_LIVE ? selection->heap.at_ns : HEAP_AT_END;
}

void observation_walk_init(struct observation_walk *walk, const struct selection *selection,
			   enum metric metric)
{
	*walk = (struct observation_walk){
		.selection = selection, .metric = metric, .at_ns = HEAP_AT_END};
	if (metric_is_counter(metric))
		return;
	if (metric == METRIC_ELAPSED) {
		walk->elapsed = selection_elapsed(selection);
		walk->counted = xcalloc(profile_of(walk)->nr_samples + 1, sizeof(*walk->counted));
		return;
	}
	if (metric_is_of_samples(metric)) {
		selection_walk_init(&walk->samples, selection);
		return;
	}
	heap_estimate_init(&walk->estimate, profile_of(walk));
	walk->at_ns = moment_of(walk);
	walk->end_ns = heap_end_ns(profile_of(walk), selection->processes);
}

void observation_walk_release(struct observation_walk *walk)
{
	free(walk->counted);
	walk->counted = NULL;
	if (metric_is_counter(walk->metric) || walk->elapsed)
		return;
	if (metric_is_memory(walk->metric)) {
		heap_estimate_release(&walk->estimate);
		heap_lives_release(&walk->lives);
	} else {
		selection_walk_release(&walk->samples);
	}
}

const struct heap_lives *observation_walk_lives(struct observation_walk *walk)
{
	if (!walk->lives.profile)
		heap_lives_init(&walk->lives, profile_of(walk));
	return &walk->lives;
}

double observation_walk_lost(const struct observation_walk *walk)
{
	if (!metric_is_memory(walk->metric))
		return 0;
	return walk->metric == METRIC_ALLOCS ? walk->estimate.lost_blocks
					     : walk->estimate.lost_bytes;
}

double observation_walk_fixed(const struct observation_walk *walk)
{
	return walk->metric == METRIC_ALLOCS ? walk->estimate.fixed_blocks
					     : walk->estimate.fixed_bytes;
}

static bool is_temporary(const struct heap_life *life, uint64_t temporary_ns)
{
	return life->died_ns && heap_life_ns(life) <= temporary_ns;
}

static struct sample site_of_advance(const struct profile_advance *row, struct stack_id stack)
{
	bool is_known = stack.v != STACK_EMPTY.v;

	return (struct sample){.time_ns = row->time_ns,
			       .thread = row->thread,
			       .stack = stack,
			       .nr = is_known,
			       .syscall_nr = -1,
			       .kind = is_known ? SAMPLE_RUNNING : SAMPLE_UNATTRIBUTED,
			       .end = is_known ? row->end : STACK_END_NOT_TAKEN};
}

static bool is_of_metric(struct observation_walk *walk, uint32_t index)
{
	const struct profile_allocation *row = &profile_of(walk)->heap.allocations[index];
	struct heap_life life;

	switch (walk->metric) {
	case METRIC_LIVE:
	case METRIC_PEAK:
		return heap_is_alive(profile_of(walk), row, walk->at_ns, walk->end_ns);
	case METRIC_LEAKED:
		return !row->freed_ns;
	case METRIC_TEMPORARY:
		if (row->is_earlier)
			return false;
		life = heap_life_of(observation_walk_lives(walk), index);
		return is_temporary(&life, walk->selection->heap.temporary_ns);
	case METRIC_FREED:
		return row->freed_ns;
	case METRIC_ALLOC:
	case METRIC_ALLOCS:
		return !row->is_earlier;
	case METRIC_CPU:
	case METRIC_WALL:
	case METRIC_RUNQ:
	case METRIC_BLOCKED:
	case METRIC_SAMPLES:
	case METRIC_ELAPSED:
	case METRIC_KERNEL:
		break;
	}
	return true;
}

/*
 * The place and time of a block's freeing for METRIC_FREED, else of its allocation. If the freeing
 * thread is unknown, the allocating one takes its place.
 */
static struct sample site_of(const struct observation_walk *walk,
			     const struct profile_allocation *row)
{
	struct sample site = {.time_ns = row->time_ns,
			      .thread = row->thread,
			      .stack = row->stack,
			      .nr = (uint32_t)min_u64(1 + (uint64_t)row->nr_more, UINT32_MAX),
			      .syscall_nr = -1,
			      .kind = SAMPLE_RUNNING,
			      .end = row->end};

	if (walk->metric != METRIC_FREED)
		return site;
	site.time_ns = row->freed_ns;
	if (row->freed_by.v != THREAD_NONE.v)
		site.thread = row->freed_by;
	site.stack = row->freed_stack;
	site.end = row->freed_end ? (uint8_t)(row->freed_end - 1) : STACK_END_NOT_TAKEN;
	return site;
}

static bool passes(const struct observation_walk *walk, const struct sample *site)
{
	const struct selection *selection = walk->selection;
	const struct time_range *range = selection_range(selection, site->thread);

	return walk->all || (selection_has(selection, site) && site->time_ns >= range->from_ns &&
			     site->time_ns <= range->to_ns);
}

static uint64_t whole_part(struct observation_walk *walk, double amount)
{
	double sum = walk->carry + amount;

	walk->carry = sum - floor(sum);
	return (uint64_t)floor(sum);
}

static void weigh_block(struct observation_walk *walk, uint32_t index, struct observation *out)
{
	const struct profile_allocation *row = &profile_of(walk)->heap.allocations[index];
	struct heap_weight weight = heap_estimate_weight(&walk->estimate, row);
	bool in_blocks = walk->metric == METRIC_ALLOCS;
	struct sample site = site_of(walk, row);
	uint64_t seen = in_blocks ? site.nr : row->size_bytes;

	*out = (struct observation){
		.sample = site,
		.weight = whole_part(walk, in_blocks ? weight.blocks : weight.bytes),
		.square = in_blocks ? weight.square_blocks : weight.square_bytes,
		.blocks = weight.blocks,
		.row = index,
	};
	out->known = weight.exact ? out->weight : min_u64(seen, out->weight);
}

/*
 * Count a block in walk->unknown rather than in the metric if its life or freeing stack is unknown.
 */
static bool is_known(struct observation_walk *walk, const struct observation *observation)
{
	bool is = true;

	if (walk->metric == METRIC_TEMPORARY)
		is = heap_life_of(observation_walk_lives(walk), observation->row).is_whole;
	else if (walk->metric == METRIC_FREED)
		is = profile_of(walk)->heap.allocations[observation->row].freed_end;
	if (!is)
		tally_add_observation(&walk->unknown, observation);
	return is;
}

static bool next_block(struct observation_walk *walk, struct observation *out)
{
	const struct profile_heap *heap = &profile_of(walk)->heap;

	while (walk->next < heap->nr_allocations) {
		uint32_t index = (uint32_t)walk->next++;
		struct sample site = site_of(walk, &heap->allocations[index]);

		if (!passes(walk, &site) || !is_of_metric(walk, index))
			continue;
		weigh_block(walk, index, out);
		if (is_known(walk, out))
			return true;
	}
	return false;
}

static bool next_advance(struct observation_walk *walk, struct observation *out)
{
	const struct profile_advances *advances = &profile_of(walk)->advances;

	while (walk->next < advances->nr) {
		size_t index = walk->next++;
		const struct profile_advance *row = &advances->rows[index];
		struct sample site;

		if (row->counter != metric_counter(walk->metric))
			continue;
		site = site_of_advance(row, advances->charged[index]);
		if (!passes(walk, &site))
			continue;
		*out = (struct observation){.sample = site, .weight = row->amount};
		if (site.nr)
			out->square = (double)row->amount * (double)row->amount;
		return true;
	}
	return false;
}

static bool is_in(const struct parallelism_range *range, uint32_t parallelism)
{
	return !range->is_given || (parallelism >= range->from && parallelism <= range->to);
}

static bool next_elapsed(struct observation_walk *walk, struct observation *out)
{
	const struct selection *selection = walk->selection;

	while (walk->next < walk->elapsed->nr) {
		size_t index = walk->next++;
		uint32_t sample = walk->elapsed->parts[index].sample;

		if (!is_in(&selection->parallelism, walk->elapsed->parts[index].parallelism))
			continue;
		elapsed_observe(walk->elapsed, profile_of(walk), index, out);
		if (!selection_has(selection, &out->sample))
			continue;
		/* If a sample has several parts, the first one counts. */
		if (walk->counted[sample])
			out->sample.nr = 0;
		walk->counted[sample] = true;
		return true;
	}
	return false;
}

bool observation_walk_next(struct observation_walk *walk, struct observation *observation)
{
	if (walk->elapsed)
		return next_elapsed(walk, observation);
	if (metric_is_counter(walk->metric))
		return next_advance(walk, observation);
	if (metric_is_memory(walk->metric))
		return next_block(walk, observation);
	/* In place, as there are millions of samples. */
	if (!selection_walk_next(&walk->samples, &observation->sample))
		return false;
	observation_weigh(observation, walk->metric);
	return true;
}

uint64_t selection_total_of_all(const struct selection *selection, enum metric metric)
{
	struct observation_walk walk;
	struct observation observation;
	uint64_t total = 0;

	if (!metric_is_memory(metric))
		return profile_total(selection->expansion->profile, metric);
	observation_walk_init(&walk, selection, metric);
	walk.all = true;
	while (observation_walk_next(&walk, &observation))
		total += observation.weight;
	observation_walk_release(&walk);
	return total;
}
