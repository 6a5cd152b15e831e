// SPDX-License-Identifier: GPL-2.0-or-later
/* All threads of a process, stopped together. */
#include "inject/stopped.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/semaphore.h"
#include "inject/letting_go.h"
#include "inject/machine.h"
#include "inject/sparing.h"
#include "proc/program.h"
#include "proc/read.h"
#include "proc/target_memory.h"
#include "tracee/machine.h"
#include "tracee/permission.h"
#include "tracee/visit.h"

/*
 * Stops are awaited together for this long once all are asked, and longer for each thread. Threads
 * that have stopped wait as long.
 */
#define STOP_NS	       (5 * NS_PER_MS)
#define STOP_THREAD_NS (100 * NS_PER_US)
/*
 * Between two looks whether they have. Asleep, we leave our CPU to a thread that has to stop on it,
 * and get it back soon; had we only yielded, others could have run first, for milliseconds.
 */
#define STOPPING_NS	(20 * NS_PER_US)
#define STOPPING_NS_MAX (500 * NS_PER_US)
/*
 * On a busy machine a thread may wait long for a CPU to stop on: the time grows up to this. It is
 * as long from the beginning for a thread that is the only one.
 */
#define STOP_NS_MAX    (40 * NS_PER_MS)
#define TRIES_PER_STEP 4
/* Between two tries the process runs for at least half of the time. */
#define AGAIN_NS (2 * NS_PER_MS)
/* Threads that do not stop are interrupted again. */
#define ASK_AGAIN_NS (20 * NS_PER_MS)
/* A woken thread may take this long to sleep again. */
#define WOKEN_NS (100 * NS_PER_US)
/* If a seizure takes longer than this, another thread of ours reaps the dead. */
#define WATCH_NS (20 * NS_PER_MS)

enum attempt {
	ATTEMPT_DONE,
	ATTEMPT_AGAIN,
	ATTEMPT_SPARED, /* a thread is amid a transfer */
	ATTEMPT_GONE,
	ATTEMPT_REFUSED,
};

/* It would stop only after its child has executed a program, or ended. */
static bool is_in_vfork(const struct proc_syscall *syscall)
{
#if defined(SYS_vfork)
	if (syscall->kind == PROC_SYSCALL_INSIDE && syscall->nr == SYS_vfork)
		return true;
#endif
	return syscall->kind == PROC_SYSCALL_INSIDE &&
	       (syscall->nr == SYS_clone || syscall->nr == SYS_clone3);
}

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

static void detach(const struct stopped *stopped, const struct stopped_thread *thread)
{
	if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)thread->signal) < 0)
		letting_go_of(thread->tid, stopped->command);
}

/* Has it to begin its call again, and registers alone cannot say so? */
static bool begins_again(struct stopped_thread *thread, struct user_regs_struct *begun)
{
	*begun = thread->regs;
	return !thread->is_changed && !thread->is_adopted && !thread->is_group_stop &&
	       machine_rewind_call(thread->tid, begun, &thread->signal);
}

static void go_into_calls(struct stopped *stopped)
{
	struct user_regs_struct begun;

	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped_thread *thread = &stopped->threads[i];

		if (thread->is_to_begin_again && begins_again(thread, &begun))
			stopped->is_stuck |= !letting_go_into_call(thread->tid, stopped->command,
								   &begun, &thread->regs);
		else if (thread->is_to_begin_again)
			detach(stopped, thread);
	}
}

/* Releases stopped threads. The others can be released only once they have stopped. */
static void let_go(struct stopped *stopped)
{
	struct user_regs_struct begun;

	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped_thread *thread = &stopped->threads[i];

		thread->is_to_begin_again = thread->is_stopped && begins_again(thread, &begun);
		if (!thread->is_stopped || thread->is_to_begin_again)
			continue;
		if (thread->is_changed)
			write_regs(thread);
		if (!thread->is_adopted)
			detach(stopped, thread);
	}
	go_into_calls(stopped); /* which takes longer */
}

