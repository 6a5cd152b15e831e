/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_TIMERS_H
#define PROFC_PROC_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * /proc/PID/timers: the timers that a process has made by timer_create(2), the latest first, 70
 * bytes each or more. On kernels without CONFIG_CHECKPOINT_RESTORE it is not there.
 */

/*
 * Has the one with this id, as siginfo_t has it, SIGEV_THREAD_ID? False also if there is none in
 * the text, or cut off.
 */
bool proc_timers_is_of_thread(const char *text, size_t nr_bytes, int id);

/* In the file: takes 3 µs; with many timers at most 40 µs, and only the latest are found. */
bool proc_read_timer_is_of_thread(pid_t pid, int id);

#endif
