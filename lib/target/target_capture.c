// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/range.h"
#include "proc/read.h"
#include "snapshot/snapshot.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

bool target_get_regs(pid_t tid, struct machine_regs *regs)
{
	struct iovec iov = {.iov_base = &regs->raw, .iov_len = sizeof(regs->raw)};

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov) == 0 &&
	       iov.iov_len == sizeof(regs->raw);
}

bool target_set_regs(pid_t tid, const struct machine_regs *regs)
{
	struct machine_regs copy = *regs;
	struct iovec iov = {.iov_base = &copy.raw, .iov_len = sizeof(copy.raw)};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &iov) == 0;
}

/* So many times in a row a thread is believed to run where it ran at the last look. */
#define SHORT_LOOKS 7
/* At lower rates than 100 Hz that is long. */
#define SHORT_LOOKS_NS (80 * NS_PER_MS)
/* A stop takes that long where the thread is not where it was expected to be. */
#define LATE_STOP_NS (100 * NS_PER_US)

static void set_clocks(struct snapshot *snapshot, const struct proc_schedstat *clocks)
{
	snapshot->cpu_ns = clocks->cpu_ns;
	snapshot->runq_ns = clocks->runq_ns;
	snapshot->pcount = clocks->pcount;
}

static void begin_snapshot(const struct tracee *tracee, struct snapshot *snapshot)
{
	snapshot_clear(snapshot);
	snapshot->arch = arch_native();
	snapshot->tgid = tracee->tgid;
	snapshot->tid = tracee->tid;
	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	snapshot->time_ns = clock_monotonic_ns();
	snapshot->first_sp = tracee->priv->first_sp;
	snapshot->thread_pointer = tracee->priv->thread_pointer;
}

/* Where a program began is asked once, at the first stop of its main thread. */
static void ask_for_first_stack(struct tracee *tracee, struct snapshot *snapshot)
{
	struct proc_stat stat;

	if (tracee->tid != tracee->tgid || tracee->priv->first_sp ||
	    !target_read_stat(tracee, &stat))
		return;
	target_know_first_stack(tracee, stat.first_sp);
	snapshot->first_sp = tracee->priv->first_sp;
}

void target_capture(struct tracee *tracee, size_t max_stack_bytes, struct snapshot *snapshot)
{
	struct proc_syscall syscall;
	struct machine_regs regs;
	bool is_ahead;
	bool in_call;

	begin_snapshot(tracee, snapshot);
	if (snapshot->time_ns - tracee->interrupted_ns > LATE_STOP_NS)
		target_see_afresh(tracee); /* it may have moved */
	is_ahead = target_copy_ahead(tracee, max_stack_bytes, snapshot);
	tracee->priv->is_elsewhere = false;
	snapshot->state = THREAD_STATE_RUNNING;
	if (!target_get_regs(tracee->tid, &regs)) {
		snapshot_drop_regions(snapshot);
		return; /* a 32-bit program: time is known, the stack is not */
	}
	machine_fill_snapshot(&regs, snapshot);
	tracee->priv->thread_pointer = machine_thread_pointer(&regs);
	snapshot->thread_pointer = tracee->priv->thread_pointer;
	ask_for_first_stack(tracee, snapshot);
	if (machine_broken_call(&regs) != MACHINE_CALL_NONE && !target_is_to_carry_on(tracee))
		snapshot->state = THREAD_STATE_SLEEPING;
	else if (tracee->priv->hold == HOLD_REPAIR && !tracee->priv->broken_off &&
		 !target_may_be_cut(&regs))
		tracee->priv->hold = HOLD_CONT; /* nothing to repair: no second look at it */
	target_note_met_awake(tracee);
	in_call = machine_syscall(&regs, &syscall);
	target_note_stop(tracee, in_call);
	if (in_call)
		target_take_care(tracee, &syscall);
	target_learn_of_stop(tracee, in_call ? &syscall : NULL, machine_syscall_result(&regs));
	if (is_ahead && target_use_ahead(tracee, snapshot))
		return;
	snapshot_drop_regions(snapshot);
	target_copy_stacks(tracee, max_stack_bytes, snapshot);
}

