/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons of profiles as text and as JSON. */
#ifndef PROFC_VIEW_DIFF_TEXT_H
#define PROFC_VIEW_DIFF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "view/style.h"

struct diff;
struct diff_tree;
struct sink;

/* The part of a comparison to show. */
struct diff_limits {
	size_t rows; /* 0: all */
	bool unsure; /* changes within sampling noise, too */
};

/* Both sides in a line each, and the change of the total; false if there is no change at all. */
bool diff_print_heading(const struct diff *diff, const struct view *view, struct sink *sink);

/* Print a note below a comparison of two runs: how well the differences between runs are known. */
void diff_print_note(const struct diff *diff, const struct view *view, struct sink *sink);

/*
 * That heading, then a row for each function or other compared thing; and if both have counts, a
 * table of those.
 */
void diff_print_text(const struct diff *diff, const struct view *view,
		     const struct diff_limits *limits, struct sink *sink);

/* All rows as JSON; "sure" marks changes that exceed sampling noise. */
void diff_print_json(const struct diff *diff, const struct diff_limits *limits, struct sink *sink);
/* All nodes of a tree that are in the limits, parents first. */
void diff_tree_print_json(const struct diff_tree *tree, const struct diff_limits *limits,
			  struct sink *sink);

#endif
