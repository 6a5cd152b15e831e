/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_URGENCY_H
#define PROFC_OVERHEAD_URGENCY_H

#include <sched.h>
#include <stdbool.h>

/* How soon the calling thread gets a CPU. Threads and processes that it starts do not inherit it.
 */

/* Shorter slices of a thread of normal priority, where the kernel has that. */
void urgency_short_slices(void);
/* The lowest real-time priority; false: not allowed, or RLIMIT_RTTIME bounds its time. */
bool urgency_realtime(void);
/*
 * Precedence over all threads of real-time priority, for at most a fifth of a CPU (SCHED_DEADLINE),
 * on all allowed CPUs: it cannot be bound to a single one from then on. False: the kernel does not
 * admit it.
 */
bool urgency_deadline(const cpu_set_t *allowed);

#endif
