/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_CHILD_H
#define PROFC_TARGET_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* How a process meets signals, as far as exec(2) leaves it as it was. */
struct child_signals {
	sigset_t mask;
	bool ignores_children; /* SIGCHLD is SIG_IGN; what else is ignored stays so by itself */
};

/*
 * Block `ours` in the calling thread, and make sure that SIGCHLD comes: a tracer that ignores it,
 * because its parent did, is not told of stops. `*former` is how it was, for a command.
 */
void child_signals_take_over(const sigset_t *ours, struct child_signals *former);

/*
 * Wait for a command of target_spawn() that is no longer traced, and reap it. 0, with
 * *status as of waitpid(2), or -1 with errno when there is no such child.
 */
int child_reap(pid_t pid, int *status);
/* The signal by which job control has stopped such a command, for as long as it stands; or 0. */
int child_stop_signal(pid_t pid);

#endif
