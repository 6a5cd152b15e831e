/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_PROCESS_CLOCK_H
#define PROFC_BASE_PROCESS_CLOCK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/*
 * A timer on the CPU clock of another process, which the process itself cannot see. It serves two
 * purposes.
 *
 * With many threads, the kernel visits all of them to read the clock, 0.1 to 0.4 us each. But if a
 * timer is set, it keeps a running sum, which costs the threads an addition whenever their own
 * clocks are updated. So one is set, for a time that never comes.
 *
 * To learn that a process has begun to run, its clock would have to be read again and again. But a
 * timer that is set to just beyond the clock's time expires at the first tick of the kernel that
 * finds the process on a CPU, and costs nothing while it sleeps. A run that is shorter than a tick
 * may remain unnoticed, with the more chance the shorter it is.
 */
struct process_clock {
	bool was_tried, has_timer;
	bool is_kept;	 /* the kernel keeps the sum */
	bool is_watched; /* the timer has not expired since process_clock_watch() */
	timer_t timer;
};

/*
 * Have the kernel keep the sum of a process, unless it does already; *clock is all 0 at first.
 * Never fails: at worst readings take as long as before.
 */
void process_clock_keep(struct process_clock *clock, pid_t pid);
/*
 * Have clock_alarms_take() return the process once it runs; its clock shows so much now. False: it
 * has to be read, as the kernel permits no timer.
 */
bool process_clock_watch(struct process_clock *clock, pid_t pid, uint64_t cpu_ns);
/* clock_alarms_take() has returned the process. */
void process_clock_expired(struct process_clock *clock);
void process_clock_release(struct process_clock *clock);

/* Where the timers report that they have expired. */
struct clock_alarms {
	int fd;	     /* signalfd(2); -1: there is none */
	size_t most; /* so many processes may be watched: their user's signals need room, too */
	bool was_blocked;
};

/* The timers' signal, to be blocked in all threads. */
int clock_alarms_signal(void);
/*
 * Blocks the signal in this thread, for those that it starts. In a thread that does not block it
 * the signal has no effect, but then it is lost.
 */
void clock_alarms_open(struct clock_alarms *alarms);
void clock_alarms_close(struct clock_alarms *alarms);
/* Write the processes with a timer that has expired since, at most `cap`; returns their number. */
size_t clock_alarms_take(const struct clock_alarms *alarms, pid_t *pids, size_t cap);

#endif
