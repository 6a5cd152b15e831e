/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_NARROW_TABLE_H
#define PROFC_BROWSE_NARROW_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct flat;
struct sink;
struct view;

/*
 * Tables for screens that are too narrow for flat_print_text() to leave room for names: shares of
 * self and, where it differs, total, and the name.
 */
bool narrow_table_fits(const struct view *view);
void narrow_table_print_header(const struct flat *flat, const struct view *view, struct sink *sink);
void narrow_table_print_row(const struct flat *flat, size_t index, const struct view *view,
			    struct sink *sink);

#endif
