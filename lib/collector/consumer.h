/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_CONSUMER_H
#define PROFC_COLLECTOR_CONSUMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/step_sink.h"
#include "unwind/unwind.h"

struct err;
struct message;
struct profile;
struct snapshot_ring;
struct store_writer;
struct code_filter_options;

/* What a collector (collector.h) is given, and what comes of it. */

enum collector_state {
	COLLECTOR_RUNNING,
	COLLECTOR_WRITE_FAILED,	   /* collector_finish() says why; may follow one of the others */
	COLLECTOR_SAMPLES_REACHED, /* max_samples; what is published yet still counts */
	COLLECTOR_SIZE_REACHED,	   /* max_bytes; likewise */
};

struct collector_options {
	/* Borrowed, and not to be touched before collector_finish(); without processes at first. */
	struct profile *profile;
	struct store_writer *writer; /* likewise borrowed */
	uint64_t start_ns;	     /* CLOCK_MONOTONIC: time 0 of the profile */
	uint64_t period_ns;	     /* between two samples, as asked for */
	enum unwinder_kind unwinder;
	size_t max_depth;
	/* Only samples within that are kept, with their time; NULL: all. */
	const struct code_filter_options *within;
	const atomic_bool *ended; /* unwinder_end_by(); NULL: no walk ends early */
	bool has_all_blocks;	  /* each block of memory is published, and not a sample of them */
	bool has_searches;	  /* of memory: what they say is of single blocks */
	bool check_unwinder;	  /* unwinder_check_each() */
	uint64_t max_samples;	  /* 0: any number */
	uint64_t max_bytes;	  /* of the file, before symbols; 0: any */
	/*
	 * Called by the collector's thread when collector_state() leaves COLLECTOR_RUNNING: the
	 * recording should end. Once at most, and not where that shows only after
	 * collector_finish() was called, though a call may then be on its way. NULL: not called.
	 */
	void (*wake)(void *context);
	void *context;
	/*
	 * Called by the same before it writes, with NULL, and with what is in a MESSAGE_ROWS: for
	 * rows that others add. NULL: there are none.
	 */
	void (*add_rows)(void *context, const void *rows, struct profile *profile);
	void *rows_context;
	/* Called by the same after that: all samples are there that are to be written, and all
	 * rows. NULL: nobody looks. */
	void (*look)(void *context, const struct profile *profile);
	void *look_context;
	struct step_sink steps; /* called by the same */
};

/* What has been handled so far. */
struct collector_progress {
	uint64_t nr_samples;	       /* of one sleep only the first */
	uint64_t nr_observed;	       /* of one sleep all */
	size_t nr_threads, nr_blocked; /* that are there; of those, blocked when last sampled */
};

struct collector_result {
	enum collector_state state;
	uint64_t nr_samples;	/* observations put into the profile */
	uint64_t cpu_ns;	/* all CPU time put into the profile, attributed or not */
	uint64_t thread_cpu_ns; /* that the collector's thread has used */
	struct unwinder_check unwinder_check; /* all 0 if not asked for */
};

/*
 * What becomes of messages: the processes and threads that there are, and what was sampled of them,
 * turned into rows and samples of the profile. Used by one thread at a time, and knows nothing of
 * the others.
 */
struct consumer;

/* `used` is borrowed: where snapshots go that have been walked. */
struct consumer *consumer_new(const struct collector_options *options, struct snapshot_ring *used);
void consumer_free(struct consumer *consumer);
/* A moment (CLOCK_MONOTONIC) that views will ask for: what was alive then is to be known. */
void consumer_mark(struct consumer *consumer, uint64_t time_ns);

/* Deal with a message, which is the consumer's from now on. */
void consumer_handle(struct consumer *consumer, struct message *message);
/*
 * All messages that were there have been handled: read the maps of the processes that they were
 * about anew, where it is time to. Until when messages should not wait: address spaces change while
 * they do.
 */
uint64_t consumer_watch_maps(struct consumer *consumer);
/*
 * The recording is over: what was published is handled yet, but stacks that are costly to walk are
 * not walked to their end, so that this does not take long.
 */
void consumer_hurry(struct consumer *consumer);
/* Write what has gathered. Negative when the file could not be written. */
int consumer_flush(struct consumer *consumer, struct err *err);
/*
 * No message will follow: what is left to be read is read, what is held back handed out, and its
 * counters set in the profile. All of the result but for what is the thread's.
 */
void consumer_end(struct consumer *consumer, struct collector_result *result);

struct collector_progress consumer_progress(const struct consumer *consumer);

#endif
