/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_SIGNAL_PIPE_H
#define PROFC_CMD_SIGNAL_PIPE_H

#include <signal.h>

/* Signals that are read from a descriptor, in the form of signalfd(2). */
struct signal_pipe {
	int fd; /* does not wait; -1: none */
};

#define SIGNAL_PIPE_NONE                                                                           \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* The signals have to be blocked in all threads. Never fails: at worst they are not heard of. */
void signal_pipe_open(struct signal_pipe *pipe, const sigset_t *signals);
/* Job control stops us: SIGTSTP was read, and is blocked. Returns when we are continued. */
void stop_this_process(void);
/* Signals that were not read are still pending. */
void signal_pipe_close(struct signal_pipe *pipe);

#endif
