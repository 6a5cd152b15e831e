/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_PERMISSION_H
#define PROFC_TRACEE_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/task.h"

struct err;

/*
 * Why the kernel does not let a process be traced. It answers EPERM to nearly everything, so the
 * reason is put together from facts in /proc. Nothing here is stopped.
 */

/* kernel.yama.ptrace_scope (Documentation/admin-guide/LSM/Yama.rst) */
enum yama_scope {
	YAMA_ABSENT = -1,
	YAMA_CLASSIC = 0,
	YAMA_DESCENDANTS = 1, /* and processes that asked for it by PR_SET_PTRACER */
	YAMA_ADMIN = 2,	      /* CAP_SYS_PTRACE only */
	YAMA_NOBODY = 3,      /* no process, and this cannot be changed back */
};

enum yama_scope yama_scope_now(void);

/* Longer names of profiles and contexts are cut. */
#define PROFILE_MAX_BYTES 64

/* The facts from which the reason is found. */
struct refusal {
	pid_t pid;
	int reason;	    /* errno of PTRACE_SEIZE */
	bool exists;	    /* kill(2) finds the process */
	bool has_status;    /* /proc/PID/status can be read */
	bool is_dumpable;   /* /proc/PID belongs to the user of the process */
	bool may_trace_all; /* we have CAP_SYS_PTRACE */
	uint32_t our_uid;   /* effective */
	enum yama_scope yama;
	struct proc_status status; /* of the process */
	struct proc_stat stat;	   /* zero if it cannot be read */
	uint64_t our_capabilities; /* permitted */
	pid_t tracer;		   /* a process that traces it; 0: none */
	char tracer_name[PROC_COMM_MAX_BYTES];
	char profile[PROFILE_MAX_BYTES]; /* of AppArmor, that confines us; "": none does */
	char peer[PROFILE_MAX_BYTES];	 /* that of the process, or "unconfined"; "": not known */
	char context[PROFILE_MAX_BYTES]; /* of SELinux, in which we run; "": it has none for us */
	char peer_context[PROFILE_MAX_BYTES]; /* that of the process; "": not known */
	const char *unread; /* a file of /proc/PID that we may not read; NULL: none */
};

/* The reason and a hint into err; returns its code, always negative. */
int refusal_explain(const struct refusal *refusal, struct err *err);

/*
 * May we trace a process, named by the id of any of its threads? Found out by trying: a thread of
 * ours seizes one of its threads and ends, which releases it without a stop. 0, with the id of the
 * process in *tgid, or the true reason (ERR_GONE, ERR_PERMISSION, ERR_UNSUPPORTED for a 32-bit
 * program) with a hint. If another tracer has it for a moment, as profc itself does, this waits.
 */
int permission_to_trace(pid_t pid, pid_t *tgid, struct err *err);

/* For a child of ours: as its id says nothing to users, a reason has `name` instead. */
int permission_to_trace_child(pid_t pid, const char *name, struct err *err);

/*
 * 0 if /proc shows processes under the ids that they have for us. Else a negative code with the
 * reason and a hint: nothing in it may be believed.
 */
int refusal_of_proc(struct err *err);

/* Do we have CAP_SYS_PTRACE? */
bool may_trace_all(void);

/* Does a profile of AppArmor confine us? It may forbid what the capability allows. */
bool is_confined(void);
/* If one does: the rules that programs need which may not be traced, as a hint; else false. */
bool hint_at_profiles(struct err *err);

#endif
