// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls that our stop has interrupted begin again.
 *
 * On aarch64 the kernel decides how an interrupted call ends before it shows the thread
 * (do_signal() in arch/arm64/kernel/signal.c): one that is never restarted, as epoll_wait(2),
 * stands behind its instruction with EINTR, which no signal has caused. Its registers are set back
 * to the instruction, and the thread goes on up to its entry into the call, where it stops again: a
 * signal that comes before that stops it as well, and then the call has ended with EINTR after all.
 * So nothing is lost in between.
 */
#include "tracee/machine.h"

#if defined(__aarch64__)

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"
#include "proc/task.h"
#include "tracee/tracee_priv.h"

#define SVC	       UINT32_C(0xd4000001) /* svc #0 */
#define SVC_BYTES      sizeof(uint32_t)
#define CALLS_MAX      4096
#define SIGNAL_BIT(nr) (UINT64_C(1) << ((nr)-1))
#define PATIENCE_NS    (2 * NS_PER_SEC)
#define BELOW_BYTES    16384 /* of a signal frame, with the registers of SVE */

static bool set_call(pid_t tid, int nr)
{
	struct iovec iov = {.iov_base = &nr, .iov_len = sizeof(nr)};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &iov) == 0;
}

static bool set_regs(pid_t tid, const struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)regs, .iov_len = sizeof(*regs)};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &iov) == 0;
}

static bool get_regs(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov) == 0;
}

/*
 * The first argument, which the result has replaced. The kernel still has it, and tells it where a
 * filter has reported the call: for this moment our stop counts as such a one. The thread must not
 * get the number of its call instead (NT_ARM_SYSTEM_CALL), so that /proc/TID/syscall shows it:
 * kernels of 2026, 6.1.192 among them, put the result in its place then, and it is lost.
 */
static bool first_argument(pid_t tid, uint64_t *argument)
{
	struct __ptrace_syscall_info info = {0};
	siginfo_t stop, reported;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &stop) < 0)
		return false;
	reported = stop;
	reported.si_code = SIGTRAP | PTRACE_EVENT_SECCOMP << 8;
	if (ptrace(PTRACE_SETSIGINFO, tid, NULL, &reported) < 0)
		return false;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0)
		info.op = PTRACE_SYSCALL_INFO_NONE;
	*argument = info.seccomp.args[0];
	return ptrace(PTRACE_SETSIGINFO, tid, NULL, &stop) == 0 &&
	       info.op == PTRACE_SYSCALL_INFO_SECCOMP;
}

/*
 * Has a handler just returned to behind the call? Then EINTR is its due. Its frame is still below
 * the stack pointer: the registers that it has brought back stand there as they are now. One of an
 * earlier signal may look so as well: then EINTR stays, which the program has met there before. A
 * frame on a stack for handlers is not found.
 */
static bool comes_from_handler(pid_t tid, const struct user_regs_struct *regs)
{
	uint64_t *words = xcalloc(BELOW_BYTES, 1);
	size_t nr_words = tracee_read_any(tid, regs->sp - BELOW_BYTES, words, BELOW_BYTES) / 8;
	bool is = false;

	for (size_t i = 0; i + 33 <= nr_words && !is; i++)
		is = words[i] == regs->regs[0] && words[i + 8] == regs->regs[8] &&
		     words[i + 31] == regs->sp && words[i + 32] == regs->pc;
	free(words);
	return is;
}

/* It is delivered to a traced thread all the same. */
static bool is_ignored(pid_t tid, int signal)
{
	static const uint64_t by_default = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) |
					   SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH);
	struct proc_status status;

	return proc_read_status(tid, &status) &&
	       (status.ignored | (by_default & ~status.caught)) & SIGNAL_BIT(signal);
}

static bool is_filtered(pid_t tid)
{
	struct proc_status status;

	return proc_read_status(tid, &status) && status.seccomp;
}

static bool is_exec(const struct user_regs_struct *regs)
{
	return regs->regs[8] == SYS_execve || regs->regs[8] == SYS_execveat;
}

/* Perhaps because we trace the process: security modules forbid some to a traced one alone. */
static bool is_refused_exec(const struct user_regs_struct *regs)
{
	int64_t result = (int64_t)regs->regs[0];

	return is_exec(regs) && (result == -EACCES || result == -EPERM);
}

