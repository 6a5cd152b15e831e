// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bare_visit PID HZ CPU spin|sleep [reads]: visits a process of one thread HZ times a second, from
 * that CPU, and does no more than any profiler must that traces a thread for its samples alone:
 * seize, interrupt, wait, registers, 2 KiB of stack, detach. Nothing is chosen, noted, or read of
 * /proc. "reads": before each visit it reads the thread's stat and schedstat. A profiler needs
 * both: a thread that ends must not be visited, and samples have the weight of its clocks. It spins
 * for the stop or sleeps until then, at real-time priority if that is allowed. Ends with the
 * process, or at SIGINT, and then prints the number of visits.
 */
#include <elf.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/read.h"

#define STACK_BYTES 2048
#define NR_FILES    2

static atomic_bool ends;

static void end(int signal)
{
	(void)signal;
	ends = true;
}

static uint64_t stack_pointer(const struct user_regs_struct *regs)
{
#if defined(__x86_64__)
	return regs->rsp;
#else
	return regs->sp;
#endif
}

static void capture(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec registers = {.iov_base = &regs, .iov_len = sizeof(regs)};
	char stack[STACK_BYTES];
	struct iovec local = {.iov_base = stack, .iov_len = sizeof(stack)};
	struct iovec remote = {.iov_len = sizeof(stack)};

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &registers))
		return;
	remote.iov_base = (void *)(uintptr_t)stack_pointer(&regs);
	process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static bool open_files(pid_t pid, int *files)
{
	files[0] = proc_open_task_file(pid, pid, "stat");
	files[1] = proc_open_task_file(pid, pid, "schedstat");
	return files[0] >= 0 && files[1] >= 0;
}

/* False: the process has ended. */
static bool visit(pid_t pid, bool spins, const int *files)
{
	char text[1024];
	int status;
	pid_t got;

	for (size_t i = 0; i < NR_FILES; i++) {
		if (files[i] >= 0 && pread(files[i], text, sizeof(text), 0) <= 0)
			return false;
	}
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
		return false;
	do {
		got = waitpid(pid, &status, __WALL | (spins ? WNOHANG : 0));
	} while (!got);
	if (got != pid || !WIFSTOPPED(status))
		return false;
	capture(pid);
	return !ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* Above the process, which may have a real-time priority itself. */
static void take_place(pid_t pid, size_t cpu)
{
	struct sched_param priority = {0};
	cpu_set_t cpus;

	sched_getparam(pid, &priority);
	priority.sched_priority++;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_setscheduler(0, SCHED_FIFO, &priority);
	prctl(PR_SET_TIMERSLACK, 1);
}

int main(int argc, char **argv)
{
	pid_t pid = argc >= 5 ? (pid_t)atoi(argv[1]) : 0;
	uint64_t period_ns = argc >= 5 ? NS_PER_SEC / strtoul(argv[2], NULL, 10) : 0;
	uint64_t tick_ns = clock_monotonic_ns();
	unsigned long nr_visits = 0;
	int files[NR_FILES] = {-1, -1};

	if (pid <= 0 || !period_ns)
		return 2;
	signal(SIGINT, end);
	take_place(pid, strtoul(argv[3], NULL, 10));
	if (argc > 5 && !open_files(pid, files))
		return 1;
	while (!ends && visit(pid, !strcmp(argv[4], "spin"), files)) {
		struct timespec time;

		nr_visits++;
		tick_ns += period_ns;
		time.tv_sec = (time_t)(tick_ns / NS_PER_SEC);
		time.tv_nsec = (long)(tick_ns % NS_PER_SEC);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
	}
	printf("%lu\n", nr_visits);
	return 0;
}
