/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_WISHES_H
#define PROFC_BROWSE_WISHES_H

#include <stdbool.h>
#include <stdint.h>

#include "browse/prompt.h"
#include "calltree/flat.h"
#include "profile/profile.h"

struct buf;

/* The view of a profile that a user wants; keys change it. */
struct browse_wishes {
	enum metric metric;
	uint32_t metrics; /* a bit for each available metric */
	bool has_marks;	  /* so there are phases */
	bool has_scripts; /* functions of scripts; as of the last key for other rows */
	enum dimension by;
	const char *sort; /* keys of flat_sort(), borrowed */
	/*
	 * Filters: a regular expression; ids, or perhaps the name for a process; the path of a
	 * module; "": no filter.
	 */
	char function[BROWSE_INPUT_MAX], thread[16], process[16], module[256];
};

/* The metrics that a profile has: a bit for each. */
uint32_t browse_metrics_of(const struct profile *profile);

/* Change to the next available metric; a dimension that does not divide it becomes functions. */
void browse_wishes_next_metric(struct browse_wishes *wishes);
/* Change to the next dimension that divides the metric. */
void browse_wishes_next_dimension(struct browse_wishes *wishes);
/* Change to the next order; the order by calls is skipped if none is counted. */
void browse_wishes_next_sort(struct browse_wishes *wishes, bool has_calls);

/* "by function, most self first, function /x/": raw texts are escaped. */
void browse_wishes_append(struct buf *out, const struct browse_wishes *wishes);
bool browse_wishes_are_filtered(const struct browse_wishes *wishes);
void browse_wishes_drop_filters(struct browse_wishes *wishes);
/* Append the filters alone, each after ", ". */
void browse_wishes_append_filters(struct buf *out, const struct browse_wishes *wishes);

#endif
