/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_STEADINESS_H
#define PROFC_SCRIPT_STEADINESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which objects of an interpreter stay the same for so long that a copy right after a stop is as
 * good as one in it. Times are CLOCK_MONOTONIC, of snapshots.
 */

/* Seen by the walks of a process; zero-initialised is ready. */
struct steady_walks {
	uint32_t nr;
	/* Another object was seen in the place of one: what a snapshot lacks may be another, too.
	 */
	bool has_replaced;
	uint64_t replaced_ns; /* the last such walk, or the first one */
	uint64_t latest_ns;   /* the last one */
};

/* For how long an object was the same, and how many walks had it. */
struct steadiness {
	uint64_t since_ns, until_ns;
	uint32_t nr_seen;
};

void steady_walks_begin(struct steady_walks *walks, uint64_t time_ns);
void steady_walks_replaced(struct steady_walks *walks);
/* The current walk has it; `is_same`: as the walk before did. */
void steadiness_seen(struct steadiness *steadiness, const struct steady_walks *walks, bool is_same);
/* While some objects are replaced, none is steady. */
bool steadiness_is_given(const struct steadiness *steadiness, const struct steady_walks *walks);

#endif
