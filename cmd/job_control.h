/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_JOB_CONTROL_H
#define PROFC_CMD_JOB_CONTROL_H

#include <signal.h>
#include <sys/types.h>

#include "cmd/signal_pipe.h"

/*
 * Ctrl-Z while profc traces others. Were profc to stop as any program does, whatever it
 * traces would stand still at its next signal, fork or exit, and a command that prepares
 * for its own stop, as editors do, would stop only once the shell has continued both: for
 * good. So the command stops first, and profc after it; and for processes that it has
 * attached to, which are not part of the shell's job, profc does not stop at all.
 */
struct job_control {
	struct signal_pipe signals; /* becomes readable when a stop is asked for */
};

#define JOB_CONTROL_NONE                                                                           \
	{                                                                                          \
		.signals = SIGNAL_PIPE_NONE                                                        \
	}

/* Take over the signals of the terminal that stop; threads started from here on inherit that. */
void job_control_begin(struct job_control *control);
/* Give them back: what is asked for in vain so far stops us now. */
void job_control_end(struct job_control *control);
/*
 * When there is something to read. Stops this process, and returns when it is continued, if the
 * command (0: there is none) stops too.
 */
void job_control_read(struct job_control *control, pid_t command);

#endif