static void remove_thread(struct stopped *stopped, size_t index)
{
	pid_table_remove(&stopped->seized, stopped->threads[index].tid);
	stopped->nr--;
	memmove(&stopped->threads[index], &stopped->threads[index + 1],
		(stopped->nr - index) * sizeof(*stopped->threads));
}

/* Has it stopped? False: it is dead, and was reaped if that is ours to do. */
static bool look_at(struct stopped_thread *thread, pid_t command)
{
	enum rest rest = letting_go_look(thread->tid);
	int status;

	if (rest == REST_NONE)
		return true;
	if (rest == REST_DEAD && thread->tid != command)
		letting_go_reap(thread->tid);
	if (rest != REST_STOPPED)
		return false;
	if (!letting_go_take_stop(thread->tid, &status))
		return true; /* killed just now */
	thread->is_stopped = true;
	thread->signal = status >> 16 ? 0 : WSTOPSIG(status);
	thread->is_group_stop = status >> 16 && WSTOPSIG(status) != SIGTRAP;
	return true;
}

/*
 * Between two looks whether threads have stopped: longer where none that has stopped waits for the
 * others, as each look takes CPU time.
 */
static uint64_t pause_between_looks_ns(const struct stopped *stopped, uint64_t waited_ns)
{
	return stopped->nr > 1 ? STOPPING_NS
			       : min_u64(max_u64(waited_ns / 4, STOPPING_NS), STOPPING_NS_MAX);
}

/* Threads before `first` have stopped. Returns the first that has not, or nr. */
static size_t collect(struct stopped *stopped, size_t first)
{
	size_t first_pending = SIZE_MAX;

	for (size_t i = first; i < stopped->nr;) {
		struct stopped_thread *thread = &stopped->threads[i];

		if (!thread->is_stopped && !look_at(thread, stopped->command)) {
			remove_thread(stopped, i);
			continue;
		}
		if (!thread->is_stopped && first_pending == SIZE_MAX)
			first_pending = i;
		i++;
	}
	return first_pending == SIZE_MAX ? stopped->nr : first_pending;
}

static bool collect_until(struct stopped *stopped, uint64_t end_ns)
{
	uint64_t begun_ns = clock_monotonic_ns();
	size_t first = 0;

	while ((first = collect(stopped, first)) < stopped->nr) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= end_ns)
			return false;
		pause_ns(pause_between_looks_ns(stopped, now_ns - begun_ns));
	}
	return true;
}

/*
 * PTRACE_SEIZE waits for a process that executes a program. That process waits until its other
 * threads are dead and reaped, by their tracer, which waits itself: so another thread of ours reaps
 * them.
 */
struct watch {
	const struct stopped *stopped;
	pthread_t thread;
	sem_t is_over;
	atomic_uint_fast64_t since_ns; /* 0: no seizure is under way */
};

