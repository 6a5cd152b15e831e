/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_ESTIMATE_H
#define PROFC_PROFILE_HEAP_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/heap.h"

struct profile;

/*
 * What the recorded blocks say of all. A row with a chance c of being recorded stands for 1 / c
 * times what it is itself, its variance being (1 - c) times the square of that. Rows of a process
 * up to its last moment add up to what is known exactly then. The difference is shared in
 * proportion to these variances, which is what a regression on the known total does (Saerndal,
 * "Model assisted survey sampling", 6.4): a block that could not be missed is not changed. No row
 * gets less than it is itself. Later rows are not fitted: how far the sample was off before says
 * nothing of them. Nor are those of ALLOCATION_MAP: exact totals are without them.
 */
struct heap_fit {
	double kept;   /* of the blocks to be recorded, the part that was not lost */
	double factor; /* of what a row stands for beside itself: factor + slope * all of it */
	double slope;
};

/* Of one process. */
struct heap_scale {
	struct heap_fit bytes, blocks;
	bool is_whole;	   /* every block was recorded, as far as totals tell */
	uint64_t until_ns; /* of the last moment */
};

struct heap_estimate {
	const struct profile *profile; /* borrowed */
	/* Owned; by row of profile.processes. */
	uint32_t *owners; /* whose moments have what it allocates in them: profile_find_owners() */
	struct heap_scale *scales;
	/*
	 * The variance of the sums of all rows, were their totals not known: for heap_variance().
	 * 0: not all rows with some are fitted.
	 */
	double fixed_bytes, fixed_blocks;
};

void heap_estimate_init(struct heap_estimate *estimate, const struct profile *profile);
void heap_estimate_release(struct heap_estimate *estimate);

/* What a row stands for. */
struct heap_weight {
	double bytes, blocks;
	/* The variances of these numbers, by the chance that the row was met with; for sums. */
	double square_bytes, square_blocks;
	bool exact; /* every block was recorded, and none was lost: no estimate */
};

struct heap_weight heap_estimate_weight(const struct heap_estimate *estimate,
					const struct profile_allocation *row);

/*
 * The variance of a sum of rows, `square` being the sum of theirs: what the known total fixes is
 * taken away. The sum of all rows has none.
 */
double heap_variance(double square, double fixed);

/* The end of the recording: what is alive when the last of the processes ends. */
#define HEAP_AT_END UINT64_MAX

/*
 * Is the block alive at a moment? It is not where it was freed by then, or its process has ended.
 * At HEAP_AT_END: it was never freed, and its process lived as long as any of those that are set
 * in `processes` (by row; NULL: of all). end_ns is what heap_end_ns() says of these.
 */
bool heap_is_alive(const struct profile *profile, const struct profile_allocation *row,
		   uint64_t at_ns, uint64_t end_ns);
/* When the last of these processes that allocated anything ended; UINT64_MAX: one lives on. */
uint64_t heap_end_ns(const struct profile *profile, const bool *processes);
/*
 * The moment at which most bytes were alive in these processes, the first of several; 0 if none
 * ever were. *bytes (may be NULL): how many.
 */
uint64_t heap_peak_ns(const struct heap_estimate *estimate, const bool *processes, double *bytes);

#endif
