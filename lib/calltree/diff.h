/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the functions of two profiles. */
#ifndef PROFC_CALLTREE_DIFF_H
#define PROFC_CALLTREE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct per_call;
struct weights;

/* What is compared. */
enum diff_mode {
	DIFF_AMOUNTS, /* time against time: two runs of the same work */
	DIFF_SHARES,  /* percentages of the total: samples of a long-running process */
};

/* The exact count of a function on one side, and the time that belongs to it. */
struct diff_calls {
	bool counted;
	uint64_t calls;
	struct tally called;
};

/*
 * A function in two profiles. It is the same function when its full name and its module are,
 * and of several of that name those whose source files agree best; and where its module is
 * in one profile alone, when its full name and its source file are. Modules are the same
 * whose file names are, or differ by a hash or a version only ("bench-4e5f6a7b"), and so are
 * the programs that used most of the time, whatever they are called. Addresses, lines and
 * directories change from build to build.
 */
struct diff_row {
	uint32_t old_label, new_label; /* of either expansion; DIFF_NO_LABEL: not there */
	struct tally old_self, new_self;
	struct diff_calls old_calls, new_calls;
	/*
	 * The change and half the width of its 95% confidence interval: in percent of
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

/* What has this name in the old profile, a module, function or source file, has that in the new. */
struct diff_rename {
	const char *old_name, *new_name; /* borrowed; modules and files by their last component */
	bool used;			 /* set if anything has the old name */
};

struct diff *diff_new(const struct weights *old_weights, const struct weights *new_weights,
		      enum diff_mode mode, struct diff_rename *renames, size_t nr_renames);
void diff_free(struct diff *diff);

/* Is the change larger than what the samples' chance explains? */
bool diff_row_is_sure(const struct diff_row *row);
/* By how many percent the total grew. Totals come from the kernel's clocks: no interval. */
double diff_total_change(const struct diff *diff);
/* Are all functions the same in both to the last nanosecond, as in a profile and its copy? */
bool diff_is_none(const struct diff *diff);
/*
 * Is there growth of more than `percent`: of a function, surely, or with
 * DIFF_AMOUNTS of the total?
 */
bool diff_exceeds(const struct diff *diff, double percent);

/* The time of a call on one side; false where there is none. */
bool diff_old_per_call(const struct diff *diff, const struct diff_row *row,
		       struct per_call *per_call);
bool diff_new_per_call(const struct diff *diff, const struct diff_row *row,
		       struct per_call *per_call);
/*
 * The change of the time of a call in percent of the old one, and half the width of its 95%
 * confidence interval. False where it was not measured on both sides.
 */
bool diff_per_call_change(const struct diff *diff, const struct diff_row *row, double *percent,
			  double *half);
/* Was it counted on both sides, and called more or less often, or surely for another time? */
bool diff_calls_changed(const struct diff *diff, const struct diff_row *row);
/*
 * The rows that were counted on both sides, by index, those first whose number of calls changed by
 * the largest factor, then those whose time per call did; the caller frees *rows. Their number.
 */
size_t diff_counted_rows(const struct diff *diff, uint32_t **rows);

#endif
