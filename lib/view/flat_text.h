/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flat tables as text. */
#ifndef PROFC_VIEW_FLAT_TEXT_H
#define PROFC_VIEW_FLAT_TEXT_H

#include <stddef.h>

#include "view/style.h"

struct err;
struct flat;
struct sink;

/*
 * A flat table as text: the first `limit` rows (0: all), then the number of those left out. If
 * sorted by self, only rows with self, calls or a filter that names them.
 */
void flat_print_text(const struct flat *flat, const struct view *view, size_t limit,
		     struct sink *sink);
/*
 * Check a list of headers of columns, with commas, for kept_columns of struct view. ERR_INVALID if
 * there is no such column.
 */
int flat_check_columns(const char *list, struct err *err);
/* After such a table: the options that answer further questions about it. */
void flat_print_notes(const struct flat *flat, const struct view *view, struct sink *sink);

#endif
