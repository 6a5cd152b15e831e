/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_LAUNCH_H
#define PROFC_TRACEE_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/cpu_split.h"

struct err;

/* The signal settings of a process that exec(2) keeps. */
struct child_signals {
	sigset_t mask;
	bool ignores_children; /* SIGCHLD is SIG_IGN; other ignored signals stay so by themselves */
};

/*
 * Block `ours` in the calling thread, and make sure that children stay until they are reaped,
 * whatever our parent has set. `*former` gets the former settings, for a command.
 */
void child_signals_take_over(const sigset_t *ours, struct child_signals *former);

/* A command: an ordinary child of ours, held at a socket until it is run. */
struct launch {
	pid_t pid;
	int fd; /* our end of the socket; -1: closed */
};

/*
 * Fork the command. Nothing is traced. It waits for launch_run(), and ends by itself if that never
 * comes. argv is NULL-ended. From then on orphans among its descendants become children of ours,
 * not of init (PR_SET_CHILD_SUBREAPER): so they are known, counted, and may be traced under Yama.
 * 0, or a negative code with the reason.
 */
int launch_start(struct launch *launch, char *const *argv, const struct child_signals *signals,
		 struct err *err);
/*
 * Let it execute its program (context: the launch). Returns once that is over: 0, or the errno of
 * the exec.
 */
int launch_run(void *context);
/*
 * Reap the orphans that have ended, as init would; call it now and then. Never waits. Any thread.
 */
void launch_reap_orphans(pid_t command);
/* Close our end. A command that was not run ends. */
void launch_release(struct launch *launch);

/* CPU time of the reaped children of ours, and of their descendants. Any thread. */
struct proc_cpu_split reaped_cpu(void);
/*
 * Once a child of ours has ended: its CPU time, with all of its descendants that their parents have
 * waited for, plus reaped_cpu(). Any thread; false while it runs.
 */
bool child_cpu(pid_t pid, struct proc_cpu_split *cpu);
/* The kernel's account of a child and of its descendants that their parents have waited for. */
struct child_usage {
	uint64_t peak_rss_bytes; /* of the largest of these processes */
	uint64_t nr_minor_faults, nr_major_faults;
	uint64_t nr_voluntary_switches, nr_involuntary_switches;
};

/*
 * As time(1) prints it, with the moment between fork and exec. False while the child runs, and once
 * it was reaped. Any thread.
 */
bool child_usage(pid_t pid, struct child_usage *usage);
/* Wait for the child and reap it. 0, with *status as of waitpid(2), or -1 with errno. */
int child_reap(pid_t pid, int *status);

#endif
