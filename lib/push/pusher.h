/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivers the requests of a spool in a thread of its own. */
#ifndef PROFC_PUSH_PUSHER_H
#define PROFC_PUSH_PUSHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "push/transport.h"

struct err;
struct push_spool;
struct pusher;

/*
 * Start the thread, which takes no signals. The spool is borrowed until pusher_end(), its clock is
 * clock_monotonic_ns(), and nothing else takes steps of it. `give_up` is borrowed as long: the flag
 * that its transport looks at. ERR_SYS: there can be no thread.
 */
int pusher_start(struct pusher **pusher, struct push_spool *spool, atomic_bool *give_up,
		 struct err *err);
/* To be called after push_spool_add(): it waits for that, or for the time of the next attempt. */
void pusher_wake(struct pusher *pusher);
/* The last answer but deliveries, with its words; false: there was none. */
bool pusher_trouble(struct pusher *pusher, struct push_answer *answer);
/*
 * Wait until all is delivered, until this time of clock_monotonic_ns(), or until `hurried`, which
 * may be NULL, becomes true. Nothing is added any more: the thread ends when all is delivered, or
 * would have to wait for longer.
 */
void pusher_wait(struct pusher *pusher, uint64_t until_ns, const atomic_bool *hurried);
/*
 * Set the flag, wait for the thread, and free it. What is left is in the spool. NULL is accepted.
 */
void pusher_end(struct pusher *pusher);

#endif
