/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_AGENT_AGENT_H
#define PROFC_AGENT_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct profile;

/*
 * A program of the user's that follows a recording: it gets everything that enters the profile, as
 * lines of JSON on its standard input (man/profc-agent.5), as fast as it reads them. The recording
 * never waits for it. Rows that it does not read in time are lost to it, and counted.
 */
struct agent;

struct agent_options {
	const char *command; /* for the shell; borrowed up to agent_start()'s end, as is the mask */
	const sigset_t *mask;  /* its signal mask */
	bool prints_on_stderr; /* its standard output is our standard error */
};

/*
 * Start it in a process group of its own, so that Ctrl-C ends the recording but lets the agent read
 * the rest. NULL with the reason if no process or thread can be created; a command that cannot be
 * executed is an agent that ends at once.
 */
struct agent *agent_start(const struct agent_options *options, struct err *err);
/*
 * Its process, a child of this one that no other part of the program may wait for. It is reaped
 * only after agent_end(), so that its CPU time is not part of other children's before that.
 */
pid_t agent_pid(const struct agent *agent);

/*
 * Send it the news: all samples of the profile, and additions to and changes in its other tables.
 * One thread at a time. Never waits. Context: the agent.
 */
void agent_look(void *context, const struct profile *profile);

/* Readable once the agent has ended, or waiting for it has. */
int agent_over_fd(const struct agent *agent);
/* Has its process ended? *status as from waitpid(2). */
bool agent_has_ended(const struct agent *agent, int *status);

/*
 * End the stream: put the last line, and close the agent's standard input once it has read that.
 * Waiting ends when the agent has read nothing for 5 s, or has not ended 5 s after it has read all.
 * Returns at once; agent_over_fd() reports the end of waiting.
 */
void agent_end(struct agent *agent, const struct profile *profile);
/* After agent_end(): stop waiting for it. */
void agent_give_up(struct agent *agent);
/*
 * Wait for the end that agent_end() has begun; without agent_end() the agent is given up. It may
 * continue to run. Frees all; returns the number of the recording's rows that it has not taken.
 * NULL: 0.
 */
uint64_t agent_free(struct agent *agent);

#endif
