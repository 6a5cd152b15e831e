// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/futex.h>
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
 *
 * A child that ends at once may do so before its parent has come to opening the pidfd. So all
 * children of a process that was seen to watch one part, but for those it is known to wait for; and
 * where nothing is known of it and it may be on its way, the child is held until that shows.
 */

enum verdict {
	VERDICT_KEEP, /* traced up to the end */
	VERDICT_PART,
	VERDICT_UNSURE, /* its parent may yet come to opening a pidfd */
	VERDICT_DANGER, /* somebody may die of that, but can be followed (target_filter.c) */
};

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

static bool is_fork(int64_t nr)
{
#ifdef SYS_vfork
	if (nr == SYS_vfork || nr == SYS_fork)
		return true;
#endif
	return nr == SYS_clone || nr == SYS_clone3;
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

/* Of a parent that is none of ours, its first thread. */
static bool read_foreign_call(pid_t pid, struct proc_syscall *call)
{
	cleanup_close int fd = proc_open_task_file(pid, pid, "syscall");

	return fd >= 0 && proc_read_syscall(fd, call);
}

static void read_call(pid_t pid, const struct tracee *maker, struct proc_syscall *call)
{
	if (!(maker ? target_read_syscall(maker, call) : read_foreign_call(pid, call)))
		*call = (struct proc_syscall){.kind = PROC_SYSCALL_RUNNING};
}

/*
 * Most parents do nothing but wait for their child: they need no look at their descriptors. Of
 * several threads, that may be the one that made it: did another watch the pidfd of a child that
 * this one is about to take, it would come too late untraced as well.
 */
static bool only_waits(const struct tracee *child, const struct tracee *maker, pid_t ppid,
		       const struct proc_syscall *call, bool for_any)
{
	if (call->kind != PROC_SYSCALL_INSIDE)
		return false;
	if (is_vfork(call))
		return maker && !child->priv->has_executed;
	return is_wait(call) && (takes(ppid, call, child->tid) ||
				 (for_any && takes_any(call) && is_only_thread(ppid)));
}

/* To look through all descriptors takes up to a third of a millisecond. */
#define LOOK_AGAIN_NS NS_PER_SEC

/* So long after it was last seen to watch a child, a process is taken to watch all. */
#define WATCHES_ON_NS (10 * NS_PER_SEC)

/*
 * Some open it only as the child is about to be dead, and it does not part. That they do is seen
 * right before it is reaped; it costs this share of the time at most.
 */
#define LOOK_AT_DEAD_SHARE 50

static uint64_t watched_ago_ns(const struct tracee *leader)
{
	return leader && leader->priv->watched_ns ? clock_monotonic_ns() - leader->priv->watched_ns
						  : UINT64_MAX;
}

static bool is_watched(const struct tracee *child, struct tracee *leader, pid_t ppid)
{
	if (!proc_may_hold_pidfd(ppid, child->tid))
		return false;
	if (leader)
		leader->priv->watched_ns = clock_monotonic_ns();
	return true;
}

/* A child that has lived for longer would be watched by now. */
#define YOUNG_NS (20 * NS_PER_MS)

/*
 * Its parent is awake, and as a rule does not notice that it takes longer to end. But some go on
 * computing, or ask for it again and again: after so many in a row no more is held for that long.
 */
#define LONGEST_UNSURE_NS (2 * NS_PER_MS)
#define MAX_VAIN_WAITS	  8

/* Between two looks at the parent: the longer, the longer the child is held already. */
#define PAUSE_NS    (30 * NS_PER_US)
#define PAUSE_SHARE 4

/* So a futex that is a lock is waited for, by glibc and others: for a moment, as a rule. */
#define LOCKED_AND_AWAITED 2

static bool is_wait_for_lock(const struct proc_syscall *call)
{
	const uint64_t op = call->args[1] & FUTEX_CMD_MASK;

	return call->nr == SYS_futex && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) &&
	       (uint32_t)call->args[2] == LOCKED_AND_AWAITED;
}

static bool is_held(const struct tracee *maker)
{
	struct proc_stat stat;

	return target_read_stat(maker, &stat) && stat.state == 't';
}

/*
 * Has it not slept since it made the child, but for a lock? Then it may yet come to opening the
 * pidfd. It may not even have come back from making it.
 */
static bool is_on_its_way(const struct tracee *child, const struct tracee *maker,
			  const struct proc_syscall *call)
{
	if (clock_monotonic_ns() - child->priv->met_ns >= YOUNG_NS)
		return false;
	if (child->priv->is_untold || !maker)
		return child->priv->is_untold;
	return call->kind != PROC_SYSCALL_INSIDE || is_fork(call->nr) || is_wait_for_lock(call) ||
	       is_held(maker);
}

static enum verdict judge_parent(struct tracee *child, pid_t ppid)
{
	struct tracee *leader = target_find(child->priv->target, ppid);
	struct tracee *maker = target_find(child->priv->target, child->priv->parent_tid);
	uint64_t ago_ns = watched_ago_ns(leader);
	bool watches = ago_ns < WATCHES_ON_NS;
	bool may_begin = !watches && (!leader || leader->priv->nr_vain_waits < MAX_VAIN_WAITS);
	struct proc_syscall call;

