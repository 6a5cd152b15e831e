/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DOCTOR_PROBE_PRIV_H
#define PROFC_DOCTOR_PROBE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* The results of trying a recording's steps on a child of ours. */
struct doctor_probe {
	bool has_pcount;	 /* the kernel counts how often a thread was scheduled in */
	bool reads_kernel_stack; /* /proc/PID/stack shows whether a thread is in a transfer */
	bool reads_sleepers;	 /* /proc/PID/syscall and memory can be read without a stop */
	bool takes_descriptors;	 /* pidfd_getfd(2), as probes need it */
	uint64_t stop_ns;	 /* the length of a visit, from interrupting to detaching */
	uint64_t stack_bytes;
};

/* Start a child, peek at it asleep, visit it, end it. 0, or the reason why that fails. */
int doctor_probe_child(struct doctor_probe *probe, struct err *err);

#endif
