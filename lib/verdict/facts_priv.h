/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums over a profile that rules judge by. */
#ifndef PROFC_VERDICT_FACTS_PRIV_H
#define PROFC_VERDICT_FACTS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/pairs.h"
#include "calltree/tally.h"
#include "stack/stack.h"

struct blame;
struct buf;
struct expansion;
struct flat;
struct profile;
struct selection;
struct weights;

/* Is it work when a thread is blocked in a system call? */
enum call_kind {
	CALL_FOR_EVENT, /* no: it waits for one of several descriptors, or for a connection */
	CALL_FOR_WORK,	/* no: it waits until there is something to do */
	CALL_CHILD,	/* for a child: if its process has no other thread, and no recorded child */
	CALL_LOCK,	/* futex(2): if it waits for a lock that has owners */
	CALL_WORK,	/* yes: the kernel works for it */
	CALL_ALONE,	/* a sleep, a pipe, a socket: if its process has no other thread */
};

struct call_fact {
	int nr; /* of the system call */
	enum call_kind kind;
	struct tally work; /* CPU time in it, and time blocked in it that is work */
};

/* The system calls that were seen. */
struct call_facts {
	struct call_fact *rows; /* owned; after facts_init() the heaviest first */
	size_t nr, cap;
	uint32_t *of_nr;      /* by number of a call: row + 1, or 0; owned; freed by facts_init() */
	struct pairs callers; /* by number of the call: wait functions; weights */
	struct pairs objects; /* by number of the call: numbers of `descriptors` */
};

struct object_fact {
	uint32_t number; /* of the blame */
	struct tally tally;
};

/* The time that threads were blocked for each object of struct blame. */
struct object_facts {
	struct blame *blame;	  /* owned; NULL: they were not recorded */
	struct object_fact *rows; /* owned; by number, after facts_init() the heaviest first */
	size_t nr, cap;
};

/* The time of a thread or a process, on a CPU unless it is said otherwise. */
struct cpu_fact {
	struct tally all, in_calls; /* in_calls: in system calls */
	/* Of a thread: the time in which it ran or waited for a CPU, and was blocked for events. */
	uint64_t busy_ns, listening_ns;
};

struct facts {
	const struct selection *selection; /* these are borrowed */
	const struct expansion *expansion;
	const struct profile *profile;
	const struct weights *cpu;	      /* borrowed */
	const struct flat *functions;	      /* of `cpu` */
	struct flat *own_functions;	      /* the same, if the caller had none; owned */
	uint64_t elapsed_ns;		      /* the selected part of the recording */
	uint64_t cpu_ns, runq_ns, blocked_ns; /* of the threads */
	/*
	 * The work: CPU time, and time blocked in calls that are work (enum call_kind). If it is
	 * less than a twentieth of the elapsed time, its weight is the elapsed time.
	 */
	struct tally work;
	struct tally in_calls; /* CPU time in system calls */
	struct tally *sleeps;  /* by thread: blocked in sleeps for a time; owned */
	struct pairs sleep_calls, sleep_functions; /* by thread: system calls, wait functions */
	struct tally of_child;			   /* blocked for children that were not recorded */
	struct call_facts calls;
	struct object_facts locks, descriptors;
	uint32_t *wait_functions; /* by stack; owned; NULL: no call and no memory was seen */
	bool *is_alone;		  /* by thread: no other of its process was sampled; owned */
	bool *has_child;	  /* by process: a child was recorded; owned */
	bool *has_relative;	  /* by process: a child or its parent was recorded; owned */
	struct cpu_fact *of_thread, *of_process; /* owned */
};

/*
 * Sum up the selection of the weights, which are of METRIC_CPU. `functions` are their rows by
 * function, or NULL if the caller has none. All of these must outlive the facts.
 */
void facts_init(struct facts *facts, const struct weights *cpu, const struct flat *functions);
void facts_release(struct facts *facts);

/* Is a name among others? NULL follows the last of them. */
bool facts_is_one_of(const char *name, const char *const *names);

/* Does that system call make a process or a thread? */
bool facts_is_fork(const struct facts *facts, int nr);
/* Is that system call a sleep for a time? */
bool facts_is_sleep(const struct facts *facts, int nr);

/* The time from a start to an end, by the clock of the recording; end 0: the recording's end. */
uint64_t facts_life_ns(const struct facts *facts, uint64_t start_ns, uint64_t end_ns);

/* The heaviest object, or one without any weight. Borrowed. */
const struct object_fact *object_facts_heaviest(const struct object_facts *objects);

/* Append a name, escaped, and cut so that a line has room for several. */
void facts_append_name(struct buf *out, const struct facts *facts, uint32_t label);
void facts_append_text(struct buf *out, const char *text);
/* The name of a system call. */
void facts_append_call(struct buf *out, const struct facts *facts, int nr);
/* Append a name, quoted for a shell. False, and nothing appended, if it cannot be typed. */
bool facts_append_word(struct buf *out, const struct facts *facts, uint32_t label);

#endif
