/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ROSTER_ROSTER_PRIV_H
#define PROFC_ROSTER_ROSTER_PRIV_H

#include <dirent.h>

#include "base/pid_table.h"
#include "roster/roster.h"

/*
 * The ids that the kernel has given away since the roster began, in our PID namespace, and the
 * tasks that were found to have them. What remains had ended before any reading.
 */
struct births {
	uint64_t begun_ticks; /* since boot: tasks that began earlier are older than the roster */
	uint64_t nr_ids;
	uint64_t nr_processes;	/* of ours that were found alive, */
	uint64_t nr_ended;	/* or only when they had ended */
	uint64_t nr_others;	/* our threads, and tasks that are not ours */
	bool is_unknown;	/* nr_ids is not known */
	struct pid_table ended; /* of ours that are counted and have ended; values unused */
};

/* Beyond so many young processes, others are left to the scan. */
#define YOUNG_MAX 256

struct young {
	pid_t pid;
	uint64_t age_ns, again_ns; /* of the next look */
};

/* Processes of others that may join: joining.c. */
struct joining {
	const struct joiners *joiners; /* borrowed */
	DIR *scan;		       /* owned; NULL: none is under way */
	uint64_t scan_again_ns, scan_begun_ns;
	struct young young[YOUNG_MAX];
	size_t nr_young;
	uint64_t young_again_ns;
	struct pid_table refused; /* may not be traced; the value is when they began */
	bool traces_all;
	struct roster_joined joined;
};

struct roster {
	struct roster_listener listener;
	bool follow_children;
	pid_t helper, own_pid;		   /* own_pid: getpid() is a system call */
	struct tracee_host *host;	   /* owned */
	struct roster_process **processes; /* owned */
	size_t nr_processes, cap_processes;
	struct pid_table by_pid; /* of processes */
	struct pid_table by_tid; /* of threads */
	struct pid_table others; /* processes that were read and are not ours; values unused */
	int loadavg_fd;
	pid_t last_pid;		     /* the last born id at the last reading */
	uint64_t polled_ns, news_ns; /* that reading, and the last one that showed a new id */
	struct births births;
	size_t nr_runnable;	 /* at the last reading */
	bool is_sweep_due;	 /* there are new ids that were not read */
	uint64_t sweep_again_ns; /* not before: sweeps take a small part of the time */
	struct joining *joining; /* owned; NULL: nothing is selected */
};

/* roster.c */
struct roster_process *roster_add_process(struct roster *roster, const struct proc_stat *stat,
					  struct roster_process *parent, enum roster_origin origin);
/* With its threads; false: it has none any more, and is not added. */
bool roster_add(struct roster *roster, const struct proc_stat *stat, struct roster_process *parent,
		enum roster_origin origin);
/* Add its threads that are not known yet. */
void roster_add_threads(struct roster *roster, struct roster_process *process, bool is_new);
void roster_add_thread(struct roster *roster, struct roster_process *process, pid_t tid,
		       bool is_new);
bool roster_is_dead(pid_t pid);
/* End a process without threads. */
void roster_end_process(struct roster *roster, struct roster_process *process);

/* Is it to be recorded as the child of a process that is? */
bool roster_is_child(const struct roster *roster, const struct proc_stat *stat);

/* joining.c */
/*
 * A process was born that has nothing to do with those that are recorded. If it is selected, it is
 * added; else it is looked at again, for a while.
 */
bool joining_consider(struct roster *roster, const struct proc_stat *stat, uint64_t now_ns);

#endif
