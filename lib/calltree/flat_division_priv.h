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
	const struct dimension_info *dimensions[2];
	size_t nr_dimensions;
	size_t next;	      /* the number of the dimension that divides next */
	bool has_code;	      /* one of the dimensions is of code */
	bool is_divided;      /* one of the keys is not of code: observations are divided by it */
	bool groups_are_keys; /* the first of two dimensions is not of code */
	unsigned int times;   /* enum metric_parts: what rows have beside the metric */
	uint32_t *programs;   /* by process */
	struct wait_sums *waits;
	struct observation_walk walk;
	/* The keys of observations, as a table, with the numbers of their groups. */
	struct flat keys, groups;
	struct index_set key_set, group_set;
	struct key_stacks stacks; /* with a dimension of code: the parts of the keys */
};

/*
 * Divide an observation, or a part of one, by the dimensions that have not divided it yet, and add
 * the parts to the rows of their keys. The key has the members of the dimensions before.
 */
void flat_divide(struct flat_division *division, const struct observation *observation,
		 struct flat_row *key);

/*
 * Make the rows of a table with a dimension of code, once everything is divided: a row for each key
 * and each code in its stacks. Unless `limit` is 0, at most the first `limit` rows of each group,
 * in `order`; the others are counted as left out.
 */
void flat_count_code(struct flat_division *division, const struct flat_order *order, size_t limit);

#endif
