// SPDX-License-Identifier: GPL-2.0-or-later
/* Releases threads that are traced. */
#include "inject/letting_go.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "tracee/machine.h"
#include "tracee/visit.h"

/* The death of a thread is awaited for this long. */
#define DYING_NS NS_PER_SEC
/* A thread that waits in the kernel for an answer of a program (FUSE) may never stop. */
#define STUCK_NS NS_PER_SEC
#define SPIN_NS	 (100 * NS_PER_US)
#define ASK_NS	 (100 * NS_PER_MS)

static enum rest rest_of(const siginfo_t *info)
{
	return info->si_code == CLD_TRAPPED || info->si_code == CLD_STOPPED ? REST_STOPPED
									    : REST_DEAD;
}

enum rest letting_go_look(pid_t id)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_PID, (id_t)id, &info,
		      WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) < 0) {
		if (errno != EINTR)
			return REST_NOT_OURS;
	}
	if (!info.si_pid)
		return REST_NONE;
	return rest_of(&info);
}

enum rest letting_go_await(pid_t id)
{
	siginfo_t info = {.si_pid = 0};

	waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD);
	return info.si_pid == id ? rest_of(&info) : letting_go_look(id);
}

bool letting_go_is_over(void)
{
	siginfo_t info;

	while (waitid(P_ALL, 0, &info,
		      WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) < 0) {
		if (errno != EINTR)
			return errno == ECHILD;
	}
	return false;
}

bool letting_go_take_stop(pid_t id, int *status)
{
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_PID, (id_t)id, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD) < 0 ||
	    info.si_pid != id)
		return false;
	*status = info.si_status << 8 | 0x7f; /* as waitpid(2) returns it */
	return true;
}

void letting_go_reap(pid_t id)
{
	int status;

	waitpid(id, &status, __WALL | __WNOTHREAD | WNOHANG);
}

bool letting_go_is_stuck(uint64_t since_ns)
{
	return clock_monotonic_ns() - since_ns > STUCK_NS;
}

struct into_call {
	pid_t id;
	uint64_t begun_ns, waits_from_ns;
	bool is_asked; /* since then */
};

/*
 * The stop comes at once, unless the thread waits for a CPU or for a page of its code. After some
 * time it is asked to stop where it is.
 */
static pid_t await_call(void *context, int *status)
{
	struct into_call *into = context;
	enum rest rest;

	into->waits_from_ns = clock_monotonic_ns();
	into->is_asked = false;
	while ((rest = letting_go_look(into->id)) == REST_NONE) {
		uint64_t waits_ns = clock_monotonic_ns() - into->waits_from_ns;

		if (letting_go_is_stuck(into->begun_ns))
			return -1;
		if (waits_ns > ASK_NS && !into->is_asked) {
			into->is_asked = true;
			ptrace(PTRACE_INTERRUPT, into->id, NULL, NULL);
		}
		if (waits_ns > SPIN_NS)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 50000},
					NULL);
	}
	return rest == REST_STOPPED && letting_go_take_stop(into->id, status) ? into->id : -1;
}

bool letting_go_into_call(pid_t id, pid_t command, const struct user_regs_struct *begun,
			  const struct user_regs_struct *ended)
{
	struct into_call into = {.id = id, .begun_ns = clock_monotonic_ns()};
	int status, signal = 0;

	if (machine_begin_again(id, begun, ended, await_call, &into, &status) == id &&
	    !(status >> 16) && WSTOPSIG(status) != (SIGTRAP | 0x80))
		signal = WSTOPSIG(status);
	return ptrace(PTRACE_DETACH, id, NULL, (void *)(long)signal) == 0 ||
	       letting_go_of(id, command);
}

static bool detach(pid_t id, pid_t command, int status)
{
	struct user_regs_struct regs = {0}, begun;
	struct iovec iov = {.iov_base = &regs, .iov_len = sizeof(regs)};
	bool is_group_stop = status >> 16 && WSTOPSIG(status) != SIGTRAP;
	int signal = status >> 16 ? 0 : WSTOPSIG(status);

	if (ptrace(PTRACE_GETREGSET, id, (void *)NT_PRSTATUS, &iov) == 0) {
		begun = regs;
		if (visit_fix_up(id, &regs, is_group_stop))
			ptrace(PTRACE_SETREGSET, id, (void *)NT_PRSTATUS, &iov);
		else if (!is_group_stop && machine_rewind_call(id, &begun, &signal))
			return letting_go_into_call(id, command, &begun, &regs);
	}
	ptrace(PTRACE_DETACH, id, NULL, (void *)(long)signal);
	return true;
}

bool letting_go_of(pid_t id, pid_t command)
{
	uint64_t begun_ns = clock_monotonic_ns();
	uint64_t end_ns = begun_ns + DYING_NS;
	enum rest rest;
	int status;

	while ((rest = letting_go_look(id)) == REST_NONE) {
		/*
		 * This succeeds for a live tracee. A dead leader has no state to wait for until its
		 * other threads are dead, or one of them has taken its place.
		 */
		if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0)
			end_ns = clock_monotonic_ns() + DYING_NS;
		else if (errno == ESRCH || clock_monotonic_ns() > end_ns)
			return true;
		if (letting_go_is_stuck(begun_ns))
			return false;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 100000}, NULL);
	}
	if (rest == REST_DEAD && id != command)
		letting_go_reap(id);
	if (rest != REST_STOPPED)
		return true;
	if (!letting_go_take_stop(id, &status))
		return letting_go_of(id, command); /* killed just now */
	return detach(id, command, status);
}