/* Reaps the dead. Stops are left: the thread that waits for one would miss it. */
static void reap(pid_t tid)
{
	siginfo_t info = {.si_pid = 0};
	int status;

	if (waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	    info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		waitpid(tid, &status, __WALL | WNOHANG);
}

static bool is_over(struct watch *watch)
{
	return semaphore_wait_until(&watch->is_over, clock_monotonic_ns() + WATCH_NS / 2);
}

static void *watch_seizures(void *context)
{
	struct watch *watch = context;

	while (!is_over(watch)) {
		uint64_t since_ns = atomic_load(&watch->since_ns);

		if (!since_ns || clock_monotonic_ns() - since_ns < WATCH_NS)
			continue;
		for (size_t i = 0; i < watch->stopped->nr; i++) {
			if (watch->stopped->threads[i].tid != watch->stopped->command)
				reap(watch->stopped->threads[i].tid);
		}
	}
	return NULL;
}

/*
 * Only a process with more than one thread needs it. NULL: no thread could be made. An exec at that
 * moment would wait until we end.
 */
static struct watch *begin_watch(const struct stopped *stopped)
{
	struct watch *watch = xcalloc(1, sizeof(*watch));

	watch->stopped = stopped;
	sem_init(&watch->is_over, 0, 0);
	if (pthread_create(&watch->thread, NULL, watch_seizures, watch) == 0)
		return watch;
	sem_destroy(&watch->is_over);
	free(watch);
	return NULL;
}

/* Call this while nothing is stopped. */
static void end_watch(struct watch *watch)
{
	sem_post(&watch->is_over);
	pthread_join(watch->thread, NULL);
	sem_destroy(&watch->is_over);
}

static void need_watch(struct stopped *stopped)
{
	if (!stopped->watch)
		stopped->watch = begin_watch(stopped);
}

static void note_seizure(struct stopped *stopped, uint64_t since_ns)
{
	if (stopped->watch)
		atomic_store(&stopped->watch->since_ns, since_ns);
}

struct seizing {
	struct stopped *stopped;
	enum attempt outcome;
	bool found_new, found_spared;
	bool leaves_waits; /* until the others have stopped */
	bool looks_once;   /* at the only thread: the last look is the first, too */
};

static const struct stopped_sleeper *find_sleeper(const struct stopped *stopped, pid_t tid)
{
	for (size_t i = 0; i < stopped->nr_sleepers; i++) {
		if (stopped->sleepers[i].tid == tid)
			return &stopped->sleepers[i];
	}
	return NULL;
}

/* Did it sleep in the same call during the whole look? *sleeper says where. */
static bool look_at_sleep(struct stopped *stopped, struct stopped_sleeper *sleeper)
{
	struct proc_schedstat before, after;
	struct proc_syscall syscall;
	bool sleeps = proc_read_schedstat(sleeper->schedstat_fd, &before) && before.pcount &&
		      sparing_look(stopped->sparing, sleeper->tid, &syscall) == SPARING_ASLEEP &&
		      proc_read_schedstat(sleeper->schedstat_fd, &after) &&
		      after.pcount == before.pcount;

	sparing_leave(stopped->sparing);
	if (!sleeps)
		return false;
	sleeper->pcount = before.pcount;
	sleeper->sp = syscall.sp;
	sleeper->pc = syscall.pc;
	return true;
}

/* False: it does not sleep, or must not be left asleep. */
static bool leave_asleep(struct stopped *stopped, pid_t tid)
{
	struct stopped_sleeper sleeper = {.tid = tid};

	if (!stopped->leaves_sleepers || stopped->nr_sleepers == STOPPED_SLEEPERS_MAX)
		return false;
	sleeper.schedstat_fd = proc_open_task_file(stopped->pid, tid, "schedstat");
	if (sleeper.schedstat_fd >= 0 && look_at_sleep(stopped, &sleeper)) {
		stopped->sleepers[stopped->nr_sleepers++] = sleeper;
		return true;
	}
	if (sleeper.schedstat_fd >= 0)
		close(sleeper.schedstat_fd);
	return false;
}

static void forget_sleeper(struct stopped *stopped, size_t index)
{
	close(stopped->sleepers[index].schedstat_fd);
	stopped->sleepers[index] = stopped->sleepers[--stopped->nr_sleepers];
}

static bool has_slept(const struct stopped_sleeper *sleeper)
{
	struct proc_schedstat now;

	return proc_read_schedstat(sleeper->schedstat_fd, &now) && now.pcount == sleeper->pcount;
}

/* Woken threads have to be looked at again. */
static bool forget_woken(struct stopped *stopped)
{
	size_t nr = stopped->nr_sleepers;

	for (size_t i = nr; i > 0; i--) {
		if (!has_slept(&stopped->sleepers[i - 1]))
			forget_sleeper(stopped, i - 1);
	}
	return stopped->nr_sleepers < nr;
}

/* A thread that has executed a program meanwhile has its leader's id. */
static void interrupt(const struct stopped *stopped, pid_t tid)
{
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		ptrace(PTRACE_INTERRUPT, stopped->pid, NULL, NULL);
}

/* Would a stop of the thread be in vain? */
static void judge_first_look(struct seizing *seizing, enum sparing_look look,
			     const struct proc_syscall *syscall)
{
	if (look == SPARING_RUNNING ||
	    (look == SPARING_ASLEEP && !seizing->stopped->leaves_sleepers))
		seizing->outcome = ATTEMPT_SPARED;
	else if (is_in_vfork(syscall))
		seizing->outcome = ATTEMPT_AGAIN;
}

/* May it be interrupted now? If not, it is left asleep, or looked at again. */
static bool may_interrupt(struct seizing *seizing, pid_t tid)
{
	struct proc_syscall syscall;
	enum sparing_look look = sparing_look_last(seizing->stopped->sparing, tid, &syscall);

	if (seizing->looks_once) {
		judge_first_look(seizing, look, &syscall);
		if (seizing->outcome != ATTEMPT_DONE)
			return false;
	}
	switch (look) {
	case SPARING_NOT:
		return true;
	case SPARING_ASLEEP:
		if (leave_asleep(seizing->stopped, tid))
			return false;
		break;
	case SPARING_RUNNING:
		break;
	}
	seizing->found_spared = true;
	return false;
}

static void add_thread(struct stopped *stopped, const struct stopped_thread *thread)
{
	stopped->threads[stopped->nr++] = *thread;
	pid_table_set(&stopped->seized, thread->tid, stopped);
}

static bool seize_now(struct seizing *seizing, pid_t tid)
{
	struct stopped *stopped = seizing->stopped;
	long seized;

	if (stopped->nr == stopped->cap) { /* another thread reads the array: it must not move */
		seizing->outcome = ATTEMPT_AGAIN;
		return false;
	}
	if (stopped->nr)
		need_watch(stopped);
	note_seizure(stopped, clock_monotonic_ns());
	seized = ptrace(PTRACE_SEIZE, tid, NULL, NULL);
	note_seizure(stopped, 0);
	if (seized < 0) {
		if (errno == ESRCH || proc_task_has_ended(stopped->pid, tid))
			return true;
		seizing->outcome = errno == EPERM ? ATTEMPT_REFUSED : ATTEMPT_AGAIN;
		return false;
	}
	add_thread(stopped, &(struct stopped_thread){.tid = tid});
	if (!stopped->begun_ns)
		stopped->begun_ns = clock_monotonic_ns();
	seizing->found_new = true;
	interrupt(stopped, tid);
	return true;
}

static bool seize(void *context, pid_t tid)
{
	struct seizing *seizing = context;
	const struct stopped *stopped = seizing->stopped;
	bool goes_on = true;

	if (pid_table_get(&stopped->seized, tid) || find_sleeper(stopped, tid) ||
	    (seizing->leaves_waits && pid_table_get(&stopped->waiting, tid)))
		return true;
	if (may_interrupt(seizing, tid))
		goes_on = seize_now(seizing, tid);
	sparing_leave(stopped->sparing);
	return goes_on && seizing->outcome == ATTEMPT_DONE;
}

static enum attempt stop_all(struct seizing *seizing)
{
	struct stopped *stopped = seizing->stopped;
	uint64_t since_ns = clock_monotonic_ns(), seizing_ns = 0, end_ns;
	bool is_to_go_on;

	if (!stopped->begun_ns)
		stopped->begun_ns = since_ns;
	seizing->leaves_waits = true;
	do {
		seizing->found_new = seizing->found_spared = false;
		if (proc_for_each_task(stopped->pid, seize, seizing) <= 0)
			return ATTEMPT_GONE;
		if (seizing->outcome != ATTEMPT_DONE)
			return seizing->outcome;
		/* None is late because it has taken us long to come to the last one. */
		if (!seizing_ns)
			seizing_ns = clock_monotonic_ns() - since_ns;
		end_ns = since_ns + seizing_ns +
			 (stopped->nr == 1 ? STOP_NS_MAX : stopped->stop_ns) +
			 max_u64(stopped->nr * STOP_THREAD_NS, seizing_ns);
		if (!collect_until(stopped, end_ns))
			return ATTEMPT_AGAIN;
		seizing->found_new |= forget_woken(stopped);
		is_to_go_on = seizing->found_new || seizing->found_spared;
		if (is_to_go_on && clock_monotonic_ns() >= end_ns)
			return seizing->found_spared ? ATTEMPT_SPARED : ATTEMPT_AGAIN;
		if (!is_to_go_on && seizing->leaves_waits) {
			seizing->leaves_waits = false;
			since_ns = clock_monotonic_ns();
			seizing_ns = 0;
			is_to_go_on = stopped->waiting.nr > 0;
		}
		if (seizing->found_spared)
			sched_yield(); /* it may need our CPU */
	} while (is_to_go_on);
	return stopped->nr + stopped->nr_sleepers ? ATTEMPT_DONE : ATTEMPT_GONE;
}

/* The others were released. */
static void keep_pending(struct stopped *stopped)
{
	size_t nr = 0;

	for (size_t i = 0; i < stopped->nr; i++) {
		if (!stopped->threads[i].is_stopped)
			stopped->threads[nr++] = stopped->threads[i];
	}
	stopped->nr = nr;
}

static void let_go_of_stopped(struct stopped *stopped)
{

	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped_thread *thread = &stopped->threads[i];

		if (thread->is_stopped && !thread->is_adopted && read_regs(thread))
			thread->is_changed =
				visit_fix_up(thread->tid, &thread->regs, thread->is_group_stop);
	}
	let_go(stopped);
	keep_pending(stopped);
}