bool target_capture_clocks(struct tracee *tracee, struct snapshot *snapshot)
{
	struct proc_schedstat clocks;

	if (!target_clocks(tracee, &clocks))
		return false;
	set_clocks(snapshot, &clocks);
	return true;
}

void target_rehearse(struct tracee *tracee, size_t max_stack_bytes, struct snapshot *snapshot)
{
	uint64_t sp = tracee->priv->stacks[0].low;
	struct proc_range range;

	begin_snapshot(tracee, snapshot);
	if (sp)
		target_copy_stack(tracee, sp, max_stack_bytes, snapshot, &range);
	tracee->priv->is_elsewhere = true;
}

void target_is_elsewhere(struct tracee *tracee)
{
	tracee->priv->is_elsewhere = true;
}

static enum thread_state state_of_letter(char letter)
{
	switch (letter) {
	case 'R':
		return THREAD_STATE_RUNNING;
	case 'S':
	case 'I':
		return THREAD_STATE_SLEEPING;
	case 'D':
		return THREAD_STATE_DISK;
	case 'T':
	case 't':
		return THREAD_STATE_STOPPED;
	default:
		return THREAD_STATE_UNKNOWN;
	}
}

/* Where a system call has its arguments (syscall(2)), by DWARF number. */
static const uint8_t argument_regs[][6] = {
	[ARCH_X86_64] = {5, 4, 1, 10, 8, 9}, /* rdi, rsi, rdx, r10, r8, r9 */
	[ARCH_AARCH64] = {0, 1, 2, 3, 4, 5},
};

/*
 * The arguments are what those registers hold all through the call. vfork() of the GNU C library
 * keeps in one of them where it returns to.
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

/* It touched a page that another thread, or process, has to fill (userfaultfd(2)). */
static bool waits_for_page(const struct tracee *tracee)
{
	static const char place[] = "handle_userfault";
	cleanup_close int fd = proc_open_task_file(tracee->tgid, tracee->tid, "wchan");
	char text[sizeof(place)] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strcmp(text, place) == 0;
}

/*
 * Does a thread that ran at the last look run now? That the kernel shows no place where it sleeps
 * tells so in a fifth of the time that it takes to write its stat: 0.8 us against 3.8, cold 1.5
 * against 6, for which all threads of the target stand still whose CPU we use.
 */
bool target_still_runs(const struct tracee *tracee)
{
	struct proc_syscall syscall;

	return target_kept_file(tracee, KEPT_SYSCALL) >= 0 &&
	       target_read_syscall(tracee, &syscall) && syscall.kind == PROC_SYSCALL_RUNNING;
}

static bool short_look_will_do(const struct tracee_private *priv, uint64_t now_ns)
{
	return priv->looked_awake && priv->nr_short_looks < SHORT_LOOKS &&
	       now_ns - priv->stat_read_ns < SHORT_LOOKS_NS;
}

static void note_stat(struct tracee *tracee, const struct proc_stat *stat,
		      const struct proc_schedstat *clocks)
{
	tracee->cpu = stat->cpu;
	tracee->nr_faults = stat->nr_faults;
	tracee->faults_cpu_ns = clocks->cpu_ns;
	tracee->priv->ticks.user = stat->user_ticks;
	tracee->priv->ticks.system = stat->system_ticks;
}

/* Of a first thread the look has to learn where the program began. */
bool target_note_met(struct tracee *tracee, const struct proc_stat *stat,
		     const struct proc_schedstat *clocks)
{
	note_stat(tracee, stat, clocks);
	tracee->priv->met_asleep =
		(stat->state == 'S' || stat->state == 'D') && tracee->tid != tracee->tgid;
	tracee->priv->met_pcount = clocks->pcount;
	return tracee->priv->met_asleep;
}

