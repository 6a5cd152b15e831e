// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of a flat table, for the files that fill it, and what is known of them. */
#include "base/alloc.h"
#include "calltree/counts.h"
#include "calltree/filter.h"
#include "calltree/flat_priv.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"

const struct flat_row flat_no_row = {.label = FLAT_NONE,
				     .module = FLAT_NONE,
				     .thread = FLAT_NONE,
				     .process = FLAT_NONE,
				     .state = FLAT_NONE,
				     .lifetime = FLAT_NONE,
				     .wait_function = FLAT_NONE,
				     .syscall_nr = -1};

uint32_t flat_append_row(struct flat *flat, const struct flat_row *row)
{
	ARRAY_GROW(flat->rows, flat->nr, flat->cap);
	flat->rows[flat->nr] = *row;
	return (uint32_t)flat->nr++;
}

const struct expansion *flat_expansion(const struct flat *flat)
{
	return flat->weights->selection->expansion;
}

bool flat_has_counts(const struct flat *flat)
{
	return flat->dimension == BY_FUNCTION && flat->weights->counts->state == COUNTS_KNOWN;
}

bool flat_row_per_call(const struct flat *flat, const struct flat_row *row,
		       struct per_call *per_call)
{
	return row->counted && per_call_of(flat->weights, &row->called, row->calls, per_call);
}