/*
 * An interrupted thread must stop or die before it can be released, which is done at once then. A
 * thread that does neither is left to the end of ours.
 */
static void give_up(struct stopped *stopped)
{
	uint64_t begun_ns = clock_monotonic_ns(), asked_ns = begun_ns;

	while (stopped->nr_sleepers)
		forget_sleeper(stopped, stopped->nr_sleepers - 1);

	for (;;) {
		collect(stopped, 0);
		let_go_of_stopped(stopped);
		if (!stopped->nr)
			break;
		stopped->is_stuck = letting_go_is_stuck(begun_ns);
		if (stopped->is_stuck)
			return;
		pause_ns(NS_PER_MS / 10);
		if (clock_monotonic_ns() - asked_ns < ASK_AGAIN_NS)
			continue;
		asked_ns = clock_monotonic_ns();
		for (size_t i = 0; i < stopped->nr; i++)
			ptrace(PTRACE_INTERRUPT, stopped->threads[i].tid, NULL, NULL);
	}
	if (!stopped->is_adopted)
		stopped->is_stuck = !letting_go_of(stopped->pid, stopped->command);
}

/* So that nothing is stopped in vain. */
static bool look_before(void *context, pid_t tid)
{
	struct seizing *seizing = context;
	struct stopped *stopped = seizing->stopped;
	struct proc_syscall syscall;
	enum sparing_look look = sparing_look(stopped->sparing, tid, &syscall);

	sparing_leave(stopped->sparing);
	if (look == SPARING_NOT && sparing_may_begin_again(&syscall))
		pid_table_set(&stopped->waiting, tid, stopped);
	judge_first_look(seizing, look, &syscall);
	return seizing->outcome == ATTEMPT_DONE;
}

