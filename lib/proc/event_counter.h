/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_EVENT_COUNTER_H
#define PROFC_PROC_EVENT_COUNTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct perf_event_attr;

/* Opens descriptors on counters. */
struct event_opener {
	/* As perf_event_open(2) on any CPU: the descriptor, or -1 with errno. */
	int (*open)(void *context, const struct perf_event_attr *attr, pid_t tid);
	void *context;
};

/* perf_event_open(2) itself. */
extern const struct event_opener event_opener_of_kernel;

/* An event to count: type and config as in struct perf_event_attr. */
struct event {
	uint32_t type;
	uint64_t config;
	bool is_of_kernel; /* it happens in the kernel; else events of user mode are counted */
};

/* When a counter begins to count. */
enum event_start {
	EVENT_FROM_NOW,
	EVENT_FROM_EXEC, /* when the thread executes its next program */
};

/*
 * How often an event happened in one thread, by a descriptor that counts and never samples. Opened
 * from outside, without stopping the thread: it counts from its start on, not in threads or
 * processes that the thread makes, and on through exec(2).
 */
struct event_counter {
	int fd; /* -1: not open */
	uint64_t sum;
	uint64_t enabled_ns,
		running_ns; /* that the thread ran, and that it was counted meanwhile */
	struct {
		uint64_t value, enabled_ns, running_ns;
	} seen; /* up to which the sum goes */
};

/*
 * Open a counter; it is 0 until it starts. tid 0: the calling thread. ERR_PERMISSION,
 * ERR_UNSUPPORTED or ERR_SYS with the reason, its errno, and what can be done.
 */
int event_counter_open(struct event_counter *counter, const struct event_opener *opener,
		       const struct event *event, pid_t tid, enum event_start start,
		       struct err *err);
/*
 * Bring its members up to now, also if the thread has ended: about a microsecond, and some more if
 * it runs on another CPU. Where counters share the hardware, what was counted since the last time
 * stands for all that the thread ran since. False: it could not be read.
 */
bool event_counter_read(struct event_counter *counter);
void event_counter_close(struct event_counter *counter);

#endif
