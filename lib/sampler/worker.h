/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_WORKER_H
#define PROFC_SAMPLER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/message.h"
#include "unwind/unwind.h"

struct err;
struct profile;
struct store_writer;

/*
 * The other half of a recording: takes the messages of the sampling thread, walks the
 * stacks, interns them and hands out the time. Used by one thread at a time.
 */
struct worker;

struct worker_options {
	struct profile *profile;     /* borrowed */
	struct store_writer *writer; /* borrowed */
	uint64_t start_ns;	     /* CLOCK_MONOTONIC: time 0 of the profile */
	uint64_t period_ns;	     /* between two looks, as asked for */
	enum unwinder_kind unwinder;
	size_t max_depth;
	bool check_unwinder;
	struct snapshot_ring *used_snapshots; /* borrowed: where it puts them */
};

struct worker *worker_new(const struct worker_options *options);
void worker_free(struct worker *worker);

/* Deal with a message, which is the worker's from now on. */
void worker_handle(struct worker *worker, struct message *message);
/* Write what has gathered. Negative when the file could not be written. */
int worker_flush(struct worker *worker, struct err *err);
/* No message will follow: hand out what still waits for something. */
void worker_end(struct worker *worker);

/*
 * All messages that were there have been handled: read the maps of the processes they were about
 * anew, where it is time to.
 */
void worker_watch_maps(struct worker *worker);
/* Until then messages should not wait: address spaces change while they do. */
uint64_t worker_restless_until_ns(const struct worker *worker);

/* What was heard of so far. */
struct worker_progress {
	uint64_t nr_sightings;	      /* of those that went on sleeping only the first */
	size_t nr_threads, nr_asleep; /* that are there; of those, seen asleep when last seen */
};

const struct worker_progress *worker_progress(const struct worker *worker);

/* Observations put into the profile. */
uint64_t worker_nr_samples(const struct worker *worker);
/* All CPU time put into the profile, attributed or not. */
uint64_t worker_cpu_ns(const struct worker *worker);
/* What the cross-check of the unwinder found, if it was asked for. */
const struct unwinder_check *worker_unwinder_check(const struct worker *worker);
void worker_set_counters(const struct worker *worker);

#endif
