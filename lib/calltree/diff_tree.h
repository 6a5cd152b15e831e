/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_DIFF_TREE_H
#define PROFC_CALLTREE_DIFF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/diff.h"

/*
 * Call trees of both sides as one: a node is a path of functions that the comparison considers
 * equal. Parents have smaller ids than their children; node 0 is the root.
 */
struct diff_node {
	uint32_t parent;
	uint32_t first_child, next_sibling; /* 0: none; the largest changes first */
	struct diff_at old_at, new_at;	    /* only the label is used, for the name */
	bool inlined;			    /* all its copies here are inlined */
	struct tally old_total, new_total;
	struct tally old_self, new_self;
	double change, half; /* of the total, as those of rows */
	bool leads;	     /* its change is sure, or that of a descendant */
};

struct diff_tree {
	const struct diff *diff; /* borrowed; by function */
	struct diff_node *nodes; /* owned */
	size_t nr, cap;
	double *values; /* owned; by node, then run: the weight of total */
	size_t cap_values;
};

#define DIFF_TREE_ROOT 0

/* `diff` must be by function. */
struct diff_tree *diff_tree_new(const struct diff *diff);
void diff_tree_free(struct diff_tree *tree);

/* Is its change larger than chance explains? */
bool diff_node_is_sure(const struct diff_node *node);
/* Its place in the new profile, or else in the old one. */
const struct diff_at *diff_node_known_at(const struct diff_node *node);

#endif
