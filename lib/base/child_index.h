/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_CHILD_INDEX_H
#define PROFC_BASE_CHILD_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"

/*
 * The children of the nodes of a tree by key. Most nodes have one or two, which are searched one by
 * one; only the children of nodes with many are hashed. The user numbers the nodes and keeps their
 * contents. Zero-initialised is empty. Only release removes anything.
 */
struct child_index {
	struct child_link *links; /* owned; by node */
	size_t nr, cap;
	struct index_set wide; /* children of nodes that have many, by (parent, key) */
};

void child_index_release(struct child_index *index);
/* The child of a node with a key, or INDEX_NONE. */
uint32_t child_index_find(const struct child_index *index, uint32_t parent, uint32_t key);
/*
 * Add a node as a child that its parent is known not to have. The nodes are added in the order of
 * their numbers; those left out have no parent.
 */
void child_index_add(struct child_index *index, uint32_t parent, uint32_t key, uint32_t child);

#endif
