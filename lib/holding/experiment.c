// SPDX-License-Identifier: GPL-2.0-or-later
#include "holding/experiment.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/random.h"
#include "holding/awaited.h"
#include "holding/holder.h"
#include "overhead/calibration.h"
#include "overhead/urgency.h"
#include "proc/read.h"
#include "tracee/transfer.h"
#include "whatif/plan.h"

/* Between looks, in the mean. */
#define PERIOD_NS (250 * NS_PER_US)
/* That is at least so many times what a look takes. */
#define LOOK_PART 5
/* A thread is known to have waited for us up to so many looks later. */
#define UNCLAIMED_LOOKS 8
/* Sleepers that a timer may wake any moment are looked at so often, if they slept that short. */
#define POLL_NS	     (250 * NS_PER_US)
#define POLL_LAST_NS (50 * NS_PER_MS)
#define LIST_NS	     (50 * NS_PER_MS)
#define IDLE_NS	     (20 * NS_PER_MS) /* holds have ended by then */
#define END_MS	     2000	      /* a process without threads has ended by then */
#define MOST_THREADS 512
/* A thread that makes a long transfer makes more of them: so many looks leave it alone. */
#define GUARDED_LOOKS 2000
/* After its begin a program maps more code: so often at first, and then ever more rarely. */
#define REFRESH_NS NS_PER_MS
/* The first part of a window, in which the program comes to its new pace, does not count. */
#define LEAD_PART 5

/* A thread of the process. */
struct watched {
	pid_t tid;
	struct holder *holder;
	struct proc_schedstat clocks; /* when it was looked at last */
	uint64_t looked_ns, held_ns;  /* then */
	uint64_t sampled_ns;	      /* its CPU time at its last sample */
	uint64_t waited_ns;	      /* that it had waited for a CPU by then */
	uint64_t our_cpu_ns;	      /* our CPU time, then */
	uint64_t pcount;	      /* as last read */
	uint64_t asleep_since_ns;
	int cpu;
	bool is_asleep, sleeps_outside;
	bool is_new, is_there, is_awake;
	bool was_chosen;	 /* as the one that has its CPU */
	unsigned int nr_guarded; /* looks for which it is not stopped, as a transfer would be cut */
};

/* The thread that runs there. */
struct found_on_cpu {
	struct watched *thread;
	uint64_t rank;
};

/* A window that is to be run. */
struct job {
	bool (*run)(struct experiment *experiment, const struct job *job);
	const struct experiment_function *function;
	uint64_t ns; /* its length, or when it ends */
	struct whatif_window *window;
	bool result;
};

/*
 * A thread of its own runs all windows: that which has started the process, a child of ours, must
 * visit no thread. As the parent its wait for a stop takes those of the process's first thread from
 * the holder that awaits them, and that then holds it until its patience ends.
 */
struct looker {
	pthread_t id;
	bool has_begun;
	uint64_t poll_ns; /* our CPU time for the last poll */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *job; /* NULL: it is idle */
	bool is_to_end;
};

struct experiment {
	struct experiment_options options;
	struct looker looker;
	struct holding holding;
	struct awaited awaited;
	struct watched *threads; /* owned */
	size_t nr, cap;
	struct whatif_account **accounts; /* owned: room for those of all threads */
	size_t cap_accounts;
	struct found_on_cpu *by_cpu; /* owned: in a look */
	size_t nr_cpus, first;	     /* first: to be visited */
	uint64_t listed_ns, look_ns; /* look_ns: our CPU time for a look, in the mean */
	uint64_t next_ns;	     /* look */
	uint64_t unclaimed_ns;	     /* our CPU time that no thread is known to have waited for, */
	uint64_t claimed_ns;	     /* but for this, in the current look */
	bool awaits_end;	     /* of the process */
	int end_fd;		     /* readable from then on; -1: before Linux 5.3 */
	uint64_t aimed_ns, refreshed_ns;
	uint64_t random;
	bool is_stuck;		  /* a thread does not stop, and cannot be left */
	struct whatif_flow *flow; /* borrowed: of a window; or NULL */
	struct experiment_counts counts;
};

static struct timespec as_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC)};
}

