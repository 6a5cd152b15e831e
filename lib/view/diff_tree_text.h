/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_DIFF_TREE_TEXT_H
#define PROFC_VIEW_DIFF_TREE_TEXT_H

struct diff_limits;
struct diff_tree;
struct sink;
struct view;

/*
 * The heading of the comparison, then the tree from the roots down, the largest changes first: the
 * nodes that have surely changed and the paths to them, or all nodes with limits->unsure.
 * limits->rows is ignored.
 */
void diff_tree_print_text(const struct diff_tree *tree, const struct view *view,
			  const struct diff_limits *limits, struct sink *sink);

#endif
