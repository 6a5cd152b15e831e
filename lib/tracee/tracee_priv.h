/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_TRACEE_PRIV_H
#define PROFC_TRACEE_TRACEE_PRIV_H

#include <stdatomic.h>

#include "proc/backing.h"
#include "tracee/tracee.h"

struct tracee_host {
	_Atomic size_t nr_kept;	  /* files kept open beyond schedstat */
	_Atomic size_t nr_events; /* descriptors on events */
	size_t max_kept;	  /* of both */
	_Atomic bool shows_wchan; /* the kernel tells where threads sleep */
	bool shows_stacks;	  /* and how they came there */
	struct backings backings;
};

/* The descriptor of one of its files, kept open if there is room; else -1. */
int tracee_kept_file(struct tracee *tracee, enum tracee_file file);

/* Where in the kernel it sleeps, as text: "" or "0" if the kernel hides that. */
void tracee_read_wchan(struct tracee *tracee, char *out, size_t cap);
/*
 * The text of its kernel stack, not terminated; returns its size. 0: the kernel hides it, always
 * from users without CAP_SYS_ADMIN, for which it is not read.
 */
size_t tracee_read_kernel_stack(struct tracee *tracee, char *out, size_t cap);
/* tracee.c: all members but registers and stacks, of a thread that was observed just now. */
void tracee_begin_snapshot(const struct tracee *tracee, struct snapshot *snapshot);
/* The stack pointer at the start of the program, from its stat; for the main thread only. */
void tracee_learn_first_sp(struct tracee *tracee, uint64_t first_sp);

/* stack_copy.c: copy the stacks that a walk may need, from the snapshot's stack pointer on. */
void tracee_copy_stacks(struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot);
/* stack_copy.c: all of these bytes, if they are in memory; nothing is waited for. */
bool tracee_read_present(pid_t tid, uint64_t address, void *out, size_t nr_bytes);
/*
 * raw_memory.c: for stopped and running threads. Returns the number of bytes up to the first that
 * is not mapped; 0: there are none, or the thread is gone.
 */
size_t tracee_read_any(pid_t tid, uint64_t start, void *room, size_t nr_bytes);
/* raw_memory.c: the mapping at an address; false: there is none. May take long before Linux 6.11.
 */
bool tracee_ask_for_mapping(struct tracee *tracee, uint64_t address, struct proc_range *range);
/* raw_memory.c: may reading it wait for another process? */
bool tracee_is_served(struct tracee *tracee, const struct proc_range *range);
/* wanted_copy.c: is there memory that is to be copied with its stack? */
bool tracee_has_wanted(const struct tracee *tracee);
/* wanted_copy.c: the same, if it is not in tracee_copy_ahead() for the stop of this snapshot. */
bool tracee_has_wanted_with(const struct tracee *tracee, const struct snapshot *snapshot);
/* wanted_copy.c: is what the thread works on to be copied? */
bool tracee_wants_context(const struct tracee *tracee);
/*
 * wanted_copy.c: fill the only region of the snapshot, and copy that memory as well: one call takes
 * less time than two. Returns how much of the region there is; 0: it was dropped.
 */
size_t tracee_read_with_wanted(struct tracee *tracee, struct snapshot *snapshot);
/*
 * wanted_copy.c: copy that memory for tracee_copy_wanted() with a snapshot of this time, before its
 * registers are known: the thread has stopped. With it comes the stack, as far as can be foretold.
 */
void tracee_copy_ahead(struct tracee *tracee, uint64_t stopped_ns);
/*
 * wanted_copy.c: all of that goes into the snapshot, which has no region so far, with this part of
 * a stack as the first. Where the thread is deeper than was foretold, only the first bytes of that
 * are read now. False: it was no such stack.
 */
bool tracee_take_ahead(struct tracee *tracee, struct snapshot *snapshot, uint64_t start,
		       size_t nr_bytes);
/* wanted_copy.c: copy what tracee_set_wanted() has asked for, unless it was. */
void tracee_copy_wanted(struct tracee *tracee, struct snapshot *snapshot);
/* stack_copy.c: the mapping of the stack may change while nothing is observed. */
void tracee_forget_mapping(struct tracee *tracee);

#endif
