/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages that the user visits and returns from. */
#ifndef PROFC_BROWSE_PAGE_PRIV_H
#define PROFC_BROWSE_PAGE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "browse/cursor.h"
#include "browse/opened.h"
#include "browse/options.h"
#include "browse/tree_rows.h"
#include "browse/weighing.h"
#include "browse/wishes.h"
#include "view/style.h"

enum page_kind {
	PAGE_TABLE,
	PAGE_TREE,
	PAGE_FUNCTION, /* its callers and callees */
	PAGE_SOURCE,
	PAGE_THREADS, /* to choose one */
	PAGE_KEYS,
	PAGE_NOTES,
};

/* The state that all pages share. */
struct page_matter {
	struct browse_options options;
	struct browse_wishes wishes;
	struct browse_weighing weighing;
	struct browse_opened opened;
};

/* Lines of text, made for one view. */
struct page_lines {
	struct buf text;
	size_t *begins; /* offset of each line in `text`; owned */
	size_t nr, cap;
	struct view view;
	size_t nr_rows; /* rows of a table that have lines: perhaps not all */
};

struct page {
	enum page_kind kind;
	struct browse_cursor cursor;
	uint64_t key;			/* FUNCTION: its label's key */
	char *name;			/* FUNCTION: its name; SOURCE: the recorded path; owned */
	uint32_t first_line, last_line; /* SOURCE: the lines to go to when it is made; 0: none */
	uint64_t selected;		/* key of the selection when the page was dropped, or 0 */
	bool is_made;
	/* The content, if it is made; owned. */
	struct selection *selection; /* THREADS: all threads, even if one is chosen */
	struct weights *weights;
	struct flat *flat;
	struct tree *trees[2]; /* FUNCTION */
	struct tree_rows rows;
	struct source_page *source;
	struct page_lines lines;
};

/* The name is copied. */
struct page page_of(enum page_kind kind, uint64_t key, const char *name);
void page_release(struct page *page);
/* Make the content, unless it has been made since the page was dropped. */
void page_make(struct page *page, struct page_matter *matter);
/* Free the content, as the profile or filter has changed; the selection remains. */
void page_drop(struct page *page);

/* The number of rows in this view. */
size_t page_nr_rows(struct page *page, struct page_matter *matter, const struct view *view);
/* The function of a row, or FLAT_NONE. */
uint32_t page_label(const struct page *page, size_t row);
/* Is there anything to select in the row? */
bool page_is_selectable(const struct page *page, size_t row);
/* Open or close the row of a tree. */
void page_set_open(struct page *page, struct page_matter *matter, size_t row, bool is_open);

/* Append the title; raw texts are escaped. */
void page_append_title(const struct page *page, const struct page_matter *matter, size_t columns,
		       struct buf *out);
/*
 * Print the header of columns, and rows from the first visible one on, in at most `nr_lines` lines.
 */
void page_print(struct page *page, struct page_matter *matter, const struct view *view,
		size_t nr_lines, struct sink *sink);

#endif
