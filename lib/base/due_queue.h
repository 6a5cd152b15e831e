/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_DUE_QUEUE_H
#define PROFC_BASE_DUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in things that are due at some time; initially all 0 but for `of`. */
struct due {
	uint64_t due_ns; /* CLOCK_MONOTONIC */
	size_t place;	 /* in the queue, from 1; 0: it is not there */
	void *of;	 /* the user's thing that is due */
};

/* Private: a time beside its thing, so that times are compared without reading the things. */
struct due_entry {
	uint64_t due_ns;
	struct due *due;
};

/* In the order of due times. Initially all 0; owns nothing but its array. */
struct due_queue {
	struct due_entry *heap;
	size_t nr, cap;
};

void due_queue_release(struct due_queue *queue);
/* A thing in the queue gets its new time. */
void due_queue_put(struct due_queue *queue, struct due *due, uint64_t due_ns);
/* Does nothing if it is not in the queue. */
void due_queue_remove(struct due_queue *queue, struct due *due);
/* Would due_queue_take() return a thing? */
bool due_queue_is_due(const struct due_queue *queue, uint64_t now_ns);
/* Remove and return the first due thing; NULL if its time has not come. */
void *due_queue_take(struct due_queue *queue, uint64_t now_ns);

#endif
