// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables: one row per function, line, file, module, thread or the like. */
#include "calltree/flat.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/flat_priv.h"
#include "calltree/pairs.h"
#include "calltree/phases.h"
#include "calltree/wait_function.h"
#include "calltree/weights.h"

static void drop_weightless_rows(struct flat *flat)
{
	size_t kept = 0;

	for (size_t i = 0; i < flat->nr; i++)
		if (flat->rows[i].total.weight > 0 || flat->rows[i].times.cpu_ns > 0 ||
		    flat->rows[i].counted || flat->rows[i].times.runq_ns > 0 ||
		    flat->rows[i].times.blocked_ns > 0)
			flat->rows[kept++] = flat->rows[i];
	flat->nr = kept;
}

/* A process, the heaviest of each program being the first. */
static void add_process(struct flat *flat, struct flat_row *row, const struct flat_row *process)
{
	const struct profile_process *processes = flat_expansion(flat)->profile->processes;
	struct flat_program *program = &row->program;

	tally_add(&row->self, &process->self);
	if (program->nr == 0)
		*program = (struct flat_program){0, process->process, true};
	else if (processes[process->process].command.v != processes[program->heaviest].command.v)
		program->one_command = false;
	program->nr += processes[process->process].is_unseen
			       ? processes[process->process].nr_unseen
			       : max_u64(processes[process->process].nr_unseen, 1);
}

/* Returns the time of each program in all selected processes. The caller frees it. */
static struct cpu_split *splits_of_programs(const struct flat *flat, const uint32_t *programs)
{
	const struct profile *profile = flat_expansion(flat)->profile;
	struct cpu_split *splits = xcalloc(profile->nr_processes + 1, sizeof(*splits));

	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (flat->weights->selection->processes[i])
			cpu_split_add(&splits[programs[i]], &profile->processes[i].split);
	}
	return splits;
}

static void count_programs(struct flat *flat)
{
	cleanup_free uint32_t *programs = flat_programs(flat_expansion(flat)->profile);
	struct flat *processes = flat_new(flat->weights, BY_PID);
	struct index_set set = {0};

	for (size_t i = 0; i < processes->nr; i++) {
		const struct flat_row *process = &processes->rows[i];
		struct flat_row key = flat_no_row;
		uint32_t row;

		key.process = programs[process->process];
		row = flat_intern_row(flat, &set, &key);
		add_process(flat, &flat->rows[row], process);
	}
	for (size_t i = 0; i < flat->nr; i++)
		flat->rows[i].total = flat->rows[i].self;
	flat->splits = splits_of_programs(flat, programs);
	index_set_release(&set);
	flat_free(processes);
}

/* A key that no label has makes a table of one row. */
static void find_label(struct flat *flat, const struct label_key *key)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	flat->label.key = STR_EMPTY;
	profile_labels_find_key(profile_labels(profile), profile->strings, key, &flat->label.key);
	flat->label.values = profile_labels_values(profile_labels(profile), flat->label.key);
}

static void count_rows(struct flat *flat, const struct flat_order *order,
		       const struct flat_request *request)
{
	const struct flat_keys groups = {
		.first = flat->dimension, .second = flat->dimension, .label = request->keys.label};

	if (flat_has_key(flat, BY_LABEL))
		find_label(flat, &request->keys.label);
	if (flat_has_key(flat, BY_MARK))
		flat->phases = phases_new(flat_expansion(flat)->profile);
	if (flat_has_two_keys(flat))
		flat->groups = flat_new_by(flat->weights, &groups);
	if (!flat->groups && flat->dimension == BY_PROCESS)
		count_programs(flat);
	else
		flat_count(flat, order, flat->groups ? request->limit : 0);
	drop_weightless_rows(flat);
}

/* Shorter phases have more of their neighbours' counts than a hundredth. */
#define PHASE_SAMPLES 100

static uint32_t key_of(const struct flat *flat, const struct flat_row *row)
{
	if (flat->dimension == BY_THREAD)
		return row->thread;
	return flat->dimension == BY_MARK ? flat_row_fact(flat, row, BY_MARK) : row->process;
}

