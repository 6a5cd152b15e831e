/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ROSTER_ROSTER_PRIV_H
#define PROFC_ROSTER_ROSTER_PRIV_H

#include "base/pid_table.h"
#include "roster/roster.h"

struct roster {
	struct roster_listener listener;
	bool follow_children;
	pid_t helper;
	struct tracee_host *host;	   /* owned */
	struct roster_process **processes; /* owned */
	size_t nr_processes, cap_processes;
	struct pid_table by_pid; /* of processes */
	struct pid_table by_tid; /* of threads */
	struct pid_table others; /* processes that were asked and are none of ours; values unused */
	int loadavg_fd;
	pid_t last_pid;		 /* that was born, when last asked */
	bool is_sweep_due;	 /* ids were born that nothing was asked of */
	uint64_t sweep_again_ns; /* not before: sweeps are to take a small part of the time */
};

/* roster.c */
struct roster_process *roster_add_process(struct roster *roster, const struct proc_stat *stat,
					  struct roster_process *parent, bool is_exec);
/* Its threads that are not known yet. */
void roster_add_threads(struct roster *roster, struct roster_process *process, bool is_new);
void roster_add_thread(struct roster *roster, struct roster_process *process, pid_t tid,
		       bool is_new);
/* It has no threads any more. */
void roster_end_process(struct roster *roster, struct roster_process *process);

#endif
