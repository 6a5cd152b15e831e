/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DOCTOR_DOCTOR_H
#define PROFC_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "view/finding.h"

/* Reports findings as they are made, and counts them. */
struct doctor {
	/* `hint` may be NULL; both texts are raw, and borrowed for the call. */
	void (*say)(struct doctor *doctor, enum finding finding, const char *what,
		    const char *hint);
	void *context;
	unsigned int nr[FINDING_COUNT];
};

/*
 * Try the steps of a recording on a child, which is killed afterwards, and inspect the processes.
 * False if any necessary step fails. The processes are not stopped. One cause is said once: not
 * again of a process that is refused for the reason for which the child is.
 */
bool doctor_examine(struct doctor *doctor, const pid_t *pids, size_t nr_pids);

#endif
