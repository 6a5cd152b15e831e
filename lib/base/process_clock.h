/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_PROCESS_CLOCK_H
#define PROFC_BASE_PROCESS_CLOCK_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/*
 * The CPU clock of a process with many threads. To read it the kernel goes through all of them,
 * 0.1 to 0.4 us each, but not where a timer is set on it: then it keeps a running sum, which takes
 * the threads an addition whenever their own clocks are brought up to date. So one is set, for a
 * time that never comes. The process itself has no way to see it.
 */
struct process_clock {
	bool is_kept, was_tried;
	timer_t timer;
};

/*
 * Have the sum of a process kept, if that is not so yet; *clock is all 0 at first. By the thread
 * that blocks SIGRTMIN, to which the timer's signal would go. Never fails: at worst readings take
 * as long as before.
 */
void process_clock_keep(struct process_clock *clock, pid_t pid);
void process_clock_release(struct process_clock *clock);

#endif
