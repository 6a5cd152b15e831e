// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flat tables by sample: threads, processes, states, system calls and awaited objects; and by
 * block: lifetimes.
 */
#include "calltree/flat_priv.h"

#include "base/alloc.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/lifetime.h"
#include "calltree/observe.h"
#include "calltree/weights.h"

/*
 * Rows that are known beforehand: row i is that of thread, process, program, state or lifetime i.
 */
static void append_numbered_rows(struct flat *flat, size_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct flat_row row = flat_no_row;

		if (flat->dimension == BY_THREAD)
			row.thread = i;
		else if (flat->dimension == BY_PROCESS || flat->dimension == BY_PID)
			row.process = i;
		else if (flat->dimension == BY_LIFETIME)
			row.lifetime = i;
		else
			row.state = i;
		flat_append_row(flat, &row);
	}
}

/*
 * Rows of system calls are made at their first sample. The first slots of the index are for samples
 * without a number, number n has the n-th after them.
 */
#define FIRST_SYSCALL_SLOT (-FLAT_SYSCALL_NOT_KNOWN)
#define NR_SYSCALL_SLOTS   (INT16_MAX + 1 + FIRST_SYSCALL_SLOT)

int32_t flat_syscall_of(const struct profile *profile, const struct sample *sample)
{
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return FLAT_SYSCALL_UNATTRIBUTED;
	if (sample->kind == SAMPLE_RUNNING && sample->syscall_nr < 0 && !profile->meta.knows_calls)
		return FLAT_SYSCALL_NOT_KNOWN;
	return sample->syscall_nr < 0 ? -1 : sample->syscall_nr;
}

static uint32_t syscall_row(struct flat *flat, uint32_t *row_of_slot, const struct sample *sample)
{
	int32_t syscall_nr = flat_syscall_of(flat_expansion(flat)->profile, sample);
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
	tally_add_sample(&flat->rows[state].self, part, flat->weights->metric);
}

void flat_divide_by_state(const struct sample *sample, enum metric metric, struct sample *parts,
			  bool *has)
{
	bool is_attributed = sample->kind != SAMPLE_UNATTRIBUTED;
	bool is_blocked = sample->kind == SAMPLE_BLOCKED;

	for (int state = 0; state < STATE_COUNT; state++) {
		parts[state] = *sample;
		has[state] = is_attributed;
	}
	has[STATE_UNATTRIBUTED] = !is_attributed;
	if (metric == METRIC_SAMPLES) {
		has[STATE_RUNNING] = is_attributed && !is_blocked;
		has[STATE_RUNNABLE] = false;
		has[STATE_BLOCKED] = is_attributed && is_blocked;
		return;
	}
	parts[STATE_RUNNING].runq_ns = parts[STATE_RUNNING].blocked_ns = 0;
	parts[STATE_RUNNABLE].cpu_ns = parts[STATE_RUNNABLE].blocked_ns = 0;
	parts[STATE_BLOCKED].cpu_ns = parts[STATE_BLOCKED].runq_ns = 0;
}

/* Each part is a sample with the time of one state only. */
static void add_states(struct flat *flat, const struct sample *sample)
{
	struct sample parts[STATE_COUNT];
	bool has[STATE_COUNT];

	flat_divide_by_state(sample, flat->weights->metric, parts, has);
	for (int state = 0; state < STATE_COUNT; state++)
		if (has[state])
			add_part(flat, (enum flat_state)state, &parts[state]);
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

static bool is_heavier(const struct flat *flat, uint32_t process, uint32_t than)
{
	return flat->rows[process].self.weight > flat->rows[than].self.weight;
}

static void add_to_program(struct flat *flat, struct flat_program *program, uint32_t process)
{
	const struct profile_process *processes = flat_expansion(flat)->profile->processes;

	if (program->nr++ == 0) {
		*program = (struct flat_program){1, process, true};
		return;
	}
	if (processes[process].command.v != processes[program->heaviest].command.v)
		program->one_command = false;
	if (is_heavier(flat, process, program->heaviest))
		program->heaviest = process;
}

/* Join the rows of processes to those of their programs. */
static void join_programs(struct flat *flat)
{
	cleanup_free uint32_t *programs = flat_programs(flat_expansion(flat)->profile);

	for (uint32_t i = 0; i < flat->nr; i++)
		if (flat->rows[i].self.weight > 0)
			add_to_program(flat, &flat->rows[programs[i]].program, i);
	for (uint32_t i = 0; i < flat->nr; i++) {
		if (programs[i] == i)
			continue;
		tally_add(&flat->rows[programs[i]].self, &flat->rows[i].self);
		flat->rows[i].self = (struct tally){0};
	}
}

static uint32_t lifetime_row(struct observation_walk *walk, const struct observation *observation)
{
	struct heap_life life = heap_life_of(observation_walk_lives(walk), observation->row);

	return (uint32_t)lifetime_of(&life);
}

/* Rows have the numbers of the objects they blame. */
static void count_waits(struct flat *flat)
{
	const struct weights *weights = flat->weights;
	struct observation_walk walk;
	struct observation observation;

	flat->blame = blame_new(flat_expansion(flat), flat->dimension == BY_LOCK);
	observation_walk_init(&walk, weights->selection, weights->metric);
	while (observation_walk_next(&walk, &observation)) {
		struct flat_row row = flat_no_row;

		row.object = blame_add(flat->blame, &observation);
		if (row.object == flat->nr)
			flat_append_row(flat, &row);
		tally_add_observation(&flat->rows[row.object].self, &observation);
	}
	observation_walk_release(&walk);
	blame_finish(flat->blame);
}

static uint32_t row_of_sample(struct flat *flat, uint32_t *row_of_slot, const struct sample *sample)
{
	if (flat->dimension == BY_SYSCALL)
		return syscall_row(flat, row_of_slot, sample);
	if (flat->dimension == BY_PROCESS || flat->dimension == BY_PID)
		return flat_expansion(flat)->profile->threads[sample->thread.v].process;
	return sample->thread.v;
}

static void count(struct flat *flat, uint32_t *row_of_slot)
{
	const struct weights *weights = flat->weights;
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
			tally_add_sample(&flat->rows[row].cpu, sample, METRIC_CPU);
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
	else if (flat->dimension == BY_PROCESS || flat->dimension == BY_PID)
		append_numbered_rows(flat, profile->nr_processes);
	else if (flat->dimension == BY_STATE)
		append_numbered_rows(flat, STATE_COUNT);
	else if (flat->dimension == BY_LIFETIME)
		append_numbered_rows(flat, LIFETIME_COUNT);
	if (dimension_is_of_waits(flat->dimension))
		count_waits(flat);
	else
		count(flat, row_of_slot);
	if (flat->dimension == BY_PROCESS)
		join_programs(flat);
	/* These are not parts of a stack, so self is total. */
	for (size_t i = 0; i < flat->nr; i++)
		flat->rows[i].total = flat->rows[i].self;
}
