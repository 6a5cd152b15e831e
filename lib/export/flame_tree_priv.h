/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_FLAME_TREE_PRIV_H
#define PROFC_EXPORT_FLAME_TREE_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct extract;

/*
 * All stacks of an extract (of PATH_LABELS) as one tree of functions, under one node
 * for each lane, in the order in which it is drawn: a node before its children, the
 * heaviest child first.
 */
struct flame {
	uint32_t label; /* from nr_labels on: a lane; FLAME_ALL: the root of several lanes */
	uint32_t depth; /* 0: the root */
	uint64_t self, total;
};

#define FLAME_ALL UINT32_MAX

struct flame_tree {
	struct flame *nodes; /* owned; nodes[0] is the root */
	size_t nr_nodes;
};

void flame_tree_init(struct flame_tree *tree, const struct extract *extract);
void flame_tree_release(struct flame_tree *tree);

/* The name of a node; raw. */
void flame_append_name(struct buf *out, const struct extract *extract, uint32_t label);
/* The name with the parts that short names omit; raw. */
void flame_append_full_name(struct buf *out, const struct extract *extract, uint32_t label);

#endif