/*
 * Makes room for the threads, and for more that are born meanwhile. The watch of several begins
 * before any is stopped. Returns how many there are.
 */
static uint64_t reserve(struct stopped *stopped)
{
	struct proc_stat stat;
	uint64_t nr = 1;

	if (proc_read_task_stat(stopped->pid, stopped->pid, &stat) && stat.nr_threads < 1000000)
		nr = stat.nr_threads;
	ARRAY_RESERVE(stopped->threads, 64 + 2 * nr, stopped->cap);
	if (nr > 1 && !stopped->is_for_one)
		need_watch(stopped);
	return nr;
}

static void begin_sparing(struct stopped *stopped, bool is_alone)
{
	stopped->sparing = xcalloc(1, sizeof(*stopped->sparing));
	sparing_init(stopped->sparing, stopped->pid, is_alone);
}

static pid_t any_thread(const struct stopped *stopped)
{
	return stopped->nr ? stopped->threads[0].tid : stopped->pid;
}

static enum attempt attempt(struct stopped *stopped)
{
	struct seizing seizing = {.stopped = stopped, .outcome = ATTEMPT_DONE};
	enum attempt outcome;
	uint64_t nr = reserve(stopped);

	if (nr > 1 && stopped->is_for_one)
		return ATTEMPT_AGAIN;
	if (!stopped->sparing)
		begin_sparing(stopped, nr == 1);
	seizing.looks_once = nr == 1;
	if (nr > 1 && proc_for_each_task(stopped->pid, look_before, &seizing) <= 0)
		return ATTEMPT_GONE;
	outcome = seizing.outcome;
	if (outcome == ATTEMPT_DONE)
		outcome = stop_all(&seizing);
	for (size_t i = 0; outcome == ATTEMPT_DONE && i < stopped->nr; i++) {
		if (!read_regs(&stopped->threads[i]))
			outcome = ATTEMPT_AGAIN;
	}
	if (stopped->nr_sleepers) /* which may execute another one */
		stopped->program = proc_program_id(stopped->pid, any_thread(stopped));
	if (outcome != ATTEMPT_DONE)
		give_up(stopped);
	return outcome;
}

