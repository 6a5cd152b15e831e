/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_QUEUE_H
#define PROFC_COLLECTOR_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>

struct message;
struct snapshot;

/* A queue of messages between one thread that puts and one that takes; neither ever waits. */
struct queue {
	struct message *head; /* the taker's: the last message taken, kept as a stub */
	struct message *tail; /* the putter's */
	_Atomic size_t nr_bytes;
	_Atomic size_t max_bytes; /* the most so far */
};

void queue_init(struct queue *queue);
/* Frees the messages in it, too. */
void queue_release(struct queue *queue);
/* Takes the message over, with its present size. */
void queue_put(struct queue *queue, struct message *message);
/* The oldest message, now the caller's, or NULL. */
struct message *queue_take(struct queue *queue);
size_t queue_bytes(const struct queue *queue);
size_t queue_max_bytes(const struct queue *queue);

/*
 * Used snapshots go back from the thread that has walked them to the thread that fills the next.
 * Memory that one thread frees and another one allocates makes the heap grow and shrink, and each
 * of its new pages takes longer than copying a stack into it.
 */
#define SNAPSHOT_RING_SLOTS 128
/* Snapshots with more room are not kept: 8 MiB in all, with those that wait to be used. */
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
 * The one that was given last, as its room is in the caches, and large enough for present copies;
 * in turn, all those that the first samples of a crowd have left would be used. It is the caller's
 * now, with undefined contents; NULL: there is none.
 */
struct snapshot *snapshot_ring_take(struct snapshot_ring *ring);
void snapshot_ring_release(struct snapshot_ring *ring);

#endif
