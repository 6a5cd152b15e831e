/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_DUE_QUEUE_H
#define PROFC_BASE_DUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of whatever is due at some time; all 0 but for `of` at first. */
struct due {
	uint64_t due_ns; /* CLOCK_MONOTONIC */
	size_t place;	 /* in the queue, from 1; 0: it is not there */
	void *of;	 /* the user's thing that is due */
};

/* In the order of their times. Begins as all 0; owns nothing but its array. */
struct due_queue {
	struct due **heap;
	size_t nr, cap;
};

void due_queue_release(struct due_queue *queue);
/* Also where it is there already, then with its new time. */
void due_queue_put(struct due_queue *queue, struct due *due, uint64_t due_ns);
/* If it is there. */
void due_queue_remove(struct due_queue *queue, struct due *due);
/* Remove and return the first due thing; NULL if its time has not come. */
void *due_queue_take(struct due_queue *queue, uint64_t now_ns);

#endif
