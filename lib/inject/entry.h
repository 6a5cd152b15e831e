/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_ENTRY_H
#define PROFC_INJECT_ENTRY_H

#include <stdbool.h>
#include <sys/types.h>

struct target_memory;
struct launch;

/*
 * A command that stands before the first instruction of its program: libraries are loaded and
 * relocated, and have run their own initialisation; main() and what comes before it have not begun.
 */
struct entry_stop {
	pid_t pid;
	struct target_memory *memory; /* of /proc/PID/mem */
	bool is_stopped;	      /* by the calling thread; else it runs, or has ended */
	bool has_thread_data;	      /* its thread pointer is set */
	const char *why;	      /* not stopped: why, in words, */
	int error;		      /* and the errno; 0: none */
};

/*
 * Run a held command up to there. Returns what launch_run() does: 0, or the errno of its exec.
 * A program that runs with rights of its own (set-user-ID) would lose them if it were traced, and
 * is not.
 */
int entry_run(struct entry_stop *stop, struct launch *launch);
/* Let it go on. */
void entry_end(struct entry_stop *stop);

#endif
