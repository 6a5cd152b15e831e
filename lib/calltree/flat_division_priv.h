/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_FLAT_DIVISION_PRIV_H
#define PROFC_CALLTREE_FLAT_DIVISION_PRIV_H

#include "base/index_set.h"
#include "calltree/flat_priv.h"
#include "calltree/key_stacks_priv.h"
#include "calltree/observe.h"

/*
 * Divides observations by one dimension or two, and joins the parts with equal keys: to rows of the
 * table or, for tables of code, to sums by key and stack.
 */
struct flat_division {
	struct flat *flat;
	const struct expansion *expansion;
	enum dimension dimensions[2];
	size_t nr_dimensions;
	size_t next; /* the number of the dimension that divides next */
	void (*divide[2])(struct flat_division *division, const struct observation *observation,
			  struct flat_row *key);
	bool has_code;	      /* one of the dimensions is of code */
	bool groups_are_keys; /* the first of two dimensions is not of code */
	unsigned int times;   /* enum metric_parts: what rows have beside the metric */
	uint32_t *programs;   /* by process */
	struct wait_sums *waits;
	struct observation_walk walk;
	/* The keys of samples, and those of code, as tables, with the numbers of their groups. */
	struct flat keys, codes, groups;
	struct index_set key_set, code_set, group_set;
	struct key_stacks stacks;
};

/*
 * Divide an observation, or a part of one, by the dimensions that have not divided it yet, and add
 * the parts to the rows of their keys. The key has the members of the dimensions before.
 */
void flat_divide(struct flat_division *division, const struct observation *observation,
		 struct flat_row *key);

#endif
