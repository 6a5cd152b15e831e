// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables by sample: threads, processes, states and system calls; and by block: lifetimes. */
#include "calltree/flat_priv.h"

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/lifetime.h"
#include "calltree/observe.h"
#include "calltree/weights.h"

/* Rows that are known beforehand: row i stands for the thread, process, state or lifetime i. */
static void append_numbered_rows(struct flat *flat, size_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct flat_row row = flat_no_row;

		if (flat->dimension == BY_THREAD)
			row.thread = i;
		else if (flat->dimension == BY_PROCESS)
			row.process = i;
		else if (flat->dimension == BY_LIFETIME)
			row.lifetime = i;
		else
			row.state = i;
		flat_append_row(flat, &row);
	}
}

/*
 * Rows of system calls are made when first met. The first slots of the index are for what is no
 * number, number n has the n-th after them.
 */
#define FIRST_SYSCALL_SLOT (-FLAT_SYSCALL_NOT_KNOWN)
#define NR_SYSCALL_SLOTS   (INT16_MAX + 1 + FIRST_SYSCALL_SLOT)

static int32_t syscall_of(const struct flat *flat, const struct sample *sample)
{
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return FLAT_SYSCALL_UNATTRIBUTED;
	if (sample->kind == SAMPLE_RUNNING && sample->syscall_nr < 0 &&
	    !flat_expansion(flat)->profile->meta.knows_calls)
		return FLAT_SYSCALL_NOT_KNOWN;
	return sample->syscall_nr < 0 ? -1 : sample->syscall_nr;
}

static uint32_t syscall_row(struct flat *flat, uint32_t *row_of_slot, const struct sample *sample)
{
	int32_t syscall_nr = syscall_of(flat, sample);
	int32_t slot = syscall_nr + FIRST_SYSCALL_SLOT;

	if (row_of_slot[slot] == FLAT_NONE) {
		struct flat_row row = flat_no_row;

		row.syscall_nr = syscall_nr;
		row_of_slot[slot] = flat_append_row(flat, &row);
	}
	return row_of_slot[slot];
}

static void add_part(struct flat *flat, enum flat_state state, const struct sample *part)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	tally_add_sample(&flat->rows[state].self, part, flat->weights->metric,
			 profile_period_ns(profile));
}

/* Split a sample by what its time was; each part is a sample of that time alone. */
static void add_states(struct flat *flat, const struct sample *sample)
{
	struct sample running = *sample, runnable = *sample, blocked = *sample;

	if (sample->kind == SAMPLE_UNATTRIBUTED) {
		add_part(flat, STATE_UNATTRIBUTED, sample);
	} else if (flat->weights->metric == METRIC_SAMPLES) {
		add_part(flat, sample->kind == SAMPLE_BLOCKED ? STATE_BLOCKED : STATE_RUNNING,
			 sample);
	} else {
		running.runq_ns = running.blocked_ns = 0;
		runnable.cpu_ns = runnable.blocked_ns = 0;
		blocked.cpu_ns = blocked.runq_ns = 0;
		add_part(flat, STATE_RUNNING, &running);
		add_part(flat, STATE_RUNNABLE, &runnable);
		add_part(flat, STATE_BLOCKED, &blocked);
	}
}

static uint32_t lifetime_row(struct observation_walk *walk, const struct observation *observation)
{
	struct heap_life life = heap_life_of(observation_walk_lives(walk), observation->row);

	return (uint32_t)lifetime_of(&life);
}

static uint32_t row_of_sample(struct flat *flat, uint32_t *row_of_slot, const struct sample *sample)
{
	if (flat->dimension == BY_SYSCALL)
		return syscall_row(flat, row_of_slot, sample);
	if (flat->dimension == BY_PROCESS)
		return flat_expansion(flat)->profile->threads[sample->thread.v].process;
	return sample->thread.v;
}

static void count(struct flat *flat, uint32_t *row_of_slot)
{
	const struct weights *weights = flat->weights;
	uint64_t period_ns = profile_period_ns(flat_expansion(flat)->profile);
	struct wait_sums *waits = flat_has_waits(flat) ? wait_sums_new(flat) : NULL;
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, weights->selection, weights->metric);
	while (observation_walk_next(&walk, &observation)) {
		const struct sample *sample = &observation.sample;
		uint32_t row;

		if (flat->dimension == BY_STATE) {
			add_states(flat, sample);
			continue;
		}
		row = flat->dimension == BY_LIFETIME ? lifetime_row(&walk, &observation)
						     : row_of_sample(flat, row_of_slot, sample);
		tally_add_observation(&flat->rows[row].self, &observation);
		if (waits)
			wait_sums_add(waits, row, sample->stack, observation.weight);
		if (flat->dimension == BY_SYSCALL)
			tally_add_sample(&flat->rows[row].cpu, sample, METRIC_CPU, period_ns);
	}
	observation_walk_release(&walk);
	if (waits)
		wait_sums_finish(waits, flat);
}

void flat_count_samples(struct flat *flat)
{
	const struct profile *profile = flat_expansion(flat)->profile;
	cleanup_free uint32_t *row_of_slot = xmalloc(NR_SYSCALL_SLOTS * sizeof(uint32_t));

	for (size_t i = 0; i < NR_SYSCALL_SLOTS; i++)
		row_of_slot[i] = FLAT_NONE;
	if (flat->dimension == BY_THREAD)
		append_numbered_rows(flat, profile->nr_threads);
	else if (flat->dimension == BY_PROCESS)
		append_numbered_rows(flat, profile->nr_processes);
	else if (flat->dimension == BY_STATE)
		append_numbered_rows(flat, STATE_COUNT);
	else if (flat->dimension == BY_LIFETIME)
		append_numbered_rows(flat, LIFETIME_COUNT);
	count(flat, row_of_slot);
	/* These are no part of a stack: nothing is inside anything else. */
	for (size_t i = 0; i < flat->nr; i++)
		flat->rows[i].total = flat->rows[i].self;
}
