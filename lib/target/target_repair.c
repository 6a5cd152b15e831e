// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "proc/read.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

static bool is_default(const struct proc_status *status, int signal)
{
	return !((status->caught | status->ignored) & target_signal_bit(signal));
}

bool target_is_caught(pid_t tid, int signal)
{
	struct proc_status status;

	return proc_read_status(tid, &status) && status.caught & target_signal_bit(signal);
}

bool target_is_only_ours(pid_t tid, int signal)
{
	struct proc_status status;
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code != SI_TKILL &&
	       proc_read_status(tid, &status) && !(status.caught & target_signal_bit(signal));
}

/* Is it still in the call, or at the one, that was broken off at the stop before? */
static bool is_known(const struct tracee_private *priv, const struct machine_regs *regs)
{
	return priv->broken_off && (machine_is_asked(regs, &priv->broken) ||
				    machine_stands_restarted(regs, &priv->broken));
}

/* Nobody but us broke it off: the program is not to notice. Says whether it would have. */
static bool repair(struct tracee *tracee, const struct machine_regs *regs)
{
	enum machine_broken_call call = machine_broken_call(regs);
	struct machine_regs asked = *regs;

	if (is_known(tracee->priv, regs))
		return false;
	tracee->priv->broken_off = call != MACHINE_CALL_NONE;
	tracee->priv->broken = *regs;
	return (call == MACHINE_CALL_EINTR ||
		(call == MACHINE_CALL_BLOCK && target_may_not_restart(tracee))) &&
	       machine_restart_call(&asked) && target_set_regs(tracee->tid, &asked);
}

/* No handler is going to run: it either ends by itself or when its time is up. */
static void follow(struct target *target, struct tracee *tracee, struct machine_regs *regs,
		   bool by_signal)
{
	struct proc_syscall syscall;
	bool has_own_mask = machine_syscall(regs, &syscall) && target_has_own_mask(&syscall);

	if (!target_follow_call(target, tracee, regs, by_signal)) {
		/* Where nobody will see it return, the next one must not be taken for as old. */
		if (tracee->priv->follow == FOLLOW_NONE && !tracee->priv->is_in_call)
			tracee->priv->entered_ns = 0;
		return;
	}
	tracee->priv->broken_off = false;
	tracee->priv->is_in_call = false;
	tracee->priv->entered_ns = 0;
	tracee->priv->was_timed_out = has_own_mask;
	tracee->priv->timed_out = *regs;
	target_set_regs(tracee->tid, regs);
}

/*
 * A call that has a mask of its own goes back to the thread's before it says that its time is up,
 * and what that blocks waits. One that we have given its end has still its own: the handler that
 * runs now was let in by the call, which fails for that. So it does for one that nobody catches,
 * but not in vain: it would have waited, for the next such call, and is gone now.
 */
static void signal_after_timeout(struct tracee *tracee, struct machine_regs *regs, int signal)
{
	bool is_it = tracee->priv->was_timed_out &&
		     memcmp(regs, &tracee->priv->timed_out, sizeof(*regs)) == 0;

	if (is_it && !target_is_caught(tracee->tid, signal) &&
	    !target_waited_to_be_let_in(tracee, &tracee->priv->broken, signal))
		return; /* another may follow it */
	tracee->priv->was_timed_out = false;
	if (!is_it)
		return;
	machine_end_call(regs, -EINTR);
	target_set_regs(tracee->tid, regs);
}

/*
 * Woken in vain, a thread that no stop has kept from it turns to restart_syscall(2), and loses its
 * CPU before it calls: of a crowd that waits for CPUs, most who died under a filter did it there.
 */
static bool get_regs(struct tracee *tracee, struct machine_regs *regs)
{
	struct machine_regs before;

	if (!target_get_regs(tracee->tid, regs))
		return false;
	before = *regs;
	if (!is_known(tracee->priv, regs) && machine_takes_back_restart(&before) &&
	    target_is_taken_up_by_restart(&before) && target_may_not_restart(tracee))
		*regs = before;
	return true;
}

static void repair_and_follow(struct target *target, struct tracee *tracee,
			      struct machine_regs *regs)
{
	if (!repair(tracee, regs)) {
		if (target_begins_anew(regs))
			follow(target, tracee, regs, false);
		else if (!tracee->priv->broken_off)
			target_carry_on(target, tracee, regs, false);
		return;
	}
	target->stats.nr_repairs++;
	if (tracee->priv->was_found_awake)
		target_note_woken(tracee);
	follow(target, tracee, regs, false);
}

void target_repair_interrupted(struct target *target, struct tracee *tracee)
{
	struct machine_regs regs;

	if (target->carries_no_more)
		target_carry_no_further(tracee); /* it may not come to it before the end */
	if (get_regs(tracee, &regs))
		repair_and_follow(target, tracee, &regs);
}