bool machine_rewind_call(pid_t tid, struct user_regs_struct *regs, int *signal)
{
	struct {
		uint32_t before, at;
	} code;
	uint64_t argument;

	if (regs->regs[8] >= CALLS_MAX ||
	    !tracee_read_present(tid, regs->pc - SVC_BYTES, &code, sizeof(code)))
		return false;
	/* It restarts by itself: perhaps by restart_syscall(2), which a filter may not allow. */
	if (code.at == SVC ? is_exec(regs) || !is_filtered(tid)
			   : code.before != SVC ||
				     ((int64_t)regs->regs[0] != -EINTR && !is_refused_exec(regs)))
		return false;
	if (*signal && !is_ignored(tid, *signal))
		return false;
	if (code.at != SVC) {
		if (comes_from_handler(tid, regs) || !first_argument(tid, &argument))
			return false;
		regs->regs[0] = argument;
		regs->pc -= SVC_BYTES;
	}
	*signal = 0;
	return true;
}

/* Entering or leaving one. */
static bool is_at_call(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* For the same reason as in machine_rewind_call(). */
static bool is_ignored_signal(pid_t tid, int status)
{
	return WIFSTOPPED(status) && !(status >> 16) && !is_at_call(status) &&
	       is_ignored(tid, WSTOPSIG(status));
}

/*
 * Has the thread stopped because it was asked to, before it has reached a call that the kernel
 * would continue by restart_syscall(2)? To be let go there would kill it, where a filter does not
 * allow that. One in a frozen control group never comes there: after some time it is let go.
 */
static bool is_too_early(int status, const struct user_regs_struct *begun,
			 const struct user_regs_struct *ended)
{
	return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP &&
	       WSTOPSIG(status) == SIGTRAP && begun->pc == ended->pc;
}

/*
 * Is it the call that was to begin again? The kernel may have made it a restart_syscall(2): then it
 * is named again. Any other was reached by code that has changed meanwhile.
 */
static bool is_same_call(pid_t tid, const struct user_regs_struct *begun)
{
	struct user_regs_struct regs;

	if (!get_regs(tid, &regs))
		return false;
	if (regs.regs[8] == begun->regs[8])
		return true;
	if (regs.regs[8] != SYS_restart_syscall)
		return false;
	regs = *begun;
	regs.pc += SVC_BYTES;
	return set_regs(tid, &regs) && set_call(tid, (int)begun->regs[8]);
}

/* Its result is for the kernel, which has not looked at it yet: restart, unless a handler runs
 * first. */
static void leave_to_kernel(pid_t tid)
{
	struct user_regs_struct regs;
	int64_t result;

	if (!get_regs(tid, &regs))
		return;
	result = (int64_t)regs.regs[0];
	if (result != -EINTR && result != -ERESTART_RESTARTBLOCK)
		return;
	regs.regs[0] = (uint64_t) - (int64_t)ERESTARTNOHAND;
	set_regs(tid, &regs);
}

/*
 * The stopped thread goes on to its entry into the call. To be let go there would interrupt the
 * call once more, and unseen; so it is interrupted before that, and stops where it leaves the call.
 * An exec is made only once the thread is not traced any more.
 */
pid_t machine_begin_again(pid_t tid, const struct user_regs_struct *begun,
			  const struct user_regs_struct *ended, machine_await await, void *context,
			  int *status)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;
	pid_t got;

	if (is_refused_exec(ended)) {
		*status = (SIGTRAP | 0x80) << 8 | 0x7f;
		return set_regs(tid, begun) ? tid : 0;
	}
	if (ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0 ||
	    !set_regs(tid, begun))
		return 0;
	if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL) < 0) {
		set_regs(tid, ended);
		return 0;
	}
	got = await(context, status);
	while (got == tid &&
	       (is_ignored_signal(tid, *status) ||
		(is_too_early(*status, begun, ended) && clock_monotonic_ns() < end_ns)) &&
	       ptrace(PTRACE_SYSCALL, tid, NULL, NULL) == 0)
		got = await(context, status);
	if (got != tid || !WIFSTOPPED(*status))
		return got;
	if (!is_at_call(*status)) {
		/* A signal: its handler finds EINTR. */
		if (!(*status >> 16))
			set_regs(tid, ended);
		return got;
	}
	if (!is_same_call(tid, begun))
		return got;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL) < 0)
		return got;
	got = await(context, status);
	if (got == tid && WIFSTOPPED(*status) && is_at_call(*status))
		leave_to_kernel(tid);
	return got;
}

#endif
