/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Annotated source as text and as JSON. */
#ifndef PROFC_VIEW_SOURCE_TEXT_H
#define PROFC_VIEW_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/style.h"

struct buf;
struct json;
struct sink;
struct source;
struct source_file;

/* One file of source to annotate. */
struct listing {
	const struct source *source;	/* borrowed */
	const struct source_file *file; /* borrowed, of source */
	const char *const *lines;	/* text[i] is line i + 1, raw; NULL: no source is at hand */
	size_t nr_lines;
	const char *path;     /* the file that was read, borrowed; NULL: none */
	uint32_t first, last; /* the requested lines; 1 and UINT32_MAX: all */
	/*
	 * Show only this many of the lines without cost around each line with a cost; UINT32_MAX:
	 * show all.
	 */
	uint32_t context;
};

/*
 * A line of source, raw, escaped for a terminal and cut at its end to `room` columns; tabs become
 * spaces, so that columns before it do not shift them.
 */
void append_source_line(struct buf *out, const char *text, size_t room);

/* Without the text, only lines with a cost are listed. */
void listing_print_text(const struct listing *listing, const struct view *view, struct sink *sink);

/* The members "file", "read_from" and "lines", into an open object. */
void listing_write_json(const struct listing *listing, struct json *json);

#endif
