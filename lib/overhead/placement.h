/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_PLACEMENT_H
#define PROFC_OVERHEAD_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The CPU on which the leading visitor sleeps until its next tick. It decides the cost of a stop
 * and where the stop finds the thread. Work lost per stop, measured at 1000 a second: 26-33 us if
 * the visitor spins for the stop on an idle CPU, 60-75 us if it is on the target's own CPU.
 *
 * From another CPU an interrupt arrives some 10 us late. If the thread makes a system call in that
 * time, it stops at the end of the call: samples would show its calls in place of the code around
 * them. On its own CPU, the tick has driven the thread off at the very moment. Page faults behave
 * like calls. So the cheap place is for threads that make few of either, and only if a CPU is idle.
 *
 * Sleeping threads are better observed from another CPU: a timer that fires on their CPU also fires
 * the timers that are due within their slack, 50 us, so that no tick there finds a sleep that is
 * nearly over.
 */
enum placement_kind {
	PLACEMENT_ANYWHERE, /* the scheduler chooses */
	PLACEMENT_AWAY,	    /* on a CPU without threads of the target, or without running ones */
	PLACEMENT_BESIDE,   /* on the CPU of a thread of the target */
};

struct placement {
	enum placement_kind kind;
	int cpu;		   /* to which the visitor is bound; -1: none */
	uint32_t nr_stays;	   /* ticks in a row that kept this CPU */
	uint64_t unbound_until_ns; /* a visitor had no CPU where it was bound */
	bool realtime;	   /* else the visitor would wait for the target's threads on their CPU */
	cpu_set_t allowed; /* as profc started */
	uint64_t random;
	/* Found by the present tick. */
	cpu_set_t running;	/* CPUs of the threads that run */
	cpu_set_t seen;		/* CPUs of the threads that have run since the previous tick */
	bool any_caller;	/* a running thread makes many system calls */
	int candidate;		/* a random CPU of those seen; -1: none */
	uint64_t nr_candidates; /* from which it was drawn */
};

/* `seed` for the choice among CPUs. */
void placement_init(struct placement *placement, bool realtime, uint64_t seed);
void placement_begin_tick(struct placement *placement);
/*
 * Does a thread that is found running run much of the time? It has had a CPU for `cpu_ns` of the
 * `elapsed_ns` since its last reading. `ran_before`: it was found running there as well, so it has
 * hardly slept since: if it had little of a CPU, other threads had that.
 */
bool placement_runs_much(uint64_t cpu_ns, uint64_t elapsed_ns, bool ran_before);
/* The last CPU of a thread that was scheduled in since its last sample. `runs`: much of the time.
 */
void placement_saw(struct placement *placement, int cpu, bool runs, bool makes_calls);
/*
 * Choose the place for the next tick. *cpu is the CPU to be bound to, or -1 for none. The present
 * place stays if the tick found no thread that has run.
 */
enum placement_kind placement_choose(const struct placement *placement, bool some_idle, int *cpu);
/*
 * The sampling thread goes there. True: it is to bind itself to *cpus by sched_setaffinity(2),
 * while it holds nothing that others wait for: it may get no CPU there.
 */
bool placement_move(struct placement *placement, enum placement_kind kind, int cpu,
		    cpu_set_t *cpus);

#endif
