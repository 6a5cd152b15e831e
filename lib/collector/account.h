/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_ACCOUNT_H
#define PROFC_COLLECTOR_ACCOUNT_H

#include <stdint.h>

/*
 * Which sample gets a thread's time: pure arithmetic on the kernel's totals, see "What a
 * sample means" in lib/README.md. Every nanosecond that the clocks have advanced is
 * unattributed until a fitting sample of the thread takes it: time on a CPU goes only to
 * stacks seen running, blocked time only to stacks seen blocked. What is unattributed
 * at the end is the rest. So totals are exact at any rate, and a sample that is lost
 * costs precision and never time.
 */
struct account_clocks {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns, runq_ns;
};

struct account {
	struct account_clocks seen; /* everything up to here is attributed, or counted below */
	uint64_t unattributed_cpu_ns, unattributed_runq_ns;
	/* Negative for moments: the clocks are not read at the same instant. */
	int64_t unattributed_blocked_ns;
};

struct weights {
	uint64_t cpu_ns, runq_ns, blocked_ns;
};

/*
 * Since the last sample, and in neither clock: how long profc held the thread, which belongs to no
 * sample, and how long it had a CPU that the host of a virtual machine took away, which is a wait
 * for one. The kernel leaves that out of CPU time (PARAVIRT_TIME_ACCOUNTING:
 * update_rq_clock_task() of kernel/sched/core.c, likewise the time of interrupts), and it is no
 * wait in a run queue.
 */
struct account_losses {
	uint64_t held_ns, stolen_ns;
};

/* The time before `clocks` belongs to no sample. */
void account_start(struct account *account, const struct account_clocks *clocks);
/* The thread was seen on a CPU: takes the CPU time and the waits for one. */
struct weights account_running(struct account *account, const struct account_clocks *clocks,
			       const struct account_losses *losses);
/*
 * Seen runnable: takes the waits for a CPU. Where it waits says nothing about where it ran: a
 * thread that was just woken waits at the call it slept in.
 */
struct weights account_runnable(struct account *account, const struct account_clocks *clocks,
				const struct account_losses *losses);
/* Seen blocked: takes the time off the CPU. */
struct weights account_blocked(struct account *account, const struct account_clocks *clocks);
/*
 * It was blocked until time_ns, as the unchanged count of wake-ups proves: takes the time
 * off the CPU up to then and leaves the rest for the next sample.
 */
struct weights account_blocked_until(struct account *account, uint64_t time_ns);
/* Everything that is unattributed at the end. */
struct weights account_rest(struct account *account, const struct account_clocks *clocks);

#endif
