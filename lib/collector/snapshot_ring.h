/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_SNAPSHOT_RING_H
#define PROFC_COLLECTOR_SNAPSHOT_RING_H

#include <stdatomic.h>
#include <stddef.h>

struct snapshot;

/*
 * Used snapshots on their way from the thread that has walked them back to the one that fills the
 * next: what is freed in one thread and allocated in another grows and shrinks the heap, and each
 * page of it anew takes longer than copying a stack into it.
 */
#define SNAPSHOT_RING_SLOTS 128
/* One with more room than that is not kept: 8 MiB in all, with those that wait to be used. */
#define SNAPSHOT_KEPT_BYTES ((size_t)32 * 1024)

/* Zero-initialised is empty. One thread gives, one takes. */
struct snapshot_ring {
	struct snapshot *slots[SNAPSHOT_RING_SLOTS]; /* owned */
	_Atomic size_t nr_given, nr_taken;
	struct snapshot *unused[SNAPSHOT_RING_SLOTS]; /* owned; the taker's */
	size_t nr_unused;
};

/* Takes it over; frees it if there is no place or its room is too large. */
void snapshot_ring_give(struct snapshot_ring *ring, struct snapshot *snapshot);
/*
 * The one that was given last, as its room is in the caches and large enough for what is copied
 * now; in turn, all those that the first samples of a crowd have left would be gone through. Now
 * the caller's, its content undefined; NULL if there is none.
 */
struct snapshot *snapshot_ring_take(struct snapshot_ring *ring);
void snapshot_ring_release(struct snapshot_ring *ring);

#endif