/* Or until the process ends, if that is waited for. */
static void sleep_until(const struct experiment *experiment, uint64_t ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct pollfd end = {.fd = experiment->end_fd, .events = POLLIN};
	struct timespec until = as_timespec(ns), rest = as_timespec(ns - min_u64(ns, now_ns));

	if (experiment->end_fd < 0)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	else
		ppoll(&end, 1, &rest, NULL);
}

/* --- which threads there are --- */

static bool note_thread(void *context, pid_t tid)
{
	struct experiment *experiment = context;
	struct holder *holder;

	for (size_t i = 0; i < experiment->nr; i++) {
		if (experiment->threads[i].tid != tid)
			continue;
		experiment->threads[i].is_there = true;
		return true;
	}
	if (experiment->nr == MOST_THREADS)
		return false;
	holder = holder_new(&experiment->holding, experiment->options.pid, tid);
	whatif_account_open(&holder->account, &experiment->holding.accounts);
	ARRAY_GROW(experiment->threads, experiment->nr, experiment->cap);
	experiment->threads[experiment->nr++] = (struct watched){
		.tid = tid, .holder = holder, .cpu = -1, .is_new = true, .is_there = true};
	return true;
}

static void count_thread(const struct watched *thread, struct experiment_counts *counts)
{
	const struct holder *holder = thread->holder;

	counts->nr_holds += holder->nr_holds;
	/* The last thread to be reaped is the first one of the process. */
	if (holder->is_reaped && holder->tracee.tid == holder->tracee.tgid) {
		counts->is_reaped = true;
		counts->status = holder->reaped_status;
	}
}

static void forget_thread(struct experiment *experiment, size_t index)
{
	struct watched *thread = &experiment->threads[index];

	count_thread(thread, &experiment->counts);
	holder_free(thread->holder);
	*thread = experiment->threads[--experiment->nr];
}

/* False: the process has ended. */
static bool list_threads(struct experiment *experiment)
{
	for (size_t i = 0; i < experiment->nr; i++)
		experiment->threads[i].is_there = false;
	if (proc_for_each_task(experiment->options.pid, note_thread, experiment) <= 0)
		return false;
	for (size_t i = experiment->nr; i > 0; i--)
		if (!experiment->threads[i - 1].is_there)
			forget_thread(experiment, i - 1);
	experiment->listed_ns = clock_monotonic_ns();
	experiment->counts.nr_threads = max_u64(experiment->counts.nr_threads, experiment->nr);
	ARRAY_RESERVE(experiment->accounts, experiment->nr, experiment->cap_accounts);
	/* The first thread may end before the others. */
	return experiment->nr > 1 ||
	       (experiment->nr > 0 &&
		!proc_task_has_ended(experiment->options.pid, experiment->options.pid));
}

/* --- a look at all of them --- */

/* Would a stop cut its call short? */
static void guard_transfer(struct watched *thread, const struct proc_syscall *call, bool is_asleep)
{
	pid_t pid = thread->holder->tracee.tgid;

	if (call->kind == PROC_SYSCALL_INSIDE &&
	    (transfer_is_made(pid, call) || (is_asleep && transfer_waits_for_room(pid, call))) &&
	    !transfer_never_waits(pid, call) && !transfer_is_of_file(pid, call))
		thread->nr_guarded = GUARDED_LOOKS;
}

/* Is a thread that sleeps in this call woken by another one of its process? */
static bool is_woken_inside(struct experiment *experiment, struct watched *thread)
{
	struct proc_syscall call;
	enum awaited_from from;

	experiment->counts.nr_sleeps++;
	if (!tracee_syscall(&thread->holder->tracee, &call) || call.kind != PROC_SYSCALL_INSIDE)
		return true; /* it is about to run */
	guard_transfer(thread, &call, true);
	from = awaited_from(&experiment->awaited, &call);
	experiment->counts.nr_undecided += from == AWAITED_UNKNOWN;
	return from == AWAITED_INSIDE;
}

