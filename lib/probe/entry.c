// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a command up to the entry of its program. */
#include "probe/entry.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "proc/read.h"
#include "tracee/launch.h"

#if defined(__x86_64__)
static const uint8_t breakpoint[] = {0xcc};
#elif defined(__aarch64__)
static const uint8_t breakpoint[] = {0x00, 0x00, 0x20, 0xd4};
#endif

/* It runs on another thread, as launch_run() waits until the exec is over, and that for us. */
struct run {
	struct launch *launch;
	int failed;
};

static void *run_launch(void *context)
{
	struct run *run = context;

	run->failed = launch_run(run->launch);
	return NULL;
}

/* The next stop; signals that come before are passed on. False: it has ended, and is not reaped. */
static bool next_stop(pid_t pid, int *status)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_PID, (id_t)pid, &info,
		      WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD) < 0) {
		if (errno != EINTR)
			return false;
	}
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return false;
	return waitpid(pid, status, __WALL | __WNOTHREAD) == pid && WIFSTOPPED(*status);
}

/*
 * `signal` is passed on first, 0 for none. Group-stops are left: who stops a command before it has
 * begun has it stopped a bit later.
 */
static bool run_to(pid_t pid, int signal, int event, int *status)
{
	for (;;) {
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal) < 0 ||
		    !next_stop(pid, status))
			return false;
		if (*status >> 16 == event && WSTOPSIG(*status) == SIGTRAP)
			return true;
		signal = *status >> 16 ? 0 : WSTOPSIG(*status);
	}
}

static uint64_t entry_of(pid_t pid)
{
	struct buf bytes = {0};
	uint64_t entry = 0;

	if (proc_read_process_file(pid, "auxv", &bytes)) {
		for (size_t i = 0; i + 16 <= bytes.nr_bytes; i += 16) {
			uint64_t pair[2];

			memcpy(pair, bytes.bytes + i, sizeof(pair));
			if (pair[0] == AT_ENTRY)
				entry = pair[1];
		}
	}
	buf_release(&bytes);
	return entry;
}

static bool is_behind_breakpoint(const struct user_regs_struct *regs, uint64_t entry)
{
#if defined(__x86_64__)
	return regs->rip == entry + sizeof(breakpoint);
#elif defined(__aarch64__)
	return regs->pc == entry;
#endif
}

/* A library's constructor may raise the same signal, which is for the program then. */
static bool run_to_breakpoint(pid_t pid, uint64_t entry, struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};
	int signal = 0, status;

	do {
		if (!run_to(pid, signal, 0, &status) ||
		    ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov) < 0)
			return false;
		signal = SIGTRAP;
	} while (!is_behind_breakpoint(regs, entry));
	return true;
}

/* Stand at the breakpoint as if there were none. */
static bool step_back(struct entry_stop *stop, struct user_regs_struct *regs, uint64_t entry)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

#if defined(__x86_64__)
	regs->rip = entry;
	stop->has_thread_data = regs->fs_base != 0;
#elif defined(__aarch64__)
	(void)entry; /* where it stands */
#endif
	return ptrace(PTRACE_SETREGSET, stop->pid, (void *)NT_PRSTATUS, &iov) == 0;
}

static bool run_to_entry(struct entry_stop *stop)
{
	uint64_t entry = entry_of(stop->pid);
	uint8_t former[sizeof(breakpoint)];
	struct user_regs_struct regs;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)stop->pid);
	stop->memory_fd = open(path, O_RDWR | O_CLOEXEC);
	if (!entry || stop->memory_fd < 0 ||
	    pread(stop->memory_fd, former, sizeof(former), (off_t)entry) != sizeof(former) ||
	    pwrite(stop->memory_fd, breakpoint, sizeof(breakpoint), (off_t)entry) !=
		    sizeof(breakpoint))
		return false;
	return run_to_breakpoint(stop->pid, entry, &regs) &&
	       pwrite(stop->memory_fd, former, sizeof(former), (off_t)entry) == sizeof(former) &&
	       step_back(stop, &regs, entry);
}

int entry_run(struct entry_stop *stop, struct launch *launch)
{
	struct run run = {.launch = launch};
	pthread_t runner;
	int status;

	*stop = (struct entry_stop){.pid = launch->pid, .memory_fd = -1};
	/* It stands before it is let go: else its exec may come before the interrupt. */
	if (ptrace(PTRACE_SEIZE, launch->pid, NULL, (void *)PTRACE_O_TRACEEXEC) < 0 ||
	    ptrace(PTRACE_INTERRUPT, launch->pid, NULL, NULL) < 0 ||
	    !next_stop(launch->pid, &status) ||
	    pthread_create(&runner, NULL, run_launch, &run) != 0) {
		stop->why = "the command could not be traced up to its beginning";
		entry_end(stop);
		return launch_run(launch);
	}
	stop->is_stopped = run_to(launch->pid, 0, PTRACE_EVENT_EXEC, &status) && run_to_entry(stop);
	if (!stop->is_stopped) {
		stop->why = "the command did not come to its beginning";
		entry_end(stop);
	}
	pthread_join(runner, NULL);
	if (run.failed && stop->is_stopped)
		entry_end(stop);
	return run.failed;
}

void entry_end(struct entry_stop *stop)
{
	ptrace(PTRACE_DETACH, stop->pid, NULL, NULL);
	if (stop->memory_fd >= 0)
		close(stop->memory_fd);
	stop->memory_fd = -1;
	stop->is_stopped = false;
}
