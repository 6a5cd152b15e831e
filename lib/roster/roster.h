/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ROSTER_ROSTER_H
#define PROFC_ROSTER_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "tracee/tracee.h"

struct proc_stat;
struct joiners;

/*
 * The processes and threads to sample: born, gone, or in another program since an exec. They are
 * found by reading /proc at the ticks of a recording, and only where something has changed: the
 * last id in /proc/loadavg moves with every task that is born in the PID namespace. No process is
 * stopped or notified for it.
 */
struct roster;

enum roster_origin {
	ROSTER_BORN,	       /* its clocks count from 0 */
	ROSTER_EXECED,	       /* they go on, in another program */
	ROSTER_RUNNING,	       /* it ran already: they count from when it was found */
	ROSTER_JOINED,	       /* is selected, and was just born, as ROSTER_BORN; */
	ROSTER_JOINED_RUNNING, /* or as ROSTER_RUNNING */
};

/* A process from its birth or an exec up to its end or its next exec. */
struct roster_process {
	pid_t pid;
	enum roster_origin origin;
	uint64_t start_ticks;	  /* since boot; identifies the process together with its pid */
	uint64_t program;	  /* proc_program_id(); 0: not known */
	uint64_t program_mark;	  /* as last seen in the stat of one of its threads, */
	uint64_t program_read_ns; /* or else the time of that reading */
	uint64_t born_ns;	  /* the time when it was found */
	uint64_t dead_ns;	  /* the time when its parent's end found it dead; 0: unknown */
	void *owner;		  /* the sampler's own record */
	struct roster_process *parent; /* NULL: it is not recorded, or has ended */
	struct roster_process *children, *older, *younger; /* the last child; siblings */
	struct roster_thread *threads;
	size_t nr_threads;
	size_t index; /* in the roster */
};

struct roster_thread {
	struct tracee tracee;
	struct roster_process *process;
	void *owner;		    /* the sampler's own record */
	struct roster_thread *next; /* of its process */
};

/*
 * Receives the events that the calls below find. The listener frees a thread that is gone by
 * roster_release_thread(), at once or when its visit is over.
 */
struct roster_listener {
	/* `parent` is NULL for a root; with `is_exec` it is the process' own life before. */
	void (*process_born)(void *context, struct roster_process *process,
			     struct roster_process *parent, bool is_exec);
	/* `is_new` if it was born during the recording, so that its clocks count from 0. */
	void (*thread_born)(void *context, struct roster_thread *thread, bool is_new);
	void (*thread_gone)(void *context, struct roster_thread *thread);
	/* After its last thread. */
	void (*process_gone)(void *context, struct roster_process *process);
	void *context;
};

/* `helper`: a child of ours that is not to be observed; 0: none. */
struct roster *roster_new(const struct roster_listener *listener, bool follow_children,
			  pid_t helper);
/* Reports no more events; threads that the listener has not released stay valid. */
void roster_free(struct roster *roster);

/*
 * Begin with a process and all of its threads. ERR_GONE or ERR_PERMISSION, with the reason and a
 * hint, if it cannot be observed.
 */
int roster_add_root(struct roster *roster, pid_t pid, struct err *err);
/* Likewise, unless it has ended by now; if it may not be traced, it is only peeked at. */
void roster_add_known(struct roster *roster, pid_t pid);
/*
 * Begin with all descendants of the processes there are, too, but for those that have ended by now.
 * Returns their number. A process that may not be traced is only peeked at.
 */
size_t roster_add_descendants(struct roster *roster);
/*
 * Whatever fits is to be observed, too, as long as it is there; borrowed. Not this process and what
 * descends from it, nor threads of the kernel; without CAP_SYS_PTRACE, not before it has lived for
 * some time. To be called before the first process is added.
 */
void roster_admit(struct roster *roster, const struct joiners *joiners);
/* Begin with all processes that fit now. */
void roster_join_all(struct roster *roster);
/* Find those that have come to fit, to be called often: it takes a small part of the time. */
void roster_join(struct roster *roster, uint64_t now_ns);
/*
 * How many processes have joined by that, and how many may not be traced, with the first reason;
 * and how many times the last of all processes has ended.
 */
struct roster_joined {
	size_t nr, nr_refused, nr_gone;
	struct err refusal;
};
struct roster_joined roster_joined(const struct roster *roster);
/* Begin with a child of ours that was forked for this recording, unless it has ended by now. */
void roster_add_command(struct roster *roster, pid_t pid);

/*
 * Find births since the last call; false: there was none. The first call, before any root is added,
 * only notes the time. Where many are born this takes a small part of the time: some of them are
 * found later.
 */
bool roster_poll(struct roster *roster, uint64_t now_ns);
/*
 * The same, at ease: not at each call while nothing is born on the machine, but at least each 4 ms.
 * The reading takes longer than a sample may take of a busy thread's time.
 */
bool roster_poll_at_ease(struct roster *roster, uint64_t now_ns);
/* Find all births since the last call of any of these, however long that takes. */
bool roster_poll_all(struct roster *roster, uint64_t now_ns);
/* A process that roster_poll() may not have found yet. NULL: it is not to be observed, or gone. */
struct roster_process *roster_look_for(struct roster *roster, pid_t pid);
/*
 * How many processes were born that should have been observed, and had ended before any poll found
 * them. An estimate: of the ids that no task had any more when they were read, as many are ours as
 * of those that one had. 0 if it is not known.
 */
uint64_t roster_nr_unseen(const struct roster *roster);
/* Threads of the system that ran or were runnable then, or more; ours is one of them. */
size_t roster_nr_runnable(const struct roster *roster);
/*
 * A thread of the process was just observed: is it still in its program? If its `stat`, which may
 * be NULL, does not tell, this is read from time to time, more often for young processes, and if
 * `is_suspect`. After an exec, *thread no longer exists.
 */
bool roster_is_in_program(struct roster *roster, struct roster_process *process,
			  const struct proc_stat *stat, bool is_suspect, uint64_t now_ns);
/* Its clocks cannot be read any more, or its stat shows that it is dead. */
void roster_thread_gone(struct roster *roster, struct roster_thread *thread);
/* Find which of its threads still exist, after some may have died unseen. */
void roster_recount(struct roster *roster, struct roster_process *process);
/*
 * If the process and all of its threads have ended, report it as gone, and return true. The clocks
 * of a zombie can be read until it is reaped. The clocks of a thread that took its leader's id by
 * exec(2) may include the leader's time, which nothing else reports.
 */
bool roster_end_if_dead(struct roster *roster, pid_t pid);
/* Stop observing the process: report all of its threads, and it, as gone. */
void roster_forget(struct roster *roster, struct roster_process *process);
void roster_release_thread(struct roster_thread *thread);

/* NULL if it is not known, or no longer. */
struct roster_thread *roster_find_thread(const struct roster *roster, pid_t tid);
struct roster_process *roster_find_process(const struct roster *roster, pid_t pid);
size_t roster_nr_processes(const struct roster *roster);
struct roster_process *roster_process_at(const struct roster *roster, size_t index);

/*
 * Exact CPU time of all present and past threads of a process; false once it is reaped, with
 * *cpu_ns untouched.
 */
bool roster_process_cpu_ns(const struct roster_process *process, uint64_t *cpu_ns);

#endif
