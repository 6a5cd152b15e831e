/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_PROBE_H
#define PROFC_TARGET_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * Does it work here? Each probe does the real thing, in a thread of its own whose end lets
 * the process go, as a recording does.
 */

struct target_probe {
	bool has_pcount;	 /* the kernel counts how often a thread was scheduled in */
	bool reads_kernel_stack; /* /proc/PID/stack tells who is in the midst of a transfer */
	bool reads_sleepers;	 /* /proc/PID/syscall and memory can be read without a stop */
	uint64_t stop_ns;	 /* how long a stop took, from asking to letting go */
	uint64_t stack_bytes;
};

/* Seize a child of our own, look at it asleep, stop it, let it go, end it. */
int target_probe_child(struct target_probe *probe, struct err *err);
/* Seize all threads of a process, and let them go: 0, or the true reason why not. */
int target_probe_attach(pid_t pid, size_t *nr_threads, struct err *err);

#endif
