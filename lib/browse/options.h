/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_OPTIONS_H
#define PROFC_BROWSE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "browse/wishes.h"
#include "view/source_file.h"

struct browse_weighing;
struct filter;
struct sink;
struct view;

/* Writes the first lines of the screen, about the current weighing. */
typedef void (*browse_head_fn)(const struct browse_weighing *weighing, const struct view *view,
			       struct sink *sink, const void *context);

struct browse_options {
	struct browse_wishes wishes; /* at the beginning */
	const struct filter *filter; /* borrowed */
	struct source_maps sources;  /* where to look for source */
	bool with_tree;		     /* begin with the tree, not with the table */
	bool is_live;		     /* the recording is live: there are more keys */
	bool fold_inlines;
	size_t limit;	     /* rows of the table; 0: all */
	size_t max_depth;    /* of trees, 0: all */
	double min_percent;  /* of trees: less is together in one row */
	browse_head_fn head; /* NULL: the heading of a report */
	const void *context; /* of that */
};

#endif
