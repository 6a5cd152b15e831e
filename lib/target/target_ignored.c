// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/ptrace.h>

#include "proc/read.h"
#include "target/target_priv.h"

/*
 * A signal that nobody catches wakes no untraced thread, as it is dropped when it is sent
 * (sig_ignored() in kernel/signal.c): so a call that it breaks off is repaired. But it is not
 * dropped where the thread that it is sent to blocks it. Then it waits, and ends the call that lets
 * it in by a mask of its own, be it of that thread or another: that EINTR is real.
 */

/*
 * The first process of a PID namespace is neither killed nor stopped from within it
 * (SIGNAL_UNKILLABLE in kernel/signal.c): such a signal is dropped, but not of one that is traced.
 * Any other that has no handler is dropped then after its stop, all the same; SIGSTOP is not.
 */
static bool is_first_of_namespace(const struct tracee *tracee)
{
	struct proc_status status;

	return proc_read_status(tracee->tgid, &status) && status.ns_pid == 1;
}

/* Of a sender outside there is no id that the first process could see. */
static bool is_from_within(pid_t held)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, held, NULL, &info) == 0 && info.si_code <= 0 &&
	       info.si_pid;
}

bool target_is_unstoppable(const struct tracee *held, int signal)
{
	return is_first_of_namespace(held) && (signal != SIGSTOP || is_from_within(held->tid));
}

/* To whom: of a process, that is its first thread; of the end of a child, who has made it. */
static pid_t addressee(const struct tracee *taker, const siginfo_t *info)
{
	pid_t parent = target_parent_of_reaped(taker->priv->target, info);

	if (info->si_code == SI_TKILL)
		return taker->tid;
	return parent ? parent : taker->tgid;
}

/* What it blocks once its call is over. */
static uint64_t blocked_outside(pid_t held)
{
	uint64_t mask = 0;

	return ptrace(PTRACE_GETSIGMASK, held, sizeof(mask), &mask) < 0 ? 0 : mask;
}

/* It may have come back from the one that was repaired, and made the same anew. */
#define TIMES_RUN_IN_REPAIRED 2

static bool is_repaired(const struct tracee_private *priv, const struct proc_schedstat *clocks)
{
	return priv->repaired_pcount &&
	       clocks->pcount - priv->repaired_pcount <= TIMES_RUN_IN_REPAIRED;
}

/* Was it in its call before the signal was sent to it? Then that was let in, and so dropped. */
static bool has_slept_in(struct tracee *held, const struct proc_syscall *syscall)
{
	struct proc_schedstat clocks;

	return target_clocks(held, &clocks) &&
	       (target_comes_out_of(held, syscall, &clocks) || is_repaired(held->priv, &clocks));
}

static bool was_let_in(struct tracee *held, const struct proc_syscall *syscall, int signal)
{
	struct proc_status status;
	siginfo_t info;
	pid_t to;

	if (ptrace(PTRACE_GETSIGINFO, held->tid, NULL, &info) < 0)
		return false;
	to = addressee(held, &info);
	if (to == held->tid)
		return blocked_outside(held->tid) & target_signal_bit(signal) &&
		       !has_slept_in(held, syscall);
	return proc_read_status(to, &status) && status.blocked & target_signal_bit(signal);
}

bool target_waited_to_be_let_in(struct tracee *held, const struct machine_regs *regs, int signal)
{
	struct proc_syscall syscall;

	return machine_syscall(regs, &syscall) && target_has_own_mask(&syscall) &&
	       was_let_in(held, &syscall, signal);
}

void target_note_repaired(struct tracee *held)
{
	struct proc_schedstat clocks;

	held->priv->repaired_pcount = target_clocks(held, &clocks) ? clocks.pcount : 0;
}
