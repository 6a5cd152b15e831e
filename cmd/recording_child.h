/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_CHILD_H
#define PROFC_CMD_RECORDING_CHILD_H

#include <sys/types.h>

/* The command that is recorded, as a child of profc. */

/* Pass on a signal that was sent to profc alone. */
void recording_child_signal(pid_t pid, int signal);
struct job_control;

/*
 * Wait for a command that outlives its recording, passing signals on; the second one
 * ends the waiting. Stops with it, as job_control.h says: nobody traces it any more, SIGCHLD is
 * blocked, and job control, that was given back, is taken over for that time. *status is as of
 * waitpid(2).
 */
void recording_child_wait(pid_t pid, int signal_fd, struct job_control *job_control, int *status);
/*
 * The command has died of a signal: so does profc, at its very end, without a core of its own. A
 * shell that only learnt of a status would go on with its loop after Ctrl-C. Returns where the
 * kernel keeps it alive, as the first process of a namespace.
 */
void recording_child_die_alike(int signal_nr);

#endif
