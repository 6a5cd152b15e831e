// SPDX-License-Identifier: GPL-2.0-or-later
/* Releases threads that are traced. */
#include "inject/letting_go.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "tracee/visit.h"

/* The death of a thread is awaited for this long. */
#define DYING_NS NS_PER_SEC
/* A thread that waits in the kernel for an answer of a program (FUSE) may never stop. */
#define STUCK_NS NS_PER_SEC

static void detach(pid_t id, int status)
{
	struct user_regs_struct regs = {0};
	struct iovec iov = {.iov_base = &regs, .iov_len = sizeof(regs)};
	bool is_group_stop = status >> 16 && WSTOPSIG(status) != SIGTRAP;
	int signal = status >> 16 ? 0 : WSTOPSIG(status);

	if (ptrace(PTRACE_GETREGSET, id, (void *)NT_PRSTATUS, &iov) == 0 &&
	    visit_fix_up_one(id, &regs, is_group_stop, signal))
		ptrace(PTRACE_SETREGSET, id, (void *)NT_PRSTATUS, &iov);
	ptrace(PTRACE_DETACH, id, NULL, (void *)(long)signal);
}

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
	detach(id, status);
	return true;
}
