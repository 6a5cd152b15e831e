// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks the numbers that processes write into shared memory against what is possible. */
#include "probe/believed.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "profile/heap.h"
#include "profile/probes.h"

/* No CPU passes through more probes in a nanosecond. */
#define CALLS_PER_NS 4

struct believed believed_since(uint64_t since_ns)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);

	return (struct believed){.since_ns = since_ns,
				 .nr_cpus = nr_cpus > 0 ? (uint64_t)nr_cpus : 1};
}

uint64_t believed_most(const struct believed *believed)
{
	uint64_t passed_ns = clock_monotonic_ns() - believed->since_ns + NS_PER_SEC;
	uint64_t per_ns = CALLS_PER_NS * believed->nr_cpus;

	return passed_ns < COUNTED_CALLS_MAX / per_ns ? passed_ns * per_ns : COUNTED_CALLS_MAX;
}

uint64_t believed_calls(struct believed *believed, struct believed_count *count, uint64_t calls)
{
	if (count->is_spoilt || calls == count->calls)
		return count->calls;
	if (calls < count->calls || calls > believed_most(believed) ||
	    !part_has_room(believed->calls, count->calls, calls, COUNTED_CALLS_MAX)) {
		count->is_spoilt = true;
		believed->nr_refused++;
		return count->calls;
	}
	believed->calls += calls - count->calls;
	count->calls = calls;
	return calls;
}

/* Numbers that are read while they change may seem to fall a little, which they do not. */
void believed_moment(struct believed *believed, struct believed_totals *totals,
		     struct profile_heap_moment *moment)
{
	uint64_t bytes = max_u64(moment->allocated_bytes, totals->bytes);
	uint64_t allocations = max_u64(moment->nr_allocations, totals->allocations);
	uint64_t dropped = max_u64(moment->nr_dropped, totals->dropped);
	uint64_t frees = max_u64(moment->nr_frees_dropped, totals->frees);
	uint64_t former = totals->allocations + totals->dropped + totals->frees;
	uint64_t most = believed_most(believed);

	if (allocations > most || dropped > most || frees > most ||
	    !part_has_room(believed->numbers, former, allocations + dropped + frees,
			   HEAP_TOTAL_MAX) ||
	    !part_has_room(believed->bytes, totals->bytes, bytes, HEAP_TOTAL_MAX)) {
		believed->nr_refused++;
	} else {
		believed->numbers += allocations + dropped + frees - former;
		believed->bytes += bytes - totals->bytes;
		*totals = (struct believed_totals){bytes, allocations, dropped, frees};
	}
	moment->allocated_bytes = totals->bytes;
	moment->nr_allocations = totals->allocations;
	moment->nr_dropped = totals->dropped;
	moment->nr_frees_dropped = totals->frees;
}
