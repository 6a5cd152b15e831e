/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_CPU_CLOCKS_H
#define PROFC_TARGET_CPU_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The scheduler has a clock for each CPU (rq_clock_task() in kernel/sched/sched.h): it says by it
 * when a thread has left that CPU (proc_read_exec_start()). It is neither CLOCK_MONOTONIC nor the
 * same for all: where the kernel accounts for it, the clock stands while the host of a virtual
 * machine has the CPU, or interrupts do. So it is read beside the other, by a thread that is bound
 * to the CPU for a moment.
 */
struct cpu_clocks;

/* The thread is made when the first clock is wanted. To be ended by cpu_clocks_end(). */
struct cpu_clocks *cpu_clocks_new(void);
void cpu_clocks_end(struct cpu_clocks *clocks);

/* Read that of this CPU anew, soon: it takes some 50 us, and who is busy there may come first. */
void cpu_clocks_want(struct cpu_clocks *clocks, int cpu);

/* By CLOCK_MONOTONIC */
struct cpu_time {
	uint64_t latest_ns;
	uint64_t
		error_ns; /* so much before that it may have been, by how that clock went of late */
};

/*
 * When was that time of the CPU's clock? Only by a reading after `not_before_ns`, which is not
 * before that time either: what that clock has stood since is the error. False if there is none, or
 * none yet.
 */
bool cpu_clocks_time(struct cpu_clocks *clocks, int cpu, uint64_t clock_ns, uint64_t not_before_ns,
		     struct cpu_time *time);

#endif
