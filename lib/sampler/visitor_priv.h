/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_VISITOR_PRIV_H
#define PROFC_SAMPLER_VISITOR_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "tracee/visit.h"
#include "tracee/visit_clocks.h"

struct sampler;
struct snapshot;

/* One of our threads that take turns. */
struct visitor {
	struct sampler *sampler;
	pthread_t thread;
	struct visit visit;
	struct visit_clocks clocks;
	struct snapshot *snapshot;	/* to be filled; owned */
	_Atomic uint64_t busy_since_ns; /* it traces a thread since then; 0: it does not */
	uint64_t poked_ns;
	uint64_t let_go_ns;	 /* when it let the thread of its last visit go, */
	uint64_t detached_ns;	 /* the end of that, */
	uint64_t waited_ns;	 /* and its waits for a CPU during all of it */
	uint64_t leads_until_ns; /* the next tick: if it still waits for a stop, another leads */
	timer_t alarm;		 /* wakes it then, */
	bool has_alarm;		 /* if there is one */
	int schedstat_fd;	 /* its own */
	uint64_t spin_ns;	 /* it spins for a stop this long */
	bool reads_filters;	 /* at its stop: see guard_begins_visit() */
	bool is_idle, has_deadline, was_refused; /* was_refused: a deadline, by the kernel */
	bool needs_alarm;			 /* see pool_needs_alarm() */
	bool is_bound;				 /* to one CPU: only while it leads */
	int priority;		 /* real-time; 0: normal; above all of these: by deadlines */
	_Atomic pid_t tid;	 /* 0: it has not begun */
	_Atomic uint64_t cpu_ns; /* used, set at its end; 0: it still runs */
};

#endif
