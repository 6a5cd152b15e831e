/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_KERNEL_COUNTERS_H
#define PROFC_PROC_KERNEL_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/event_counter.h"

struct err;

/*
 * Counters that the kernel keeps for each thread: in files of /proc, or where a descriptor of
 * perf_event_open(2) asks for it. A new one is a row here, one of a table in kernel_counters.c, one
 * of the metrics (profile/metric.c), and a line of man/profc.1 and man/profc-data.5. The numbers
 * are part of the file format: append only.
 */
enum kernel_counter {
	KERNEL_COUNTER_FAULTS,	      /* page faults, served with and without input */
	KERNEL_COUNTER_SWITCHES,      /* times it was given a CPU */
	KERNEL_COUNTER_READ_BYTES,    /* by read(2) and its like, from anything (proc_pid_io(5)) */
	KERNEL_COUNTER_WRITTEN_BYTES, /* likewise by write(2) */
	KERNEL_COUNTER_INSTRUCTIONS,  /* this and the next three in user mode, by the CPU */
	KERNEL_COUNTER_CYCLES,
	KERNEL_COUNTER_CACHE_MISSES, /* of the last level */
	KERNEL_COUNTER_BRANCH_MISSES,
	KERNEL_COUNTER_MIGRATIONS, /* times it was given another CPU than the last */
};

#define NR_KERNEL_COUNTERS (KERNEL_COUNTER_MIGRATIONS + 1)

/* The bit of a counter in a set of them. */
#define KERNEL_COUNTER_BIT(counter) (1U << (counter))

/* A counter that was not asked for is 0. */
struct kernel_counters {
	uint64_t values[NR_KERNEL_COUNTERS];
};

/* The files of /proc/PID/task/TID that have some of them. */
enum kernel_counter_file {
	KERNEL_COUNTERS_IN_STAT,
	KERNEL_COUNTERS_IN_SCHEDSTAT,
	KERNEL_COUNTERS_IN_IO,
};

#define NR_KERNEL_COUNTER_FILES (KERNEL_COUNTERS_IN_IO + 1)

/* The wanted counters that a file has, and those that have descriptors of their own. */
unsigned int kernel_counters_in_file(enum kernel_counter_file file, unsigned int wanted);
unsigned int kernel_counters_of_events(unsigned int wanted);

/*
 * Those of the wanted that the file has, from a descriptor on it, without stopping its thread; no
 * other member of *out changes. False if the thread is gone, or they may not be read.
 */
bool kernel_counters_read_file(int fd, enum kernel_counter_file file, unsigned int wanted,
			       struct kernel_counters *out);

/* Descriptors on events of a thread (event_counter.h). */
struct kernel_events;

/*
 * Count the wanted that are events, of which there must be one, from `start` on. An error with the
 * reason, as of event_counter_open(), if any of them cannot be counted. *out is the caller's to
 * free by kernel_events_free().
 */
int kernel_events_open(struct kernel_events **out, const struct event_opener *opener, pid_t tid,
		       unsigned int wanted, enum event_start start, struct err *err);
void kernel_events_free(struct kernel_events *events);
size_t kernel_events_nr(const struct kernel_events *events);
/* Those that could be read, also of a thread that has ended; no other member of *out changes. */
unsigned int kernel_events_read(struct kernel_events *events, struct kernel_counters *out);

/* Sums of all events that are counted. */
struct kernel_event_times {
	uint64_t enabled_ns; /* that their thread ran, */
	uint64_t running_ns; /* and that they were counted: less where they share the hardware */
};

/* As last read. */
struct kernel_event_times kernel_events_times(const struct kernel_events *events);

/*
 * Those of a process: of all its threads, with those that have ended. Returns the set of the
 * counters that the kernel sums up for processes, 0 if it is gone.
 */
unsigned int kernel_counters_read_process(pid_t pid, unsigned int wanted,
					  struct kernel_counters *out);

/*
 * Can they be had here? An error with the reason; reads those of the caller. `opener` opens
 * descriptors on events, mostly event_opener_of_kernel.
 */
int kernel_counters_check(const struct event_opener *opener, unsigned int wanted, struct err *err);

/* How much larger each counter is now; 0 where it is smaller, as after an exec. */
struct kernel_counters kernel_counters_since(const struct kernel_counters *now,
					     const struct kernel_counters *before);
void kernel_counters_add(struct kernel_counters *sum, const struct kernel_counters *more);
/* Set all to 0 that are not in the set. */
void kernel_counters_keep(struct kernel_counters *counters, unsigned int set);
/* Which of them are not 0. */
unsigned int kernel_counters_set(const struct kernel_counters *counters);

#endif
