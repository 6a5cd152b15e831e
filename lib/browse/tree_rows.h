/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_TREE_ROWS_H
#define PROFC_BROWSE_TREE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct browse_opened;
struct tree;

enum tree_row_kind {
	TREE_ROW_NODE,
	TREE_ROW_REST,	   /* small children together, until the user opens it */
	TREE_ROW_FUNCTION, /* the function of callers and callees: above the tree */
	TREE_ROW_HEAD,	   /* a line of words */
};

/* A visible row of a tree. */
struct tree_row {
	enum tree_row_kind kind;
	const struct tree *tree; /* borrowed; NULL for words */
	const char *head;	 /* the words; not copied */
	uint32_t node;		 /* the node; REST: its parent */
	uint32_t nr_rest;
	uint32_t calls;	    /* below the root */
	uint32_t branches;  /* columns of branch art before it */
	uint64_t continues; /* by such column, the innermost first: siblings follow below */
	bool is_branch;	    /* it has visible siblings: its art ends with a branch */
	bool is_open, has_children;
	uint64_t key; /* see browse_label_keys() */
};

struct tree_rows {
	struct tree_row *rows; /* owned */
	size_t nr, cap;
};

/* The shown part of a tree. */
struct tree_part {
	const struct tree *tree;
	const uint64_t *label_keys;
	const struct browse_opened *opened;
	uint32_t node;	     /* its descendants are the rows */
	uint64_t key;	     /* of that node */
	size_t max_depth;    /* calls below a root; 0: all */
	double min_percent;  /* children with less of the total share one row */
	double open_percent; /* children with this much of the total are open; 0: none are */
	bool is_closed;	     /* an only child at the top is closed, too */
	bool has_calls;	     /* include nodes that have only counts */
};

void tree_rows_release(struct tree_rows *rows);
void tree_rows_clear(struct tree_rows *rows);
void tree_rows_add(struct tree_rows *rows, const struct tree_row *row);
/*
 * Append the rows of a part. Nodes are open at first if they are the only child worth a row, so
 * that one chooses only where the weight divides, or if they have much weight; unless the user has
 * closed them. An only child is in the same column as its parent.
 */
void tree_rows_add_part(struct tree_rows *rows, const struct tree_part *part);

#endif
