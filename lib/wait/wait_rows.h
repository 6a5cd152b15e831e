/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WAIT_WAIT_ROWS_H
#define PROFC_WAIT_WAIT_ROWS_H

#include <stdint.h>
#include <sys/types.h>

#include "profile/ids.h"

struct profile;
struct seen_wait;
struct space;

/* Observed waits as rows of a profile. */
struct wait_rows;

struct wait_rows *wait_rows_new(struct profile *profile); /* which is borrowed */
void wait_rows_free(struct wait_rows *rows);		  /* may be NULL */

/* The facts about a process that its waits need. */
struct waiting_process {
	uint32_t row;
	pid_t pid;
	struct space *space;
	/* The row of a thread of the process, from our id of it, or THREAD_NONE. */
	struct thread_id (*find_thread)(void *context, pid_t tid);
	void *context;
};

/*
 * The number that a sample has for its wait. An owner that is no thread of the process is dropped:
 * memory then only looked like a lock.
 */
uint32_t wait_rows_number(struct wait_rows *rows, const struct waiting_process *process,
			  const struct seen_wait *wait);

/* Call this from time to time: searches again for missing or ended peers of sockets and pipes. */
void wait_rows_catch_up(struct wait_rows *rows);

#endif