/* Note what it has done since the last look; its clocks are exact, as it is on no CPU. */
static void note_clocks(struct watched *thread, const struct proc_schedstat *clocks,
			uint64_t now_ns)
{
	struct whatif_seen *seen = &thread->holder->account.seen;
	uint64_t held_ns = thread->holder->held_ns;
	uint64_t busy_ns = clocks->cpu_ns - thread->clocks.cpu_ns + clocks->runq_ns -
			   thread->clocks.runq_ns + held_ns - thread->held_ns;
	uint64_t past_ns = now_ns - min_u64(now_ns, thread->looked_ns);

	seen->slept_ns = thread->is_new ? 0 : past_ns - min_u64(past_ns, busy_ns);
	if (thread->is_new) {
		thread->sampled_ns = clocks->cpu_ns;
		thread->waited_ns = clocks->runq_ns;
		thread->our_cpu_ns = clock_thread_cpu_ns();
	}
	thread->is_new = false;
	thread->clocks = *clocks;
	thread->looked_ns = now_ns;
	thread->held_ns = held_ns;
}

static bool is_spared(struct experiment *experiment, struct watched *thread)
{
	experiment->counts.nr_running++;
	if (!thread->nr_guarded)
		return false;
	thread->nr_guarded--;
	experiment->counts.nr_spared++;
	return true;
}

/*
 * One of the threads that want a CPU has it: the one that has come to it most often since
 * the last look, or else the same as then.
 */
static void note_running(struct experiment *experiment, struct watched *thread,
			 uint64_t nr_arrivals)
{
	struct found_on_cpu *found = &experiment->by_cpu[(size_t)thread->cpu % experiment->nr_cpus];
	uint64_t rank = 2 * nr_arrivals + thread->was_chosen;

	if (!found->thread || rank > found->rank)
		*found = (struct found_on_cpu){.thread = thread, .rank = rank};
}

/* It is not traced. */
static void look_at(struct experiment *experiment, struct watched *thread)
{
	struct tracee *tracee = &thread->holder->tracee;
	struct whatif_seen *seen = &thread->holder->account.seen;
	struct proc_schedstat clocks;
	uint64_t nr_arrivals;
	struct proc_stat stat;
	bool has_run;

	if (!tracee_clocks(tracee, &clocks))
		return;
	nr_arrivals = clocks.pcount - thread->pcount;
	has_run = thread->is_new || nr_arrivals || clocks.cpu_ns != thread->clocks.cpu_ns;
	if (has_run || !thread->is_asleep) {
		if (!tracee_stat(tracee, &stat) ||
		    stat.flags & (PROC_FLAGS_ENDING | PROC_FLAG_USER_WORKER))
			return;
		thread->pcount = clocks.pcount;
		thread->cpu = stat.cpu;
		if (stat.state == 'R') {
			thread->is_asleep = false;
			thread->is_awake = !is_spared(experiment, thread);
			if (thread->is_awake && stat.cpu >= 0)
				note_running(experiment, thread, nr_arrivals);
			return;
		}
		/* After the last time on a CPU its clocks are still to be brought up to date. */
		if (!tracee_clocks(tracee, &clocks))
			return;
		thread->sleeps_outside = !is_woken_inside(experiment, thread);
		thread->is_asleep = true;
		thread->asleep_since_ns = clock_monotonic_ns();
	}
	note_clocks(thread, &clocks, clock_monotonic_ns());
	seen->state = thread->sleeps_outside ? WHATIF_AWAITS_OUTSIDE : WHATIF_AWAITS_THREAD;
}

static bool is_in(const struct experiment_function *function, uint64_t pc)
{
	for (size_t i = 0; i < function->nr_ranges; i++)
		if (pc >= function->ranges[i].start && pc < function->ranges[i].end)
			return true;
	return false;
}

/*
 * How long it has waited, since its sample before, for a CPU that we had: a stop like others. Else
 * we would slow down another thread in a trial than in its baselines, as holds leave other CPUs
 * idle. Threads that wait for each other as well would all claim the same time of ours.
 */
static uint64_t waited_for_us_ns(struct experiment *experiment, struct watched *thread,
				 const struct proc_schedstat *clocks)
{
	uint64_t our_cpu_ns = clock_thread_cpu_ns();
	uint64_t ns = min_u64(clocks->runq_ns - thread->waited_ns, our_cpu_ns - thread->our_cpu_ns);

	ns = min_u64(ns, experiment->unclaimed_ns);
	experiment->claimed_ns = max_u64(experiment->claimed_ns, ns);
	thread->waited_ns = clocks->runq_ns;
	thread->our_cpu_ns = our_cpu_ns;
	return ns;
}

