/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parents, children and peers: threads that another one may have waited for. */
#ifndef PROFC_CALLTREE_RELATIVES_H
#define PROFC_CALLTREE_RELATIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/strtab.h"

struct profile;
struct profile_wait;

#define RELATIVE_NONE UINT32_MAX

/* A parent may notice the end of its child before profc does, by at most this time. */
#define RELATIVES_LATE_NS (20 * NS_PER_MS)

struct relatives {
	const struct profile *profile; /* borrowed */
	uint32_t *leaders;	       /* owned, as all that follow; by process: its main thread */
	/* By process, which has a row for each program: the first of these. */
	uint32_t *first_rows;
	uint32_t *living; /* by such a row: the only child that has not ended; or RELATIVE_NONE */
	uint32_t *ended;  /* the processes that have ended, in order of their ends */
	size_t nr_ended;
	bool *has_unseen;	  /* by such a row: no sample found some of its children */
	uint32_t *by_pid;	  /* all processes, by pid and begin */
	uint32_t *threads;	  /* by process, */
	size_t *first_of_process; /* which has them from there on; one more, for the end */
};

void relatives_init(struct relatives *relatives, const struct profile *profile);
void relatives_release(struct relatives *relatives);

/*
 * The child of a process that ended last in a time range; or PROCESS_NONE. It began before
 * `begun_ns`.
 */
uint32_t relatives_child_ended(const struct relatives *relatives, uint32_t process,
			       uint64_t begun_ns, uint64_t from_ns, uint64_t to_ns);
/*
 * The name that all children have whose end in a time range the parent may have waited for, as it
 * slept when that began: they were born before. False: none is known, or they have several names,
 * or there may be more of them.
 */
bool relatives_child_name(const struct relatives *relatives, uint32_t process, uint64_t from_ns,
			  uint64_t to_ns, struct str_id *name);
/* The row of the program that a process had executed before that moment. */
uint32_t relatives_program_at(const struct relatives *relatives, uint32_t process,
			      uint64_t time_ns);
/* The thread that created this one, or that executed its program; RELATIVE_NONE if unknown. */
uint32_t relatives_begun_by(const struct relatives *relatives, uint32_t thread);

/* Processes with more threads than that are not asked for the one at the other end. */
#define RELATIVES_PEERS_MAX 256

/*
 * The threads of the processes that were at the other end of the pipe or socket of a wait at that
 * time, whether they had ended before or not. Returns how many; 0 if not all of the processes are
 * known, or if they have too many threads.
 */
size_t relatives_at_other_end(const struct relatives *relatives, const struct profile_wait *wait,
			      uint64_t time_ns, uint32_t threads[RELATIVES_PEERS_MAX]);

#endif
