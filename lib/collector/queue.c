// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A linked list with one stub in front: the taker owns the stub and everything before the
 * last link that was published with release order, the putter owns the tail's link.
 */
#include "collector/queue.h"

#include <stdlib.h>

#include "collector/message.h"

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

void queue_put(struct queue *queue, struct message *message)
{
	size_t now;

	message->nr_bytes = message_bytes(message);
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
