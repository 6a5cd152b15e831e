/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps requests until they are delivered. */
#ifndef PROFC_PUSH_SPOOL_H
#define PROFC_PUSH_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "push/transport.h"

struct err;
struct push_request;
struct push_spool;

/*
 * A bounded queue of requests, on disk or in memory. Each is sent until it is delivered, refused
 * for ever, or the oldest one when there is no room for a new one: it is then dropped. So each
 * request arrives at least once or is counted; an answer that was lost makes one arrive twice.
 *
 * After a failure no request is sent for a while that doubles with each further failure in a row,
 * and is shortened by up to a half at random, so that many machines do not come back at once. The
 * next attempt is then of another request, if there is one, as one that no receiver can take must
 * not hold up the others. After a delivery it is the oldest one's turn.
 *
 * One thread adds and one takes steps, at the same time if they like: adding waits for the disk,
 * but never for a receiver.
 */
struct push_spool_options {
	/*
	 * Made if it is not there, and this spool's alone while it is open; of one receiver, as
	 * requests are kept in its form. What an earlier spool has left there is sent, too. NULL:
	 * in memory. Borrowed for the call.
	 */
	const char *directory;
	uint64_t max_bytes; /* of all requests; 0: no bound */
	struct push_transport transport;
	uint64_t (*now_ns)(void *context); /* a clock of both threads; NULL: CLOCK_MONOTONIC */
	void *now_context;		   /* borrowed */
	uint64_t seed;			   /* of the random times */
	uint64_t first_wait_ns,
		longest_wait_ns; /* after one failure, and after many; 0: 1 s, 5 min */
};

/* Each request that was added, or found, is in one of the first five in the end. */
struct push_counts {
	uint64_t nr_delivered;
	uint64_t nr_refused;
	uint64_t nr_dropped; /* for want of room */
	uint64_t nr_unkept;  /* could not be written, or be read again */
	uint64_t nr_left;    /* are to be sent */
	uint64_t nr_added, nr_found;
	uint64_t nr_failures; /* attempts that failed or were denied */
	uint64_t left_bytes;
};

enum push_step {
	PUSH_STEP_NOTHING, /* there is nothing to send */
	PUSH_STEP_EARLY,   /* the time of the next attempt has not come */
	PUSH_STEP_SENT,	   /* an attempt was made: see its answer */
	PUSH_STEP_UNKEPT,  /* a request could not be read again, and is no longer there */
};

/*
 * ERR_SYS, ERR_PERMISSION: the directory cannot be used, or others can write to it; ERR_LIMIT:
 * another profc uses it. Freed with push_spool_free(), which leaves on disk what was not delivered.
 */
int push_spool_open(struct push_spool **spool, const struct push_spool_options *options,
		    struct err *err);
void push_spool_free(struct push_spool *spool);

/*
 * Add a request, which is copied, dropping the oldest ones for it. ERR_LIMIT: it is larger than the
 * bound; ERR_SYS: it cannot be written. Both are counted.
 */
int push_spool_add(struct push_spool *spool, const struct push_request *request, struct err *err);
/* The time of the next attempt, by the spool's clock. False: there is nothing to send. */
bool push_spool_due(struct push_spool *spool, uint64_t *due_ns);
/* Make one attempt if it is due. The answer is written with PUSH_STEP_SENT. */
enum push_step push_spool_step(struct push_spool *spool, struct push_answer *answer);
struct push_counts push_spool_counts(struct push_spool *spool);

#endif
