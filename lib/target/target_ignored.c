// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/ptrace.h>

#include "base/clock.h"
#include "proc/read.h"
#include "proc/timers.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

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

/* Of a sender outside there is no id that the first process could see; a timer is its own. */
static bool is_from_within(pid_t held)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, held, NULL, &info) < 0 || info.si_code > 0)
		return false;
	return info.si_pid ||
	       (info.si_code != SI_USER && info.si_code != SI_TKILL && info.si_code != SI_QUEUE);
}

bool target_is_unstoppable(const struct tracee *held, int signal)
{
	return is_first_of_namespace(held) && (signal != SIGSTOP || is_from_within(held->tid));
}

/* A timer's, as with SIGEV_THREAD_ID. */
static bool is_of_threads_timer(const struct tracee *taker, const siginfo_t *info)
{
	struct known_timers *timers = &taker->priv->target->timers;
	uint64_t now_ns = clock_monotonic_ns();
	const struct known_timer *known;
	bool is_of_thread;

	if (info->si_code != SI_TIMER || taker->tid == taker->tgid)
		return false;
	known = known_timers_find(timers, taker->tgid, info, now_ns);
	if (known)
		return known->is_of_thread;
	is_of_thread = proc_read_timer_is_of_thread(taker->tgid, info->si_timerid);
	known_timers_note(timers, taker->tgid, info, is_of_thread, now_ns);
	return is_of_thread;
}

bool target_is_sent_to_thread(const struct tracee *held)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, held->tid, NULL, &info) == 0 && info.si_code == SI_TKILL;
}

/*
 * To whom: of a process, that is its first thread; of the end of a child, who has made it. Nobody
 * but the thread itself takes what was sent to it.
 */
static pid_t addressee(const struct tracee *taker, const siginfo_t *info)
{
	pid_t parent = target_parent_of_reaped(taker->priv->target, taker->tgid, info);

	if (info->si_code == SI_TKILL || is_of_threads_timer(taker, info))
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

/*
 * Was it in its call before the signal was sent to it? Then that was let in, and so dropped. Who
 * gets such signals is mostly followed, and met at the entry of its calls. Of others it is known if
 * they were seen asleep.
 */
static bool was_in_before(struct tracee *held, const struct proc_syscall *syscall, int signal)
{
	const struct tracee_private *priv = held->priv;
	struct proc_schedstat clocks;

	if (priv->knows_waiting)
		return !(priv->waiting & target_signal_bit(signal));
	return priv->follow != FOLLOW_NONE ||
	       (target_clocks(held, &clocks) &&
		(target_comes_out_of(held, syscall, &clocks) || is_repaired(priv, &clocks)));
}

/* As the next like it are best told apart by what waits at the entry. */
static void follow_from_now_on(struct tracee *held)
{
	held->priv->is_asker |= machine_can_restart();
	held->priv->lets_in = true;
	target_note_asker(held->priv->target, held);
}

static bool was_let_in(struct tracee *held, const struct proc_syscall *syscall, int signal)
{
	struct proc_status status;
	siginfo_t info;
	pid_t to;

	if (ptrace(PTRACE_GETSIGINFO, held->tid, NULL, &info) < 0)
		return false;
	to = addressee(held, &info);
	if (to == held->tid && blocked_outside(held->tid) & target_signal_bit(signal)) {
		follow_from_now_on(held);
		return !was_in_before(held, syscall, signal);
	}
	return to != held->tid && proc_read_status(to, &status) &&
	       status.blocked & target_signal_bit(signal);
}

bool target_waited_to_be_let_in(struct tracee *held, const struct machine_regs *regs, int signal)
{
	struct proc_syscall syscall;

	if (!machine_syscall(regs, &syscall) || !target_has_own_mask(&syscall))
		return false;
	return was_let_in(held, &syscall, signal);
}

/* One that begins anew has its thread's mask for a moment, in which signals may come. */
void target_note_waiting(struct tracee *held, const struct proc_syscall *syscall)
{
	struct tracee_private *priv = held->priv;
	struct machine_regs regs;
	struct proc_status status;

	if (priv->broken_off && target_get_regs(held->tid, &regs) &&
	    machine_enters(&regs, &priv->broken))
		return;
	priv->knows_waiting = target_has_own_mask(syscall) && proc_read_status(held->tid, &status);
	if (priv->knows_waiting)
		priv->waiting = status.pending_thread | status.pending_process;
}

void target_note_repaired(struct tracee *held)
{
	struct proc_schedstat clocks;

	held->priv->repaired_pcount = target_clocks(held, &clocks) ? clocks.pcount : 0;
}
