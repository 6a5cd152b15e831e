/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timed calls on the page of --html, and the resident memory. */
#ifndef PROFC_EXPORT_PAGE_SPANS_PRIV_H
#define PROFC_EXPORT_PAGE_SPANS_PRIV_H

struct json;
struct numbering;
struct page_columns;
struct page_spans;
struct profile;

/*
 * The timed calls of a profile, which is borrowed: by function how many of which length ended in
 * each interval of time, and its slow calls. NULL: none were timed.
 */
struct page_spans *page_spans_new(const struct profile *profile);
void page_spans_free(struct page_spans *spans);
/* The columns; NULL writes none. Threads that have no number are not named. */
void page_spans_write(const struct page_spans *spans, struct numbering *threads,
		      struct page_columns *columns);
/* A member of the open object. */
void page_spans_write_members(const struct page_spans *spans, struct numbering *threads,
			      struct json *json);

#endif
