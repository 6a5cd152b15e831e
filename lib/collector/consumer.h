/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_CONSUMER_H
#define PROFC_COLLECTOR_CONSUMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/block_source.h"
#include "profile/block_search.h"
#include "profile/heap_forget.h"
#include "unwind/step_sink.h"
#include "unwind/unwind.h"

struct err;
struct message;
struct profile;
struct snapshot_ring;
struct store_writer;
struct code_filter_options;

/* Options and results of a collector (collector.h). */

enum collector_state {
	COLLECTOR_RUNNING,
	COLLECTOR_WRITE_FAILED,	   /* collector_finish() gives the reason; may follow others */
	COLLECTOR_SAMPLES_REACHED, /* max_samples; messages that are published still count */
	COLLECTOR_SIZE_REACHED,	   /* max_bytes; likewise */
};

struct collector_options {
	/* Borrowed, and not to be used before collector_finish(). It has no processes at first. */
	struct profile *profile;
	struct store_writer *writer; /* likewise borrowed; NULL: there is no file */
	uint64_t start_ns;	     /* CLOCK_MONOTONIC: time 0 of the profile */
	uint64_t period_ns;	     /* between two samples, as requested */
	enum unwinder_kind unwinder;
	size_t max_depth;
	/* Keep only samples within this, with their time; NULL: all. */
	const struct code_filter_options *within;
	const atomic_bool *ended; /* unwinder_end_by(); NULL: no walk ends early */
	bool has_all_blocks;	  /* `blocks` brings all blocks of memory, not a sample */
	bool has_searches;	  /* of memory, which judge single blocks */
	bool check_unwinder;	  /* unwinder_check_each() */
	uint64_t max_samples;	  /* 0: any number */
	uint64_t max_bytes;	  /* of the file, before symbols; 0: any */
	/*
	 * Called by the collector's thread when collector_state() leaves COLLECTOR_RUNNING: the
	 * recording should end. At most once, and not if the state changes after collector_finish()
	 * was called, though a call may be under way then. NULL: not called.
	 */
	void (*wake)(void *context);
	void *context;
	/* Called by the same thread before it writes: adds rows of other rooms. NULL: not called.
	 */
	void (*add_rows)(void *context, struct profile *profile);
	void *rows_context;
	/*
	 * Called by the same thread after that, when all samples and rows that are to be written
	 * are there. NULL: not called.
	 */
	void (*look)(void *context, const struct profile *profile);
	void *look_context;
	struct heap_keep heap_keep; /* blocks of a sample; the rest is forgotten after look() */
	struct step_sink steps;	    /* the same thread calls this and the next one */
	struct block_source blocks;
	struct interpreter_sink interpreters; /* likewise */
};

/* Numbers up to now. */
struct collector_progress {
	uint64_t nr_samples;	       /* of each sleep only the first */
	uint64_t nr_observed;	       /* all, also of one sleep */
	size_t nr_threads, nr_blocked; /* living ones; those that were blocked when last sampled */
};

struct collector_result {
	enum collector_state state;
	uint64_t nr_samples;	/* observations put into the profile */
	uint64_t cpu_ns;	/* all CPU time put into the profile, attributed or not */
	uint64_t thread_cpu_ns; /* used by the collector's thread */
	struct unwinder_check unwinder_check; /* zeros if not asked for */
};

/*
 * Turns messages into rows and samples of the profile: it keeps the living processes and threads,
 * and their samples. Used by one thread at a time.
 */
struct consumer;

/* `used` is borrowed: snapshots go there once they are walked. */
struct consumer *consumer_new(const struct collector_options *options, struct snapshot_ring *used);
void consumer_free(struct consumer *consumer);
/* Views will ask which blocks were alive at this moment (CLOCK_MONOTONIC). */
void consumer_mark(struct consumer *consumer, uint64_t time_ns);

/* Handle a message, and free it: at once, or after a round of reading allocations. */
void consumer_handle(struct consumer *consumer, struct message *message);
/*
 * Read allocations, and handle the messages that have waited for it. No other function of the
 * consumer was called by the source since the last message.
 */
enum blocks_read consumer_read_blocks(struct consumer *consumer);
/* Do messages wait for a round to end? */
bool consumer_has_waiting(const struct consumer *consumer);

/* Functions for block sources and for calls, by the same thread. */

/*
 * Add records. Their processes must be known and not have ended. Snapshots are borrowed for the
 * call.
 */
void consumer_add_blocks(struct consumer *consumer, const struct block_record *records, size_t nr);
/*
 * The serial of a process by its id, or by the id of one of its threads; or SERIAL_NONE. After
 * execs, the first serial of the process that may have unread allocations.
 */
uint32_t consumer_find_process(const struct consumer *consumer, pid_t id);
bool consumer_has_begun(const struct consumer *consumer, uint32_t serial);
/* The id of a process; 0: it has not begun, or has ended. */
pid_t consumer_pid_of(const struct consumer *consumer, uint32_t serial);
/* The parent of a process that had ended when its records were read; else SERIAL_NONE. */
uint32_t consumer_parent_of_late(const struct consumer *consumer, uint32_t serial);
bool consumer_has_thread(const struct consumer *consumer, uint32_t serial, pid_t tid);
/* The most bytes of stack that a walk for a block has needed so far; 0: not known. */
uint32_t consumer_block_stack_bytes(const struct consumer *consumer);

/*
 * A search of the memory of a process: at a mark with this text; NULL: at the end of the process.
 */
struct searched {
	uint32_t process;
	const char *mark;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* Add the results of a search for the blocks that are alive. */
void consumer_add_search(struct consumer *consumer, const struct block_search *found,
			 const struct searched *searched);
/* Make rows of all blocks up to now. Returns the profile, for rows of other rooms. */
struct profile *consumer_make_rows(struct consumer *consumer);
/*
 * Call this once all waiting messages are handled: it reads the maps of their processes again,
 * where it is time to. Returns the time until which messages should not wait, as address spaces
 * change.
 */
uint64_t consumer_watch_maps(struct consumer *consumer);
/*
 * The recording is over: published messages are still handled, and blocks read for one more round,
 * but stacks that are costly to walk are cut, so that this does not take long.
 */
void consumer_hurry(struct consumer *consumer);
/* Write what was handled. Negative: the file could not be written. */
int consumer_flush(struct consumer *consumer, struct err *err);
/*
 * No message follows: reads what is left to be read, emits samples that are held back, and sets its
 * counters in the profile. Sets the result, except for the members about the thread.
 */
void consumer_end(struct consumer *consumer, struct collector_result *result);

struct collector_progress consumer_progress(const struct consumer *consumer);

#endif
