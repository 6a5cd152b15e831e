/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_DIFF_CALLS_H
#define PROFC_VIEW_DIFF_CALLS_H

#include <stdbool.h>
#include <stddef.h>

struct diff;
struct sink;
struct view;

/*
 * The exact counts of two profiles and their times per call, in a table with a line before it;
 * nothing if no function was counted in both. At most `limit` rows, 0: all; with `unchanged` also
 * functions with as many calls and, within chance, the same time.
 */
void diff_print_calls(const struct diff *diff, const struct view *view, size_t limit,
		      bool unchanged, struct sink *sink);

#endif
