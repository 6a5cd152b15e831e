/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_ROWS_PRIV_H
#define PROFC_EXPORT_ROWS_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct expansion;
struct level;

/*
 * Paths of PATH_FRAMES as two flat tables: frames, one row for each level of the
 * inline chain of each address, and stacks, rows of (frame, prefix) with prefixes first. They
 * contain only the rows that the paths need, in the order of first use.
 */
#define ROW_NONE UINT32_MAX

struct frame_row {
	const struct level *level; /* borrowed from the expansion */
	uint32_t node;		   /* of the path */
	uint32_t depth;		   /* in the inline chain, 0: not inlined */
};

struct stack_row {
	uint32_t frame, prefix; /* prefix ROW_NONE: a root */
};

struct rows {
	struct frame_row *frames;
	size_t nr_frames, cap_frames;
	struct stack_row *stacks;
	size_t nr_stacks, cap_stacks;
	uint32_t *stack_of_path; /* the row of a path's leaf */
	uint32_t *frame_of_node; /* private: the first row of a node, or ROW_NONE */
};

void rows_init(struct rows *rows, const struct stack_trie *paths,
	       const struct expansion *expansion);
void rows_release(struct rows *rows);

#endif
