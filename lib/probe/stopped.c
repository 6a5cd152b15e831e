// SPDX-License-Identifier: GPL-2.0-or-later
/* All threads of a process, stopped together. */
#include "probe/stopped.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "proc/read.h"
#include "tracee/machine.h"

/* So long all threads are waited for in one go; those that have stopped stand as long. */
#define STOP_NS (5 * NS_PER_MS)
/* Then it runs, and is tried again. */
#define AGAIN_NS (2 * NS_PER_MS)
/* While a seizure takes longer than this the dead are reaped by another thread of ours. */
#define WATCH_NS (20 * NS_PER_MS)

enum attempt {
	ATTEMPT_DONE,
	ATTEMPT_AGAIN,
	ATTEMPT_GONE,
	ATTEMPT_REFUSED,
};

static void pause_ns(uint64_t ns)
{
	const struct timespec pause = {.tv_nsec = (long)ns};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static bool read_regs(struct stopped_thread *thread)
{
	struct iovec iov = {.iov_base = &thread->regs, .iov_len = sizeof(thread->regs)};

	return ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &iov) == 0 &&
	       iov.iov_len == sizeof(thread->regs);
}

static void write_regs(struct stopped_thread *thread)
{
	struct iovec iov = {.iov_base = &thread->regs, .iov_len = sizeof(thread->regs)};

	ptrace(PTRACE_SETREGSET, thread->tid, (void *)NT_PRSTATUS, &iov);
}

static bool is_filtered(pid_t tid)
{
	struct proc_status status;

	return proc_read_status(tid, &status) && status.seccomp;
}

/* As after a visit: a call that our stop broke off goes on, unless a real signal has come. */
static void fix_up(struct stopped_thread *thread)
{
	enum machine_call call = machine_call(&thread->regs);

	if (thread->is_group_stop)
		return;
	if (call == MACHINE_CALL_EINTR ||
	    (call == MACHINE_CALL_RESTART_BLOCK && is_filtered(thread->tid)))
		thread->is_changed |= machine_restart_call(&thread->regs, call);
}

static void detach(struct stopped_thread *thread, pid_t command)
{
	int status;

	if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)thread->signal) < 0 &&
	    thread->tid != command)
		waitpid(thread->tid, &status, __WALL | __WNOTHREAD | WNOHANG);
}

/* One that has not stopped by now is waited for: it can be let go only when it has. */
static void let_go(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped_thread *thread = &stopped->threads[i];

		if (thread->is_stopped && thread->is_changed)
			write_regs(thread);
		if (thread->is_stopped)
			detach(thread, stopped->command);
	}
}

static void remove_thread(struct stopped *stopped, size_t index)
{
	stopped->threads[index] = stopped->threads[--stopped->nr];
}

/* Has it stopped? False if it is dead, and reaped if that is ours to do. */
static bool look_at(struct stopped_thread *thread, pid_t command)
{
	siginfo_t info = {.si_pid = 0};
	int status;

	if (waitid(P_PID, (id_t)thread->tid, &info,
		   WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) < 0)
		return errno != ECHILD;
	if (!info.si_pid)
		return true;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED && thread->tid == command)
		return false;
	if (waitpid(thread->tid, &status, __WALL | __WNOTHREAD | WNOHANG) != thread->tid)
		return true;
	if (!WIFSTOPPED(status))
		return false;
	thread->is_stopped = true;
	thread->signal = status >> 16 ? 0 : WSTOPSIG(status);
	thread->is_group_stop = status >> 16 && WSTOPSIG(status) != SIGTRAP;
	return true;
}

/* How many have not stopped yet. */
static size_t collect(struct stopped *stopped)
{
	size_t nr_pending = 0;

	for (size_t i = 0; i < stopped->nr;) {
		struct stopped_thread *thread = &stopped->threads[i];

		if (!thread->is_stopped && !look_at(thread, stopped->command)) {
			remove_thread(stopped, i);
			continue;
		}
		nr_pending += !thread->is_stopped;
		i++;
	}
	return nr_pending;
}

static bool collect_until(struct stopped *stopped, uint64_t end_ns)
{
	while (collect(stopped)) {
		if (clock_monotonic_ns() >= end_ns)
			return false;
		sched_yield();
	}
	return true;
}

