/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks that profc reads, and the units of time. */
#ifndef PROFC_BASE_CLOCK_H
#define PROFC_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NS_PER_SEC UINT64_C(1000000000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_US  UINT64_C(1000)

/* CLOCK_MONOTONIC: the one time line of a recording; it never jumps, and stops in suspend. */
uint64_t clock_monotonic_ns(void);

/* CLOCK_REALTIME: for "recorded on" only. */
uint64_t clock_realtime_ns(void);

/* CLOCK_BOOTTIME: includes the time in suspend; the kernel dates processes by it. */
uint64_t clock_boot_ns(void);

/* CPU time of the calling thread: profc's own cost. */
uint64_t clock_thread_cpu_ns(void);
/* That of another thread of profc's, by its id; 0 if there is none. */
uint64_t clock_cpu_ns_of_thread(pid_t tid);

/*
 * CPU time of all threads of a process, including those that have ended (clock_getcpuclockid(3));
 * false if there is none.
 */
bool clock_process_cpu_ns(pid_t pid, uint64_t *ns);

#endif
