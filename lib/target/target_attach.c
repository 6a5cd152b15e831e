// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/read.h"
#include "target/target_priv.h"

struct attach {
	struct target *target;
	pid_t tgid;
	void (*each)(void *context, struct tracee *tracee);
	void *context;
	size_t nr_new;
	int first_errno; /* why the first thread that could not be seized could not */
};

/* One thread of the list; those that are gone or that clone events already brought are passed. */
static bool seize_task(void *context, pid_t tid)
{
	struct attach *attach = context;
	struct tracee *tracee;
	struct proc_stat stat;

	if (target_find(attach->target, tid))
		return true;
	/* Workers of the kernel inside a process (io_uring) run no code of its own. */
	if (proc_read_task_stat(attach->tgid, tid, &stat) &&
	    (stat.flags & PROC_FLAG_USER_WORKER || stat.state == 'Z' || stat.state == 'X'))
		return true;
	if (ptrace(PTRACE_SEIZE, tid, NULL,
		   target_ptrace_options(attach->target, tid == attach->tgid)) < 0) {
		if (!attach->first_errno)
			attach->first_errno = errno;
		return true;
	}
	tracee = target_add(attach->target, attach->tgid, tid);
	attach->nr_new++;
	attach->each(attach->context, tracee);
	return true;
}

static int read_yama_scope(void)
{
	struct buf text = {0};
	int scope = 0;

	if (proc_read_file("/proc/sys/kernel/yama/ptrace_scope", &text))
		scope = (int)strtol(buf_str(&text), NULL, 10);
	buf_release(&text);
	return scope;
}

static int refuse_traced(pid_t pid, pid_t tracer, struct err *err)
{
	char name[PROC_COMM_MAX_BYTES] = "?";
	struct proc_status status;

	/* The kernel names the thread that traces; users know processes. */
	if (proc_read_status(tracer, &status))
		tracer = status.tgid;
	proc_read_comm(tracer, tracer, name, sizeof(name));
	err_set(err, ERR_PERMISSION, "process %d is already traced by %s (pid %d)", (int)pid, name,
		(int)tracer);
	err_hint(err, "a process can have one tracer only; end or detach the other one first");
	return ERR_PERMISSION;
}

static int refuse_eperm(pid_t pid, const struct proc_status *status, struct err *err)
{
	int scope = read_yama_scope();

	if (status->tracer_pid)
		return refuse_traced(pid, status->tracer_pid, err);
	if (geteuid() != 0 && status->real_uid != getuid()) {
		err_set(err, ERR_PERMISSION, "process %d belongs to another user (uid %u)",
			(int)pid, (unsigned int)status->real_uid);
		err_hint(err, "run profc as that user, as root, or with CAP_SYS_PTRACE");
		return ERR_PERMISSION;
	}
	err_set(err, ERR_PERMISSION, "the kernel does not allow tracing process %d", (int)pid);
	if (scope > 0) {
		err_hint(
			err,
			"Yama restricts ptrace (kernel.yama.ptrace_scope is %d): start the program "
			"with `profc record`, run profc as root, or set it to 0",
			scope);
	} else {
		err_hint(err,
			 "it may be set-user-id, undumpable (prctl PR_SET_DUMPABLE) or outside "
			 "this container's reach: try as root or with CAP_SYS_PTRACE");
	}
	return ERR_PERMISSION;
}

static int refuse(pid_t pid, int reason, struct err *err)
{
	struct proc_status status;
	struct proc_stat stat;

	if (!proc_read_status(pid, &status))
		return err_set(err, ERR_GONE, "there is no process %d", (int)pid);
	if (proc_read_task_stat(pid, pid, &stat)) {
		if (stat.flags & PROC_FLAG_KTHREAD)
			return err_set(err, ERR_UNSUPPORTED,
				       "process %d (%s) is a thread of the kernel", (int)pid,
				       stat.comm);
		if (stat.state == 'Z' && stat.nr_threads <= 1)
			return err_set(err, ERR_GONE, "process %d (%s) has exited already",
				       (int)pid, stat.comm);
	}
	if (reason == EPERM || reason == EACCES)
		return refuse_eperm(pid, &status, err);
	errno = reason;
	return err_sys(err, "cannot trace process %d", (int)pid);
}

int target_attach(struct target *target, pid_t pid,
		  void (*each)(void *context, struct tracee *tracee), void *context,
		  struct err *err)
{
	struct attach attach = {.target = target, .each = each, .context = context};
	struct proc_status status;
	size_t nr_seized = 0;

	if (pid == getpid())
		return err_set(err, ERR_INVALID, "process %d is profc itself", (int)pid);
	if (!proc_read_status(pid, &status))
		return err_set(err, ERR_GONE, "there is no process %d", (int)pid);
	attach.tgid = status.tgid;
	/* Until a pass finds nobody new: threads may start threads before they are seized. */
	do {
		attach.nr_new = 0;
		if (proc_for_each_task(attach.tgid, seize_task, &attach) < 0)
			break;
		nr_seized += attach.nr_new;
	} while (attach.nr_new);
	if (!nr_seized)
		return refuse(pid, attach.first_errno ? attach.first_errno : ESRCH, err);
	return 0;
}
