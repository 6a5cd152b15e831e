/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a browser. */
#ifndef PROFC_BROWSE_BROWSE_PRIV_H
#define PROFC_BROWSE_BROWSE_PRIV_H

#include "browse/browse.h"
#include "browse/page_priv.h"
#include "browse/prompt.h"
#include "view/style.h"

/* Bound on the open pages; beyond it the oldest page is dropped. */
#define PAGES_MAX 16

/* The heading, drawn for one width. */
struct browse_head {
	struct buf text;
	struct buf verdict; /* its line, once it was shown */
	struct view view;
	bool is_made;
};

struct browse {
	struct page_matter matter;
	struct page pages[PAGES_MAX]; /* the first is the table; the last is shown */
	size_t nr_pages;
	struct browse_prompt prompt;
	struct buf message; /* until the next key; escaped */
	struct browse_head head;
	struct view view; /* of the last screen */
	size_t nr_rows;	  /* that it had room for */
	bool has_notes, is_over;
};

static inline struct page *page_shown(struct browse *browse)
{
	return &browse->pages[browse->nr_pages - 1];
}

static inline const struct weights *weights_of(const struct browse *browse)
{
	return browse->matter.weighing.weights;
}

static inline size_t nr_rows_of(struct browse *browse, struct page *page)
{
	return page_nr_rows(page, &browse->matter, &browse->view);
}

#endif
