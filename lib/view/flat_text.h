/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flat tables as text. */
#ifndef PROFC_VIEW_FLAT_TEXT_H
#define PROFC_VIEW_FLAT_TEXT_H

#include <stddef.h>

#include "view/style.h"

struct flat;
struct sink;

/*
 * A flat table as text: the first `limit` rows, and if sorted by self only those that have some,
 * calls or a filter that asks for them (0: all), then how many are left out.
 */
void flat_print_text(const struct flat *flat, const struct view *view, size_t limit,
		     struct sink *sink);
/* After such a table: the options that answer further questions about it. */
void flat_print_notes(const struct flat *flat, const struct view *view, struct sink *sink);

#endif
