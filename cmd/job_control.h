/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_JOB_CONTROL_H
#define PROFC_CMD_JOB_CONTROL_H

#include <stdbool.h>

#include "cmd/signal_pipe.h"

struct sampler;

/*
 * profc stands for its command in the job of a shell, which knows of no other process. So it stops
 * once the command has, by the same signal, whether that came from the terminal or from elsewhere;
 * not before, or a command that prepares for its stop, as editors do, would stop only once the
 * shell has continued both: whatever profc traces stands still at its next signal, fork or exit
 * while profc is stopped. For processes that it has attached to, which are not part of the shell's
 * job, profc does not stop at all.
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
/* When there is something to read: stop signals of the terminal, which the command has got, too. */
void job_control_read(const struct job_control *control, bool has_command);
/*
 * When sampler_command_stop_fd() is readable. If the command is stopped, and remains so, stops this
 * process; returns when both are continued, whichever was.
 */
void job_control_follow(const struct job_control *control, struct sampler *sampler);

#endif
