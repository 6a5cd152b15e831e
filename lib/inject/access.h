/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_ACCESS_H
#define PROFC_INJECT_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_memory;

/* How to get at a process. */
struct probe_access {
	pid_t pid;
	pid_t command; /* a child of ours whose end is left to be reaped by others; or 0 */
	struct target_memory *memory; /* of /proc/PID/mem, for reading and writing */
	bool is_stopped;      /* the command's only thread is stopped by the calling thread, */
	bool has_thread_data; /* and its C library has made what the ABI wants for it */
	uint64_t patience_ns;
};

/* For how long, in sum, it stood. */
struct probe_cost {
	uint64_t stop_ns;   /* all threads */
	uint64_t remote_ns; /* one thread, to make system calls */
};

#endif