/* Such a one stays idle without us, and its `tracee` is ours. */
static void note_idle_holders(struct experiment *experiment)
{
	pthread_mutex_lock(&experiment->holding.lock);
	for (size_t i = 0; i < experiment->nr; i++)
		experiment->threads[i].is_there = !experiment->threads[i].holder->is_busy;
	pthread_mutex_unlock(&experiment->holding.lock);
}

/* A sample stands for the CPU time since the one before. */
static void sample(struct experiment *experiment, struct watched *thread,
		   const struct experiment_function *function)
{
	struct holder *holder = thread->holder;
	struct whatif_seen *seen = &holder->account.seen;
	struct proc_schedstat clocks;
	const struct stop_overhead *overhead = &experiment->holding.overhead;
	bool is_on_our_cpu = thread->cpu == sched_getcpu();
	struct held_stop stop;
	enum visit_outcome outcome;

	holder->cpu = thread->cpu;
	outcome = holder_stop(holder, &stop);
	experiment->is_stuck |= outcome == VISIT_PENDING;
	if (outcome != VISIT_STOPPED) {
		holder_refuse(holder);
		experiment->counts.nr_spared++;
		return;
	}
	if (tracee_clocks(&holder->tracee, &clocks)) {
		note_clocks(thread, &clocks, stop.visit.stopped_ns);
		seen->stopped_ns = waited_for_us_ns(experiment, thread, &clocks);
		seen->cpu_ns = clocks.cpu_ns - min_u64(clocks.cpu_ns, thread->sampled_ns);
		thread->sampled_ns = clocks.cpu_ns;
		if (is_in(function, stop.pc))
			seen->state = WHATIF_HITS;
	}
	seen->stopped_ns += clock_monotonic_ns() - stop.visit.stopped_ns +
			    (is_on_our_cpu ? overhead->beside_ns : overhead->away_ns);
	holder_let_go(holder, &stop);
	guard_transfer(thread, &stop.visit.syscall, false);
}

/* One that runs on each CPU; in another order each time. */
static void sample_running(struct experiment *experiment,
			   const struct experiment_function *function)
{
	size_t nr = experiment->nr_cpus;

	for (size_t i = 0; i < experiment->nr; i++)
		experiment->threads[i].was_chosen = false;
	for (size_t i = 0; i < nr && !experiment->is_stuck; i++) {
		struct watched *thread = experiment->by_cpu[(i + experiment->first) % nr].thread;

		if (!thread)
			continue;
		thread->was_chosen = true;
		if (clock_monotonic_ns() >= thread->holder->refused_until_ns)
			sample(experiment, thread, function);
		else
			experiment->counts.nr_spared++;
	}
	experiment->first++;
}

/* Debtors that are awake are held. Under the lock. */
static void hold_debtors(struct experiment *experiment)
{
	for (size_t i = 0; i < experiment->nr; i++) {
		struct watched *thread = &experiment->threads[i];
		struct holder *holder = thread->holder;

		if (thread->is_awake && !holder->is_busy &&
		    clock_monotonic_ns() >= holder->refused_until_ns &&
		    whatif_account_hold_ns(&holder->account, &experiment->holding.accounts))
			holder_hold(holder, thread->cpu);
	}
}

/* By the clock without holds. Only this thread lets the program's account grow. */
static int64_t virtual_clock_ns(const struct experiment *experiment)
{
	return (int64_t)(clock_monotonic_ns() - experiment->holding.accounts.global_ns);
}

static int64_t nr_inside(const struct experiment *experiment)
{
	return experiment->options.inside ? experiment->options.inside(experiment->options.context)
					  : 0;
}

/* Only one wait, the longest, is claimed in a look. */
static void note_our_cpu(struct experiment *experiment, uint64_t ns)
{
	experiment->look_ns += ns / 16 - experiment->look_ns / 16;
	experiment->unclaimed_ns = min_u64(experiment->unclaimed_ns - experiment->claimed_ns + ns,
					   UNCLAIMED_LOOKS * experiment->look_ns);
	experiment->claimed_ns = 0;
}

