/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_TERMS_H
#define PROFC_COLLECTOR_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct profile;
struct store_writer;

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
	bool check_unwinder;  /* unwinder_check_each() */
	uint64_t max_samples; /* 0: any number */
	uint64_t max_bytes;   /* of the file, before symbols; 0: any */
	/*
	 * Called by the collector's thread when collector_state() leaves COLLECTOR_RUNNING: the
	 * recording should end. Once at most, and not where that shows only after
	 * collector_finish() was called, though a call may then be on its way. NULL: not called.
	 */
	void (*wake)(void *context);
	void *context;
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

#endif