/* Does a thread of ours trace it, for the moment of a visit, or nothing any more? */
static bool is_traced_by_us(pid_t pid)
{
	pid_t tracer;

	return proc_read_tracer(pid, &tracer) && (!tracer || tracer == getpid());
}

static void forget_ids(struct stopped *stopped)
{
	pid_table_release(&stopped->seized);
	pid_table_release(&stopped->waiting);
}

static void release(struct stopped *stopped)
{
	stopped->held_ns = clock_monotonic_ns() - stopped->begun_ns;
	if (stopped->watch)
		end_watch(stopped->watch);
	while (stopped->nr_sleepers)
		forget_sleeper(stopped, stopped->nr_sleepers - 1);
	if (stopped->sparing)
		sparing_end(stopped->sparing);
	free(stopped->sparing);
	free(stopped->watch);
	free(stopped->threads);
	stopped->sparing = NULL;
	stopped->watch = NULL;
	stopped->threads = NULL;
	stopped->nr = stopped->cap = 0;
	forget_ids(stopped);
}

static void begin_again(struct stopped *stopped)
{
	stopped->nr = 0;
	forget_ids(stopped);
	stopped->begun_ns = stopped->is_adopted ? clock_monotonic_ns() : 0;
	if (!stopped->is_adopted)
		return;
	ARRAY_RESERVE(stopped->threads, 1, stopped->cap);
	add_thread(stopped, &(struct stopped_thread){
				    .tid = stopped->pid, .is_stopped = true, .is_adopted = true});
}

