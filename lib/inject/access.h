/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_ACCESS_H
#define PROFC_INJECT_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct own_filters;
struct remote_hint;
struct target_memory;

/* Access to a process. */
struct probe_access {
	pid_t pid;
	pid_t command;		      /* a child of ours that others reap; or 0 */
	struct target_memory *memory; /* of /proc/PID/mem, for reading and writing */
	bool is_stopped;      /* the calling thread has stopped the command's only thread, */
	bool has_thread_data; /* and its C library has set the thread pointer */
	uint64_t patience_ns;
	struct remote_hint *hint;	       /* borrowed, from one process to the next; or NULL */
	const struct own_filters *own_filters; /* borrowed */
};

/* The sum of the times for which the process was stopped. */
struct probe_cost {
	uint64_t stop_ns;   /* all threads */
	uint64_t remote_ns; /* one thread, while it made system calls */
};

#endif
