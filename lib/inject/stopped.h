/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_STOPPED_H
#define PROFC_INJECT_STOPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/pid_table.h"

struct target_memory;
struct err;
struct sparing;
struct watch;

/*
 * A process all of whose threads are in a ptrace-stop at once: for the moments in which its code
 * is changed. By one thread of ours, the tracer, which must not have other tracees. Nothing of it
 * is traced before or after.
 */
struct stopped_thread {
	pid_t tid;
	int signal;	    /* to be passed on: it stopped for its delivery; or 0 */
	bool is_stopped;    /* else it was interrupted, and has not stopped yet */
	bool is_group_stop; /* job control has stopped it already */
	bool is_adopted;    /* it was stopped before, and stays so */
	bool is_changed;    /* its registers are to be written back */
	bool is_elsewhere;  /* it runs another program than the others: leave its registers alone */
	struct user_regs_struct regs;
};

/*
 * A thread that sleeps amid a transfer, which a stop would cut short: it is not traced, and sleeps
 * on. Nothing of it changes as long as it has not been scheduled in.
 */
struct stopped_sleeper {
	pid_t tid;
	int schedstat_fd;
	uint64_t pcount; /* times scheduled in */
	uint64_t sp, pc; /* to which the call returns */
};

#define STOPPED_SLEEPERS_MAX 64

struct stopped {
	pid_t pid;
	pid_t command;	 /* a child of ours that is left to be reaped by others; or 0 */
	bool is_adopted; /* its first thread was stopped before, and stays so */
	struct stopped_thread *threads; /* owned, as are the next two */
	size_t nr, cap;
	struct pid_table seized;  /* the ids of those */
	struct pid_table waiting; /* of those that are stopped last */
	struct stopped_sleeper sleepers[STOPPED_SLEEPERS_MAX];
	size_t nr_sleepers;
	bool leaves_sleepers;	 /* else it waits until there are none */
	bool is_stuck;		 /* a thread did not stop: it is traced until ours ends */
	struct sparing *sparing; /* owned */
	struct watch *watch;	 /* owned */
	uint64_t program;	 /* that they run */
	uint64_t stop_ns;	 /* so long they are waited for */
	uint64_t begun_ns;	 /* CLOCK_MONOTONIC: when the first was interrupted */
	uint64_t held_ns;	 /* after stopped_end(): since then */
};

/* Which threads stand. */
enum stopped_extent {
	STOPPED_ALL,	    /* all, with their registers */
	STOPPED_BUT_ASLEEP, /* all but those that sleep amid a transfer */
};

/*
 * Stop the threads of `pid`, those born meanwhile included, and read their registers. A process
 * that cannot be stopped within some milliseconds (one of its threads is in vfork(2), it executes
 * a program, or another thread of ours visits it) runs on, and it is tried again for `patience_ns`;
 * so does one of which a thread is amid a transfer, but for those that sleep in one and are left to
 * that. ERR_GONE; ERR_PERMISSION: another traces it; ERR_UNSUPPORTED: it could not be stopped in
 * that time. Nothing is stopped where it fails, but a thread that
 * waits in the kernel and did not stop within a second is traced until the calling thread ends. If
 * it is `command`, a child of ours that has ended, it is left to be reaped by others. No call gives
 * EINTR for it, and most waits end when they would. Those that know no rest of their time-out
 * (epoll_wait, sigtimedwait, semtimedop, recv with SO_RCVTIMEO) begin again with all of it: threads
 * in such a wait are interrupted last, when the others stand, so that a try that fails does not
 * reach them, as a rule.
 */
int stopped_begin(struct stopped *stopped, pid_t pid, pid_t command, enum stopped_extent extent,
		  uint64_t patience_ns, struct err *err);
/*
 * The same for a command whose first thread this thread of ours has stopped already, and which
 * stays stopped: its libraries may have made other threads before the program begins.
 */
int stopped_adopt(struct stopped *stopped, pid_t command, uint64_t patience_ns, struct err *err);
/*
 * Before memory is written that a sleeper might come upon: one that has woken, and sleeps amid a
 * transfer again, is seen anew; another one is stopped, as all. True if any has woken: whatever was
 * found of sleepers and threads is to be found again.
 */
bool stopped_hold(struct stopped *stopped);
/*
 * After `ask` was asked about all: ask again about each sleeper that has woken since it was seen,
 * as `one`, which is all that this has then. False if `ask` says so, or if one does not keep still
 * for some milliseconds.
 */
bool stopped_settle(struct stopped *stopped, bool (*ask)(void *context, struct stopped *one),
		    void *context);
/* The memory that they run in, owned by the caller; or NULL. */
struct target_memory *stopped_open_memory(const struct stopped *stopped);
/* Where a thread has its own data by the ABI, as the C library set it; 0: nowhere. */
uint64_t stopped_thread_pointer(const struct stopped_thread *thread);
/* Write back registers that have changed, at once: what they are changed to holds already. */
void stopped_write_back(struct stopped *stopped);
uint64_t stopped_stack_pointer(const struct stopped_thread *thread);
/* Write back registers, undo what the stop did to system calls, and detach from all. */
void stopped_end(struct stopped *stopped);

#endif
