/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees: functions shared by the files of this room. */
#ifndef PROFC_CALLTREE_TREE_PRIV_H
#define PROFC_CALLTREE_TREE_PRIV_H

#include "base/child_index.h"
#include "calltree/tree.h"

struct expansion;
struct level;

/* A tree under construction. */
struct planter {
	struct tree *tree;
	const struct expansion *expansion;
	struct child_index nodes; /* by label */
	bool has_faults;	  /* as in struct tree_request */
};

void planter_init(struct planter *planter, const struct weights *weights,
		  const struct tree_request *request);
/*
 * The child of a node for a level, made on first use. In a folded tree the node itself, if it has
 * the label.
 */
uint32_t planter_child(struct planter *planter, uint32_t parent, uint32_t label, bool inlined);

/* A path through a tree: the current node, and the number of consecutive levels in it. */
struct tree_way {
	uint32_t node, repeats;
};

/* One level further. */
void planter_go(struct planter *planter, struct tree_way *way, const struct level *level);
/* Sum up the nodes and link them. Returns the tree, which the caller owns. */
struct tree *planter_finish(struct planter *planter);

/*
 * Set the counts of nodes, and add nodes for counted calls without samples. `wanted`, by label: the
 * functions at the top of a tree of callers or callees; NULL: the whole tree.
 */
void tree_count_calls(struct planter *planter, const bool *wanted);

#endif
