// SPDX-License-Identifier: GPL-2.0-or-later
/* The clocks that profc reads: monotonic, wall-clock, since boot, and CPU time. */
#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

uint64_t clock_boot_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The id of CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED (include/linux/posix-timers.h). */
uint64_t clock_cpu_ns_of_thread(pid_t tid)
{
	return read_ns((clockid_t)(~(uint32_t)tid << 3 | 6));
}

/*
 * The id of CPUCLOCK_SCHED of a process (include/linux/posix-timers.h), without the system call
 * that clock_getcpuclockid(3) makes to check it.
 */
static clockid_t clock_of_process(pid_t pid)
{
	return (clockid_t)(~(uint32_t)pid << 3 | 2);
}

bool clock_process_cpu_ns(pid_t pid, uint64_t *ns)
{
	*ns = read_ns(clock_of_process(pid));
	return *ns != 0; /* 0: it is gone by now */
}
