/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_SUMS_PRIV_H
#define PROFC_PROBE_PROBER_SUMS_PRIV_H

#include <stdint.h>

#include "heap/heap_ring.h"
#include "inject/access.h"
#include "probe/believed.h"

/* Costs of all installations and removals, and losses. */
struct prober_sums {
	uint64_t start_ns;	  /* CLOCK_MONOTONIC: time 0 of the profile */
	struct heap_moment begun; /* both clocks, before the first installation */
	struct probe_cost cost;	  /* of installing */
	uint64_t nr_heap_dropped; /* records, as of the last prober_adapt_heap() */
	uint64_t heap_mean;	  /* as requested */
	uint64_t stop_ns_max, remove_ns;
	struct shortfall shortfall; /* of closed processes */
	/* How long calls were counted but allocations were not; the time since when, or 0. */
	uint64_t memory_off_ns, memory_off_since_ns;
	struct believed believed;
};

#endif