static void look(struct experiment *experiment, const struct experiment_function *function)
{
	pthread_mutex_t *lock = &experiment->holding.lock;
	uint64_t begun_ns = clock_thread_cpu_ns();
	int64_t inside;

	memset(experiment->by_cpu, 0, experiment->nr_cpus * sizeof(*experiment->by_cpu));
	note_idle_holders(experiment);
	for (size_t i = 0; i < experiment->nr; i++) {
		struct watched *thread = &experiment->threads[i];

		thread->is_awake = false;
		thread->holder->account.seen = (struct whatif_seen){.state = WHATIF_RUNS};
		experiment->accounts[i] = &thread->holder->account;
	}
	for (size_t i = 0; i < experiment->nr; i++)
		if (experiment->threads[i].is_there)
			look_at(experiment, &experiment->threads[i]);
	sample_running(experiment, function);
	inside = nr_inside(experiment);
	pthread_mutex_lock(lock);
	whatif_look(&experiment->holding.accounts, experiment->accounts, experiment->nr,
		    function->part, clock_monotonic_ns());
	for (size_t i = 0; i < experiment->nr; i++)
		if (experiment->threads[i].nr_guarded)
			whatif_account_settle(experiment->accounts[i],
					      &experiment->holding.accounts);
	hold_debtors(experiment);
	pthread_mutex_unlock(lock);
	if (experiment->flow)
		whatif_flow_add(experiment->flow, inside, virtual_clock_ns(experiment));
	note_our_cpu(experiment, clock_thread_cpu_ns() - begun_ns);
}

/* --- those that the outside wakes --- */

static bool may_wake_soon(const struct watched *thread, uint64_t now_ns)
{
	return thread->is_asleep && thread->sleeps_outside && !thread->nr_guarded &&
	       now_ns < thread->asleep_since_ns + POLL_LAST_NS;
}

/* As often in baselines, where nothing is owed. */
static bool shall_poll(const struct experiment *experiment, uint64_t now_ns)
{
	for (size_t i = 0; i < experiment->nr; i++)
		if (may_wake_soon(&experiment->threads[i], now_ns))
			return true;
	return false;
}

static void hold_those_that_woke(struct experiment *experiment, uint64_t now_ns)
{
	uint64_t begun_ns = clock_thread_cpu_ns();

	note_idle_holders(experiment);
	for (size_t i = 0; i < experiment->nr; i++) {
		struct watched *thread = &experiment->threads[i];
		struct tracee *tracee = &thread->holder->tracee;
		struct proc_schedstat clocks;
		struct proc_stat stat;

		if (!thread->is_there || !may_wake_soon(thread, now_ns) ||
		    !tracee_clocks(tracee, &clocks) || clocks.pcount == thread->clocks.pcount)
			continue;
		thread->is_awake = tracee_stat(tracee, &stat) && stat.state == 'R' &&
				   !(stat.flags & PROC_FLAGS_ENDING);
		thread->cpu = thread->is_awake ? stat.cpu : thread->cpu;
	}
	pthread_mutex_lock(&experiment->holding.lock);
	hold_debtors(experiment);
	pthread_mutex_unlock(&experiment->holding.lock);
	experiment->looker.poll_ns = clock_thread_cpu_ns() - begun_ns;
}

/* --- windows --- */

static bool is_asked_to_end(const struct experiment *experiment)
{
	return experiment->options.ended && atomic_load(experiment->options.ended);
}

static bool is_idle(const struct experiment *experiment)
{
	for (size_t i = 0; i < experiment->nr; i++)
		if (experiment->threads[i].holder->is_busy)
			return false;
	return true;
}

/* Holds of the last window end, and what is still owed is forgiven. */
static void settle(struct experiment *experiment)
{
	struct holding *holding = &experiment->holding;
	uint64_t until_ns = clock_monotonic_ns() + IDLE_NS;
	struct timespec until = as_timespec(until_ns);

	pthread_mutex_lock(&holding->lock);
	for (size_t i = 0; i < experiment->nr; i++)
		whatif_account_settle(&experiment->threads[i].holder->account, &holding->accounts);
	while (!is_idle(experiment) && clock_monotonic_ns() < until_ns)
		pthread_cond_timedwait(&holding->told, &holding->lock, &until);
	for (size_t i = 0; i < experiment->nr; i++)
		whatif_account_settle(&experiment->threads[i].holder->account, &holding->accounts);
	pthread_mutex_unlock(&holding->lock);
}

/*
 * Debts come in lumps of what samples stand for, so that gaps are more even than those of the
 * sampler (overhead/schedule.h), and no rhythm of the program's is met all the same.
 */
