// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"
#include "target/filter_program.h"
#include "target/target_priv.h"

/*
 * Some waits that are woken for nothing the kernel takes up again by restart_syscall(2), with what
 * is left of their time. An allow-list of system calls may lack that one: the program would die of
 * SIGSYS. Most allow it, as those of containers do. What a filter says may be asked with
 * CAP_SYS_ADMIN, of a held thread (PTRACE_SECCOMP_GET_FILTER in ptrace(2)): where it is known to
 * allow no restart all is done to have none. Where it is not known, what a stop has broken off is
 * repaired, and who may be woken in vain is stopped; but nobody is followed for it.
 */

#define SECCOMP_FILTER 2

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

static bool is_filtered(struct tracee *tracee)
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

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static bool allows_restart(const struct sock_filter *code, size_t nr)
{
	const struct seccomp_data call = {.nr = SYS_restart_syscall, .arch = ARCHITECTURE};

	return filter_program_allows(filter_program_run(code, nr, &call));
}

/* As many as a thread can have, of one instruction each (MAX_INSNS_PER_PATH). */
#define FILTERS_MAX 32768

static enum restart restart_of(pid_t tid)
{
	cleanup_free struct sock_filter *code = xcalloc(BPF_MAXINSNS, sizeof(*code));

	for (unsigned long i = 0; i < FILTERS_MAX; i++) {
		long nr = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, NULL);

		if (nr < 0)
			return i && errno == ENOENT ? RESTART_ALLOWED : RESTART_UNKNOWN;
		if (nr > BPF_MAXINSNS ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, code) != nr)
			return RESTART_UNKNOWN;
		if (!allows_restart(code, (size_t)nr))
			return RESTART_KILLS;
	}
	return RESTART_UNKNOWN;
}

/* All threads of a process are taken to have the same, and more as time passes. */
static enum restart ask_held(const struct tracee *held)
{
	struct tracee *leader = target_find(held->priv->target, held->tgid);
	uint64_t now_ns = clock_monotonic_ns();

	if (!leader)
		return RESTART_UNKNOWN;
	if (leader->priv->restart != RESTART_KILLS && now_ns >= leader->priv->ask_restart_ns) {
		leader->priv->restart = restart_of(held->tid);
		leader->priv->ask_restart_ns = now_ns + ASK_AGAIN_LAST_NS;
	}
	return leader->priv->restart;
}

static enum restart known_restart(const struct tracee *tracee)
{
	const struct tracee *leader = target_find(tracee->priv->target, tracee->tgid);

	return leader ? leader->priv->restart : RESTART_UNKNOWN;
}

bool target_may_not_restart(struct tracee *held)
{
	return is_filtered(held) && ask_held(held) != RESTART_ALLOWED;
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
		command = syscall->args[1] & FUTEX_CMD_MASK;
		return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && syscall->args[3];
	default:
		return false;
	}
}

bool target_is_taken_up_by_restart(const struct machine_regs *regs)
{
	struct proc_syscall syscall;

	return machine_syscall(regs, &syscall) && sets_restart_block(&syscall);
}

/* One that cannot be repaired is left alone altogether. */
static bool may_die_of(struct tracee *tracee, const struct proc_syscall *syscall)
{
	return machine_can_restart() && sets_restart_block(syscall) && was_filtered(tracee) &&
	       known_restart(tracee) != RESTART_ALLOWED;
}

static uint64_t blocked_by(pid_t tid)
{
	struct proc_status status;

	return proc_read_status(tid, &status) ? status.blocked : 0;
}

/* In each such call that it was met in. */
static void note_blocked(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;
	uint64_t blocked = blocked_by(tracee->tid);

	if (!priv->is_endangered || priv->is_suspected)
		priv->blocked_asleep = UINT64_MAX;
	priv->blocked_asleep &= blocked;
}

