/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_TRACEE_H
#define PROFC_TRACEE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/range.h"
#include "proc/task.h"

struct err;
struct event_opener;
struct kernel_counters;
struct kernel_events;
struct snapshot;
struct tracee_host;
struct tracee_wanted;
struct wanted_memory;
struct wanted_more;

/*
 * One thread of another process, observed in one of two ways. A peek reads a sleeping thread from
 * /proc, without a stop. A visit traces a thread for microseconds: PTRACE_SEIZE, PTRACE_INTERRUPT,
 * wait, capture, fix up, PTRACE_DETACH (visit.h). Between visits nothing is traced, so that births,
 * exits, signals and job control do not concern us.
 */

/* Files of a thread in /proc, which may be kept open between two readings. */
enum tracee_file {
	TRACEE_SCHEDSTAT,
	TRACEE_STAT,
	TRACEE_STATUS,
	TRACEE_SYSCALL,
	TRACEE_WCHAN,
	TRACEE_STACK, /* of the kernel */
	TRACEE_IO,
	TRACEE_MEMORY, /* of the program that was running when it was opened */
	TRACEE_MAPS,   /* likewise */
	NR_TRACEE_FILES,
};

/* A stack that a thread was seen on: from `low`, the last stack pointer, to `end`. */
struct seen_stack {
	uint64_t start, end, low;
};

/* Facts about a thread's stacks, so that a copy holds all that a walk needs. */
struct tracee_stacks {
	uint64_t first_sp;	 /* at the start of the program, on the main thread; 0: not known */
	uint64_t thread_pointer; /* of the C library; 0: not known */
	uint64_t data_pointer;	 /* as in snapshots */
	uint64_t root_sp;	 /* where complete walks end; 0: not known */
	uint64_t behind_sp;	 /* where walks continue on another stack; 0: nowhere */
	struct proc_range mapping; /* with the stack */
	struct seen_stack seen[2]; /* the one in use comes first */
};

struct tracee {
	pid_t tgid, tid;
	struct tracee_host *host; /* borrowed */
	int fds[NR_TRACEE_FILES]; /* -1: opened for each reading */
	struct tracee_stacks stacks;
	bool maps_are_slow;	      /* before Linux 6.11: one mapping costs the whole text */
	uint64_t read_page;	      /* 1 + the last page of tracee_read(); 0: none */
	bool fills_pages;	      /* its process serves its own page faults (userfaultfd(2)) */
	struct kernel_events *events; /* owned; NULL: none are counted */
	struct tracee_wanted *wanted; /* owned; NULL: nothing was wanted so far */
	struct snapshot *ahead;	      /* owned: that memory, at the time of a stop; NULL: of none */
};

/*
 * Shared by all tracees, of any threads of ours: how many files are kept open, and which file
 * systems are served.
 */
struct tracee_host *tracee_host_new(void);
void tracee_host_free(struct tracee_host *host);

/* Nothing is stopped. schedstat stays open if there is a descriptor for it. */
void tracee_open(struct tracee *tracee, struct tracee_host *host, pid_t tgid, pid_t tid);
void tracee_close(struct tracee *tracee);
/*
 * Copy this memory, too, with its stack from now on, by a peek or a visit, and what `more` then
 * finds missing, in some steps: what of it is mapped, and is not served by another process.
 */
void tracee_set_wanted(struct tracee *tracee, const struct wanted_memory *wanted,
		       const struct wanted_more *more);
/*
 * Copy it shortly before a visit, from another CPU than the thread's, while the thread runs; what
 * is then found missing is copied by the visit at once. The bytes are worthless, but none of them,
 * nor the tables that lead to them, were in a cache any more: to read those takes longer than the
 * copy, and the thread need not be stopped for it. The snapshot is room for that.
 */
void tracee_rehearse(struct tracee *tracee, struct snapshot *snapshot);
/*
 * Copy what of it is to be copied after a visit, or a peek, which ended at this time,
 * CLOCK_MONOTONIC; nothing if that is longer ago than a thread takes to replace it.
 */
void tracee_copy_late(const struct tracee *tracee, struct snapshot *snapshot, uint64_t since_ns);
/* Close all files but schedstat. */
void tracee_close_files(struct tracee *tracee);
/* It sleeps for long: close those that are not read to see that it still does, or if many are open.
 */
