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

/* Why the path goes on in another thread. */
enum chain_link {
	CHAIN_BY_OWNER, /* it owned the lock when that was last looked at */
	CHAIN_BY_END,	/* its end was waited for */
	CHAIN_BY_CHILD, /* the end of its process was waited for */
	CHAIN_BY_PEER,	/* it was at the other end of the pipe or socket */
	CHAIN_BY_WAKE,	/* it made the call that woke the other, as was noted */
	CHAIN_BY_BIRTH, /* it created the thread, or executed the program */
	CHAIN_LINK_COUNT,
};

#define CHAIN_NO_LABEL UINT32_MAX

/* A part of the chain: a thread, in one state, in one function. */
struct chain_row {
	enum chain_state state;
	uint32_t thread;      /* row of profile.threads */
	uint32_t label;	      /* RUNNING, WAITING: the innermost function outside the C library */
	struct waited waited; /* WAITING */
	struct tally tally;
};

/* A time in which the path is in one thread and state, and in one place. */
struct chain_part {
	uint64_t begin_ns, end_ns;
	uint32_t thread, label; /* as in struct chain_row */
	struct waited waited;	/* WAITING */
	enum chain_state state; /* RUNNING also where it waited for a CPU in a part of the time: */
	float on_cpu;		/* RUNNING: in so much of it, of 1, it did not */
};

/*
 * The critical path up to the end of a thread, or of its slow calls. It goes back in time through
 * what the thread did. Where the thread waited for a lock, for the end of a thread, for a child
 * process or for the other end of a pipe or socket, the path goes on in the thread that was waited
 * for. Other waits are part of the path themselves. Exactly one thread is in the path at any time,
 * so the rows add up to its length.
 */
struct chain {
	const struct selection *selection; /* borrowed */
	struct waited_objects objects;	   /* owned, as all here */
	struct chain_row *rows;		   /* by weight, the heaviest first */
	size_t nr, cap;
	struct chain_part *parts; /* back in time; of slow calls those of each */
	size_t nr_parts, cap_parts;
	struct tally total, states[CHAIN_STATE_COUNT];
	uint64_t nr_links[CHAIN_LINK_COUNT];
	uint32_t thread;   /* the path ends with this thread, unless it is of slow calls */
	uint64_t nr_calls; /* slow calls; 0: the selection has no filter of them */
};

/*
 * The path of the slow calls if the selection has a filter of them, else of the first selected
 * thread. Of its other filters only those of threads, processes and times count. Call
 * blame_require() first.
 */
struct chain *chain_new(const struct selection *selection);
void chain_free(struct chain *chain); /* may be NULL */

#endif
