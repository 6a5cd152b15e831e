// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables: one row per function, line, file, module, thread or the like. */
#include "calltree/flat.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/flat_priv.h"
#include "calltree/phases.h"
#include "calltree/weights.h"

static void drop_weightless_rows(struct flat *flat)
{
	size_t kept = 0;

	for (size_t i = 0; i < flat->nr; i++)
		if (flat->rows[i].total.weight > 0 || flat->rows[i].cpu.weight > 0 ||
		    flat->rows[i].counted || flat->rows[i].runq_ns > 0 ||
		    flat->rows[i].blocked_ns > 0)
			flat->rows[kept++] = flat->rows[i];
	flat->nr = kept;
}

bool dimension_divides(enum dimension dimension, enum metric metric)
{
	bool is_memory = metric_is_memory(metric);

	if (dimension == BY_STATE || dimension == BY_SYSCALL || dimension_is_of_waits(dimension))
		return !is_memory;
	return dimension != BY_LIFETIME || is_memory;
}

static void count_rows(struct flat *flat, const struct flat_order *order, size_t limit)
{
	if (flat_has_key(flat, BY_MARK))
		flat->phases = phases_new(flat_expansion(flat)->profile);
	if (flat_has_two_keys(flat))
		flat->groups = flat_new(flat->weights, flat->dimension);
	if (flat->groups || flat->phases)
		flat_count_parts(flat, order, limit);
	else if (flat_is_code(flat->dimension))
		flat_count_code(flat);
	else
		flat_count_samples(flat);
	drop_weightless_rows(flat);
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
	count_rows(flat, &order, request->limit);
	flat_sort_in(flat, &order);
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
	const struct flat_keys keys = {dimension, dimension};

	return flat_new_by(weights, &keys);
}

const struct phase *flat_row_phase(const struct flat *flat, const struct flat_row *row)
{
	return &flat->phases->phases[row->phase];
}

/* The split of all selected processes of a program. */
static struct cpu_split split_of_program(const struct flat *flat, uint32_t process)
{
	const struct profile *profile = flat_expansion(flat)->profile;
	struct cpu_split split = {0};

	for (size_t i = process; i < profile->nr_processes; i++)
		if (profile->processes[i].name.v == profile->processes[process].name.v &&
		    flat->weights->selection->processes[i])
			cpu_split_add(&split, &profile->processes[i].split);
	return split;
}

bool flat_row_split(const struct flat *flat, const struct flat_row *row, struct cpu_split *split)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (!flat->weights->selection->whole_lives || flat_has_two_keys(flat))
		return false;
	if (flat->dimension == BY_THREAD)
		*split = profile->threads[row->thread].split;
	else if (flat->dimension == BY_PROCESS)
		*split = split_of_program(flat, row->process);
	else if (flat->dimension == BY_PID)
		*split = profile->processes[row->process].split;
	else
		return false;
	return split->known;
}

void flat_free(struct flat *flat)
{
	if (!flat)
		return;
	flat_free(flat->groups);
	phases_free(flat->phases);
	blame_free(flat->blame);
	free(flat->rows);
	free(flat);
}
