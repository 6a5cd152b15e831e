/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_URGENCY_H
#define PROFC_OVERHEAD_URGENCY_H

#include <sched.h>
#include <stdbool.h>

/* How soon the calling thread gets a CPU. None of it is inherited by what it starts. */

/* Shorter slices of a thread of normal priority, where the kernel has that. */
void urgency_short_slices(void);
/* At the lowest real-time priority; false: that is not allowed, or there is a bound on its time. */
bool urgency_realtime(void);
/*
 * Before all threads of real-time priority, for a fifth of a CPU at most (SCHED_DEADLINE). On all
 * CPUs that are allowed: from then on it cannot be bound to one. False: not admitted.
 */
bool urgency_deadline(const cpu_set_t *allowed);

#endif
