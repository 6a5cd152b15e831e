/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_WILLING_H
#define PROFC_PROBE_WILLING_H

#include <sys/types.h>

struct err;

/*
 * May probes be put into a process without harm? Refused, in words, with ERR_UNSUPPORTED: 32-bit
 * programs; shadow stacks; a filter of system calls that might forbid what a thread has to call for
 * us, or kill it for that. Filters are taken to be harmless if the process has no more of them than
 * we have, and ours let a child of ours make the same calls. Nothing is stopped.
 */
int willing_to_be_probed(pid_t pid, struct err *err);

#endif
