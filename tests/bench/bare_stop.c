// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bare_stop PID HZ near|far: stops the threads of PID that compute, HZ times a second, and lets
 * each go on at once: nothing is read of them, nothing chosen and nothing noted. So that is what
 * the kernel takes of the target, and of whoever stops it, on this machine and at this time: no
 * profiler that stops threads can be below it.
 *
 * "near" sleeps on a CPU of theirs, and until they have stopped; "far" looks from another CPU
 * and spins. At real-time priority both. Ends with the target or with SIGINT.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"

#define THREADS_MAX 1024
#define START_NS    (100 * NS_PER_MS)
/* Whoever runs for so much of that computes. */
#define CHOICE_NS (100 * NS_PER_MS)
#define BUSY_NS	  (5 * NS_PER_MS)

struct threads {
	pid_t pid;
	pid_t tids[THREADS_MAX];
	uint64_t cpu_ns[THREADS_MAX]; /* before the choice */
	size_t nr;
	bool is_far;
};

static atomic_bool ends;

static void end(int signal)
{
	(void)signal;
	ends = true;
}

static void sleep_until(uint64_t time_ns)
{
	const struct timespec time = {.tv_sec = (time_t)(time_ns / NS_PER_SEC),
				      .tv_nsec = (long)(time_ns % NS_PER_SEC)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static uint64_t cpu_ns_of(const struct threads *threads, pid_t tid)
{
	cleanup_close int fd = proc_open_task_file(threads->pid, tid, "schedstat");
	struct proc_schedstat clocks;

	return fd >= 0 && proc_read_schedstat(fd, &clocks) ? clocks.cpu_ns : 0;
}

static bool note_thread(void *context, pid_t tid)
{
	struct threads *threads = context;

	threads->tids[threads->nr] = tid;
	threads->cpu_ns[threads->nr++] = cpu_ns_of(threads, tid);
	return threads->nr < THREADS_MAX;
}

/* Seizes those that compute, and forgets the others. */
static bool choose(struct threads *threads)
{
	size_t nr_chosen = 0;

	proc_for_each_task(threads->pid, note_thread, threads);
	sleep_until(clock_monotonic_ns() + CHOICE_NS);
	for (size_t i = 0; i < threads->nr; i++) {
		pid_t tid = threads->tids[i];

		if (cpu_ns_of(threads, tid) - threads->cpu_ns[i] >= BUSY_NS &&
		    !ptrace(PTRACE_SEIZE, tid, 0, 0))
			threads->tids[nr_chosen++] = tid;
	}
	threads->nr = nr_chosen;
	return nr_chosen;
}

/* Far: on the first CPU that none of them is on; near: on the one of the first. */
static bool take_place(const struct threads *threads)
{
	const struct sched_param priority = {.sched_priority = 1};
	cpu_set_t allowed, theirs, ours;
	struct proc_stat stat;

	CPU_ZERO(&theirs);
	CPU_ZERO(&ours);
	for (size_t i = threads->nr; i-- > 0;) {
		if (proc_read_task_stat(threads->pid, threads->tids[i], &stat))
			CPU_SET((size_t)stat.cpu, &theirs);
	}
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return false;
	for (size_t cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&ours); cpu++) {
		if (CPU_ISSET(cpu, &allowed) && !!CPU_ISSET(cpu, &theirs) != threads->is_far)
			CPU_SET(cpu, &ours);
	}
	return CPU_COUNT(&ours) && !sched_setaffinity(0, sizeof(ours), &ours) &&
	       !sched_setscheduler(0, SCHED_FIFO, &priority);
}

static void forget(struct threads *threads, pid_t tid)
{
	for (size_t i = 0; i < threads->nr; i++) {
		if (threads->tids[i] == tid)
			threads->tids[i--] = threads->tids[--threads->nr];
	}
}

static void stop_each(struct threads *threads)
{
	size_t nr_awaited = 0;

	for (size_t i = 0; i < threads->nr; i++)
		nr_awaited += !ptrace(PTRACE_INTERRUPT, threads->tids[i], 0, 0);
	while (nr_awaited && threads->nr) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | (threads->is_far ? WNOHANG : 0));

		if (tid < 0)
			threads->nr = 0;
		if (tid <= 0)
			continue;
		nr_awaited--;
		if (!WIFSTOPPED(status))
			forget(threads, tid);
		else
			ptrace(PTRACE_CONT, tid, 0,
			       status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
	}
}

int main(int argc, char **argv)
{
	struct threads threads = {.pid = argc == 4 ? (pid_t)atoi(argv[1]) : 0};
	uint64_t period_ns = argc == 4 ? NS_PER_SEC / strtoul(argv[2], NULL, 10) : 0;
	uint64_t tick_ns;

	if (!threads.pid || !period_ns)
		return 2;
	threads.is_far = !strcmp(argv[3], "far");
	signal(SIGINT, end);
	sleep_until(clock_monotonic_ns() + START_NS);
	if (!choose(&threads) || !take_place(&threads))
		return 1;
	for (tick_ns = clock_monotonic_ns(); !ends && threads.nr; tick_ns += period_ns) {
		sleep_until(tick_ns);
		stop_each(&threads);
	}
	return 0;
}
