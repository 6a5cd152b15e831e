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
 * A process with all threads in a ptrace-stop at once, while its code is changed. Their tracer is
 * one thread of ours, which must not have other tracees. Nothing of the process is traced before or
 * after.
 */
struct stopped_thread {
	pid_t tid;
	int signal;		/* to be delivered when it continues; or 0 */
	bool is_stopped;	/* else it is interrupted, and has not stopped yet */
	bool is_group_stop;	/* job control had stopped it before */
	bool is_adopted;	/* the caller had stopped it before, and it stays so */
	bool is_changed;	/* write its registers back */
	bool is_to_begin_again; /* its call, into which it has to be let go */
	bool is_elsewhere;	/* it runs another program: leave its registers alone */
	struct user_regs_struct regs;
};

/*
 * A thread that sleeps amid a transfer, which a stop would cut short: it is not traced, and sleeps
 * on. Nothing about it changes until it is scheduled in.
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
	pid_t command;	 /* a child of ours that others reap; or 0 */
	bool is_adopted; /* the caller had stopped its first thread, which stays so */
	struct stopped_thread *threads; /* owned */
	size_t nr, cap;
	struct pid_table seized;  /* ids of `threads` */
	struct pid_table waiting; /* ids of threads that are stopped last */
	struct stopped_sleeper sleepers[STOPPED_SLEEPERS_MAX];
	size_t nr_sleepers;
	bool leaves_sleepers;	 /* else it waits until there are none */
	bool is_for_one;	 /* thread: else it is not tried */
	bool is_stuck;		 /* a thread did not stop: it is traced until ours ends */
	struct sparing *sparing; /* owned */
	struct watch *watch;	 /* owned */
	uint64_t program;	 /* that the threads run; set if any sleeps */
	uint64_t stop_ns;	 /* stops are awaited for this long */
	uint64_t begun_ns;	 /* CLOCK_MONOTONIC of the first interrupt */
	uint64_t held_ns;	 /* set by stopped_end(): time since then */
};

/* The threads to stop. */
enum stopped_extent {
	STOPPED_ALL,	    /* all, with their registers */
	STOPPED_BUT_ASLEEP, /* all but those that sleep amid a transfer */
	STOPPED_IF_ALONE,   /* likewise, if there is one thread */
};

/*
 * Stop the threads of `pid`, those born meanwhile included, and read their registers. If they
 * cannot be stopped within some milliseconds (a thread is in vfork(2), the process executes a
 * program, another thread of ours visits it), the process runs on, and we try again for
 * `patience_ns`. The same goes for a thread amid a transfer, unless it sleeps there and is left
 * asleep.
 *
 * ERR_GONE; ERR_PERMISSION: another process traces it; ERR_UNSUPPORTED: it could not be stopped in
 * that time. On failure nothing is stopped, but a thread that waits in the kernel, and did not stop
 * within a second, is traced until the calling thread ends. If `command`, a child of ours, has
 * ended, others reap it.
 *
 * No call fails with EINTR because of the stop, and most waits end in time. Waits that do not know
 * the rest of their time-out (epoll_wait, sigtimedwait, semtimedop, recv with SO_RCVTIMEO) restart
 * with all of it: threads in such a wait are interrupted last, when the others are stopped, so that
 * a failed try mostly does not reach them.
 */
int stopped_begin(struct stopped *stopped, pid_t pid, pid_t command, enum stopped_extent extent,
		  uint64_t patience_ns, struct err *err);
/*
 * The same for a command with its first thread already stopped by the calling thread; it stays
 * stopped. Its libraries may have made other threads before the program begins.
 */
int stopped_adopt(struct stopped *stopped, pid_t command, uint64_t patience_ns, struct err *err);
/*
 * Call this before memory is written that a sleeper might reach. A sleeper that has woken and
 * sleeps amid a transfer again is noted again; another woken one is stopped. True if any has woken:
 * findings about sleepers and threads are outdated.
 */
bool stopped_hold(struct stopped *stopped);
/*
 * Call this after `ask` has answered for all: it asks again about each sleeper that has woken
 * since. `one` has that thread only. False: `ask` says so, or a thread does not keep still for some
 * milliseconds.
 */
bool stopped_settle(struct stopped *stopped, bool (*ask)(void *context, struct stopped *one),
		    void *context);
/* The memory of the threads, owned by the caller; or NULL. */
struct target_memory *stopped_open_memory(const struct stopped *stopped);
/* The address of the thread's data, which the C library set by the ABI; 0: none. */
uint64_t stopped_thread_pointer(const struct stopped_thread *thread);
/* Write changed registers back now. */
void stopped_write_back(struct stopped *stopped);
uint64_t stopped_stack_pointer(const struct stopped_thread *thread);
/* Write registers back, fix up interrupted system calls, and detach. */
void stopped_end(struct stopped *stopped);

#endif
