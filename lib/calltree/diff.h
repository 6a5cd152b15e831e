/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_DIFF_H
#define PROFC_CALLTREE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct weights;

/* What is compared. */
enum diff_mode {
	DIFF_AMOUNTS, /* time against time: two runs of the same work */
	DIFF_SHARES,  /* percentage against percentage: looks at something that runs on */
};

/*
 * A function in two profiles. It is the same function when its full name and the
 * last component of its module's path are: addresses, lines and directories change
 * from build to build.
 */
struct diff_row {
	uint32_t old_label, new_label; /* of either expansion; DIFF_NO_LABEL: not there */
	struct tally old_self, new_self;
	/*
	 * The change and half the width of its 95 % confidence interval: in percent of
	 * the old total (DIFF_AMOUNTS) or in percentage points (DIFF_SHARES).
	 */
	double change, half;
};

#define DIFF_NO_LABEL UINT32_MAX

struct diff {
	const struct weights *old_weights, *new_weights; /* borrowed; of the same metric */
	enum diff_mode mode;
	struct diff_row *rows; /* owned; the surest and largest changes first */
	size_t nr, cap;
};

struct diff *diff_new(const struct weights *old_weights, const struct weights *new_weights,
		      enum diff_mode mode);
void diff_free(struct diff *diff);

/* Is the change larger than what the samples' chance explains? */
bool diff_row_is_sure(const struct diff_row *row);
/* By how many percent the total grew. Totals come from the kernel's clocks: no interval. */
double diff_total_change(const struct diff *diff);
/*
 * Is there growth of more than `percent`: of a function, surely, or with
 * DIFF_AMOUNTS of the total?
 */
bool diff_exceeds(const struct diff *diff, double percent);

#endif
