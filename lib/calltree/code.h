/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_CODE_H
#define PROFC_CALLTREE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct weights;

/* The samples taken at one address, for annotated instructions. */
struct code_cost {
	uint64_t address; /* as in the ELF file of the module */
	struct tally self;
};

/*
 * A function as it lies in memory, with all code inlined into it; or all code of a module outside
 * any known function, under the label of one of its addresses.
 */
struct code {
	uint32_t label;
	struct tally self;	       /* of all its addresses */
	uint32_t first_cost, nr_costs; /* of codes.costs, ascending addresses */
};

struct codes {
	const struct weights *weights; /* borrowed */
	struct code *codes;	       /* most self first */
	size_t nr, cap;
	struct code_cost *costs;
	size_t nr_costs, cap_costs;
};

/*
 * The functions in memory that have samples in or inlined from one of the labels
 * set in `wanted` (by label id; NULL: all).
 */
struct codes *codes_new(const struct weights *weights, const bool *wanted);
void codes_free(struct codes *codes);

#endif
