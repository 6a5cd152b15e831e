/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_CPU_SPLIT_H
#define PROFC_PROC_CPU_SPLIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

struct proc_stat;

/*
 * User and system CPU time (utime and stime of proc_pid_stat(5)), which the kernel accounts in
 * clock ticks, scales so that their sum is the exact CPU time, and reports in whole ticks of 10 ms.
 */
struct proc_cpu_split {
	uint64_t user_ns, system_ns;
	uint64_t nr_faults; /* page faults, with and without input, in the same stretch of time */
};

uint64_t proc_cpu_split_sum(const struct proc_cpu_split *split);
void proc_cpu_split_add(struct proc_cpu_split *sum, const struct proc_cpu_split *more);
/*
 * All that is not among the known. Of these one part may be larger than it is in all, as the kernel
 * rounds each and the meter below shares out what is missing: it is not so at the expense of the
 * sum.
 */
struct proc_cpu_split proc_cpu_split_rest(const struct proc_cpu_split *all,
					  const struct proc_cpu_split *known);

/* Threads that used less are likely to show 0. */
#define PROC_CPU_SPLIT_LEAST_NS (10 * NS_PER_MS)

/*
 * The split of a thread, zombies included; with tid 0 of the whole process, its ended threads
 * included. False when it is gone.
 */
bool proc_read_cpu_split(pid_t tgid, pid_t tid, struct proc_cpu_split *split);
/* As above, from its stat. */
struct proc_cpu_split proc_cpu_split_of_stat(const struct proc_stat *stat);

/* That of its reaped children and of theirs, in whole ticks. */
uint64_t proc_cpu_of_children(const struct proc_stat *stat);

/* Is it that of all of this CPU time? Both are in ticks, and the kernel makes their sum the latter.
 */
bool proc_cpu_split_covers(const struct proc_cpu_split *split, uint64_t cpu_ns);

/*
 * The part of it that falls into counted stretches of a thread's life. Zero-initialised it counts
 * from 0 on. A failed reading makes the sum unknown.
 */
struct cpu_split_meter {
	struct proc_cpu_split base, sum;
	bool rests, lost;
	uint64_t nr_switches; /* times that a thread was scheduled in: the caller counts them */
};

/* Count from here; NULL: it could not be read. */
void cpu_split_meter_begin(struct cpu_split_meter *meter, const struct proc_cpu_split *now);
/*
 * Stop counting here; no effect if it has stopped already. Of cpu_ns, all CPU time used since it
 * began, less than two ticks may be missing, as the kernel rounds both parts down: each is given
 * half of them.
 */
void cpu_split_meter_rest(struct cpu_split_meter *meter, const struct proc_cpu_split *now,
			  uint64_t cpu_ns);
/* The sum; false if it is unknown, or less than a tick. */
bool cpu_split_meter_sum(const struct cpu_split_meter *meter, struct proc_cpu_split *sum);

#endif
