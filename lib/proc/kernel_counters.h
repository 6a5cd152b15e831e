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

/*
 * Those of a thread, without stopping it: 3 to 8 us for each of the files stat, schedstat and io.
 * False if it is gone, or they may not be read.
 */
bool kernel_counters_read(pid_t tgid, pid_t tid, unsigned int wanted, struct kernel_counters *out);

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
/* Which of them are not 0. */
unsigned int kernel_counters_set(const struct kernel_counters *counters);

#endif
