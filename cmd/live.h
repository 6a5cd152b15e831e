/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_LIVE_H
#define PROFC_CMD_LIVE_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

struct attached;
struct child_signals;
struct counting;
struct err;
struct joiners;
struct profile;
struct record_options;
struct sampler;
struct sampler_result;

/*
 * A recording that goes to memory and is looked at while it is made. Its processes are
 * let go by live_stop(), and by the end of profc, however that comes.
 */
struct live;

/* The processes to record. All members are borrowed until live_stop(). */
struct live_request {
	const struct record_options *options;
	struct counting *counting;	 /* the caller ends it after live_stop(); NULL: none */
	char **argv;			 /* a command, NULL-ended; NULL: the processes */
	const struct attached *attached; /* NULL: a command is started */
	const struct joiners *joiners;	 /* these, too; NULL: none */
	const struct child_signals *command_signals; /* of the command; NULL: as they are now */
	const atomic_bool *ended;		     /* sampler_options.ended */
	int *exec_errno; /* set if the command could not be executed; NULL: not wanted */
};

/*
 * Begin. Signals that are to be blocked must be so by now, as all threads inherit it. NULL with the
 * reason.
 */
struct live *live_start(const struct live_request *request, struct err *err);
/* The command; 0: none. It is the caller's to reap, once the recording was stopped. */
pid_t live_command(const struct live *live);
/* For its descriptors, as that which tells of the end. Borrowed; NULL once stopped. */
struct sampler *live_sampler(struct live *live);
/* Nothing is recorded in between. */
void live_pause(struct live *live);
void live_resume(struct live *live);
/*
 * The profile so far, without symbols; the caller owns it. The sleep of a thread that is blocked
 * lasts until now in it.
 */
int live_profile(struct live *live, struct profile **profile, struct err *err);
/* End the recording, if it has not ended, and detach from all threads. The result is borrowed. */
const struct sampler_result *live_stop(struct live *live);
void live_free(struct live *live); /* stops it, too */

#endif
