/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_METRIC_H
#define PROFC_PROFILE_METRIC_H

#include <stdbool.h>

#include "proc/kernel_counters.h"

/*
 * The quantities that views sum up. Metrics of time are those of each sample, with wall = cpu +
 * runq + blocked; but for elapsed time, which depends on all threads. Metrics of memory are the
 * bytes that recorded blocks represent, or blocks for METRIC_ALLOCS. Metrics of the kernel's
 * counters are by how much these have advanced (profile/advances.h).
 */
enum metric {
	METRIC_CPU,
	METRIC_WALL,
	METRIC_RUNQ,
	METRIC_BLOCKED,
	METRIC_SAMPLES,
	METRIC_ELAPSED,	  /* each instant once: calltree/elapsed.h divides it among samples */
	METRIC_ALLOC,	  /* allocated, whether or not it was freed */
	METRIC_ALLOCS,	  /* the same in blocks */
	METRIC_LIVE,	  /* alive at a moment, by default the end */
	METRIC_PEAK,	  /* alive at the peak of bytes */
	METRIC_LEAKED,	  /* alive at the end of the recording, or of its process */
	METRIC_TEMPORARY, /* freed soon after */
	METRIC_FREED,	  /* freed, attributed to the freeing stack */
	METRIC_KERNEL,	  /* of the first kernel counter; those of the others follow */
};

#define METRIC_COUNT (METRIC_KERNEL + NR_KERNEL_COUNTERS)

enum metric_kind {
	METRIC_OF_TIME, /* in ns */
	METRIC_OF_BYTES,
	METRIC_OF_COUNT, /* of what `item` says */
};

/* Times of a sample that a metric of time adds up. */
enum metric_parts {
	METRIC_HAS_CPU = 1,
	METRIC_HAS_RUNQ = 2,
	METRIC_HAS_BLOCKED = 4,
};

/* Facts about a metric. Which blocks it adds up is in calltree/observe.c. */
struct metric_info {
	const char *unit; /* as files have it: "ns", "bytes", "samples", "blocks" or "count" */
	const char *item, *items; /* for METRIC_OF_COUNT, one and many: "sample", "samples" */
	/* Behind an amount, as in "3 ms of CPU time"; behind "no", as in "no samples with CPU
	 * time". */
	const char *amount_words, *none_words;
	/* Types of its values in pprof's files: how many, and their weight. NULL: it has none such.
	 */
	const char *pprof_count, *pprof_weight;
	const char *summary; /* of a counter: what it counts */
	enum metric_kind kind;
	bool is_memory;	    /* of recorded blocks, else of samples */
	bool needs_freeing; /* recordings need --mem-free-stacks for it */
	unsigned int parts; /* enum metric_parts */
};

/* The row of the metric; valid for as long as the program runs. */
const struct metric_info *metric_info(enum metric metric);

/* The metrics' names, as options and files have them, NULL-ended; and the same followed by the
 * exact counts. */
extern const char *const metric_names[], *const metric_names_and_calls[];

static inline const char *metric_name(enum metric metric)
{
	return metric_names[metric];
}

bool metric_parse(const char *text, enum metric *metric);

static inline bool metric_is_time(enum metric metric)
{
	return metric_info(metric)->kind == METRIC_OF_TIME;
}

static inline const char *metric_unit(enum metric metric)
{
	return metric_info(metric)->unit;
}

/* Does it add up recorded blocks, in bytes or by number, and not samples? */
static inline bool metric_is_memory(enum metric metric)
{
	return metric_info(metric)->is_memory;
}

/* Does it add up advances of one of the kernel's counters? */
static inline bool metric_is_counter(enum metric metric)
{
	return metric >= METRIC_KERNEL;
}

static inline enum metric metric_of_counter(enum kernel_counter counter)
{
	return (enum metric)((int)METRIC_KERNEL + (int)counter);
}

/* For metrics that are of one. */
static inline enum kernel_counter metric_counter(enum metric metric)
{
	return (enum kernel_counter)(metric - METRIC_KERNEL);
}

/* Does it add up what each sample has, time or their number? */
static inline bool metric_is_of_samples(enum metric metric)
{
	return !metric_is_memory(metric) && !metric_is_counter(metric) && metric != METRIC_ELAPSED;
}

static inline bool metric_is_bytes(enum metric metric)
{
	return metric_info(metric)->kind == METRIC_OF_BYTES;
}

#endif
