/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_JOB_CONTROL_H
#define PROFC_CMD_JOB_CONTROL_H

#include <stdbool.h>
#include <sys/types.h>

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
	bool is_asked;		    /* for the next stop: by one who knows of profc, if no shell */
	void (*prepare)(void *);    /* just before a stop; may be NULL */
	void *context;		    /* of that */
};

/* The command, as far as its stops go. */
struct job_command {
	pid_t pid;
	struct sampler *sampler; /* that records it; NULL: it is traced no more */
};

#define JOB_CONTROL_NONE                                                                           \
	{                                                                                          \
		.signals = SIGNAL_PIPE_NONE                                                        \
	}

/* Take over the signals of the terminal that stop; threads started from here on inherit that. */
void job_control_begin(struct job_control *control);
/* Give them back: what is asked for in vain so far stops us now. */
void job_control_end(struct job_control *control);
/* Stop now, by a signal of job control; returns when continued, or at once where nobody could. */
void job_control_stop(struct job_control *control, int signal);
/*
 * When there is something to read. Stop signals of the terminal have reached the command, too; of
 * others, which may have come to profc alone, the last one is returned; 0: there was none. What
 * profc has sent itself, and its process group, is as from the terminal.
 */
int job_control_read(const struct job_control *control);
/* Such a signal is for the command, unless that has got it itself. Waits for a moment. */
void job_control_pass_on(struct job_control *control, const struct job_command *command,
			 int signal);
/*
 * When the command may have stopped. If it has, and remains so, stops this process; returns when
 * both are continued, whichever was.
 */
void job_control_follow(struct job_control *control, const struct job_command *command);

#endif
