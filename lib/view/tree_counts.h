/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact counts in call trees as text. */
#ifndef PROFC_VIEW_TREE_COUNTS_H
#define PROFC_VIEW_TREE_COUNTS_H

struct sink;
struct tree;
struct tree_limits;
struct view;

/*
 * A call tree as instrumenting profilers print it: a function a line, indented by its depth, how
 * often it was called and its time with all that it called.
 */
void tree_print_counts(const struct tree *tree, const struct view *view,
		       const struct tree_limits *limits, struct sink *sink);

#endif
