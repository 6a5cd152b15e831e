// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/message.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "snapshot/snapshot.h"

struct message *message_new(enum message_kind kind, uint64_t time_ns)
{
	struct message *message = xcalloc(1, sizeof(*message));

	message->kind = kind;
	message->time_ns = time_ns;
	message->nr_bytes = sizeof(*message);
	return message;
}

static void free_snapshot(struct snapshot *snapshot)
{
	if (snapshot)
		snapshot_release(snapshot);
	free(snapshot);
}

static void release_content(struct message *message)
{
	switch (message->kind) {
	case MESSAGE_PROCESS:
	case MESSAGE_MAPS:
	case MESSAGE_PROCESS_END:
		free(message->body.process.maps);
		free(message->body.process.comm);
		free(message->body.process.exe);
		free(message->body.process.command);
		break;
	case MESSAGE_SIGHTING:
		free_snapshot(message->body.sighting.snapshot);
		free(message->body.sighting.name);
		free(message->body.sighting.places);
		break;
	case MESSAGE_COUNTERS:
		free(message->body.counters.rows);
		break;
	case MESSAGE_THREAD:
		free(message->body.thread.name);
		break;
	case MESSAGE_THREAD_BASE:
	case MESSAGE_THREAD_REST:
	case MESSAGE_THREAD_END:
		break;
	}
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

	while (nr != nr_given && ring->nr_waiting < SNAPSHOT_RING_SLOTS)
		ring->waiting[ring->nr_waiting++] = ring->slots[nr++ % SNAPSHOT_RING_SLOTS];
	atomic_store_explicit(&ring->nr_taken, nr, memory_order_release);
}

struct snapshot *snapshot_ring_take(struct snapshot_ring *ring)
{
	take_all(ring);
	return ring->nr_waiting ? ring->waiting[--ring->nr_waiting] : NULL;
}

void snapshot_ring_release(struct snapshot_ring *ring)
{
	struct snapshot *snapshot;

	while ((snapshot = snapshot_ring_take(ring)))
		free_snapshot(snapshot);
}

void message_free(struct message *message)
{
	if (!message)
		return;
	release_content(message);
	free(message);
}

/*
 * A linked list with one stub in front: the taker owns the stub and everything before the
 * last link that was published with release order, the putter owns the tail's link.
 */
void message_queue_init(struct message_queue *queue)
{
	struct message *stub = message_new(MESSAGE_THREAD_BASE, 0);

	*queue = (struct message_queue){.head = stub, .tail = stub};
}

void message_queue_release(struct message_queue *queue)
{
	struct message *message;

	while ((message = message_queue_take(queue)))
		message_free(message);
	free(queue->head);
	*queue = (struct message_queue){0};
}

void message_queue_put(struct message_queue *queue, struct message *message)
{
	size_t now = atomic_fetch_add_explicit(&queue->nr_bytes, message->nr_bytes,
					       memory_order_relaxed) +
		     message->nr_bytes;

	if (now > queue->max_bytes_seen)
		queue->max_bytes_seen = now;
	atomic_store_explicit(&queue->tail->next, message, memory_order_release);
	queue->tail = message;
}

/* The new head is the stub from now on, so its content moves into the old stub. */
struct message *message_queue_take(struct message_queue *queue)
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
