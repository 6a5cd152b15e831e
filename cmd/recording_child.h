/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_CHILD_H
#define PROFC_CMD_RECORDING_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* The command that is recorded, as a child of profc. */

/* A descriptor that becomes readable once it has ended; -1: before Linux 5.3. */
int recording_child_open(pid_t pid);
bool recording_child_has_ended(int pidfd);
/*
 * Wait for a command that outlives its recording, passing signals on; the second one ends the
 * waiting. *status is as of waitpid(2).
 */
void recording_child_wait(pid_t pid, int signal_fd, int *status);
/*
 * The command has died of a signal: so does profc, at its very end, without a core of its own. A
 * shell that only learnt of a status would go on with its loop after Ctrl-C. Returns where the
 * kernel keeps it alive, as the first process of a namespace.
 */
void recording_child_die_alike(int signal_nr);

#endif