static size_t nr_keys(const struct flat *flat)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (flat->dimension == BY_THREAD)
		return profile->nr_threads;
	return flat->dimension == BY_MARK ? flat->phases->nr : profile->nr_processes;
}

static bool has_cycles(const struct flat *flat)
{
	const struct selection *selection = flat->weights->selection;
	bool is_divided = flat->dimension == BY_THREAD || flat->dimension == BY_PROCESS ||
			  flat->dimension == BY_PID || flat->dimension == BY_MARK;

	return flat->weights->metric == metric_of_counter(KERNEL_COUNTER_INSTRUCTIONS) &&
	       is_divided && !flat_has_two_keys(flat) && selection->all_stacks &&
	       profile_total(flat_expansion(flat)->profile,
			     metric_of_counter(KERNEL_COUNTER_CYCLES));
}

static void count_cycles(struct flat *flat)
{
	struct weights *weights;
	struct flat *cycles;

	if (!has_cycles(flat))
		return;
	weights = weights_new(flat->weights->selection, metric_of_counter(KERNEL_COUNTER_CYCLES));
	cycles = flat_new(weights, flat->dimension);
	flat->cycles = xcalloc(nr_keys(flat), sizeof(*flat->cycles));
	for (size_t i = 0; i < cycles->nr; i++)
		flat->cycles[key_of(cycles, &cycles->rows[i])] = cycles->rows[i].self.weight;
	flat_free(cycles);
	weights_free(weights);
}

static void find_namesakes(bool *has_namesake, const struct profile *profile)
{
	cleanup_free uint32_t *names = xcalloc(profile->nr_threads + 1, sizeof(*names));
	struct pairs pairs = {0};

	for (size_t i = 0; i < profile->nr_threads; i++)
		names[i] = pairs_add(&pairs, profile->threads[i].process,
				     profile->threads[i].name.v, 1);
	for (size_t i = 0; i < profile->nr_threads; i++)
		has_namesake[i] = pairs.rows[names[i]].amount > 1;
	pairs_release(&pairs);
}

static void find_starts(struct flat *flat)
{
	const struct expansion *expansion = flat_expansion(flat);

	if (flat->dimension != BY_THREAD || flat_has_two_keys(flat))
		return;
	flat->starts = xcalloc(1, sizeof(*flat->starts));
	flat->starts->labels = start_functions_of_threads(expansion);
	flat->starts->has_namesake = xcalloc(expansion->profile->nr_threads + 1, sizeof(bool));
	find_namesakes(flat->starts->has_namesake, expansion->profile);
}

/* A function blocks if it is off the CPU for more than this share of the time of its calls. */
#define BLOCKED_SHARE 0.05

/* The rows of a table of the same samples in another metric. */
struct other {
	struct weights *weights;
	struct flat *flat;
};

static struct other other_of(const struct flat *flat, enum metric metric)
{
	struct weights *weights = weights_new(flat->weights->selection, metric);

	return (struct other){weights, flat_new(weights, BY_FUNCTION)};
}

static void other_release(struct other *other)
{
	flat_free(other->flat);
	weights_free(other->weights);
}

static struct flat_walls *walls_new(const struct flat *flat)
{
	const struct expansion *expansion = flat_expansion(flat);
	struct flat_walls *walls;
	struct other wall, blocked;
	uint64_t *blocked_ns;

