/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_CHILD_H
#define PROFC_CMD_RECORDING_CHILD_H

#include <sys/types.h>

/* The command that is recorded, as a child of profc. */

/* Pass on a signal that was sent to profc alone. */
void recording_child_signal(pid_t pid, int signal);
/*
 * Wait for a command that outlives its recording, passing signals on; the second one
 * ends the waiting. *status is as of waitpid(2).
 */
void recording_child_wait(pid_t pid, int signal_fd, int *status);
/* What a shell would make of a wait status: 128+N for signal N. */
int recording_child_exit_status(int wait_status);

#endif
