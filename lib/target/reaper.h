/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_REAPER_H
#define PROFC_TARGET_REAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "proc/task.h"

/*
 * PTRACE_SEIZE of a process that executes another program waits in the kernel until that is
 * done (cred_guard_mutex), and the exec waits until all the other threads are reaped: those we
 * trace by us. A second thread, which may not trace for the first but may wait for it, reaps
 * them meanwhile.
 */
struct reaper;

/* How a thread ended that the reaper took. */
struct reaped {
	pid_t tid;
	int wait_status; /* as of waitpid(2) */
	struct proc_schedstat final;
	bool has_final;
};

/* NULL when no thread can be started: then nobody reaps. */
struct reaper *reaper_start(void);
/* Ends it and frees all. */
void reaper_end(struct reaper *reaper);

/* A thread that was seized. */
void reaper_watch(struct reaper *reaper, pid_t tgid, pid_t tid);
/* Around each PTRACE_SEIZE: only one that lasts makes it reap. */
void reaper_seize_begins(struct reaper *reaper);
void reaper_seize_ends(struct reaper *reaper);
/* The next one that it took, each once; false when there is none. */
bool reaper_next(struct reaper *reaper, struct reaped *reaped);

#endif
