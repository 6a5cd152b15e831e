/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_LIVE_H
#define PROFC_CMD_LIVE_H

#include <stddef.h>
#include <sys/types.h>

struct err;
struct profile;
struct record_options;
struct sampler;

/*
 * A recording that goes to memory and is looked at while it is made. Its processes are
 * let go by live_end(), and by the end of profc, however that comes.
 */
struct live;

/*
 * Attach to the processes, or with argv (NULL-ended, else NULL) run a command. Blocks
 * SIGCHLD in the calling thread; do so before other threads are made. The options and
 * pids are borrowed until the end. NULL with the reason.
 */
struct live *live_start(const struct record_options *options, char **argv, const pid_t *pids,
			size_t nr_pids, struct err *err);
/* For pausing, and for the descriptor that tells of the end. Borrowed. */
struct sampler *live_sampler(struct live *live);
/* What was recorded so far, without symbols, as a profile that the caller owns. */
int live_profile(struct live *live, struct profile **profile, struct err *err);
/* Let everybody go and free it. NULL is fine. Returns the wait status of a command, else 0. */
int live_end(struct live *live);

#endif
