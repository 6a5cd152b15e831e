// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a sleeping thread without a stop. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/kernel_stack.h"
#include "proc/read.h"
#include "snapshot/snapshot.h"
#include "tracee/tracee.h"
#include "tracee/tracee_priv.h"

/* States of a thread that is alive and off the CPU; proc_pid_stat(5). */
static const char asleep[] = "SIDTt";

/* Registers of a system call's arguments (syscall(2)), by DWARF number. */
static const uint8_t argument_regs[][6] = {
	[ARCH_X86_64] = {5, 4, 1, 10, 8, 9}, /* rdi, rsi, rdx, r10, r8, r9 */
	[ARCH_AARCH64] = {0, 1, 2, 3, 4, 5},
};

/*
 * The arguments stay in those registers during the whole call. vfork() of the GNU C library keeps
 * its return address in one of them.
 */
static void set_where(struct snapshot *snapshot, const struct proc_syscall *syscall)
{
	const struct arch_regs *arch = arch_regs(arch_native());

	regs_set(&snapshot->regs, arch->sp, syscall->sp);
	regs_set(&snapshot->regs, arch->pc, syscall->pc);
	if (syscall->kind != PROC_SYSCALL_INSIDE)
		return;
	snapshot->syscall_nr = (int32_t)syscall->nr;
	for (size_t i = 0; i < ARRAY_SIZE(syscall->args); i++)
		regs_set(&snapshot->regs, argument_regs[arch_native()][i], syscall->args[i]);
}

/* It touched a page that another thread or process must fill (userfaultfd(2)). */
static const char fill_place[] = "handle_userfault";

/* Room for its longest names, which are those of compilers' clones. */
#define WCHAN_BYTES 128

/*
 * Is it on a run queue? wchan is 0 then (since Linux 5.16), and for all threads if the kernel hides
 * it.
 */
static bool is_queued(struct tracee *tracee, const char *wchan)
{
	bool is_shown = *wchan && strcmp(wchan, "0") != 0;

	tracee->host->shows_wchan |= is_shown;
	return !is_shown && tracee->host->shows_wchan;
}

bool tracee_is_queued(struct tracee *tracee)
{
	char wchan[WCHAN_BYTES];

	tracee_read_wchan(tracee, wchan, sizeof(wchan));
	return is_queued(tracee, wchan);
}

/* Where the kernel hides the stack, it may still show its innermost function. */
static void set_kernel_stack(struct tracee *tracee, const char *wchan, struct snapshot *snapshot)
{
	char text[KERNEL_STACK_TEXT_BYTES];
	size_t nr_bytes = tracee_read_kernel_stack(tracee, text, sizeof(text));

	if (nr_bytes)
		snapshot_set_kernel_stack(snapshot, text, nr_bytes);
	else
		snapshot_set_kernel_stack(snapshot, wchan, strlen(wchan));
}

/*
 * A short sleep that ends during the reading must not be missed, or long ones would be shown in its
 * place: the next sleep has the same claim to this tick. So the reading is repeated, also if the
 * thread runs or waits for a CPU: it may sleep again at once.
 */
#define SLEEPS_TRIED 8

enum peek_outcome tracee_peek(struct tracee *tracee, size_t max_stack_bytes,
			      const struct proc_schedstat *clocks, const struct proc_stat *stat,
			      struct snapshot *snapshot, struct proc_syscall *syscall)
{
	struct proc_schedstat before, after = *clocks;
	char wchan[WCHAN_BYTES];
	bool is_filled;

	for (int i = 0; i < SLEEPS_TRIED; i++) {
		before = after;
		tracee_begin_snapshot(tracee, snapshot);
		snapshot->state = THREAD_STATE_SLEEPING;
		tracee_read_wchan(tracee, wchan, sizeof(wchan));
		if (is_queued(tracee, wchan))
			continue;
		if (!tracee_syscall(tracee, syscall))
			return PEEK_HIDDEN;
		if (syscall->kind == PROC_SYSCALL_RUNNING)
			continue;
		is_filled = syscall->kind == PROC_SYSCALL_OUTSIDE && strcmp(wchan, fill_place) == 0;
		tracee->fills_pages |= is_filled;
		set_where(snapshot, syscall);
		/* Uninterruptibly, and outside of calls: for a page. */
		if (is_filled || (syscall->kind == PROC_SYSCALL_OUTSIDE && stat->state == 'D'))
			snapshot->syscall_nr = SNAPSHOT_PAGE_FAULT;
		tracee_forget_mapping(tracee);
		tracee_copy_stacks(tracee, max_stack_bytes, snapshot);
		tracee_copy_wanted(tracee, snapshot);
		tracee_copy_late(tracee, snapshot, clock_monotonic_ns());
		set_kernel_stack(tracee, wchan, snapshot);
		/* No reading above proves anything alone; the count of wake-ups does. */
		if (!tracee_clocks(tracee, &after))
			return PEEK_GONE;
		if (after.pcount == before.pcount) {
			snapshot->cpu_ns = after.cpu_ns;
			snapshot->runq_ns = after.runq_ns;
			snapshot->pcount = after.pcount;
			return PEEK_TAKEN;
		}
	}
	return PEEK_CHANGED;
}

bool tracee_copy_last(struct tracee *tracee, size_t max_stack_bytes, const struct proc_stat *stat,
		      struct snapshot *snapshot)
{
	const struct arch_regs *arch = arch_regs(arch_native());
	char wchan[WCHAN_BYTES];

	if (!stat->last_pc)
		return false;
	tracee_begin_snapshot(tracee, snapshot);
	snapshot->state = stat->state == 'R' ? THREAD_STATE_RUNNING : THREAD_STATE_SLEEPING;
	regs_set(&snapshot->regs, arch->sp, stat->last_sp);
	regs_set(&snapshot->regs, arch->pc, stat->last_pc);
	tracee_forget_mapping(tracee);
	tracee_copy_stacks(tracee, max_stack_bytes, snapshot);
	if (!snapshot->nr_bytes)
		return false;
	tracee_copy_wanted(tracee, snapshot);
	tracee_copy_late(tracee, snapshot, clock_monotonic_ns());
	tracee_read_wchan(tracee, wchan, sizeof(wchan));
	if (snapshot->state == THREAD_STATE_SLEEPING)
		set_kernel_stack(tracee, wchan, snapshot);
	return true;
}

enum peek_outcome tracee_look(struct tracee *tracee, struct snapshot *snapshot,
			      struct proc_stat *stat)
{
	if (!tracee_stat(tracee, stat))
		return PEEK_GONE;
	tracee_learn_first_sp(tracee, stat->first_sp);
	tracee_begin_snapshot(tracee, snapshot);
	snapshot->state = THREAD_STATE_RUNNING;
	if (stat->state == 'R')
		return PEEK_RUNNING;
	return strchr(asleep, stat->state) ? PEEK_ASLEEP : PEEK_GONE;
}
