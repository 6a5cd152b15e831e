/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_SIGNAL_PIPE_H
#define PROFC_CMD_SIGNAL_PIPE_H

#include <signal.h>
#include <stdbool.h>

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
/* Reads all that has come, and stops for SIGTSTP; whether some of it asks for our end. */
bool signal_pipe_asks_for_end(int fd);
/* What has not been read is still pending. */
void signal_pipe_close(struct signal_pipe *pipe);

#endif
