/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_CHAIN_H
#define PROFC_CALLTREE_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"
#include "calltree/waited.h"

struct selection;

enum chain_state {
	CHAIN_RUNNING,
	CHAIN_RUNNABLE, /* it waited for a CPU */
	CHAIN_WAITING,
	CHAIN_UNKNOWN, /* no sample says what the thread did */
	CHAIN_STATE_COUNT,
};

/* Why the chain goes on in another thread. */
enum chain_link {
	CHAIN_BY_OWNER, /* that one had the lock, when the sleep was looked at last */
	CHAIN_BY_END,	/* that one was awaited, and ended */
	CHAIN_BY_CHILD, /* its process was awaited, and ended */
	CHAIN_BY_BIRTH, /* that one has begun it */
	CHAIN_LINK_COUNT,
};

#define CHAIN_NO_LABEL UINT32_MAX

/* A part of the chain: a thread, in one state, in one function. */
struct chain_row {
	enum chain_state state;
	uint32_t thread;      /* row of profile.threads */
	uint32_t label;	      /* RUNNING: the innermost function; WAITING: that in which it waits */
	struct waited waited; /* WAITING */
	struct tally tally;
};

/*
 * The chain of what had to happen up to the end of a thread, or of its slow calls: from that moment
 * back in time through what the thread did, and where it waited for a lock, for the end of a thread
 * or of a child process, through what that one did before. Waits that end by something else are
 * parts of it. At each instant one thread is in it, so that all parts add up to the time.
 */
struct chain {
	const struct selection *selection; /* borrowed */
	struct waited_objects objects;	   /* owned, as all here */
	struct chain_row *rows;		   /* by weight, the heaviest first */
	size_t nr, cap;
	struct tally total, states[CHAIN_STATE_COUNT];
	uint64_t nr_links[CHAIN_LINK_COUNT];
	uint32_t thread;   /* at the end of which it begins; of no slow calls */
	uint64_t nr_calls; /* slow calls; 0: the selection has no filter of them */
};

/*
 * Of the slow calls that the selection filters; else of the first of its threads. Call
 * blame_require() first.
 */
struct chain *chain_new(const struct selection *selection);
void chain_free(struct chain *chain); /* may be NULL */

#endif