static uint64_t gap_ns(struct experiment *experiment)
{
	uint64_t period_ns = max_u64(PERIOD_NS, LOOK_PART * experiment->look_ns);

	return period_ns / 2 + random_next(&experiment->random) % period_ns;
}

static bool has_ended(const struct experiment *experiment)
{
	struct pollfd end = {.fd = experiment->end_fd, .events = POLLIN};

	if (experiment->end_fd >= 0)
		return poll(&end, 1, 0) == 1;
	return experiment->awaits_end && experiment->nr <= 1 &&
	       proc_task_has_ended(experiment->options.pid, experiment->options.pid);
}

static void refresh(struct experiment *experiment, struct experiment_function *function,
		    uint64_t now_ns)
{
	uint64_t age_ns = experiment->refreshed_ns - experiment->aimed_ns;

	if (!experiment->awaits_end || !experiment->options.refresh ||
	    now_ns < experiment->refreshed_ns + min_u64(max_u64(age_ns, REFRESH_NS), LIST_NS))
		return;
	experiment->options.refresh(experiment->options.context, function);
	experiment->refreshed_ns = clock_monotonic_ns();
}

/* Look at the threads until then. False: it cannot go on. */
static bool look_until(struct experiment *experiment, struct experiment_function *function,
		       uint64_t end_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	while (now_ns < end_ns) {
		bool polls = shall_poll(experiment, now_ns);

		sleep_until(experiment,
			    min_u64(min_u64(experiment->next_ns, end_ns),
				    polls ? now_ns + max_u64(POLL_NS,
							     LOOK_PART * experiment->looker.poll_ns)
					  : UINT64_MAX));
		now_ns = clock_monotonic_ns();
		if (is_asked_to_end(experiment) || experiment->is_stuck || has_ended(experiment))
			return false;
		if (now_ns < experiment->next_ns) {
			if (polls)
				hold_those_that_woke(experiment, now_ns);
			continue;
		}
		look(experiment, function);
		refresh(experiment, function, now_ns);
		if (now_ns - experiment->listed_ns > LIST_NS && !list_threads(experiment))
			return false;
		now_ns = clock_monotonic_ns();
		experiment->next_ns = max_u64(experiment->next_ns, now_ns) + gap_ns(experiment);
	}
	return true;
}

/* The largest debt that was not held for yet. */
static uint64_t most_owed_ns(struct experiment *experiment)
{
	struct holding *holding = &experiment->holding;
	uint64_t most_ns = 0;

	pthread_mutex_lock(&holding->lock);
	for (size_t i = 0; i < experiment->nr; i++) {
		const struct watched *thread = &experiment->threads[i];
		uint64_t own_ns = thread->holder->account.own_ns;

		if (thread->is_awake && !thread->nr_guarded)
			most_ns = max_u64(most_ns,
					  holding->accounts.global_ns -
						  min_u64(holding->accounts.global_ns, own_ns));
	}
	pthread_mutex_unlock(&holding->lock);
	return most_ns;
}

/* How it stands now. */
static struct whatif_window reading(struct experiment *experiment)
{
	const struct whatif_accounts *accounts = &experiment->holding.accounts;
	uint64_t progress = experiment->options.progress
				    ? experiment->options.progress(experiment->options.context)
				    : 0;
	uint64_t now_ns = clock_monotonic_ns();

	return (struct whatif_window){.progress = progress,
				      .real_ns = now_ns,
				      .virtual_ns = now_ns - accounts->global_ns,
				      .refused_ns = accounts->refused_ns};
}

static void take_difference(struct experiment *experiment, const struct whatif_window *begun,
			    struct whatif_window *window)
{
	struct whatif_window end = reading(experiment);

	*window = (struct whatif_window){
		.progress = end.progress - begun->progress,
		.real_ns = end.real_ns - begun->real_ns,
		.virtual_ns = end.virtual_ns - begun->virtual_ns,
		.refused_ns = end.refused_ns - begun->refused_ns,
		.late_ns = most_owed_ns(experiment),
	};
	experiment->counts.real_ns += window->real_ns;
	experiment->counts.virtual_ns += window->virtual_ns;
}

/* Look at the threads until then, and note how many requests are inside. */
static bool look_at_flow(struct experiment *experiment, struct experiment_function *function,
			 uint64_t end_ns, struct whatif_flow *flow)
{
	bool goes_on;

	whatif_flow_begin(flow, nr_inside(experiment), virtual_clock_ns(experiment));
	experiment->flow = experiment->options.inside ? flow : NULL;
	goes_on = look_until(experiment, function, end_ns);
	experiment->flow = NULL;
	return goes_on;
}