	if (maker && maker->tgid != ppid)
		maker = NULL; /* it is gone, and another has its children */
	read_call(ppid, maker, &call);
	if (only_waits(child, maker, ppid, &call, !watches))
		return VERDICT_KEEP;
	if (ago_ns < LOOK_AGAIN_NS)
		return VERDICT_PART;
	if (may_begin && is_on_its_way(child, maker, &call))
		return VERDICT_UNSURE;
	return is_watched(child, leader, ppid) || watches ? VERDICT_PART : VERDICT_KEEP;
}

/* Nobody but an only thread takes its signals. */
static bool endangers(const struct tracee *child, pid_t ppid)
{
	return !is_only_thread(ppid) && !target_child_may_part(child->priv->target, ppid);
}

static enum verdict judge(struct tracee *child, pid_t ppid)
{
	enum verdict verdict = judge_parent(child, ppid);

	return verdict == VERDICT_PART && endangers(child, ppid) ? VERDICT_DANGER : verdict;
}

void target_before_end_of(const struct tracee *child)
{
	uint64_t begun_ns = clock_monotonic_ns();
	struct tracee *leader;
	struct proc_stat stat;

	if (child->tid != child->tgid || !target_read_stat(child, &stat))
		return;
	leader = target_find(child->priv->target, stat.ppid);
	if (!leader || begun_ns < leader->priv->look_at_dead_ns ||
	    watched_ago_ns(leader) < LOOK_AGAIN_NS)
		return;
	is_watched(child, leader, stat.ppid);
	leader->priv->look_at_dead_ns =
		begun_ns + (clock_monotonic_ns() - begun_ns) * LOOK_AT_DEAD_SHARE;
}

enum hold target_hold_at_end(struct tracee *tracee)
{
	enum verdict verdict = VERDICT_KEEP;
	struct proc_stat stat;

	if (tracee->tid != tracee->tgid || !target_read_stat(tracee, &stat) ||
	    stat.ppid == getpid())
		return HOLD_CONT;
	verdict = judge(tracee, stat.ppid);
	if (verdict == VERDICT_KEEP || (stat.nr_threads != 1 && !others_die(tracee)))
		return HOLD_CONT;
	if (verdict == VERDICT_PART)
		target_child_parts(tracee->priv->target, stat.ppid);
	tracee->priv->unsure_since_ns = clock_monotonic_ns();
	return verdict == VERDICT_PART ? HOLD_PART : HOLD_UNSURE;
}

static bool is_unsure_yet(struct target *target, struct tracee *tracee)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - tracee->priv->unsure_since_ns >= LONGEST_UNSURE_NS)
		return false;
	if (tracee_list_has(&target->unsure, tracee))
		return true;
	target->settle_ns = now_ns + PAUSE_NS;
	return tracee_list_add(&target->unsure, tracee);
}

static void note_wait(struct tracee *leader, bool in_vain)
{
	if (leader)
		leader->priv->nr_vain_waits = in_vain ? leader->priv->nr_vain_waits + 1 : 0;
}

/* Says whether it is sure now. */
static bool settle(struct target *target, struct tracee *tracee)
{
	enum verdict verdict = VERDICT_KEEP;
	struct proc_stat stat;
	bool parts;

	if (target_read_stat(tracee, &stat)) {
		verdict = judge(tracee, stat.ppid);
		if ((verdict == VERDICT_UNSURE || verdict == VERDICT_DANGER) &&
		    is_unsure_yet(target, tracee))
			return false;
		note_wait(target_find(target, stat.ppid), verdict == VERDICT_UNSURE);
	}
	tracee_list_remove(&target->unsure, tracee);
	parts = verdict == VERDICT_PART ||
		(verdict == VERDICT_UNSURE && !target_any_endangered(target, stat.ppid));
	tracee->priv->hold = parts ? HOLD_PART : HOLD_CONT;
	if (parts)
		target_child_parts(target, stat.ppid);
	return true;
}

/* Until the last of the others is reaped nobody could wait for the process anyhow. */
static bool is_alone(const struct tracee *tracee)
{
	struct proc_stat stat;

	return !target_read_stat(tracee, &stat) || stat.nr_threads == 1;
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
	if (tracee->priv->hold == HOLD_UNSURE && !settle(target, tracee))
		return true;
	return tracee->priv->hold == HOLD_PART && (!is_alone(tracee) || detach(target, tracee));
}

uint64_t target_settle_ns(const struct target *target)
{
	return target->unsure.nr ? target->settle_ns : 0;
}

void target_settle_unsure(struct target *target)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t shortest_ns = LONGEST_UNSURE_NS;

	if (now_ns < target->settle_ns)
		return;
	for (size_t i = target->unsure.nr; i-- > 0;) {
		struct tracee *tracee = target->unsure.at[i];
		uint64_t held_ns = now_ns - tracee->priv->unsure_since_ns;

		shortest_ns = held_ns < shortest_ns ? held_ns : shortest_ns;
		target_resume(target, tracee);
	}
	target->settle_ns = now_ns + PAUSE_NS + shortest_ns / PAUSE_SHARE;
}
