// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/refusal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/read.h"
#include "proc/scan.h"

#define CAPABILITY_SYS_PTRACE 19

enum yama_scope yama_scope_parse(const char *text, size_t nr_bytes)
{
	struct scan scan = {.at = text, .end = text + nr_bytes};
	uint64_t number;

	if (!scan_decimal(&scan, &number))
		return YAMA_ABSENT;
	return number > YAMA_NOBODY ? YAMA_NOBODY : (enum yama_scope)number;
}

enum yama_scope yama_scope_now(void)
{
	struct buf text = {0};
	enum yama_scope scope = YAMA_ABSENT;

	if (proc_read_file("/proc/sys/kernel/yama/ptrace_scope", &text))
		scope = yama_scope_parse(buf_str(&text), text.nr_bytes);
	buf_release(&text);
	return scope;
}

int refusal_of_proc(struct err *err)
{
	char self[32] = "";
	ssize_t nr_bytes = readlink("/proc/self", self, sizeof(self) - 1);
	struct scan scan = {.at = self, .end = self + (nr_bytes > 0 ? nr_bytes : 0)};
	uint64_t pid;

	if (scan_decimal(&scan, &pid) && pid == (uint64_t)getpid())
		return 0;
	err_set(err, ERR_UNSUPPORTED,
		"there is no /proc here, or it is that of another PID namespace: what profc has to "
		"know of a process stands there");
	err_hint(err, "mount -t proc proc /proc, or unshare --mount-proc");
	return ERR_UNSUPPORTED;
}

bool may_trace_all(void)
{
	struct proc_status status;

	return proc_read_status(getpid(), &status) &&
	       (status.effective_capabilities >> CAPABILITY_SYS_PTRACE & 1);
}

/* A process that must not be looked into has its files given to root. */
static bool is_dumpable(pid_t pid, const struct proc_status *status)
{
	struct stat file;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return stat(path, &file) < 0 || file.st_uid == status->effective_uid;
}

static bool note_live_thread(void *context, pid_t tid)
{
	pid_t *live = context;
	struct proc_status status;
	struct proc_stat stat;

	if (!proc_read_status(tid, &status) || !proc_read_task_stat(status.tgid, tid, &stat) ||
	    stat.state == 'Z' || stat.state == 'X')
		return true;
	*live = tid;
	return false;
}

/*
 * The thread that tells of its process: `pid`, but a first thread that has ended before the others
 * has no tracer, and no memory that would make it dumpable.
 */
static pid_t live_thread(pid_t pid, const struct proc_stat *stat)
{
	pid_t live = pid;

	if (stat->state == 'Z')
		proc_for_each_task(pid, note_live_thread, &live);
	return live;
}

void refusal_gather(pid_t pid, int reason, struct refusal *refusal)
{
	struct proc_status ours = {0};
	struct proc_status tracer;
	pid_t witness;

	*refusal = (struct refusal){.pid = pid, .reason = reason, .yama = yama_scope_now()};
	refusal->exists = kill(pid, 0) == 0 || errno == EPERM;
	refusal->has_status = proc_read_status(pid, &refusal->status);
	proc_read_status(getpid(), &ours);
	refusal->may_trace_all = ours.effective_capabilities >> CAPABILITY_SYS_PTRACE & 1;
	refusal->our_capabilities = ours.permitted_capabilities;
	refusal->our_uid = geteuid();
	if (!refusal->has_status)
		return;
	proc_read_task_stat(refusal->status.tgid, pid, &refusal->stat);
	witness = live_thread(pid, &refusal->stat);
	if (witness != pid)
		proc_read_status(witness, &refusal->status);
	refusal->is_dumpable = is_dumpable(witness, &refusal->status);
	if (!refusal->status.tracer_pid)
		return;
	/* The kernel names the thread that traces; users know processes. */
	refusal->tracer = refusal->status.tracer_pid;
	if (proc_read_status(refusal->tracer, &tracer))
		refusal->tracer = tracer.tgid;
	if (!proc_read_comm(refusal->tracer, refusal->tracer, refusal->tracer_name,
			    sizeof(refusal->tracer_name)))
		snprintf(refusal->tracer_name, sizeof(refusal->tracer_name), "?");
}

static int explain_absence(const struct refusal *refusal, struct err *err)
{
	if (!refusal->exists)
		return err_set(err, ERR_GONE, "there is no process %d", (int)refusal->pid);
	err_set(err, ERR_PERMISSION, "process %d exists, but /proc does not show it",
		(int)refusal->pid);
	err_hint(err, "/proc is mounted with hidepid here, or is that of another PID namespace: "
		      "run profc as the user of that process or as root");
	return ERR_PERMISSION;
}

static bool is_of_other_user(const struct refusal *refusal)
{
	return refusal->status.real_uid != refusal->our_uid ||
	       refusal->status.effective_uid != refusal->our_uid;
}

