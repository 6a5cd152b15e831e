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

/* What a thread does that is blocked in a call. */
enum call_kind {
	CALL_FOR_WORK, /* it waits until there is something to do */
	CALL_CHILD,    /* for a child process: likewise, if that was recorded */
	CALL_LOCK,     /* futex(2) */
	CALL_WORK,     /* the kernel works for it */
	CALL_ALONE,    /* work if its process has no other thread: a sleep, a pipe, a socket */
};

struct call_fact {
	int nr; /* of the system call */
	enum call_kind kind;
	struct tally work; /* CPU time in it, and time blocked in it that is work */
};

/* By system call: those that were seen. */
struct call_facts {
	struct call_fact *rows; /* owned; after facts_init() the heaviest first */
	size_t nr, cap;
	uint32_t *of_nr; /* by number: one more than the row; owned, and only while they are made */
	struct pairs callers; /* by number of the call: wait functions; weights */
	struct pairs objects; /* by number of the call: numbers of `descriptors` */
};

struct object_fact {
	uint32_t number; /* of the blame */
	struct tally tally;
};

/* The objects of struct blame. */
struct object_facts {
	struct blame *blame;	  /* owned; NULL: they were not recorded */
	struct object_fact *rows; /* owned; by number, after facts_init() the heaviest first */
	size_t nr, cap;
};

/* CPU time of a thread or a process. */
struct cpu_fact {
	struct tally all, in_calls; /* in_calls: in system calls */
};

struct facts {
	const struct selection *selection; /* these are borrowed */
	const struct expansion *expansion;
	const struct profile *profile;
	const struct weights *cpu;	      /* borrowed */
	const struct flat *functions;	      /* of `cpu` */
	struct flat *own_functions;	      /* the same, where nobody had them; owned */
	uint64_t elapsed_ns;		      /* the selected part of the recording */
	uint64_t cpu_ns, runq_ns, blocked_ns; /* of the threads */
	/*
	 * CPU time and time blocked in work. Its weight is that of the elapsed time where it is
	 * below a twentieth of that.
	 */
	struct tally work;
	struct tally in_calls; /* CPU time in system calls */
	struct tally *sleeps;  /* by thread: blocked in sleeps for a time; owned */
	struct pairs sleep_calls, sleep_functions; /* by thread: system calls, wait functions */
	struct tally of_child;			   /* blocked for children that were not recorded */
	struct call_facts calls;
	struct object_facts locks, descriptors;
	uint32_t *wait_functions; /* by stack; owned; NULL: no call and no memory was seen */
	bool *is_alone;		  /* by thread; owned */
	bool *has_child;	  /* by process: of another id; owned */
	bool *has_relative;	  /* by process: such a child or parent; owned */
	struct cpu_fact *of_thread, *of_process; /* owned */
};

/*
 * The weights, of METRIC_CPU, their selection and their rows by function have to outlive it; NULL:
 * the caller has no rows.
 */
void facts_init(struct facts *facts, const struct weights *cpu, const struct flat *functions);
void facts_release(struct facts *facts);

/* Is a name among others? NULL follows the last of them. */
bool facts_is_one_of(const char *name, const char *const *names);

/* An exec adds a row to a process, as a child of the row before. Was the row added by one? */
bool facts_is_exec(const struct profile *profile, size_t row);

/* Is that system call a sleep for a time? */
bool facts_is_sleep(const struct facts *facts, int nr);

/* From a start to an end of the recording's clock; end 0: to the recording's end. */
uint64_t facts_life_ns(const struct facts *facts, uint64_t start_ns, uint64_t end_ns);

/* The heaviest object, or one without any weight. Borrowed. */
const struct object_fact *object_facts_heaviest(const struct object_facts *objects);

/* Escaped and cut to a width at which a line has room for several. */
void facts_append_name(struct buf *out, const struct facts *facts, uint32_t label);
void facts_append_text(struct buf *out, const char *text);
/* The name of a system call. */
void facts_append_call(struct buf *out, const struct facts *facts, int nr);
/* Quoted for a shell; false, and nothing appended, if it is no word to type. */
bool facts_append_word(struct buf *out, const struct facts *facts, uint32_t label);

#endif