/*
 * Has it slept ever since attaching? It may have woken up between the readings of that, but what
 * it sleeps in is read next, and tells.
 */
static bool sleeps_since_met(struct tracee *tracee, const struct proc_schedstat *clocks)
{
	bool sleeps = tracee->priv->met_asleep && tracee->priv->met_pcount == clocks->pcount;

	tracee->priv->met_asleep = false;
	return sleeps;
}

static bool read_state(struct tracee *tracee, const struct proc_schedstat *clocks,
		       struct snapshot *snapshot)
{
	struct tracee_private *priv = tracee->priv;
	struct proc_stat stat;

	if (!target_read_stat(tracee, &stat))
		return false;
	note_stat(tracee, &stat, clocks);
	target_know_first_stack(tracee, stat.first_sp);
	snapshot->first_sp = priv->first_sp;
	priv->nr_short_looks = 0;
	priv->stat_read_ns = snapshot->time_ns;
	snapshot->state = state_of_letter(stat.state);
	priv->looked_awake = snapshot->state == THREAD_STATE_RUNNING;
	return true;
}

void target_see_afresh(struct tracee *tracee)
{
	tracee->priv->nr_short_looks = SHORT_LOOKS;
}

static enum target_look runs(struct tracee *tracee, const struct snapshot *snapshot)
{
	tracee->priv->sleep.last_ns = snapshot->time_ns;
	return TARGET_LOOK_RUNNING;
}

enum target_look target_look(struct tracee *tracee, const struct proc_schedstat *before,
			     size_t max_stack_bytes, struct snapshot *snapshot)
{
	struct proc_schedstat after;
	struct proc_syscall syscall;

	begin_snapshot(tracee, snapshot);
	if (short_look_will_do(tracee->priv, snapshot->time_ns) && target_still_runs(tracee)) {
		tracee->priv->nr_short_looks++;
		return runs(tracee, snapshot);
	}
	if (sleeps_since_met(tracee, before))
		snapshot->state = THREAD_STATE_SLEEPING;
	else if (!read_state(tracee, before, snapshot))
		return TARGET_LOOK_GONE;
	if (snapshot->state == THREAD_STATE_RUNNING)
		return runs(tracee, snapshot);
	if (snapshot->state == THREAD_STATE_UNKNOWN)
		return TARGET_LOOK_GONE;
	if (!target_read_syscall(tracee, &syscall))
		return TARGET_LOOK_HIDDEN;
	if (syscall.kind == PROC_SYSCALL_RUNNING)
		return TARGET_LOOK_CHANGED;
	if (syscall.kind == PROC_SYSCALL_OUTSIDE && waits_for_page(tracee))
		tracee->priv->fills_pages = true;
	/* Which call it is holds even for one that is awake again when its stack is read. */
	tracee->priv->sleeps.nr_seen += syscall.kind == PROC_SYSCALL_INSIDE;
	target_take_care(tracee, &syscall);
	set_where(snapshot, &syscall);
	target_forget_mapping(tracee->priv);
	target_copy_stacks(tracee, max_stack_bytes, snapshot);
	/* Not one of the reads above proves anything alone; the count of wake-ups does. */
	if (!target_clocks(tracee, &after))
		return TARGET_LOOK_GONE;
	if (after.pcount != before->pcount)
		return TARGET_LOOK_CHANGED;
	set_clocks(snapshot, &after);
	if (snapshot->state == THREAD_STATE_SLEEPING)
		target_saw_asleep(tracee, &syscall, &after);
	return TARGET_LOOK_TAKEN;
}

bool target_sleeps_again(struct tracee *tracee, int32_t syscall_nr, uint64_t sp)
{
	struct proc_syscall syscall;

	if (!target_read_syscall(tracee, &syscall) || syscall.kind != PROC_SYSCALL_INSIDE)
		return false;
	/* What the kernel goes on with by restart_syscall(2) is the same call under its number. */
	return syscall.sp == sp && (syscall.nr == syscall_nr || syscall.nr == SYS_restart_syscall);
}