static int explain_tracer(const struct refusal *refusal, struct err *err)
{
	err_set(err, ERR_PERMISSION, "process %d is already traced by %s (pid %d)",
		(int)refusal->pid, refusal->tracer_name, (int)refusal->tracer);
	if (!refusal->may_trace_all && is_of_other_user(refusal))
		err_hint(err,
			 "it is not yours either: run profc as uid %u, as root, or with "
			 "CAP_SYS_PTRACE, and end or detach the other one first",
			 (unsigned int)refusal->status.real_uid);
	else if (strcmp(refusal->tracer_name, "profc") == 0)
		err_hint(err, "--no-children, given to that one, leaves what its command starts to "
			      "other tracers: a process can have one only");
	else
		err_hint(err, "a process can have one tracer only; end or detach the other one "
			      "first");
	return ERR_PERMISSION;
}

static int explain_user(const struct refusal *refusal, struct err *err)
{
	if (refusal->status.real_uid == refusal->our_uid) {
		err_set(err, ERR_PERMISSION, "process %d runs set-user-id, as uid %u",
			(int)refusal->pid, (unsigned int)refusal->status.effective_uid);
		err_hint(err, "run profc as root or with CAP_SYS_PTRACE");
		return ERR_PERMISSION;
	}
	err_set(err, ERR_PERMISSION, "process %d belongs to another user (uid %u)",
		(int)refusal->pid, (unsigned int)refusal->status.real_uid);
	err_hint(err, "run profc as that user, as root, or with CAP_SYS_PTRACE");
	return ERR_PERMISSION;
}

/* Has it anything that forbids its own user to look into it? */
static bool explain_process(const struct refusal *refusal, struct err *err)
{
	if (!refusal->is_dumpable) {
		err_set(err, ERR_PERMISSION, "process %d is not dumpable", (int)refusal->pid);
		err_hint(err, "it runs set-user-id, has changed its user, or forbids it itself "
			      "(prctl PR_SET_DUMPABLE): run profc as root or with CAP_SYS_PTRACE");
		return true;
	}
	if (refusal->status.permitted_capabilities & ~refusal->our_capabilities) {
		err_set(err, ERR_PERMISSION, "process %d has capabilities that profc has not",
			(int)refusal->pid);
		err_hint(err, "run profc as root or with CAP_SYS_PTRACE");
		return true;
	}
	return false;
}

static void explain_yama(const struct refusal *refusal, struct err *err)
{
	err_set(err, ERR_PERMISSION, "Yama does not let profc trace process %d", (int)refusal->pid);
	if (refusal->yama == YAMA_NOBODY)
		err_hint(err, "kernel.yama.ptrace_scope is 3: nobody may attach to anything until "
			      "the next boot");
	else if (refusal->yama == YAMA_ADMIN)
		err_hint(err, "kernel.yama.ptrace_scope is 2: run profc as root or with "
			      "CAP_SYS_PTRACE");
	else
		err_hint(err, "kernel.yama.ptrace_scope is 1: start the program with `profc "
			      "record`, run profc as root, or: sysctl kernel.yama.ptrace_scope=0");
}

static int explain_eperm(const struct refusal *refusal, struct err *err)
{
	if (refusal->tracer)
		return explain_tracer(refusal, err);
	if (!refusal->may_trace_all) {
		if (is_of_other_user(refusal))
			return explain_user(refusal, err);
		if (explain_process(refusal, err))
			return ERR_PERMISSION;
	}
	if (refusal->yama == YAMA_NOBODY ||
	    (refusal->yama > YAMA_CLASSIC && !refusal->may_trace_all)) {
		explain_yama(refusal, err);
		return ERR_PERMISSION;
	}
	err_set(err, ERR_PERMISSION, "the kernel does not allow tracing process %d",
		(int)refusal->pid);
	err_hint(err, "it may be outside this container's reach (another user namespace), or a "
		      "security module or seccomp filter forbids ptrace(2): try from the host");
	return ERR_PERMISSION;
}

int refusal_explain(const struct refusal *refusal, struct err *err)
{
	const struct proc_stat *stat = &refusal->stat;

	if (!refusal->has_status)
		return explain_absence(refusal, err);
	if (stat->flags & PROC_FLAG_KTHREAD || refusal->status.kthread)
		return err_set(err, ERR_UNSUPPORTED, "process %d (%s) is a thread of the kernel",
			       (int)refusal->pid, stat->comm);
	if (stat->state == 'Z' && stat->nr_threads <= 1)
		return err_set(err, ERR_GONE, "process %d (%s) has exited already",
			       (int)refusal->pid, stat->comm);
	if (refusal->reason == EPERM || refusal->reason == EACCES)
		return explain_eperm(refusal, err);
	if (refusal->reason == ESRCH)
		return err_set(err, ERR_GONE, "process %d (%s) has ended meanwhile",
			       (int)refusal->pid, stat->comm);
	errno = refusal->reason;
	return err_sys(err, "cannot trace process %d", (int)refusal->pid);
}
