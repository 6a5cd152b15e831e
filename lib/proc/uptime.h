/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_UPTIME_H
#define PROFC_PROC_UPTIME_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * /proc/uptime: the time since boot, and the idle time of all CPUs together, both in hundredths of
 * a second (proc_uptime(5)). The latter grows by 100 per second and idle CPU.
 */
struct proc_uptime {
	uint64_t uptime_cs;
	uint64_t idle_cs;
};

/* False, and nothing written, if the text is not of that form. */
bool proc_uptime_parse(const char *text, size_t size, struct proc_uptime *uptime);
/* From a descriptor on /proc/uptime, that stays open. */
bool proc_read_uptime(int fd, struct proc_uptime *uptime);

/*
 * The time, in clock ticks (sysconf(_SC_CLK_TCK)), that CPUs were idle while a thread waited for
 * I/O, which the idle time above excludes: the fifth number of the first line of /proc/stat
 * (proc_stat(5)). False, and nothing written, if the text does not begin so.
 */
bool proc_iowait_parse(const char *text, size_t size, uint64_t *iowait_ticks);
/* From a descriptor on /proc/stat, that stays open. */
bool proc_read_iowait(int fd, uint64_t *iowait_ticks);

/*
 * The time, in clock ticks, that these CPUs were idle, which includes that in which a thread waited
 * for I/O: from the lines of /proc/stat that are of one CPU each. False, and nothing written, if
 * none of them is there.
 */
bool proc_idle_of_cpus_parse(const char *text, size_t size, const cpu_set_t *cpus,
			     uint64_t *idle_ticks);

#endif
