// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/futex.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * Some waits that are woken for nothing the kernel takes up again by restart_syscall(2), with what
 * is left of their time. An allow-list of system calls may lack that one: the program would die of
 * SIGSYS. What a filter allows nobody may ask without CAP_SYS_ADMIN; so it is not relied upon in
 * any thread that has one.
 */

#define SECCOMP_FILTER 2

/* The rest of a futex operation are flags. */
#define FUTEX_COMMAND 0x7f

/* Filters are never taken off, and mostly set up early. */
#define ASK_AGAIN_FIRST_NS (10 * NS_PER_MS)
#define ASK_AGAIN_LAST_NS  NS_PER_SEC

static void ask(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;
	struct proc_status status;

	priv->is_filtered =
		proc_read_status(tracee->tid, &status) && status.seccomp == SECCOMP_FILTER;
}

bool target_is_filtered(struct tracee *tracee)
{
	if (!tracee->priv->is_filtered)
		ask(tracee);
	return tracee->priv->is_filtered;
}

static bool was_filtered(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;
	uint64_t now_ns = clock_monotonic_ns();

	if (priv->is_filtered || now_ns < priv->ask_filter_ns)
		return priv->is_filtered;
	ask(tracee);
	priv->filter_pause_ns =
		priv->filter_pause_ns ? 2 * priv->filter_pause_ns : ASK_AGAIN_FIRST_NS;
	if (priv->filter_pause_ns > ASK_AGAIN_LAST_NS)
		priv->filter_pause_ns = ASK_AGAIN_LAST_NS;
	priv->ask_filter_ns = now_ns + priv->filter_pause_ns;
	return priv->is_filtered;
}

/* Those that set a restart block in the kernel: kernel/time/, fs/select.c, kernel/futex/. */
static bool sets_restart_block(const struct proc_syscall *syscall)
{
	uint64_t command;

	switch (syscall->nr) {
	case SYS_nanosleep:
#ifdef SYS_poll
	case SYS_poll:
#endif
		return true;
	case SYS_clock_nanosleep:
		return !(syscall->args[1] & TIMER_ABSTIME);
	case SYS_futex:
		command = syscall->args[1] & FUTEX_COMMAND;
		return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && syscall->args[3];
	default:
		return false;
	}
}

/* One that cannot be repaired is left alone altogether. */
static bool may_die_of(struct tracee *tracee, const struct proc_syscall *syscall)
{
	return machine_can_restart() && sets_restart_block(syscall) && was_filtered(tracee);
}

bool target_note_danger(struct tracee *tracee, const struct proc_syscall *syscall)
{
	if (!may_die_of(tracee, syscall))
		return false;
	target_note_endangered(tracee);
	return true;
}

static bool read_call(const struct tracee *tracee, struct proc_syscall *syscall)
{
	return target_read_syscall(tracee, syscall) && syscall->kind == PROC_SYSCALL_INSIDE;
}

/* No look may have met the others yet. This takes so small a share of the time at most. */
#define SEARCH_SHARE 50

static void search(const struct target *target, struct tracee *leader)
{
	uint64_t begun_ns = clock_monotonic_ns();
	struct proc_syscall syscall;

	if (!leader || begun_ns < leader->priv->search_ns)
		return;
	for (size_t i = 0; i < TRACEE_BUCKETS; i++) {
		struct tracee *tracee = target->buckets[i];

		for (; tracee; tracee = tracee->priv->hash_next) {
			if (tracee->tgid == leader->tid && read_call(tracee, &syscall))
				target_note_danger(tracee, &syscall);
		}
	}
	leader->priv->search_ns = clock_monotonic_ns();
	leader->priv->search_ns += (leader->priv->search_ns - begun_ns) * SEARCH_SHARE;
}

/* Its own wait for the child may be too short ever to be met. */
void target_forks_in_danger(struct tracee *tracee)
{
	const struct target *target = tracee->priv->target;
	struct proc_stat stat;

	if (!machine_can_restart() || !was_filtered(tracee) || !target_read_stat(tracee, &stat) ||
	    stat.nr_threads == 1)
		return;
	target_follow_maker(tracee);
	search(target, target_find(target, tracee->tgid));
}

bool target_is_in_danger(const struct tracee *tracee)
{
	struct proc_syscall syscall;

	return !tracee->priv->is_followed_asker &&
	       (target_is_awake(tracee) ||
		(read_call(tracee, &syscall) && sets_restart_block(&syscall)));
}

/* Sent to the process, and nobody catches it: untraced, no thread would have been woken. */
static bool is_only_ours(pid_t tid, int signal)
{
	struct proc_status status;
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code != SI_TKILL &&
	       proc_read_status(tid, &status) && !(status.caught >> (signal - 1) & 1);
}

void target_signal_endangers(const struct target *target, const struct tracee *taker, int signal)
{
	if (target->nr_endangered && is_only_ours(taker->tid, signal))
		target_follow_endangered(target, taker->tgid);
}