static bool run_window(struct experiment *experiment, const struct job *job)
{
	struct experiment_function wanted = *job->function;
	struct whatif_window begun;
	struct whatif_flow flows[2];
	uint64_t now_ns, half_ns = job->ns * (LEAD_PART - 1) / LEAD_PART / 2;
	bool goes_on = list_threads(experiment);

	settle(experiment);
	now_ns = clock_monotonic_ns();
	experiment->next_ns = now_ns + gap_ns(experiment);
	goes_on = goes_on && look_until(experiment, &wanted, now_ns + job->ns / LEAD_PART);
	begun = reading(experiment);
	goes_on = goes_on && look_at_flow(experiment, &wanted, now_ns + job->ns - half_ns, flows);
	goes_on = goes_on && look_at_flow(experiment, &wanted, now_ns + job->ns, flows + 1);
	take_difference(experiment, &begun, job->window);
	/* The bytes that a process has written are not known any more once it has ended. */
	goes_on = goes_on && list_threads(experiment);
	if (goes_on)
		memcpy(job->window->flows, flows, sizeof(flows));
	return goes_on;
}

/* Its threads are gone, or nearly so; else they could not be listed. */
static bool await_end(const struct experiment *experiment)
{
	struct pollfd end = {.fd = experiment->end_fd, .events = POLLIN};

	return experiment->end_fd < 0 || poll(&end, 1, END_MS) == 1;
}

static bool run_to_end(struct experiment *experiment, const struct job *job)
{
	struct experiment_function wanted = *job->function;
	struct whatif_window begun = reading(experiment);
	bool is_over;

	experiment->awaits_end = true;
	experiment->end_fd = (int)syscall(SYS_pidfd_open, experiment->options.pid, 0);
	experiment->aimed_ns = experiment->refreshed_ns = begun.real_ns;
	experiment->next_ns = begun.real_ns + gap_ns(experiment);
	is_over = !look_until(experiment, &wanted, job->ns) && !is_asked_to_end(experiment) &&
		  !experiment->is_stuck && await_end(experiment);
	take_difference(experiment, &begun, job->window);
	job->window->progress = is_over;
	if (experiment->end_fd >= 0)
		close(experiment->end_fd);
	experiment->end_fd = -1;
	experiment->awaits_end = false;
	return is_over;
}

/* At a stop of another thread than the first: that one's may be what kills. */
static bool filters_forbid_stops(struct experiment *experiment, const struct job *job)
{
	struct held_stop stop;

	(void)job;
	for (size_t i = 0; i < experiment->nr; i++) {
		struct holder *holder = experiment->threads[i].holder;
		struct proc_status status;
		enum visit_outcome outcome;

		if (holder->tracee.tid == holder->tracee.tgid ||
		    !proc_read_status(holder->tracee.tid, &status) || !status.nr_filters)
			continue;
		holder->reads_filters = true;
		outcome = holder_stop(holder, &stop);
		holder->reads_filters = false;
		experiment->is_stuck |= outcome == VISIT_PENDING;
		if (outcome != VISIT_STOPPED)
			continue;
		holder_let_go(holder, &stop);
		if (stop.visit.filters == VISIT_FILTERS_FORBID)
			return true;
	}
	return false;
}

/* --- the thread that looks --- */

static void *look_on_demand(void *argument)
{
	struct experiment *experiment = argument;
	struct looker *looker = &experiment->looker;

	/* Not real-time, which stays on its CPU though another one is idle. */
	urgency_short_slices();
	pthread_mutex_lock(&looker->lock);
	while (!looker->is_to_end) {
		struct job *job = looker->job;

		if (!job) {
			pthread_cond_wait(&looker->changed, &looker->lock);
			continue;
		}
		pthread_mutex_unlock(&looker->lock);
		job->result = job->run(experiment, job);
		pthread_mutex_lock(&looker->lock);
		looker->job = NULL;
		pthread_cond_broadcast(&looker->changed);
	}
	pthread_mutex_unlock(&looker->lock);
	return NULL;
}

