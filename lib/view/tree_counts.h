/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact counts in call trees as text. */
#ifndef PROFC_VIEW_TREE_COUNTS_H
#define PROFC_VIEW_TREE_COUNTS_H

struct sink;
struct tree;
struct tree_limits;
struct view;

/*
 * A call tree in the form of instrumenting profilers: one function per line, indented by its depth,
 * with its number of calls and its time including callees.
 */
void tree_print_counts(const struct tree *tree, const struct view *view,
		       const struct tree_limits *limits, struct sink *sink);

#endif
