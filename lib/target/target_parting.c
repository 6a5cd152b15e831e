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

/* Who waits for others than a child may come to asking for that as soon as it has ended. */
static bool takes(pid_t ppid, const struct proc_syscall *call, pid_t child)
{
	if (call->nr == SYS_wait4)
		return (pid_t)call->args[0] == child;
	return (call->args[0] == P_PID && (pid_t)call->args[1] == child) ||
	       (call->args[0] == P_PIDFD && proc_pidfd_process(ppid, (int)call->args[1]) == child);
}

static bool takes_any(const struct proc_syscall *call)
{
	return call->nr == SYS_wait4 ? (pid_t)call->args[0] <= 0
				     : call->args[0] == P_ALL || call->args[0] == P_PGID;
}

/* Asked to return at once, it may be about to be told that the child lives. */
static bool is_wait(const struct proc_syscall *call)
{
	return (call->nr == SYS_wait4 && !(call->args[2] & WNOHANG)) ||
	       (call->nr == SYS_waitid && !(call->args[3] & WNOHANG));
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
	return is_wait(&call) &&
	       (takes(ppid, &call, child->tid) || (takes_any(&call) && is_only_thread(ppid)));
}

/* To look through all descriptors takes up to a third of a millisecond. */
#define LOOK_AGAIN_NS (NS_PER_SEC)
#define WATCHES_ON_NS (10 * NS_PER_SEC)

/*
 * A child may come to its end before its parent comes to opening the pidfd. So a process that has
 * watched one is taken to watch all, for long after it was last seen to: those that it is known to
 * wait for are none of them.
 */
static bool may_watch(const struct tracee *child, pid_t ppid)
{
	struct tracee *leader = target_find(child->priv->target, ppid);
	uint64_t watched_ns = leader ? leader->priv->watched_ns : 0;
	uint64_t now_ns = clock_monotonic_ns();

	if (watched_ns && now_ns - watched_ns < LOOK_AGAIN_NS)
		return true;
	if (!proc_may_hold_pidfd(ppid, child->tid))
		return watched_ns && now_ns - watched_ns < WATCHES_ON_NS;
	if (leader)
		leader->priv->watched_ns = now_ns;
	return true;
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
	if (only_waits(tracee, maker, stat.ppid) || !may_watch(tracee, stat.ppid) ||
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