	if (!flat_has_counts(flat) || flat->weights->metric != METRIC_CPU ||
	    !profile_total(expansion->profile, METRIC_BLOCKED))
		return NULL;
	wall = other_of(flat, METRIC_WALL);
	blocked = other_of(flat, METRIC_BLOCKED);
	blocked_ns = xcalloc(expansion->nr_labels, sizeof(*blocked_ns));
	walls = xcalloc(1, sizeof(*walls));
	walls->called = xcalloc(expansion->nr_labels, sizeof(*walls->called));
	walls->total = wall.weights->total;
	for (size_t i = 0; i < blocked.flat->nr; i++)
		blocked_ns[blocked.flat->rows[i].label] = blocked.flat->rows[i].called.weight;
	for (size_t i = 0; i < wall.flat->nr; i++) {
		const struct flat_row *row = &wall.flat->rows[i];

		if (row->counted &&
		    (double)blocked_ns[row->label] > BLOCKED_SHARE * (double)row->called.weight)
			walls->called[row->label] = row->called;
	}
	free(blocked_ns);
	other_release(&wall);
	other_release(&blocked);
	return walls;
}

int flat_new_as(const struct weights *weights, const struct flat_request *request,
		struct flat **result, struct err *err)
{
	struct flat *flat = xcalloc(1, sizeof(*flat));
	struct flat_order order;
	int status;

	flat->weights = weights;
	flat->dimension = request->keys.first;
	flat->second = request->keys.second;
	status = flat_order_of(flat, request->sort, &order, err);
	if (status) {
		flat_free(flat);
		return status;
	}
	count_rows(flat, &order, request);
	flat->walls = walls_new(flat);
	flat_sort_in(flat, &order);
	count_cycles(flat);
	find_starts(flat);
	*result = flat;
	return 0;
}

struct flat *flat_new_by(const struct weights *weights, const struct flat_keys *keys)
{
	const struct flat_request request = {.keys = *keys};
	struct flat *flat = NULL;
	int status = flat_new_as(weights, &request, &flat, NULL);

	assert(status == 0); /* there is no key to refuse */
	(void)status;
	return flat;
}

struct flat *flat_new(const struct weights *weights, enum dimension dimension)
{
	const struct flat_keys keys = {.first = dimension, .second = dimension};

	return flat_new_by(weights, &keys);
}

bool flat_has_modes(const struct flat *flat)
{
	return flat->weights->metric == METRIC_CPU && dimension_is_code(flat->dimension) &&
	       !flat_has_two_keys(flat) && flat_expansion(flat)->profile->meta.knows_faults;
}

/* Set the user and system time of a row of code, from its samples. */
static bool split_of_code(const struct flat_row *row, struct cpu_split *split)
{
	uint64_t system_ns = min_u64((uint64_t)row->self.system, row->self.weight);

	*split = (struct cpu_split){
		.user_ns = row->self.weight - system_ns, .system_ns = system_ns, .known = true};
	return true;
}

bool flat_row_split(const struct flat *flat, const struct flat_row *row, struct cpu_split *split)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (flat_has_modes(flat))
		return split_of_code(row, split);
	if (!flat->weights->selection->whole_lives || flat_has_two_keys(flat))
		return false;
	if (flat->dimension == BY_THREAD)
		*split = profile->threads[row->thread].split;
	else if (flat->dimension == BY_PROCESS)
		*split = flat->splits[row->process];
	else if (flat->dimension == BY_PID)
		*split = profile->processes[row->process].split;
	else
		return false;
	return split->known;
}

bool flat_row_per_cycle(const struct flat *flat, const struct flat_row *row, double *instructions)
{
	uint64_t cycles = flat->cycles ? flat->cycles[key_of(flat, row)] : 0;

	if (!cycles || (flat->dimension == BY_MARK && row->self.samples < PHASE_SAMPLES))
		return false;
	*instructions = (double)row->self.weight / (double)cycles;
	return true;
}

static void free_starts(struct flat_starts *starts)
{
	if (!starts)
		return;
	free(starts->labels);
	free(starts->has_namesake);
	free(starts);
}

void flat_free(struct flat *flat)
{
	if (!flat)
		return;
	flat_free(flat->groups);
	phases_free(flat->phases);
	free(flat->label.values);
	blame_free(flat->blame);
	free(flat->cycles);
	free_starts(flat->starts);
	free(flat->splits);
	if (flat->walls)
		free(flat->walls->called);
	free(flat->walls);
	free(flat->rows);
	free(flat);
}
