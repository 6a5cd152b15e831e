/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a call tree that are worth showing, in the order of the text. */
#ifndef PROFC_VIEW_TREE_WALK_H
#define PROFC_VIEW_TREE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct tree;
struct tree_node;

/* The part of a tree to show. */
struct tree_limits {
	size_t max_depth;   /* calls below a root; 0: all */
	double min_percent; /* nodes with less of the total are summed up in one line */
	bool calls;	    /* with counts, including nodes that have only these */
};

/* A line: a node; or the sum of the children of one that get no line of their own. */
struct tree_walk_line {
	const struct tree_node *node; /* of a sum: the parent */
	uint32_t nr_rest;	      /* of a sum: how many children it sums up; else 0 */
	struct tally self, total;     /* a sum has no self */
	uint32_t depth;		      /* calls below the root; its children have 1 */
	uint32_t branches;	      /* how often the tree has branched above this line */
	bool opens;		      /* it is one of several; else the next of a chain */
	bool last;		      /* it opens the last branch of its parent */
};

/* A walk from the root down, heaviest first. Borrows the tree and the limits. */
struct tree_walk {
	const struct tree *tree;
	const struct tree_limits *limits;
	struct tree_walk_line *pending; /* the next line on top */
	size_t nr_pending, cap_pending;
};

void tree_walk_begin(struct tree_walk *walk, const struct tree *tree,
		     const struct tree_limits *limits);
/* The next line; false after the last. */
bool tree_walk_next(struct tree_walk *walk, struct tree_walk_line *line);
void tree_walk_end(struct tree_walk *walk);

#endif
