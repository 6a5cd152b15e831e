/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_PLACEMENT_H
#define PROFC_OVERHEAD_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * On which CPU the leading visitor sleeps until its next tick, and so what a stop costs and
 * what it sees. Work lost per stop, measured at 1000 a second: 26-33 us if it comes from an
 * idle CPU and spins for the stop, 60-75 us from the target's own CPU.
 *
 * A thread on another CPU learns of an interrupt some 10 us later, and if it makes a system call
 * before, it stops at the end of that: its calls would be seen for the code around them. On its
 * own CPU the tick has driven it off at the very moment. It is the same with page faults. So the
 * cheap place is for threads that make few of either, and only where a CPU is idle.
 *
 * Sleepers are better seen from elsewhere: a timer that fires on their CPU also fires those that
 * are due within their slack, 50 us, so that no tick there finds a sleep that is nearly over.
 */
enum placement_kind {
	PLACEMENT_ANYWHERE, /* where the scheduler likes */
	PLACEMENT_AWAY,	    /* on a CPU that no thread of the target was seen on, or none running */
	PLACEMENT_BESIDE,   /* on the CPU of one of them */
};

struct placement {
	enum placement_kind kind;
	int cpu;	   /* that it is bound to; -1: none */
	uint32_t nr_stays; /* ticks in a row that found it good enough */
	bool realtime;	   /* else it would have to wait on a CPU of the target's */
	cpu_set_t allowed; /* at the start */
	uint64_t random;
	/* What the present tick found. */
	cpu_set_t running;	/* CPUs of the threads that ran */
	cpu_set_t seen;		/* and of those that have run since the tick before */
	bool any_caller;	/* one of which makes many system calls */
	int candidate;		/* a CPU that a thread of the target was seen on, -1: none */
	uint64_t nr_candidates; /* that it was chosen from at random */
};

/* `seed` for the choice among CPUs. */
void placement_init(struct placement *placement, bool realtime, uint64_t seed);
void placement_begin_tick(struct placement *placement);
/* A thread that was scheduled in since its last sample was last on `cpu`. `runs`: much of the time.
 */
void placement_saw(struct placement *placement, int cpu, bool runs, bool makes_calls);
/*
 * What is best after this tick. `*cpu` is where to go to, or -1 to be bound to none; the present
 * place if there is nothing to choose from.
 */
enum placement_kind placement_choose(const struct placement *placement, bool some_idle, int *cpu);
/* Go there: the calling thread is bound by sched_setaffinity(2). */
void placement_move(struct placement *placement, enum placement_kind kind, int cpu);

#endif
