// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of the rows of a flat table. */
#include "calltree/counts.h"
#include "calltree/filter.h"
#include "calltree/flat_priv.h"
#include "calltree/per_call.h"
#include "calltree/phases.h"
#include "calltree/weights.h"

const struct expansion *flat_expansion(const struct flat *flat)
{
	return flat->weights->selection->expansion;
}

bool flat_has_two_keys(const struct flat *flat)
{
	return flat->second != flat->dimension;
}

bool flat_has_key(const struct flat *flat, enum dimension dimension)
{
	return flat->dimension == dimension || flat->second == dimension;
}

bool flat_is_of_functions(const struct flat *flat)
{
	unsigned int keys = DIMENSION_BIT(flat->dimension) | DIMENSION_BIT(flat->second);

	return (keys & DIMENSIONS_OF_WHOLE_FUNCTIONS) != 0 && !(keys & DIMENSION_BIT(BY_LINE));
}

bool flat_has_counts(const struct flat *flat)
{
	return !flat_has_two_keys(flat) && flat->dimension == BY_FUNCTION &&
	       flat->weights->counts->state == COUNTS_KNOWN;
}

bool flat_row_per_call(const struct flat *flat, const struct flat_row *row,
		       struct per_call *per_call)
{
	const struct counts *counts = flat->weights->counts;

	/* What its calls take is below another function, and says nothing of them. */
	if (row->counted && !row->called.weight && counts->functions[row->label].has_tail_call)
		return false;
	return row->counted && per_call_of(flat->weights, &row->called, row->calls, per_call);
}

uint32_t flat_row_fact(const struct flat *flat, const struct flat_row *row,
		       enum dimension dimension)
{
	return row->facts[dimension != flat->dimension];
}

bool flat_row_wall_per_call(const struct flat *flat, const struct flat_row *row,
			    struct per_call *per_call)
{
	const struct flat_walls *walls = flat->walls;

	return walls && row->counted && walls->called[row->label].weight &&
	       per_call_of_total(METRIC_WALL, &walls->total, &walls->called[row->label], row->calls,
				 per_call);
}

const struct phase *flat_row_phase(const struct flat *flat, const struct flat_row *row)
{
	return &flat->phases->phases[flat_row_fact(flat, row, BY_MARK)];
}
