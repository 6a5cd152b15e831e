// SPDX-License-Identifier: GPL-2.0-or-later
/* A ring of one giver and one taker, which empties it into a stack of its own. */
#include "collector/snapshot_ring.h"

#include <stdlib.h>

#include "snapshot/snapshot.h"

static void free_snapshot(struct snapshot *snapshot)
{
	snapshot_release(snapshot);
	free(snapshot);
}

void snapshot_ring_give(struct snapshot_ring *ring, struct snapshot *snapshot)
{
	size_t nr = atomic_load_explicit(&ring->nr_given, memory_order_relaxed);
	size_t nr_taken = atomic_load_explicit(&ring->nr_taken, memory_order_acquire);

	if (nr - nr_taken == SNAPSHOT_RING_SLOTS || snapshot->cap_bytes > SNAPSHOT_KEPT_BYTES) {
		free_snapshot(snapshot);
		return;
	}
	ring->slots[nr % SNAPSHOT_RING_SLOTS] = snapshot;
	atomic_store_explicit(&ring->nr_given, nr + 1, memory_order_release);
}

static void take_all(struct snapshot_ring *ring)
{
	size_t nr = atomic_load_explicit(&ring->nr_taken, memory_order_relaxed);
	size_t nr_given = atomic_load_explicit(&ring->nr_given, memory_order_acquire);

	while (nr != nr_given && ring->nr_unused < SNAPSHOT_RING_SLOTS)
		ring->unused[ring->nr_unused++] = ring->slots[nr++ % SNAPSHOT_RING_SLOTS];
	atomic_store_explicit(&ring->nr_taken, nr, memory_order_release);
}

struct snapshot *snapshot_ring_take(struct snapshot_ring *ring)
{
	take_all(ring);
	return ring->nr_unused ? ring->unused[--ring->nr_unused] : NULL;
}

void snapshot_ring_release(struct snapshot_ring *ring)
{
	struct snapshot *snapshot;

	while ((snapshot = snapshot_ring_take(ring)))
		free_snapshot(snapshot);
}