/* The kernel would see a call that has not begun. Back into it: what follows is as ever. */
static void undo(struct target *target, struct tracee *tracee, const struct machine_regs *regs)
{
	if (machine_stands_restarted(regs, &tracee->priv->broken) &&
	    target_set_regs(tracee->tid, &tracee->priv->broken))
		target->stats.nr_undone++;
}

/* Job control breaks calls off too, and those that fail with EINTR then shall. */
static void keep_eintr(struct target *target, struct tracee *tracee,
		       const struct machine_regs *regs)
{
	bool known = is_known(tracee->priv, regs);
	struct machine_regs ended = known ? tracee->priv->broken : *regs;

	tracee->priv->broken_off = false;
	if (machine_broken_call(&ended) != MACHINE_CALL_EINTR)
		return;
	machine_end_call(&ended, -EINTR);
	target->stats.nr_undone += target_set_regs(tracee->tid, &ended) && known;
}

void target_repair_for_job_control(struct target *target, struct tracee *tracee)
{
	struct machine_regs regs;

	target_carry_no_further(tracee);
	if (target_get_regs(tracee->tid, &regs))
		keep_eintr(target, tracee, &regs);
}

static bool stops_process(const struct tracee *tracee, int signal)
{
	struct proc_status status;

	return target_is_job_control_stop(signal) && proc_read_status(tracee->tid, &status) &&
	       is_default(&status, signal) && !target_is_unstoppable(tracee, signal);
}

/* With other arguments than its own, a call is to be met by no handler. */
static bool may_be_caught(pid_t tid, int signal)
{
	struct proc_status status;

	return !proc_read_status(tid, &status) || status.caught & target_signal_bit(signal);
}

/* A caught signal is to find it in the call; others leave it where it is. */
static void signal_before_call(struct target *target, struct tracee *tracee,
			       const struct machine_regs *regs, int signal)
{
	if (!target_is_caught(tracee->tid, signal))
		return;
	undo(target, tracee, regs);
	tracee->priv->broken_off = false;
}

static void repaired_for_signal(struct target *target, struct tracee *tracee,
				struct machine_regs *regs, int signal)
{
	bool begins_anew = target_begins_anew(regs);

	if (!begins_anew)
		target_note_woken(tracee);
	if (target_is_caught(tracee->tid, signal))
		return;
	target->stats.nr_repairs += !begins_anew;
	target_note_repaired(tracee);
	follow(target, tracee, regs, true);
}

/* Who is in no call was met in between, or a transfer of its was cut as in a stop. */
static void signal_after_call(struct target *target, struct tracee *tracee,
			      const struct machine_regs *regs, int signal)
{
	tracee->priv->broken_off = false;
	if (target_may_be_cut(regs) && !may_be_caught(tracee->tid, signal) &&
	    !stops_process(tracee, signal))
		target_carry_on(target, tracee, regs, true);
}

static bool is_real(const struct tracee_private *priv, struct tracee *tracee,
		    const struct machine_regs *regs, int signal)
{
	const struct machine_regs *broken = is_known(priv, regs) ? &priv->broken : regs;

	return machine_broken_call(broken) == MACHINE_CALL_EINTR &&
	       !target_is_caught(tracee->tid, signal) &&
	       target_waited_to_be_let_in(tracee, broken, signal);
}

/*
 * An ignored signal does not even wake an untraced thread; and should this one be caught, the
 * call will fail all the same. So the repair comes before any question: profc's death until
 * then leaves the call broken off.
 */
void target_repair_for_signal(struct target *target, struct tracee *tracee, int signal)
{
	struct tracee_private *priv = tracee->priv;
	struct machine_regs regs;

	if (priv->carried && (may_be_caught(tracee->tid, signal) || stops_process(tracee, signal)))
		target_carry_no_further(tracee);
	if (!get_regs(tracee, &regs))
		return;
	signal_after_timeout(tracee, &regs, signal);
	if (!is_known(priv, &regs) && machine_broken_call(&regs) == MACHINE_CALL_NONE)
		signal_after_call(target, tracee, &regs, signal);
	else if (stops_process(tracee, signal))
		keep_eintr(target, tracee, &regs);
	else if (is_real(priv, tracee, &regs, signal))
		keep_eintr(target, tracee, &regs);
	else if (priv->broken_off && machine_stands_restarted(&regs, &priv->broken))
		signal_before_call(target, tracee, &regs, signal);
	else if (repair(tracee, &regs) || target_begins_anew(&regs))
		repaired_for_signal(target, tracee, &regs, signal);
}
