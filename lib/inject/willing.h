/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_WILLING_H
#define PROFC_INJECT_WILLING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * May probes be put into a process without harm? Refused, in words, with ERR_UNSUPPORTED: 32-bit
 * programs; shadow stacks; a filter of system calls that might forbid what a thread has to call for
 * us, or kill it for that. Filters are taken to be harmless if the process has no more of them than
 * we have, and ours let a child of ours make the same calls. Nothing is stopped.
 */
int willing_to_be_probed(pid_t pid, struct err *err);

/* Filters of system calls that we run under ourselves, and with us what we start. */
struct own_filters {
	uint64_t seccomp, nr; /* mode, 0 for none; how many */
	bool are_harmless;    /* a child of ours was let make the calls */
};

void own_filters_read(struct own_filters *own);
/*
 * May this thread, now, be made to call for us? Not where it has a filter that we have not: most
 * programs that filter begin to do so while they run, and only some of their threads may.
 */
bool willing_to_call(pid_t pid, pid_t tid, const struct own_filters *own);

#endif
