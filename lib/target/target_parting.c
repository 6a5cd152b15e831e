// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/pidfd.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * A process that is traced as it ends can be waited for by its parent only once its tracer has
 * reaped it. But its pidfds become readable before, and whoever then asks without waiting
 * (WNOHANG) is told that the child lives: of 200 such children, 44 did so. Rust's tokio panics.
 *
 * So a child whose parent has a pidfd of it is detached in the stop at its end, and ends as if it
 * had never been traced. What CPU time it uses after that, to give back its memory, is lost to us,
 * which is why it is not done to all.
 */

struct dying {
	const struct tracee *leader;
	bool all;
};

/* One that is not ours would end without our notice; and who executes a program does not end. */
static bool ends_with_our_notice(pid_t tid, const struct proc_stat *stat)
{
	struct proc_status status;

	return proc_read_status(tid, &status) && status.tracer_pid == gettid() &&
	       (stat->flags & PROC_FLAGS_ENDING || status.pending_thread >> (SIGKILL - 1) & 1);
}

static bool note_dying(void *context, pid_t tid)
{
	struct dying *dying = context;
	struct proc_stat stat;

	if (tid == dying->leader->tid || !proc_read_task_stat(dying->leader->tgid, tid, &stat))
		return true;
	dying->all = stat.state == 'X' || ends_with_our_notice(tid, &stat);
	return dying->all;
}

/* The one that calls exit_group() shows it a moment after the others are killed by that. */
#define DYING_TRIES    8
#define DYING_PAUSE_NS (25 * NS_PER_US)

static bool others_die(const struct tracee *leader)
{
	const struct timespec pause = {.tv_nsec = (long)DYING_PAUSE_NS};
	struct dying dying = {.leader = leader};

	for (int i = 0; i < DYING_TRIES && !dying.all; i++) {
		if (i)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		dying.all = true;
		if (proc_for_each_task(leader->tgid, note_dying, &dying) < 0)
			return false;
	}
	return dying.all;
}

/* Asked to return at once, it may be about to be told that the child lives. */
static bool is_wait_for(pid_t ppid, const struct proc_syscall *call, pid_t child, bool by_anybody)
{
	if (call->nr == SYS_wait4)
		return !(call->args[2] & WNOHANG) && (by_anybody || (pid_t)call->args[0] == child);
	if (call->nr != SYS_waitid || call->args[3] & WNOHANG)
		return false;
	return by_anybody || (call->args[0] == P_PID && (pid_t)call->args[1] == child) ||
	       (call->args[0] == P_PIDFD && proc_pidfd_process(ppid, (int)call->args[1]) == child);
}

/* A child that runs in its parent's memory ends before that has returned from making it. */
static bool is_vfork(const struct proc_syscall *call)
{
#ifdef SYS_vfork
	if (call->nr == SYS_vfork)
		return true;
#endif
	return call->nr == SYS_clone && (call->args[0] & CLONE_VFORK) &&
	       !(call->args[0] & CLONE_PIDFD);
}

static bool is_only_thread(pid_t pid)
{
	struct proc_stat stat;

	return proc_read_task_stat(pid, pid, &stat) && stat.nr_threads == 1;
}

/*
 * Most parents do nothing but wait for their child: they need no look at their descriptors. Of
 * several threads, that may be the one that made it: did another watch the pidfd of a child that
 * this one is about to take, it would come too late untraced as well.
 */
static bool only_waits(const struct tracee *child, const struct tracee *maker, pid_t ppid)
{
	pid_t tid = maker ? maker->tid : ppid;
	cleanup_close int fd = proc_open_task_file(ppid, tid, "syscall");
	struct proc_syscall call;

	if (fd < 0 || !proc_read_syscall(fd, &call) || call.kind != PROC_SYSCALL_INSIDE)
		return false;
	if (is_vfork(&call))
		return maker && !child->priv->has_executed;
	return is_wait_for(ppid, &call, child->tid, false) ||
	       (is_wait_for(ppid, &call, child->tid, true) && is_only_thread(ppid));
}

/* To look through all descriptors takes up to a third of a millisecond. */
#define WATCHES_ON_NS (100 * NS_PER_MS)

/*
 * Who watched its last child that way is taken to do so with the next, too, for a while; and after
 * that, once: it may not have come to opening the pidfd yet.
 */
static bool may_watch(const struct tracee *child, struct tracee *maker, pid_t ppid)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct tracee *leader = target_find(child->priv->target, ppid);
	bool holds, did_watch;

	if (maker && now_ns < maker->priv->watches_until_ns)
		return true;
	/* It stands where it made the child, and is yet to be let go: the pidfd can but come. */
	if (child->priv->is_untold && leader && leader->priv->process_watches)
		return true;
	holds = proc_may_hold_pidfd(ppid, child->tid);
	if (leader)
		leader->priv->process_watches |= holds;
	did_watch = maker && maker->priv->watches_until_ns;
	if (maker)
		maker->priv->watches_until_ns = holds ? now_ns + WATCHES_ON_NS : 0;
	return holds || did_watch;
}

bool target_should_part(const struct tracee *tracee)
{
	struct tracee *maker = target_find(tracee->priv->target, tracee->priv->parent_tid);
	struct proc_stat stat;

	if (tracee->tid != tracee->tgid || !proc_read_task_stat(tracee->tgid, tracee->tid, &stat) ||
	    stat.ppid == getpid())
		return false;
	if (maker && maker->tgid != stat.ppid)
		maker = NULL; /* it is gone, and another has its children */
	if (only_waits(tracee, maker, stat.ppid) || !may_watch(tracee, maker, stat.ppid) ||
	    (stat.nr_threads != 1 && !others_die(tracee)))
		return false;
	target_child_parts(tracee->priv->target, stat.ppid);
	return true;
}

/* Until the last of the others is reaped nobody could wait for the process anyhow. */
static bool is_alone(const struct tracee *tracee)
{
	struct proc_stat stat;

	return !proc_read_task_stat(tracee->tgid, tracee->tid, &stat) || stat.nr_threads == 1;
}

void target_after_end_of(struct target *target, pid_t tgid)
{
	struct tracee *leader = target_find(target, tgid);

	if (leader && leader->priv->hold == HOLD_PART)
		target_resume(target, leader);
}

static bool detach(struct target *target, struct tracee *tracee)
{
	struct target_event gone = {
		.kind = TARGET_EVENT_GONE,
		.tracee = tracee,
		.time_ns = clock_monotonic_ns(),
	};
	unsigned long wait_status = 0;

	ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &wait_status);
	gone.wait_status = (int)wait_status;
	gone.has_final = target_clocks(tracee, &gone.final);
	if (ptrace(PTRACE_DETACH, tracee->tid, NULL, NULL) < 0)
		return false;
	tracee->priv->hold = HOLD_NONE;
	target_add_pending(target, &gone);
	return true;
}

bool target_part(struct target *target, struct tracee *tracee)
{
	return !is_alone(tracee) || detach(target, tracee);
}
