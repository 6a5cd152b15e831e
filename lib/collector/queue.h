/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_QUEUE_H
#define PROFC_COLLECTOR_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>

struct message;

/* A queue of messages between one thread that puts and one that takes; neither ever waits. */
struct queue {
	struct message *head; /* the taker's: the last message taken, kept as a stub */
	struct message *tail; /* the putter's */
	_Atomic size_t nr_bytes;
	_Atomic size_t max_bytes; /* that there were */
};

void queue_init(struct queue *queue);
/* With the messages that are in it. */
void queue_release(struct queue *queue);
/* Takes the message over, with what it holds by now. */
void queue_put(struct queue *queue, struct message *message);
/* The oldest message, now the caller's, or NULL. */
struct message *queue_take(struct queue *queue);
size_t queue_bytes(const struct queue *queue);
size_t queue_max_bytes(const struct queue *queue);

#endif
