/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_SOURCE_PAGE_H
#define PROFC_BROWSE_SOURCE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct sink;
struct source;
struct source_maps;
struct view;

/* A file of source, each line with its cost. */
struct source_page;

/*
 * The page of the file with this name in debug information. NULL if the profile has no line of it.
 * The source is borrowed.
 */
struct source_page *source_page_new(const struct source *source, const char *recorded,
				    const struct source_maps *maps);
void source_page_free(struct source_page *page);

size_t source_page_nr_rows(const struct source_page *page);
/* The row of a line, or of the first one after it. */
size_t source_page_find(const struct source_page *page, uint32_t line);
/* The row of the line with most self, of those from `first` to `last`. */
size_t source_page_hottest(const struct source_page *page, uint32_t first, uint32_t last);
/* The next row after `row`, or before it, that has self; `row` if there is none. */
size_t source_page_next(const struct source_page *page, size_t row, bool backwards);
/* The label of the inlined function in the row; FLAT_NONE: the row has none. */
uint32_t source_page_label(const struct source_page *page, size_t row);
/* Append where it was read from, if elsewhere, or why it was not, or may differ. Raw. */
void source_page_append_doubts(const struct source_page *page, struct buf *out);

void source_page_print_header(const struct source_page *page, const struct view *view,
			      struct sink *sink);
void source_page_print_row(const struct source_page *page, size_t index, const struct view *view,
			   struct sink *sink);

#endif
