// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages, their queue to the collector, and the way back of snapshots. */
#include "collector/queue.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "collector/message.h"
#include "proc/range.h"
#include "snapshot/snapshot.h"

struct message *message_new(enum message_kind kind, uint64_t time_ns)
{
	struct message *message = xcalloc(1, sizeof(*message));

	message->kind = kind;
	message->time_ns = time_ns;
	return message;
}

static void free_snapshot(struct snapshot *snapshot)
{
	if (snapshot)
		snapshot_release(snapshot);
	free(snapshot);
}

void message_free(struct message *message)
{
	if (!message)
		return;
	switch (message->kind) {
	case MESSAGE_PROCESS:
	case MESSAGE_MAPS:
	case MESSAGE_PROCESS_REST:
	case MESSAGE_PROCESS_END:
		free(message->body.process.maps);
		free(message->body.process.comm);
		free(message->body.process.exe);
		free(message->body.process.command);
		break;
	case MESSAGE_SAMPLE:
		free_snapshot(message->body.sample.snapshot);
		free(message->body.sample.name);
		free(message->body.sample.places);
		seen_wait_release(&message->body.sample.wait);
		break;
	case MESSAGE_ADVANCE:
		break;
	case MESSAGE_COUNTERS:
		free(message->body.counters.rows);
		break;
	case MESSAGE_CALL:
		break;
	case MESSAGE_THREAD:
	case MESSAGE_THREAD_BASE:
	case MESSAGE_THREAD_REST:
	case MESSAGE_THREAD_END:
		free(message->body.thread.name);
		break;
	}
	free(message);
}

/* --- the queue --- */

/*
 * A linked list with one stub in front: the taker owns the stub and everything before the
 * last link that was published with release order, the putter owns the tail's link.
 */

void queue_init(struct queue *queue)
{
	struct message *stub = message_new(MESSAGE_THREAD_BASE, 0);

	*queue = (struct queue){.head = stub, .tail = stub};
}

void queue_release(struct queue *queue)
{
	struct message *message;

	while ((message = queue_take(queue)))
		message_free(message);
	free(queue->head);
	*queue = (struct queue){0};
}

/* The bytes that it holds now. */
static size_t bytes_of(const struct message *message)
{
	size_t nr_bytes = sizeof(*message);

	if (message->kind == MESSAGE_PROCESS || message->kind == MESSAGE_MAPS)
		nr_bytes += message->body.process.nr_maps_bytes;
	if (message->kind == MESSAGE_SAMPLE) {
		const struct message_sample *sample = &message->body.sample;

		nr_bytes += sample->nr_places * sizeof(*sample->places);
		if (sample->snapshot)
			nr_bytes += sizeof(*sample->snapshot) + sample->snapshot->nr_bytes;
	}
	return nr_bytes;
}

void queue_put(struct queue *queue, struct message *message)
{
	size_t now;

	message->nr_bytes = bytes_of(message);
	now = message->nr_bytes +
	      atomic_fetch_add_explicit(&queue->nr_bytes, message->nr_bytes, memory_order_relaxed);
	if (now > queue_max_bytes(queue))
		atomic_store_explicit(&queue->max_bytes, now, memory_order_relaxed);
	atomic_store_explicit(&queue->tail->next, message, memory_order_release);
	queue->tail = message;
}

/* The new head is the stub from now on, so its content moves into the old stub. */
struct message *queue_take(struct queue *queue)
{
	struct message *stub = queue->head;
	struct message *first = atomic_load_explicit(&stub->next, memory_order_acquire);

	if (!first)
		return NULL;
	stub->kind = first->kind;
	stub->nr_bytes = first->nr_bytes;
	stub->time_ns = first->time_ns;
	stub->body = first->body;
	atomic_store_explicit(&stub->next, NULL, memory_order_relaxed);
	queue->head = first;
	atomic_fetch_sub_explicit(&queue->nr_bytes, stub->nr_bytes, memory_order_relaxed);
	return stub;
}

size_t queue_bytes(const struct queue *queue)
{
	return atomic_load_explicit(&queue->nr_bytes, memory_order_relaxed);
}

size_t queue_max_bytes(const struct queue *queue)
{
	return atomic_load_explicit(&queue->max_bytes, memory_order_relaxed);
}

/* --- the way back: a ring, which the taker empties into a stack of its own --- */

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