void tracee_rest_files(struct tracee *tracee);

/*
 * Read its clocks: exact while it is off the CPU, else as old as the last tick of the kernel. False
 * if it is gone. If the kernel counts nothing in schedstat, they are from stat and status.
 */
bool tracee_clocks(struct tracee *tracee, struct proc_schedstat *clocks);
bool tracee_stat(struct tracee *tracee, struct proc_stat *stat);
bool tracee_status(struct tracee *tracee, struct proc_status *status);
bool tracee_syscall(struct tracee *tracee, struct proc_syscall *syscall);

/*
 * Count those of the wanted counters that are events from now on, until tracee_close(); there must
 * be one. ERR_LIMIT where descriptors are few, ERR_GONE where the thread has ended, or as of
 * kernel_events_open(). The thread goes on.
 */
int tracee_count_events(struct tracee *tracee, const struct event_opener *opener,
			unsigned int wanted, struct err *err);
/* Take over events of its thread that are being counted already; it has had none. */
void tracee_take_events(struct tracee *tracee, struct kernel_events *events);
/* Give them away, to be freed by the caller; NULL: there are none. */
struct kernel_events *tracee_give_events(struct tracee *tracee);
/*
 * The wanted counters of a thread, which goes on. Returns the set of those that could be read, of a
 * thread that has ended only events; no other member of *out changes.
 */
unsigned int tracee_counters(struct tracee *tracee, unsigned int wanted,
			     struct kernel_counters *out);

/*
 * Is a thread in the queue for a CPU although its stat shows it asleep? It was about to sleep, and
 * was driven off its CPU just before, perhaps by us. To read its system call the kernel would wait
 * until it has had a CPU and sleeps: 10 to 430 ms if many want one, in part spinning.
 */
bool tracee_is_queued(struct tracee *tracee);

/* The mapping at an address in it, as by proc_range_at(); false with errno. */
bool tracee_range_at(struct tracee *tracee, uint64_t address, struct proc_range *range);

/*
 * Copy some of its memory, whole or not at all. Never reads memory for which we may wait for
 * another process, and asks about a page only once if it is read again and again.
 */
bool tracee_read(struct tracee *tracee, uint64_t address, void *out, size_t nr_bytes);

enum peek_outcome {
	PEEK_TAKEN,   /* the snapshot is true: the thread slept all the while */
	PEEK_RUNNING, /* it is on a CPU or runnable: nothing was taken */
	PEEK_ASLEEP,  /* it sleeps: tracee_peek() may copy it */
	PEEK_CHANGED, /* it ran meanwhile, so the data are worthless, or it does not sleep yet */
	PEEK_HIDDEN,  /* its process is not dumpable: its place may not be read */
	PEEK_GONE,    /* it is dead */
};

/*
 * The state alone: RUNNING, ASLEEP or GONE. *stat is filled in unless the thread is gone, and the
 * snapshot is begun without registers and stacks.
 */
enum peek_outcome tracee_look(struct tracee *tracee, struct snapshot *snapshot,
			      struct proc_stat *stat);
/*
 * Copy a sleeping thread without a stop: stack pointer, pc and system call from /proc, the stack
 * from its memory. The copy is accepted only if the thread was not scheduled in meanwhile; if it
 * was, the sleep after that is tried. Registers that no file shows stay unknown. `clocks` and
 * `stat` were read just before, in this order, and showed it asleep. *syscall is filled in with
 * PEEK_TAKEN.
 */
enum peek_outcome tracee_peek(struct tracee *tracee, size_t max_stack_bytes,
			      const struct proc_schedstat *clocks, const struct proc_stat *stat,
			      struct snapshot *snapshot, struct proc_syscall *syscall);

/*
 * Copy a thread that will never return to user space, as the kernel writes the core of its process:
 * `stat` has its last stack pointer and pc. They and its stack stay as they are, wherever it is in
 * the kernel meanwhile. The caller sets the clocks. False: they are not shown, or its memory is
 * gone.
 */
bool tracee_copy_last(struct tracee *tracee, size_t max_stack_bytes, const struct proc_stat *stat,
		      struct snapshot *snapshot);

/* Does the kernel show us the kernel stacks of others (CAP_SYS_ADMIN)? */
bool tracee_may_see_kernel_stacks(void);

#endif
