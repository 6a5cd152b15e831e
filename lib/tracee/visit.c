// SPDX-License-Identifier: GPL-2.0-or-later
/* One thread, traced for microseconds. */
#include "tracee/visit.h"

#include <elf.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "proc/read.h"
#include "snapshot/snapshot.h"
#include "tracee/call_filters.h"
#include "tracee/machine.h"
#include "tracee/tracee.h"
#include "tracee/tracee_priv.h"

/* Our thread waits for no other thread than the one that it has seized. */
#define WAIT_FLAGS  (__WALL | __WNOTHREAD)
#define PATIENCE_NS (100 * NS_PER_MS)
#define SPIN_NS	    NS_PER_MS

enum visit_outcome visit_begin(struct visit *visit, pid_t tgid, pid_t tid)
{
	*visit = (struct visit){
		.tid = tid, .tgid = tgid, .stopped_tid = tid, .syscall.kind = PROC_SYSCALL_OUTSIDE};
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return errno == ESRCH ? VISIT_GONE : VISIT_REFUSED;
	visit->interrupted_ns = clock_monotonic_ns();
	visit_ask_again(visit);
	return VISIT_PENDING;
}

/* After an exec by another thread of its process it has its leader's id. */
void visit_ask_again(const struct visit *visit)
{
	if (ptrace(PTRACE_INTERRUPT, visit->tid, NULL, NULL) < 0)
		ptrace(PTRACE_INTERRUPT, visit->tgid, NULL, NULL);
}

static void note_reaped(struct visit *visit, pid_t tid, int status)
{
	visit->stopped_tid = tid;
	visit->is_reaped = true;
	visit->status = status;
}

enum visit_outcome visit_wait(struct visit *visit, bool may_block)
{
	int status;
	pid_t got = waitpid(-1, &status, WAIT_FLAGS | (may_block ? 0 : WNOHANG));

	if (got == 0 || (got < 0 && errno == EINTR))
		return VISIT_PENDING;
	if (got > 0 && !WIFSTOPPED(status))
		note_reaped(visit, got, status);
	if (got < 0 || !WIFSTOPPED(status))
		return VISIT_GONE;
	visit->stopped_ns = clock_monotonic_ns();
	visit->stopped_tid = got;
	/* An event-stop is ours, or job control's, which detaching leaves as it is. */
	visit->signal = status >> 16 ? 0 : WSTOPSIG(status);
	visit->is_group_stop = status >> 16 && WSTOPSIG(status) != SIGTRAP;
	return VISIT_STOPPED;
}

static bool get_regs(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov) == 0 &&
	       iov.iov_len == sizeof(*regs);
}

static void set_regs(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

	ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &iov);
}

/* A filter may lack restart_syscall(2), which would continue a call: the program would die. */
static bool is_filtered(pid_t tid)
{
	struct proc_status status;

	return proc_read_status(tid, &status) && status.seccomp;
}

static void read_filters(struct visit *visit)
{
	const struct seccomp_data call = {.nr = SYS_restart_syscall, .arch = MACHINE_AUDIT_ARCH};
	struct call_filters *filters;
	struct proc_status status;

	if (!proc_read_status(visit->stopped_tid, &status) || !status.nr_filters)
		return;
	filters = call_filters_read(visit->stopped_tid);
	if (!filters && errno == ESRCH)
		return;
	visit->nr_filters = status.nr_filters;
	if (!filters)
		visit->filters = VISIT_FILTERS_HIDDEN;
	else if (call_filters_allow(filters, &call))
		visit->filters = VISIT_FILTERS_ALLOW;
	else
		visit->filters = VISIT_FILTERS_FORBID;
	call_filters_free(filters);
}

bool visit_fix_up(pid_t tid, struct user_regs_struct *regs, bool is_group_stop)
{
	enum machine_call call = machine_call(regs);

	if (is_group_stop)
		return false; /* which has interrupted it before us */
	if (call == MACHINE_CALL_EINTR || call == MACHINE_CALL_REFUSED ||
	    (call == MACHINE_CALL_RESTART_BLOCK && is_filtered(tid)))
		return machine_restart_call(regs, call);
	return false;
}

/*
 * The stop comes at once, unless the thread waits for a CPU or for a page of its code. After some
 * time the thread is asked to stop where it is: then its call ends as the kernel has decided.
 * Returns an id, or -1: with EINTR if the thread still runs and the recording is over.
 */