static int begin_looker(struct experiment *experiment, struct err *err)
{
	struct looker *looker = &experiment->looker;

	pthread_mutex_init(&looker->lock, NULL);
	pthread_cond_init(&looker->changed, NULL);
	errno = pthread_create(&looker->id, NULL, look_on_demand, experiment);
	looker->has_begun = !errno;
	return looker->has_begun ? 0 : err_sys(err, "cannot start a thread");
}

static void end_looker(struct looker *looker)
{
	pthread_mutex_lock(&looker->lock);
	looker->is_to_end = true;
	pthread_cond_broadcast(&looker->changed);
	pthread_mutex_unlock(&looker->lock);
	if (looker->has_begun)
		pthread_join(looker->id, NULL);
	pthread_mutex_destroy(&looker->lock);
	pthread_cond_destroy(&looker->changed);
}

static bool have_run(struct experiment *experiment, struct job *job)
{
	struct looker *looker = &experiment->looker;

	pthread_mutex_lock(&looker->lock);
	looker->job = job;
	pthread_cond_broadcast(&looker->changed);
	while (looker->job)
		pthread_cond_wait(&looker->changed, &looker->lock);
	pthread_mutex_unlock(&looker->lock);
	return job->result;
}

bool experiment_run(struct experiment *experiment, const struct experiment_function *function,
		    uint64_t length_ns, struct whatif_window *window)
{
	struct job job = {
		.run = run_window, .function = function, .ns = length_ns, .window = window};

	return have_run(experiment, &job);
}

bool experiment_run_to_end(struct experiment *experiment,
			   const struct experiment_function *function, uint64_t until_ns,
			   struct whatif_window *window)
{
	struct job job = {
		.run = run_to_end, .function = function, .ns = until_ns, .window = window};

	return have_run(experiment, &job);
}

struct experiment *experiment_new(const struct experiment_options *options, struct err *err)
{
	struct experiment *experiment = xcalloc(1, sizeof(*experiment));

	experiment->options = *options;
	experiment->end_fd = -1;
	experiment->nr_cpus = (size_t)max_u64((uint64_t)sysconf(_SC_NPROCESSORS_CONF), 1);
	experiment->by_cpu = xcalloc(experiment->nr_cpus, sizeof(*experiment->by_cpu));
	experiment->random = clock_monotonic_ns() | 1;
	holding_init(&experiment->holding);
	experiment->holding.accounts.governor.most = options->max_slowdown;
	calibration_run(&experiment->holding.overhead, urgency_realtime);
	if (begin_looker(experiment, err) == 0 &&
	    (!options->pid || experiment_aim(experiment, options->pid, err) == 0))
		return experiment;
	experiment_free(experiment);
	return NULL;
}

int experiment_aim(struct experiment *experiment, pid_t pid, struct err *err)
{
	/* It stays known how the former one has ended, until there is another. */
	if (pid)
		experiment->counts.is_reaped = experiment->is_stuck = false;
	while (experiment->nr)
		forget_thread(experiment, experiment->nr - 1);
	experiment->options.pid = pid;
	awaited_release(&experiment->awaited);
	experiment->awaited = (struct awaited){.pid = pid};
	if (!pid)
		return 0;
	if (!list_threads(experiment))
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	if (have_run(experiment, &(struct job){.run = filters_forbid_stops}))
		return err_set(err, ERR_UNSUPPORTED,
			       "a filter of system calls (seccomp) kills process %d for "
			       "restart_syscall, which holds may cause",
			       (int)pid);
	return 0;
}

struct experiment_counts experiment_counts(struct experiment *experiment)
{
	struct experiment_counts counts = experiment->counts;

	pthread_mutex_lock(&experiment->holding.lock);
	for (size_t i = 0; i < experiment->nr; i++)
		count_thread(&experiment->threads[i], &counts);
	pthread_mutex_unlock(&experiment->holding.lock);
	return counts;
}

void experiment_free(struct experiment *experiment)
{
	if (!experiment)
		return;
	atomic_store(&experiment->holding.is_over, true);
	end_looker(&experiment->looker);
	while (experiment->nr)
		forget_thread(experiment, experiment->nr - 1);
	holding_release(&experiment->holding);
	awaited_release(&experiment->awaited);
	free(experiment->threads);
	free(experiment->accounts);
	free(experiment->by_cpu);
	free(experiment);
}