static int begin(struct stopped *stopped, uint64_t patience_ns, struct err *err)
{
	uint64_t end_ns = clock_monotonic_ns() + patience_ns;
	enum attempt outcome;
	unsigned int nr_tries = 0;
	bool was_refused = false, is_refused;
	pid_t tgid, spared;

	stopped->stop_ns = STOP_NS;
	for (;;) {
		begin_again(stopped);
		outcome = attempt(stopped);
		if (outcome == ATTEMPT_DONE)
			return 0;
		if ((outcome == ATTEMPT_AGAIN || stopped->begun_ns) &&
		    ++nr_tries % TRIES_PER_STEP == 0)
			stopped->stop_ns = min_u64(2 * stopped->stop_ns, STOP_NS_MAX);
		/* A visitor of ours may have let go since it was in the way: try once more. */
		is_refused = outcome == ATTEMPT_REFUSED && !is_traced_by_us(stopped->pid);
		if (outcome == ATTEMPT_GONE || stopped->is_stuck || (is_refused && was_refused) ||
		    clock_monotonic_ns() >= end_ns)
			break;
		was_refused = is_refused;
		pause_ns(max_u64(AGAIN_NS,
				 stopped->begun_ns ? clock_monotonic_ns() - stopped->begun_ns : 0));
	}
	spared = stopped->sparing ? stopped->sparing->spared : 0;
	release(stopped);
	if (outcome == ATTEMPT_GONE)
		return err_set(err, ERR_GONE, "process %d has ended", (int)stopped->pid);
	if (stopped->is_stuck)
		return err_set(err, ERR_UNSUPPORTED,
			       "a thread of process %d cannot be stopped: it waits in the kernel, "
			       "perhaps for a file system that does not answer",
			       (int)stopped->pid);
	if (outcome == ATTEMPT_REFUSED && permission_to_trace(stopped->pid, &tgid, err) < 0)
		return ERR_PERMISSION;
	if (outcome == ATTEMPT_REFUSED)
		return err_set(err, ERR_PERMISSION, "process %d may not be traced",
			       (int)stopped->pid);
	if (outcome == ATTEMPT_SPARED)
		return err_set(err, ERR_UNSUPPORTED,
			       "process %d is not stopped: that would cut a transfer of its thread "
			       "%d short",
			       (int)stopped->pid, (int)spared);
	return err_set(err, ERR_UNSUPPORTED,
		       "process %d cannot be stopped: one of its threads does not stop",
		       (int)stopped->pid);
}

int stopped_begin(struct stopped *stopped, pid_t pid, pid_t command, enum stopped_extent extent,
		  uint64_t patience_ns, struct err *err)
{
	*stopped = (struct stopped){.pid = pid,
				    .command = command,
				    .leaves_sleepers = extent != STOPPED_ALL,
				    .is_for_one = extent == STOPPED_IF_ALONE};
	return begin(stopped, patience_ns, err);
}

int stopped_adopt(struct stopped *stopped, pid_t command, uint64_t patience_ns, struct err *err)
{
	*stopped = (struct stopped){
		.pid = command, .command = command, .is_adopted = true, .leaves_sleepers = true};
	return begin(stopped, patience_ns, err);
}

struct target_memory *stopped_open_memory(const struct stopped *stopped)
{
	return target_memory_open(any_thread(stopped), NULL);
}

/*
 * It has woken and runs: stop it like the others. Stopped threads have not moved since. It may have
 * executed a program, perhaps one with other rights.
 */
static void stop_woken(struct stopped *stopped, pid_t tid)
{
	struct seizing seizing = {.stopped = stopped, .outcome = ATTEMPT_DONE};

	if (seize_now(&seizing, tid) && seizing.outcome == ATTEMPT_DONE) {
		collect_until(stopped, clock_monotonic_ns() + STOP_NS);
		for (size_t i = 0; i < stopped->nr; i++) {
			struct stopped_thread *thread = &stopped->threads[i];

			if (thread->tid != tid || !thread->is_stopped)
				continue;
			read_regs(thread);
			thread->is_elsewhere =
				proc_program_id(stopped->pid, tid) != stopped->program;
		}
	}
}

