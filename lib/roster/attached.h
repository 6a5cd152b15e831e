/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ROSTER_ATTACHED_H
#define PROFC_ROSTER_ATTACHED_H

#include <stddef.h>
#include <sys/types.h>

/* Running processes that are to be recorded: first those that the user named. */
struct attached {
	pid_t *pids; /* owned */
	size_t nr, nr_named;
};

/*
 * Append the processes that descend from these now, by reading /proc once: parents before their
 * children, without this process and its own descendants. A process that has ended is left out;
 * its children have another parent by then. Nothing is stopped.
 */
void attached_add_descendants(struct attached *attached);
void attached_release(struct attached *attached);

#endif
