/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_COST_H
#define PROFC_BROWSE_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "calltree/tally.h"
#include "view/number.h"
#include "view/style.h"

struct buf;
struct weights;

/* The columns of an amount, if there is room, and of its percentage of the total. */
struct cost_columns {
	const struct view *view;   /* borrowed */
	const struct tally *total; /* borrowed */
	struct unit unit;
	size_t amount; /* its columns; 0: there is none */
};

/* `largest` decides the unit. */
struct cost_columns cost_columns_of(const struct weights *weights, const struct view *view,
				    uint64_t largest, bool has_amount);
size_t cost_columns_width(const struct cost_columns *columns);
/* "self ms      %", or "self%" where there is no amount. */
void cost_append_header(struct buf *out, const struct cost_columns *columns, const char *name);
/* A cost of 0 stays empty. */
void cost_append(struct buf *out, const struct cost_columns *columns, const struct tally *tally);

#endif
