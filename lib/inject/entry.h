/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_ENTRY_H
#define PROFC_INJECT_ENTRY_H

#include <stdbool.h>
#include <sys/types.h>

struct target_memory;
struct launch;

/*
 * A command before the first instruction of its program. Libraries are loaded, relocated and
 * initialised; main() and whatever runs before it have not begun.
 */
struct entry_stop {
	pid_t pid;
	struct target_memory *memory; /* of /proc/PID/mem */
	bool is_stopped;	      /* by the calling thread; else it runs, or has ended */
	bool has_thread_data;	      /* its thread pointer is set */
	const char *why;	      /* the reason, if it is not stopped, */
	int error;		      /* and the errno; 0: none */
	bool is_forbidden;	      /* to be traced in its exec: it runs without us */
};

/*
 * Run a held command up to there. Returns 0 or the errno of its exec, as launch_run(). A program
 * with rights of its own (set-user-ID) would lose them under a tracer, and is not to be traced; one
 * that a security module does not let be executed under a tracer is executed again without.
 */
int entry_run(struct entry_stop *stop, struct launch *launch);
/* Let the command continue. */
void entry_end(struct entry_stop *stop);

#endif