/*
 * PTRACE_SEIZE waits for a process that executes a program, and that waits until its other threads
 * are dead and reaped by us, who wait: another thread of ours reaps them.
 */
struct watch {
	const struct stopped *stopped;
	pthread_t thread;
	bool has_thread;
	atomic_uint_fast64_t since_ns; /* 0: no seizure is under way */
	atomic_bool is_over;
};

static void *watch_seizures(void *context)
{
	struct watch *watch = context;

	while (!atomic_load(&watch->is_over)) {
		uint64_t since_ns = atomic_load(&watch->since_ns);

		pause_ns(NS_PER_MS);
		if (!since_ns || since_ns != atomic_load(&watch->since_ns) ||
		    clock_monotonic_ns() - since_ns < WATCH_NS)
			continue;
		for (size_t i = 0; i < watch->stopped->nr; i++) {
			pid_t tid = watch->stopped->threads[i].tid;
			int status;

			if (tid != watch->stopped->command)
				waitpid(tid, &status, __WALL | WNOHANG);
		}
	}
	return NULL;
}

static struct watch *begin_watch(const struct stopped *stopped)
{
	struct watch *watch = xcalloc(1, sizeof(*watch));

	watch->stopped = stopped;
	watch->has_thread = pthread_create(&watch->thread, NULL, watch_seizures, watch) == 0;
	return watch;
}

/* Waits until it wakes: nobody should stand meanwhile. */
static void end_watch(struct watch *watch)
{
	if (!watch)
		return;
	atomic_store(&watch->is_over, true);
	if (watch->has_thread)
		pthread_join(watch->thread, NULL);
	free(watch);
}

struct seizing {
	struct stopped *stopped;
	enum attempt outcome;
	bool found_new;
	size_t nr_listed;
};

/* They are listed in the order in which they were met before. */
static bool is_known(const struct stopped *stopped, pid_t tid, size_t nr_listed)
{
	if (nr_listed < stopped->nr && stopped->threads[nr_listed].tid == tid)
		return true;
	for (size_t i = 0; i < stopped->nr; i++) {
		if (stopped->threads[i].tid == tid)
			return true;
	}
	return false;
}

static bool is_dead(pid_t pid, pid_t tid)
{
	struct proc_stat stat;

	return !proc_read_task_stat(pid, tid, &stat) || stat.state == 'Z' || stat.state == 'X' ||
	       stat.flags & PROC_FLAGS_ENDING;
}

static bool seize(void *context, pid_t tid)
{
	struct seizing *seizing = context;
	struct stopped *stopped = seizing->stopped;
	long seized;

	if (is_known(stopped, tid, seizing->nr_listed++))
		return true;
	if (stopped->nr == stopped->cap) { /* others read it: it stays where it is */
		seizing->outcome = ATTEMPT_AGAIN;
		return false;
	}
	atomic_store(&stopped->watch->since_ns, clock_monotonic_ns());
	seized = ptrace(PTRACE_SEIZE, tid, NULL, NULL);
	atomic_store(&stopped->watch->since_ns, 0);
	if (seized < 0) {
		if (errno == ESRCH || is_dead(stopped->pid, tid))
			return true;
		seizing->outcome = errno == EPERM ? ATTEMPT_REFUSED : ATTEMPT_AGAIN;
		return false;
	}
	stopped->threads[stopped->nr++] = (struct stopped_thread){.tid = tid};
	if (!stopped->begun_ns)
		stopped->begun_ns = clock_monotonic_ns();
	seizing->found_new = true;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return true;
}

static enum attempt stop_all(struct seizing *seizing)
{
	struct stopped *stopped = seizing->stopped;
	uint64_t end_ns = clock_monotonic_ns() + STOP_NS;

	do {
		seizing->found_new = false;
		seizing->nr_listed = 0;
		if (proc_for_each_task(stopped->pid, seize, seizing) <= 0)
			return ATTEMPT_GONE;
		if (seizing->outcome != ATTEMPT_DONE)
			return seizing->outcome;
		if (!collect_until(stopped, end_ns))
			return ATTEMPT_AGAIN;
	} while (seizing->found_new);
	return stopped->nr ? ATTEMPT_DONE : ATTEMPT_GONE;
}

