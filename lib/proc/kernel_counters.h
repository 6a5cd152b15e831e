/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_KERNEL_COUNTERS_H
#define PROFC_PROC_KERNEL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * Counters that the kernel keeps for each thread, from /proc. A new one is a row here, one of the
 * table in kernel_counters.c, and one of the metrics (profile/metric.c). The numbers are part of
 * the file format: append only.
 */
enum kernel_counter {
	KERNEL_COUNTER_FAULTS,	      /* page faults, served with and without input */
	KERNEL_COUNTER_SWITCHES,      /* times it was given a CPU */
	KERNEL_COUNTER_READ_BYTES,    /* by read(2) and its like, from anything (proc_pid_io(5)) */
	KERNEL_COUNTER_WRITTEN_BYTES, /* likewise by write(2) */
};

#define NR_KERNEL_COUNTERS (KERNEL_COUNTER_WRITTEN_BYTES + 1)

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

/* Which of the wanted counters a file has. */
unsigned int kernel_counters_in_file(enum kernel_counter_file file, unsigned int wanted);

/*
 * Those of the wanted that the file has, from a descriptor on it, without stopping its thread; no
 * other member of *out changes. False if the thread is gone, or they may not be read.
 */
bool kernel_counters_read_file(int fd, enum kernel_counter_file file, unsigned int wanted,
			       struct kernel_counters *out);

/*
 * Those of a process: of all its threads, with those that have ended. Returns the set of the
 * counters that the kernel sums up for processes, 0 if it is gone.
 */
unsigned int kernel_counters_read_process(pid_t pid, unsigned int wanted,
					  struct kernel_counters *out);

/* Does this kernel keep them? ERR_SYS with the reason. Reads those of the caller. */
int kernel_counters_check(unsigned int wanted, struct err *err);

/* How much larger each counter is now; 0 where it is smaller, as after an exec. */
struct kernel_counters kernel_counters_since(const struct kernel_counters *now,
					     const struct kernel_counters *before);
void kernel_counters_add(struct kernel_counters *sum, const struct kernel_counters *more);
/* Set all to 0 that are not in the set. */
void kernel_counters_keep(struct kernel_counters *counters, unsigned int set);
/* Which of them are not 0. */
unsigned int kernel_counters_set(const struct kernel_counters *counters);

#endif
