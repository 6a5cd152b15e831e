/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_WILLING_H
#define PROFC_INJECT_WILLING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct proc_status;

/* The filters of system calls that profc runs under, and so do its children. */
struct own_filters {
	uint64_t seccomp, nr; /* mode, 0: none; their number */
	bool are_harmless;    /* a child of ours could make the calls */
	bool shows_others;    /* the kernel shows us filters of others (tracee/call_filters.h) */
};

/* Once is enough: profc installs none. */
void own_filters_read(struct own_filters *own);

/*
 * May probes be put into a process without harm? ERR_UNSUPPORTED, with a message: 32-bit programs;
 * shadow stacks; filters of system calls that might forbid the calls that a thread makes for us, or
 * kill it for them, and that the kernel does not show us. Filters count as harmless if the process
 * has no more of them than we have, and ours let a child of ours make the same calls. Nothing is
 * stopped.
 */
int willing_to_be_probed(pid_t pid, const struct own_filters *own, struct err *err);

enum willing {
	WILLING_NO,
	WILLING_YES,	   /* it has no filter that we do not have */
	WILLING_IF_ALLOWED /* it has: check each call, once it has stopped (tracee/call_filters.h)
			    */
};

/*
 * May this thread make calls for us now? Most programs install filters while they run, and only for
 * some of their threads. Unless it is NULL, *status is what was read for that.
 */
enum willing willing_to_call(pid_t pid, pid_t tid, const struct own_filters *own,
			     struct proc_status *status);

#endif