/* Sleeps again soon; false: it runs, and not amid a transfer, as far as time allows to see. */
static bool sleeps_again(struct stopped *stopped, struct stopped_sleeper *sleeper)
{
	uint64_t begun_ns = clock_monotonic_ns(), took_ns;
	struct proc_syscall syscall;

	do {
		if (look_at_sleep(stopped, sleeper))
			return true;
		took_ns = clock_monotonic_ns() - begun_ns;
		if (took_ns >= WOKEN_NS &&
		    sparing_look_last(stopped->sparing, sleeper->tid, &syscall) == SPARING_NOT)
			return false;
	} while (took_ns < STOP_NS);
	return false;
}

/* True: it sleeps again, at the same index. */
static bool hold_woken(struct stopped *stopped, size_t index)
{
	pid_t tid = stopped->sleepers[index].tid;
	bool sleeps = sleeps_again(stopped, &stopped->sleepers[index]);

	if (!sleeps) {
		forget_sleeper(stopped, index);
		stop_woken(stopped, tid);
	}
	sparing_leave(stopped->sparing);
	return sleeps;
}

bool stopped_hold(struct stopped *stopped)
{
	bool has_woken = false;

	for (size_t i = stopped->nr_sleepers; i > 0; i--) {
		if (has_slept(&stopped->sleepers[i - 1]))
			continue;
		has_woken = true;
		hold_woken(stopped, i - 1);
	}
	return has_woken;
}

static bool ask_sleeper(const struct stopped *stopped, size_t index,
			bool (*ask)(void *context, struct stopped *one), void *context)
{
	struct stopped one = {
		.pid = stopped->pid, .sleepers = {stopped->sleepers[index]}, .nr_sleepers = 1};

	return ask(context, &one);
}

static bool ask_stopped(const struct stopped *stopped, pid_t tid,
			bool (*ask)(void *context, struct stopped *one), void *context)
{
	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped one = {
			.pid = stopped->pid, .threads = &stopped->threads[i], .nr = 1};

		if (stopped->threads[i].tid == tid)
			return stopped->threads[i].is_stopped && ask(context, &one);
	}
	return proc_task_has_ended(stopped->pid, tid);
}

/* Until it slept while `ask` was asked about it, or is stopped. */
static bool settle(struct stopped *stopped, size_t index, uint64_t end_ns,
		   bool (*ask)(void *context, struct stopped *one), void *context)
{
	pid_t tid = stopped->sleepers[index].tid;

	while (!has_slept(&stopped->sleepers[index])) {
		if (clock_monotonic_ns() >= end_ns)
			return false;
		if (!hold_woken(stopped, index))
			return ask_stopped(stopped, tid, ask, context);
		if (!ask_sleeper(stopped, index, ask, context))
			return false;
	}
	return true;
}

bool stopped_settle(struct stopped *stopped, bool (*ask)(void *context, struct stopped *one),
		    void *context)
{
	uint64_t end_ns = clock_monotonic_ns() + STOP_NS;

	for (size_t i = stopped->nr_sleepers; i > 0; i--) {
		if (!settle(stopped, i - 1, end_ns, ask, context))
			return false;
	}
	return true;
}

void stopped_write_back(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->nr; i++) {
		if (stopped->threads[i].is_changed)
			write_regs(&stopped->threads[i]);
		stopped->threads[i].is_changed = false;
	}
}

uint64_t stopped_thread_pointer(const struct stopped_thread *thread)
{
	return inject_thread_pointer(thread->tid, &thread->regs);
}

uint64_t stopped_stack_pointer(const struct stopped_thread *thread)
{
	return inject_stack_pointer(&thread->regs);
}

void stopped_end(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped_thread *thread = &stopped->threads[i];

		thread->is_changed |= thread->is_stopped && visit_fix_up(thread->tid, &thread->regs,
									 thread->is_group_stop);
	}
	let_go(stopped);
	/* A woken thread may have been interrupted, and not have stopped yet. */
	keep_pending(stopped);
	if (stopped->nr)
		give_up(stopped);
	release(stopped);
}
