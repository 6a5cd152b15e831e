/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_ESTIMATE_H
#define PROFC_PROFILE_HEAP_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/heap.h"

struct profile;

/*
 * Estimates all blocks from the recorded ones. A row recorded with chance c represents 1 / c times
 * its own amount, with a variance of (1 - c) times the square of that. Up to a process' last moment
 * its rows add up to the exact total at that moment: the difference is shared in proportion to
 * these variances, as a regression on the known total does (Saerndal, "Model assisted survey
 * sampling", 6.4), so a block that could not be missed is not changed. No row gets less than its
 * own amount. Later rows are not fitted, since the sample's earlier error says nothing about them.
 * Nor are those of ALLOCATION_MAP, which exact totals exclude, nor those of recordings of all
 * blocks: a program loses many at once, which are like no others.
 */
struct heap_fit {
	/* multiplies the estimate beyond the row's own amount, as factor + slope * estimate */
	double factor;
	double slope;
};

/* The fits of one process. */
struct heap_scale {
	struct heap_fit bytes, blocks;
	bool is_whole;	   /* every block was recorded, according to the totals */
	uint64_t until_ns; /* of the last moment */
};

struct heap_estimate {
	const struct profile *profile; /* borrowed */
	/* Owned; by row of profile.processes. */
	/* the process with moments that include its allocations: profile_find_owners() */
	uint32_t *owners;
	struct heap_scale *scales;
	/*
	 * The variance of the sums of all rows, as if their totals were unknown: for
	 * heap_variance(). 0: not all rows with a variance are fitted.
	 */
	double fixed_bytes, fixed_blocks;
	/* Where all blocks were to be recorded: those that are in no row, as totals tell. */
	double lost_bytes, lost_blocks;
};

void heap_estimate_init(struct heap_estimate *estimate, const struct profile *profile);
void heap_estimate_release(struct heap_estimate *estimate);

/* The amounts that a row represents. */
struct heap_weight {
	double bytes, blocks;
	/*
	 * Variances of these numbers, from the chance of recording the row; they may be added up.
	 */
	double square_bytes, square_blocks;
	bool exact; /* every block was recorded, and none was lost: no estimate */
};

struct heap_weight heap_estimate_weight(const struct heap_estimate *estimate,
					const struct profile_allocation *row);

/*
 * The variance of a sum of rows, `square` being the sum of theirs, less the part that the known
 * total fixes. The sum of all rows has none.
 */
double heap_variance(double square, double fixed);

/* The end of the recording: blocks alive when the last of the processes ends. */
#define HEAP_AT_END UINT64_MAX

/*
 * Is the block alive at a moment? It is not if it was freed by then, or its process has ended. At
 * HEAP_AT_END: it was never freed, and its process lived as long as any of those that are set in
 * `processes` (by row; NULL: of all). end_ns is the result of heap_end_ns() for these.
 */
bool heap_is_alive(const struct profile *profile, const struct profile_allocation *row,
		   uint64_t at_ns, uint64_t end_ns);
/*
 * The end of the last of these processes that allocated anything; UINT64_MAX: one is still alive.
 */
uint64_t heap_end_ns(const struct profile *profile, const bool *processes);
/*
 * The moment at which most bytes were alive in these processes, the first of several; 0 if none
 * ever were. *bytes (may be NULL): how many.
 */
uint64_t heap_peak_ns(const struct heap_estimate *estimate, const bool *processes, double *bytes);

#endif
