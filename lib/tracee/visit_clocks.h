/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_VISIT_CLOCKS_H
#define PROFC_TRACEE_VISIT_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/task.h"

struct snapshot;
struct tracee;
struct visit;

/*
 * The clocks of a thread as its visit finds it. To read them while it is held delays it. So they
 * are read then only if nothing else shows them:
 *
 * - A visitor that has driven the thread off its CPU has read them before: they have stood still
 *   since, and the thread comes to its CPU once more, in order to stop.
 * - A visitor on another CPU reads them when it has let the thread go: the kernel adds to the CPU
 *   time of a thread as that loses its CPU, and hardly at other times.
 *
 * Both only for threads that stop in code of their own: within a system call, the wait for a CPU up
 * to the stop shows since when the thread was ready to run.
 */
struct visit_clocks {
	struct proc_schedstat before; /* as read on the way to the visit, */
	uint64_t read_ns;	      /* at that time, CLOCK_MONOTONIC */
	bool ran_until_then;	      /* it was not waiting for a CPU, except for ours */
	bool is_displaced;	      /* the visitor has its CPU, and has read them there */
	bool are_read_after;	      /* if they need not be read in the stop */
};

/*
 * STOPPED, after visit_capture(): set the clocks of `snapshot`. *is_left: visit_clocks_after() is
 * to be called. False if the thread is gone.
 */
bool visit_clocks_set(const struct visit_clocks *clocks, const struct visit *visit,
		      struct tracee *tracee, struct snapshot *snapshot, bool *is_left);
/*
 * The same after visit_end(). The CPU time may include some that the thread has run since. Where it
 * is not known whether the thread has come to its CPU again, its count of times scheduled in is the
 * smaller one: a thread that is found with a larger count may have run.
 */
void visit_clocks_after(const struct visit_clocks *clocks, struct tracee *tracee,
			struct snapshot *snapshot);

#endif
