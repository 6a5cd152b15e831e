/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons of profiles as text and as JSON. */
#ifndef PROFC_VIEW_DIFF_TEXT_H
#define PROFC_VIEW_DIFF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "view/style.h"

struct diff;
struct sink;

/* How much of a comparison is shown. */
struct diff_limits {
	size_t rows; /* 0: all */
	bool unsure; /* changes within sampling noise, too */
};

/*
 * Both sides in a line each, the change of the total, then a row for each function; and where
 * both have counts, a table of those.
 */
void diff_print_text(const struct diff *diff, const struct view *view,
		     const struct diff_limits *limits, struct sink *sink);

/* All rows as JSON; "sure" marks those whose change exceeds sampling noise. */
void diff_print_json(const struct diff *diff, const struct diff_limits *limits, struct sink *sink);

#endif
