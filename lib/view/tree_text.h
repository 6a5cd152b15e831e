/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call trees as text. */
#ifndef PROFC_VIEW_TREE_TEXT_H
#define PROFC_VIEW_TREE_TEXT_H

struct buf;
struct sink;
struct tree;
struct tree_limits;
struct tree_node;
struct view;

/*
 * A call tree as text, heaviest first. A node with one child worth showing is
 * followed by it in the same column: only where the time divides the tree branches,
 * so that deep stacks stay readable.
 */
void tree_print_text(const struct tree *tree, const struct view *view,
		     const struct tree_limits *limits, struct sink *sink);

/* Append " (× 20,001)" if it is folded, " (inlined)" if all copies of it are. */
void tree_append_marks(struct buf *out, const struct tree_node *node);
/* Append "1,204"; "(1,204)" if not of this place alone; nothing if not counted. */
void tree_append_calls(struct buf *out, const struct tree_node *node);

#endif
