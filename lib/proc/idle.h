/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_IDLE_H
#define PROFC_PROC_IDLE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "proc/uptime.h"

/*
 * Decides whether CPUs that we may run on are idle, from their total idle time. The number of
 * runnable threads in /proc/loadavg does not serve: kernels from 6.12 on count many that sleep
 * (delayed dequeue).
 */
struct idle_meter {
	int fd;	     /* on /proc/uptime; -1: never known to be idle */
	int stat_fd; /* on /proc/stat; -1: it takes too long to read that */
	char *text;  /* of /proc/stat, where we are bound to some CPUs; else NULL; owned */
	size_t text_bytes;
	cpu_set_t cpus; /* these */
	uint64_t ticks_per_sec;
	struct proc_uptime last;
	bool some_idle;		   /* recently more than half a CPU */
	unsigned int idle_percent; /* of one CPU, in all */
};

void idle_meter_open(struct idle_meter *meter);
void idle_meter_close(struct idle_meter *meter);
/* Read again, from time to time: answers are exact at intervals of a tenth of a second. */
void idle_meter_update(struct idle_meter *meter);
/* The part of our CPU time that other threads lost; none is lost where CPUs are idle. */
unsigned int idle_meter_lost_percent(const struct idle_meter *meter);
/* The part of idle_meter_update() that does not read. */
void idle_meter_judge(struct idle_meter *meter, const struct proc_uptime *now);

#endif
