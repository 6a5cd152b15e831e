/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_PROCESS_CLOCK_H
#define PROFC_BASE_PROCESS_CLOCK_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/*
 * The CPU clock of a process with many threads. To read it the kernel visits all of them, 0.1 to
 * 0.4 us each. But if a timer is set on the clock, the kernel keeps a running sum, which costs the
 * threads an addition whenever their own clocks are updated. So one is set, for a time that never
 * comes. The process itself cannot see it.
 */
struct process_clock {
	bool is_kept, was_tried;
	timer_t timer;
};

/*
 * Have the kernel keep the sum of a process, unless it does already; *clock is all 0 at first.
 * Called by the thread that blocks SIGRTMIN, which the timer's signal would go to. Never fails: at
 * worst readings take as long as before.
 */
void process_clock_keep(struct process_clock *clock, pid_t pid);
void process_clock_release(struct process_clock *clock);

#endif
