// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables: one row per function, line, file, module, thread or the like. */
#include "calltree/flat.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/filter.h"
#include "calltree/flat_priv.h"
#include "calltree/weights.h"

static void drop_weightless_rows(struct flat *flat)
{
	size_t kept = 0;

	for (size_t i = 0; i < flat->nr; i++)
		if (flat->rows[i].total.weight > 0 || flat->rows[i].cpu.weight > 0 ||
		    flat->rows[i].counted)
			flat->rows[kept++] = flat->rows[i];
	flat->nr = kept;
}

static bool is_code(enum dimension dimension)
{
	switch (dimension) {
	case BY_FUNCTION:
	case BY_LINE:
	case BY_FILE:
	case BY_MODULE:
	case BY_SOURCE_LINE:
	case BY_INLINE_SITE:
		return true;
	case BY_THREAD:
	case BY_PROCESS:
	case BY_STATE:
	case BY_SYSCALL:
	case BY_LIFETIME:
		break;
	}
	return false;
}

bool dimension_divides(enum dimension dimension, enum metric metric)
{
	bool is_memory = metric_is_memory(metric);

	if (dimension == BY_STATE || dimension == BY_SYSCALL)
		return !is_memory;
	return dimension != BY_LIFETIME || is_memory;
}

struct flat *flat_new(const struct weights *weights, enum dimension dimension)
{
	struct flat *flat = xcalloc(1, sizeof(*flat));

	flat->weights = weights;
	flat->dimension = dimension;
	if (is_code(dimension))
		flat_count_code(flat);
	else
		flat_count_samples(flat);
	drop_weightless_rows(flat);
	flat_sort_standard(flat);
	return flat;
}

bool flat_row_split(const struct flat *flat, const struct flat_row *row, struct cpu_split *split)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (!flat->weights->selection->whole_lives)
		return false;
	if (flat->dimension == BY_THREAD)
		*split = profile->threads[row->thread].split;
	else if (flat->dimension == BY_PROCESS)
		*split = profile->processes[row->process].split;
	else
		return false;
	return split->known;
}

void flat_free(struct flat *flat)
{
	if (!flat)
		return;
	free(flat->rows);
	free(flat);
}
