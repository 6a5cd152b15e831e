// SPDX-License-Identifier: GPL-2.0-or-later
/* Spares threads that are amid a transfer from being stopped. */
#include "inject/sparing.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "inject/rescue.h"
#include "proc/read.h"
#include "syscall/traits.h"
#include "tracee/tracee.h"
#include "tracee/transfer.h"

/* A running thread may change its CPU while we come to it. */
#define FOLLOW_TRIES 4
/*
 * The first looks at a process, where its kernel stacks are hidden: then a running thread is known
 * to be amid a transfer only by an earlier look.
 */
#define FIRST_LOOKS    4
#define FIRST_PAUSE_NS NS_PER_MS

static bool look_first(void *context, pid_t tid)
{
	struct proc_syscall syscall;

	sparing_look(context, tid, &syscall);
	return true;
}

void sparing_init(struct sparing *sparing, pid_t pid, bool is_alone)
{
	const struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};
	int nr_looks = FIRST_LOOKS;

	*sparing =
		(struct sparing){.pid = pid, .sees_kernel_stacks = tracee_may_see_kernel_stacks()};
	/* The last look shows all of one thread, and no other one waits for it. */
	if (sparing->sees_kernel_stacks)
		nr_looks = is_alone ? 0 : 1;
	for (int i = 0; i < nr_looks; i++) {
		if (i)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		proc_for_each_task(pid, look_first, sparing);
		sparing_leave(sparing);
	}
	sparing->spared = 0;
}

static struct spared_thread *find(struct sparing *sparing, pid_t tid)
{
	for (size_t i = 0; i < sparing->nr_seen; i++) {
		if (sparing->seen[i].tid == tid)
			return &sparing->seen[i];
	}
	return NULL;
}

/* The oldest note is replaced. */
static void note(struct sparing *sparing, pid_t tid, uint64_t user_ticks)
{
	struct spared_thread *seen = find(sparing, tid);

	if (!seen) {
		seen = &sparing->seen[sparing->next_seen];
		sparing->next_seen = (sparing->next_seen + 1) % SPARED_MAX;
		sparing->nr_seen += sparing->nr_seen < SPARED_MAX;
	}
	*seen = (struct spared_thread){.tid = tid, .user_ticks = user_ticks};
}

/* Threads of lower priority on our CPU do not run then. */
static void hurry(struct sparing *sparing)
{
	const struct sched_param first = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
	struct sched_param before;

	if (sparing->is_hurried ||
	    pthread_getschedparam(pthread_self(), &sparing->policy, &before) != 0)
		return;
	sparing->priority = before.sched_priority;
	sparing->is_hurried = pthread_setschedparam(pthread_self(),
						    SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0;
}

static void rest(struct sparing *sparing)
{
	const struct sched_param before = {.sched_priority = sparing->priority};

	if (sparing->is_hurried)
		pthread_setschedparam(pthread_self(), sparing->policy, &before);
	sparing->is_hurried = false;
}

/* From now on we run on this CPU, and the thread does not; unless others keep us from it. */
static void go_to(struct sparing *sparing, int cpu)
{
	cpu_set_t cpus;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sparing->is_kept_out)
		return;
	if (!sparing->has_moved && sched_getaffinity(0, sizeof(sparing->cpus), &sparing->cpus) < 0)
		return;
	if (!sparing->rescue)
		sparing->rescue = rescue_new();
	if (!sparing->rescue)
		return;
	sparing->has_moved = true;
	rescue_await(sparing->rescue, &sparing->cpus);
	hurry(sparing);
	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sparing->is_kept_out = !rescue_is_over(sparing->rescue);
}

void sparing_end(struct sparing *sparing)
{
	rescue_free(sparing->rescue);
	sparing->rescue = NULL;
}

void sparing_leave(struct sparing *sparing)
{
	if (sparing->has_moved)
		sched_setaffinity(0, sizeof(sparing->cpus), &sparing->cpus);
	sparing->has_moved = false;
	rest(sparing);
}

/* The thread was on a CPU just now, or we may not see kernel stacks. */
static bool runs_amid_transfer(struct sparing *sparing, pid_t tid, const struct proc_stat *before,
			       bool is_last)
{
	const struct spared_thread *seen = find(sparing, tid);
	struct proc_stat stat = *before;

	if (!sparing->sees_kernel_stacks)
		return seen && seen->user_ticks == stat.user_ticks;
	if (!seen && !is_last)
		return false;
	for (int i = 0; i < FOLLOW_TRIES; i++) {
		enum transfer_stack stack;

		go_to(sparing, stat.cpu);
		stack = transfer_on_stack(sparing->pid, tid);
		if (stack != TRANSFER_STACK_HIDDEN)
			return stack == TRANSFER_STACK_AMID;
		if (!proc_read_task_stat(sparing->pid, tid, &stat))
			return false;
	}
	return seen != NULL;
}

static enum sparing_look look(struct sparing *sparing, pid_t tid, struct proc_syscall *syscall,
			      bool is_last)
{
	cleanup_close int fd = proc_open_task_file(sparing->pid, tid, "syscall");
	enum transfer_stack stack = TRANSFER_STACK_HIDDEN;
	struct proc_stat stat;

	syscall->kind = PROC_SYSCALL_RUNNING;
	if (fd < 0 || !proc_read_syscall(fd, syscall) ||
	    (syscall->kind != PROC_SYSCALL_RUNNING && !transfer_is_begun(sparing->pid, syscall)) ||
	    !proc_read_task_stat(sparing->pid, tid, &stat) || stat.state == 'T')
		return SPARING_NOT;
	if (syscall->kind != PROC_SYSCALL_RUNNING) {
		note(sparing, tid, stat.user_ticks);
		return SPARING_ASLEEP;
	}
	if (sparing->sees_kernel_stacks)
		stack = transfer_on_stack(sparing->pid, tid);
	if (stack == TRANSFER_STACK_AMID)
		note(sparing, tid, stat.user_ticks);
	else if (stack == TRANSFER_STACK_OUTSIDE ||
		 !runs_amid_transfer(sparing, tid, &stat, is_last))
		return SPARING_NOT;
	return SPARING_RUNNING;
}

static enum sparing_look look_and_note(struct sparing *sparing, pid_t tid,
				       struct proc_syscall *syscall, bool is_last)
{
	enum sparing_look found = look(sparing, tid, syscall, is_last);

	if (found != SPARING_NOT)
		sparing->spared = tid;
	return found;
}

enum sparing_look sparing_look(struct sparing *sparing, pid_t tid, struct proc_syscall *syscall)
{
	return look_and_note(sparing, tid, syscall, false);
}

enum sparing_look sparing_look_last(struct sparing *sparing, pid_t tid,
				    struct proc_syscall *syscall)
{
	return look_and_note(sparing, tid, syscall, true);
}

bool sparing_may_begin_again(const struct proc_syscall *syscall)
{
	if (syscall->kind != PROC_SYSCALL_INSIDE)
		return false;
	switch (syscall->nr) {
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return true;
	case SYS_ppoll:
		return syscall->args[2];
	case SYS_pselect6:
		return syscall->args[4];
	default:
		return !syscall_restarts_unseen(syscall->nr, syscall->args);
	}
}