bool target_note_danger(struct tracee *tracee, const struct proc_syscall *syscall)
{
	if (!may_die_of(tracee, syscall))
		return false;
	if (known_restart(tracee) == RESTART_KILLS) {
		note_blocked(tracee);
		target_note_endangered(tracee);
	}
	return true;
}

static bool read_call(const struct tracee *tracee, struct proc_syscall *syscall)
{
	return target_read_syscall(tracee, syscall) && syscall->kind == PROC_SYSCALL_INSIDE;
}

/*
 * No look may have met the others yet; and who is elsewhere now may be in such a call when the next
 * signal comes: of 34 attaches amid 3,000 signals a second that killed the target, 31 did so by
 * such a thread. This takes so small a share of the time at most.
 */
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
			if (tracee->tgid != leader->tid)
				continue;
			if (read_call(tracee, &syscall))
				target_note_danger(tracee, &syscall);
			if (was_filtered(tracee))
				target_note_suspect(tracee);
		}
	}
	leader->priv->search_ns = clock_monotonic_ns();
	leader->priv->search_ns += (leader->priv->search_ns - begun_ns) * SEARCH_SHARE;
}

/* Of the rest nothing is known yet: when the child dies, one of them may be woken for it. */
void target_forks_in_danger(struct tracee *tracee)
{
	const struct target *target = tracee->priv->target;
	struct proc_stat stat;

	if (!machine_can_restart() || !was_filtered(tracee) || !target_read_stat(tracee, &stat) ||
	    stat.nr_threads == 1 || ask_held(tracee) != RESTART_KILLS)
		return;
	target_note_suspect(tracee);
	search(target, target_find(target, tracee->tgid));
}

/*
 * Many block all signals for a moment, where they make a thread or take a lock, and are about to
 * sleep without.
 */
bool target_blocks(const struct tracee *tracee, uint64_t signals)
{
	return !(signals & ~tracee->priv->blocked_asleep) && !(signals & ~blocked_by(tracee->tid));
}

enum danger target_danger_of(struct tracee *tracee, int signal)
{
	struct proc_syscall syscall;
	bool is_awake;

	if (tracee->priv->is_followed_asker)
		return DANGER_NONE;
	is_awake = target_is_awake(tracee);
	if (!is_awake && (!read_call(tracee, &syscall) || !sets_restart_block(&syscall)))
		return DANGER_NONE;
	if (target_blocks(tracee, target_signal_bit(signal)))
		return DANGER_NONE;
	return is_awake && target_is_in_what_would_cut(tracee) ? DANGER_AFTER_CALL : DANGER_NOW;
}

bool target_sleeps_in_danger(struct tracee *tracee)
{
	struct proc_syscall syscall;

	return !tracee->priv->is_followed_asker && known_restart(tracee) == RESTART_KILLS &&
	       read_call(tracee, &syscall) && sets_restart_block(&syscall);
}

bool target_may_fail_in(const struct tracee *tracee, const struct proc_syscall *syscall)
{
	return syscall->kind == PROC_SYSCALL_INSIDE &&
	       ((sets_restart_block(syscall) && known_restart(tracee) == RESTART_KILLS) ||
		target_care_of(tracee->tid, syscall).is_unrestarted);
}

bool target_blocks_now(const struct tracee *tracee, int signal)
{
	return blocked_by(tracee->tid) & target_signal_bit(signal);
}

/* Of a child for whose end all is done beforehand (target_reaping.c): it foretells no other. */
static bool is_of_known_end(const struct target *target, const struct tracee *taker)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, taker->tid, NULL, &info) == 0 &&
	       target_is_sender(target, taker->tgid, &info);
}

void target_signal_endangers(const struct target *target, struct tracee *taker, int signal)
{
	if (!was_filtered(taker) || ask_held(taker) != RESTART_KILLS ||
	    target_is_only_thread(taker) || !target_is_only_ours(taker->tid, signal) ||
	    is_of_known_end(target, taker))
		return;
	search(target, target_find(target, taker->tgid));
	target_follow_signalled(target, taker->tgid, signal);
}
