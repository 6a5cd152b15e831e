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

/* The state in which a thread was sampled. */
enum seen_state {
	SEEN_RUNNING,  /* on a CPU */
	SEEN_RUNNABLE, /* waiting for a CPU: it may have run elsewhere before */
	SEEN_BLOCKED,
};

struct account_weights {
	uint64_t cpu_ns, runq_ns, blocked_ns;
};

/*
 * Time since the last sample that is in neither clock. held_ns: profc held the thread; this belongs
 * to no sample. stolen_ns: the thread had a CPU that the host of a virtual machine took away, which
 * counts as a wait for one. The kernel leaves that out of CPU time (PARAVIRT_TIME_ACCOUNTING:
 * update_rq_clock_task() of kernel/sched/core.c, likewise the time of interrupts), and does not
 * count it as a wait in a run queue.
 */
struct account_losses {
	uint64_t held_ns, stolen_ns;
};

/* The time before `clocks` belongs to no sample. */
void account_start(struct account *account, const struct account_clocks *clocks);
/*
 * The thread was sampled in this state. On a CPU it takes the CPU time and the waits for one.
 * Runnable, it takes the waits for a CPU: where it waits says nothing about where it ran, as a
 * thread that was just woken waits at the call it slept in. Blocked, it takes the time off the CPU,
 * whatever the losses.
 */
struct account_weights account_seen(struct account *account, enum seen_state state,
				    const struct account_clocks *clocks,
				    const struct account_losses *losses);
/*
 * It was blocked until time_ns, as the unchanged count of wake-ups proves. Returns the blocked time
 * up to then, and leaves the rest for the next sample.
 */
uint64_t account_blocked_until(struct account *account, uint64_t time_ns);
/* Everything that is unattributed at the end. */
struct account_weights account_rest(struct account *account, const struct account_clocks *clocks);

#endif
