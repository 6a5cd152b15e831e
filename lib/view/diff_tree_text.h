/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_DIFF_TREE_TEXT_H
#define PROFC_VIEW_DIFF_TREE_TEXT_H

struct diff_limits;
struct diff_tree;
struct sink;
struct view;

/*
 * The heading of the comparison, then the tree from the roots down, the largest changes first: what
 * has surely changed, and the ways there, or with limits->unsure all. limits->rows does not matter.
 */
void diff_tree_print_text(const struct diff_tree *tree, const struct view *view,
			  const struct diff_limits *limits, struct sink *sink);

#endif
