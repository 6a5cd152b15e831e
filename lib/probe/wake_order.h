/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call of futex(2) ended which wait? The kernel wakes those that wait for a word in the order
 * in which they began to (but for real-time priorities). A wait that ended by itself, as by time,
 * is over once its thread makes another call; if its thread makes none, it takes a wake of others.
 */
#ifndef PROFC_PROBE_WAKE_ORDER_H
#define PROFC_PROBE_WAKE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "patch/note.h"

/* A wait that was ended. Times are those of the notes. */
struct wake_ended {
	uint64_t from, to;
	uint64_t word;
	uint64_t caller; /* of the other thread's call */
	uint32_t tid, waker;
};

struct wake_order;

struct wake_order *wake_order_new(void);
void wake_order_free(struct wake_order *order); /* may be NULL */

/*
 * The next note, of a thread of that process: words are its own. Nothing in it is believed: ids and
 * words may be invented, and if there are too many, all waits are forgotten.
 */
void wake_order_add(struct wake_order *order, uint32_t process, const struct patch_note *note,
		    void (*ended)(void *context, const struct wake_ended *ended), void *context);
/*
 * Does the thread wait for that word, and since when? One whose time is up is taken out, so that it
 * takes no later wake.
 */
bool wake_order_waits(const struct wake_order *order, uint32_t process, uint32_t tid, uint64_t word,
		      uint64_t *from);
void wake_order_take_out(struct wake_order *order, uint32_t process, uint32_t tid);
/* Notes were lost: nothing is known of waits that began before. */
void wake_order_forget(struct wake_order *order);

#endif
