/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HOLDING_HOLDER_H
#define PROFC_HOLDING_HOLDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "overhead/calibration.h"
#include "tracee/tracee.h"
#include "tracee/visit.h"
#include "whatif/accounts.h"

struct snapshot;

/*
 * A thread of ours for each thread of the target that has to be held: it visits that, and ends the
 * visit when the debt is paid. A tracer has one thread seized only (tracee/visit.h), and several
 * are held at once. It goes to the CPU of the thread first, which it so drives off that. If profc
 * dies, the kernel lets all of them go.
 */

/* Shared by all holders of a process. */
struct holding {
	pthread_mutex_t lock; /* for accounts, and for what holders say */
	pthread_cond_t told;  /* a holder is idle again */
	struct whatif_accounts accounts;
	struct stop_overhead overhead;
	_Atomic bool is_over;
	struct tracee_host *host; /* owned: for the descriptors of all of them */
};

/* A visit, and where its thread stood. */
struct held_stop {
	struct visit visit;
	uint64_t pc;
};

struct holder {
	struct holding *holding; /* borrowed */
	pthread_t id;
	bool has_begun; /* the thread of ours: as it is first needed */
	pthread_cond_t wake;
	struct tracee tracee;	   /* used by this thread while it is busy, else by the other one */
	struct snapshot *snapshot; /* likewise */
	bool reads_filters;	   /* of system calls, at stops (tracee/visit.h) */
	/* The rest under holding->lock. */
	bool is_busy, is_to_end;
	uint64_t refused_until_ns; /* it could not be stopped: it is left alone until then */
	bool is_reaped;		   /* by a visit, with this status of waitpid(2) */
	int reaped_status;
	int cpu;	  /* where the thread of the target runs, and where ours is bound to */
	int bound_cpu;	  /* -1: none */
	uint64_t held_ns; /* all stops so far */
	uint64_t nr_holds;
	struct whatif_account account;
};

void holding_init(struct holding *holding);
void holding_release(struct holding *holding); /* all holders have ended */

struct holder *holder_new(struct holding *holding, pid_t tgid, pid_t tid);
/* Lets the thread go. Not under the lock. */
void holder_free(struct holder *holder);

/*
 * Stop its thread, by the calling thread, while it is idle. STOPPED: holder_let_go() is to follow.
 * PENDING: it does not stop, and stays seized until the calling thread ends.
 */
enum visit_outcome holder_stop(struct holder *holder, struct held_stop *stop);
void holder_let_go(struct holder *holder, struct held_stop *stop);

/* It could not be traced, or is gone: not to be stopped for some milliseconds. */
void holder_refuse(struct holder *holder);

/* Under the lock: have an idle one hold its thread, which runs on this CPU, for what it owes. */
void holder_hold(struct holder *holder, int cpu);

#endif