static pid_t await_stop(void *context, int *status)
{
	const struct visit *visit = context;
	uint64_t begun_ns = clock_monotonic_ns();
	bool is_asked = false;

	for (;;) {
		pid_t got = waitpid(-1, status, WAIT_FLAGS | (is_asked ? 0 : WNOHANG));
		uint64_t waits_ns;

		if (got > 0 || (got < 0 && errno != EINTR))
			return got;
		if (got < 0 && visit->is_over && atomic_load(visit->is_over))
			return got;
		waits_ns = clock_monotonic_ns() - begun_ns;
		if (!is_asked && waits_ns > PATIENCE_NS) {
			ptrace(PTRACE_INTERRUPT, visit->stopped_tid, NULL, NULL);
			is_asked = true;
		} else if (!is_asked && waits_ns > SPIN_NS) {
			clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 50000},
					NULL);
		}
	}
}

/* As visit_fix_up(), where that is too late. The thread may have stopped for another reason, or
 * died. */
static void begin_again(struct visit *visit, const struct user_regs_struct *regs)
{
	struct user_regs_struct begun = *regs;
	int status;
	pid_t got = 0;

	if (!visit->is_group_stop &&
	    machine_rewind_call(visit->stopped_tid, &begun, &visit->signal))
		got = machine_begin_again(visit->stopped_tid, &begun, regs, await_stop, visit,
					  &status);
	visit->is_left = got < 0 && errno == EINTR;
	if (got <= 0)
		return;
	if (!WIFSTOPPED(status)) {
		note_reaped(visit, got, status);
		return;
	}
	visit->stopped_tid = got;
	visit->was_fixed_up = WSTOPSIG(status) == (SIGTRAP | 0x80);
	if (!visit->was_fixed_up && !(status >> 16))
		visit->signal = WSTOPSIG(status);
}

/* The stack pointer at the program's start is read once, at the first stop of the main thread. */
static void learn_first_sp(struct tracee *tracee)
{
	struct proc_stat stat;

	if (tracee->tid == tracee->tgid && !tracee->stacks.first_sp && tracee_stat(tracee, &stat))
		tracee_learn_first_sp(tracee, stat.first_sp);
}

/* The call that it is in, and which others it may make. */
static void fix_up_call(struct visit *visit, struct user_regs_struct *regs)
{
	if (visit->reads_filters)
		read_filters(visit);
	visit->was_fixed_up = visit_fix_up(visit->stopped_tid, regs, visit->is_group_stop);
	if (visit->was_fixed_up)
		set_regs(visit->stopped_tid, regs);
	else
		begin_again(visit, regs);
}

void visit_capture(struct visit *visit, struct tracee *tracee, size_t max_stack_bytes,
		   struct snapshot *snapshot)
{
	struct user_regs_struct regs;

	tracee_begin_snapshot(tracee, snapshot);
	snapshot->time_ns = visit->stopped_ns;
	snapshot->state = THREAD_STATE_RUNNING;
	/* Registers can be read once it has left its CPU, but its memory is at rest already. */
	if (visit->is_leaving)
		tracee_copy_ahead(tracee, visit->stopped_ns);
	/* For a 32-bit program the time is known, but not the stack. */
	if (get_regs(visit->stopped_tid, &regs)) {
		machine_fill_snapshot(tracee, &regs, snapshot, &visit->syscall);
		tracee->stacks.thread_pointer = snapshot->thread_pointer;
		tracee->stacks.data_pointer = snapshot->data_pointer;
		learn_first_sp(tracee);
		snapshot->first_sp = tracee->stacks.first_sp;
		if (snapshot->syscall_nr == SNAPSHOT_NO_SYSCALL &&
		    machine_is_in_fault(tracee, &regs))
			snapshot->syscall_nr = SNAPSHOT_PAGE_FAULT;
		tracee_copy_stacks(tracee, max_stack_bytes, snapshot);
		tracee_copy_wanted(tracee, snapshot);
		fix_up_call(visit, &regs);
	}
}

void visit_capture_registers(struct visit *visit, struct tracee *tracee, struct snapshot *snapshot)
{
	struct user_regs_struct regs;

	tracee_begin_snapshot(tracee, snapshot);
	snapshot->time_ns = visit->stopped_ns;
	snapshot->state = THREAD_STATE_RUNNING;
	if (get_regs(visit->stopped_tid, &regs)) {
		machine_fill_snapshot(tracee, &regs, snapshot, &visit->syscall);
		fix_up_call(visit, &regs);
	}
}

void visit_end(struct visit *visit)
{
	int status;
	pid_t got;

	if (ptrace(PTRACE_DETACH, visit->stopped_tid, NULL, (void *)(long)visit->signal) == 0)
		return;
	/* Killed in its stop: until it is reaped, an exec or exit of its process waits for us. */
	got = waitpid(-1, &status, WAIT_FLAGS);
	if (got > 0 && WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, got, NULL, NULL);
	else if (got > 0)
		note_reaped(visit, got, status);
}
