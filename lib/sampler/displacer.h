/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_DISPLACER_H
#define PROFC_SAMPLER_DISPLACER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A thread at real-time priority that drives whoever runs on a CPU off it, at a moment that was
 * set before, for some microseconds. Asked from another CPU, a thread may begin a system call
 * before it learns of it, in the 5 to 10 us that an interrupt takes, and stops in that; it is the
 * same if something there is woken from afar. A timer of its own CPU comes at once, and who is off
 * its CPU begins nothing.
 *
 * If the sampling thread itself waited there, the kernel would let the thread go on at an idle CPU
 * after the stop, since ours would be busy (select_idle_sibling() in kernel/sched/fair.c): away
 * from its caches, with each look. This one is gone before the stop.
 *
 * All but its own thread belongs to the sampling thread.
 */
struct displacer {
	bool is_open;
	pthread_t thread;
	int cpu;	  /* that it is bound to; -1: none yet */
	uint64_t lead_ns; /* that it comes after the tick: as long as a look takes to be ready */
	uint64_t armed_for_ns;	/* the tick; 0: it rests */
	uint64_t learnt_for_ns; /* the last tick that the lead was adjusted at */
	/* Shared with its thread. */
	_Atomic uint32_t state;
	_Atomic uint32_t order; /* counts what it was told while it may sleep: it sleeps on that */
	_Atomic uint64_t at_ns, came_ns, cpu_ns;
};

/* Start the thread, at real-time priority. If that is not to be had it never comes. */
void displacer_open(struct displacer *displacer);
/* Says how much CPU time it has used. */
uint64_t displacer_close(struct displacer *displacer);
/*
 * Come to `cpu` with the tick of that time, CLOCK_MONOTONIC. If it is there now it leaves. Where it
 * was last it sets its timer itself; to go elsewhere, or from rest, it has to be woken, which
 * drives off who runs there for 20 us.
 */
void displacer_arm(struct displacer *displacer, int cpu, uint64_t tick_ns);
/* Will it come to `cpu` with that tick, or has it? */
bool displacer_is_due(const struct displacer *displacer, int cpu, uint64_t tick_ns);
/*
 * Spin until it has come there, so that who ran there does not any more. Says since when, 0 if it
 * does not come in time, or has been there and left: it stays no longer than 60 us.
 */
uint64_t displacer_await(struct displacer *displacer, int cpu, uint64_t tick_ns);
bool displacer_is_there(const struct displacer *displacer);
/* It leaves, or does not come. */
void displacer_dismiss(struct displacer *displacer);

#endif