/* What was interrupted must stop, or die, before it can be let go. */
static void give_up(struct stopped *stopped)
{
	collect(stopped);
	let_go(stopped);
	for (size_t i = 0; i < stopped->nr;) {
		if (stopped->threads[i].is_stopped)
			remove_thread(stopped, i);
		else
			i++;
	}
	while (collect(stopped) > 0)
		pause_ns(NS_PER_MS);
	let_go(stopped);
	stopped->nr = 0;
}

/* Room for the threads that there are, and for more that are born meanwhile. */
static void reserve(struct stopped *stopped)
{
	struct proc_stat stat;
	size_t nr = 64;

	if (proc_read_task_stat(stopped->pid, stopped->pid, &stat) && stat.nr_threads < 1000000)
		nr += 2 * stat.nr_threads;
	ARRAY_RESERVE(stopped->threads, nr, stopped->cap);
}

static enum attempt attempt(struct stopped *stopped)
{
	struct seizing seizing = {.stopped = stopped, .outcome = ATTEMPT_DONE};
	enum attempt outcome;

	reserve(stopped);
	stopped->watch = begin_watch(stopped);
	outcome = stop_all(&seizing);
	for (size_t i = 0; outcome == ATTEMPT_DONE && i < stopped->nr; i++) {
		if (!read_regs(&stopped->threads[i]))
			outcome = ATTEMPT_AGAIN;
	}
	atomic_store(&stopped->watch->is_over, true);
	if (outcome == ATTEMPT_DONE)
		return outcome;
	give_up(stopped);
	end_watch(stopped->watch);
	stopped->watch = NULL;
	return outcome;
}

/* Is it a thread of ours that traces it, for the moment of a visit? */
static bool is_traced_by_us(pid_t pid)
{
	struct proc_status status, tracer;

	return proc_read_status(pid, &status) &&
	       (!status.tracer_pid ||
		(proc_read_status(status.tracer_pid, &tracer) && tracer.tgid == getpid()));
}

int stopped_begin(struct stopped *stopped, pid_t pid, pid_t command, uint64_t patience_ns,
		  struct err *err)
{
	uint64_t end_ns = clock_monotonic_ns() + patience_ns;
	enum attempt outcome;

	*stopped = (struct stopped){.pid = pid, .command = command};
	for (;;) {
		outcome = attempt(stopped);
		if (outcome == ATTEMPT_DONE)
			return 0;
		if (outcome == ATTEMPT_GONE ||
		    (outcome == ATTEMPT_REFUSED && !is_traced_by_us(pid)) ||
		    clock_monotonic_ns() >= end_ns)
			break;
		stopped->begun_ns = 0;
		pause_ns(AGAIN_NS);
	}
	free(stopped->threads);
	*stopped = (struct stopped){.pid = pid};
	if (outcome == ATTEMPT_GONE)
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	if (outcome == ATTEMPT_REFUSED)
		return err_set(err, ERR_PERMISSION, "process %d may not be traced", (int)pid);
	return err_set(err, ERR_LIMIT, "process %d cannot be stopped: a thread of it does not stop",
		       (int)pid);
}

void stopped_adopt(struct stopped *stopped, pid_t command)
{
	*stopped = (struct stopped){
		.pid = command, .command = command, .begun_ns = clock_monotonic_ns()};
	ARRAY_GROW(stopped->threads, stopped->nr, stopped->cap);
	stopped->threads[0] = (struct stopped_thread){.tid = command, .is_stopped = true};
	if (read_regs(&stopped->threads[0]))
		stopped->nr = 1;
}

static void release(struct stopped *stopped)
{
	stopped->held_ns = clock_monotonic_ns() - stopped->begun_ns;
	end_watch(stopped->watch);
	stopped->watch = NULL;
	free(stopped->threads);
	stopped->threads = NULL;
	stopped->nr = stopped->cap = 0;
}

void stopped_give_back(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->nr; i++) {
		if (stopped->threads[i].is_changed)
			write_regs(&stopped->threads[i]);
	}
	release(stopped);
}

uint64_t stopped_thread_pointer(const struct stopped_thread *thread)
{
#if defined(__x86_64__)
	return thread->regs.fs_base;
#else
	(void)thread;
	return 0;
#endif
}

void stopped_end(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->nr; i++)
		fix_up(&stopped->threads[i]);
	let_go(stopped);
	release(stopped);
}
