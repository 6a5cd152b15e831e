// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One tick. It reads the clocks of the threads that are due. A thread that has not run since its
 * last sample still sleeps; a newly sleeping thread is peeked at; of the running threads, one on
 * each CPU is visited.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "overhead/urgency.h"
#include "proc/read.h"
#include "sampler/core_dump_priv.h"
#include "sampler/dues_priv.h"
#include "sampler/guard_priv.h"
#include "sampler/publish_priv.h"
#include "sampler/sampler_priv.h"
#include "sampler/visiting_priv.h"
#include "sampler/visitor_pool_priv.h"
#include "sampler/visitor_priv.h"
#include "sampler/waits_priv.h"
#include "snapshot/snapshot.h"
#include "syscall/traits.h"
#include "tracee/transfer.h"

#define LONGEST_DUE_NS	NS_PER_SEC
#define MOST_DUE_NS	(4 * NS_PER_SEC)
#define LONG_SLEEP_PART 32
/* As long where all sleeps are wanted at once, for a file. */
#define LONGEST_ALL_NS (NS_PER_SEC / 4)
/* The pause for a thread whose system call cannot be read. */
#define HIDDEN_NS (50 * NS_PER_MS)

/* Reading threads takes at most a third of a period, and at low rates no longer than this. */
#define TICK_PART	  3
#define LONGEST_READS_NS  (2 * NS_PER_MS)
#define SHORTEST_READS_NS (NS_PER_MS / 4)

static uint64_t reads_end_ns(const struct sampler *sampler, uint64_t now_ns)
{
	uint64_t part_ns = sampler->schedule.period_ns / TICK_PART;

	if (sampler->tick.wants_all)
		return now_ns + LONGEST_ALL_NS;
	return now_ns + max_u64(min_u64(part_ns, LONGEST_READS_NS), SHORTEST_READS_NS);
}

/*
 * A thread that has slept for so long is looked at after this part of it, up to a second; then 4.
 * At once up to 4 if its process is watched, unless its lock may get another owner meanwhile.
 */
static uint64_t sleep_pause_ns(const struct sampled_thread *thread, uint64_t slept_ns)
{
	bool is_watched = thread->process->is_quiet && thread->process->cpu.clock.is_watched &&
			  !thread->sleep.wait.owner_at;
	uint64_t longest_ns =
		is_watched ? MOST_DUE_NS : max_u64(LONGEST_DUE_NS, slept_ns / LONG_SLEEP_PART);

	return min_u64(slept_ns / SLEEP_PART, min_u64(longest_ns, MOST_DUE_NS));
}

/* It is due in the next tick. */
static void put_active(struct sampler *sampler, struct sampled_thread *thread)
{
	due_put(sampler, thread, true, sampler->tick.now_ns + 1);
}

static void add_running(struct tick *tick, struct sampled_thread *thread)
{
	ARRAY_GROW(tick->running, tick->nr_running, tick->cap_running);
	tick->running[tick->nr_running++] = thread;
}

/* A sleep is published about once a second, and the longer it lasts, the more rarely. */
#define PUBLISH_SLEEP_NS NS_PER_SEC

/*
 * A woken thread counts as scheduled in only once it has a CPU, so that its wait for one would look
 * like sleep. An idle CPU elsewhere does not exclude a wait: the thread may be bound to a busy one.
 */
static bool waits_for_cpu(struct sampled_thread *thread)
{
	struct proc_syscall syscall;

	return tracee_syscall(&thread->roster->tracee, &syscall) &&
	       syscall.kind == PROC_SYSCALL_RUNNING;
}

/* The thread has slept since its last sample: its stack is still the same. */
static void still_the_same(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct seen_sleep *sleep = &thread->sleep;
	uint64_t slept_ns = now_ns - sleep->from_ns;

	book_met(thread, now_ns);
	if (!sleep->is_asleep || waits_for_cpu(thread)) {
		put_active(sampler, thread);
		return;
	}
	sleep->until_ns = sleep->sure_ns = now_ns;
	sleep->nr++;
	sampler->counts.nr_resting++;
	if (waits_for_another(thread) || thread->published_ns < sampler->tick.sleeps_asked_ns ||
	    now_ns - thread->published_ns >= PUBLISH_SLEEP_NS + slept_ns / 4)
		publish_sleep(sampler, thread);
	if (slept_ns > NS_PER_SEC)
		tracee_rest_files(&thread->roster->tracee);
	due_put(sampler, thread, false, now_ns + 1 + sleep_pause_ns(thread, slept_ns));
}

/* Did only a visit wake it, so that it went back to the same sleep? */
static bool went_back_to_sleep(struct sampled_thread *thread, uint64_t pcount)
{
	struct seen_sleep *sleep = &thread->sleep;
	struct proc_syscall syscall;

	if (!sleep->is_visited || pcount != sleep->pcount + 1 ||
	    tracee_is_queued(&thread->roster->tracee) ||
	    !tracee_syscall(&thread->roster->tracee, &syscall) ||
	    syscall.kind == PROC_SYSCALL_RUNNING || syscall.sp != sleep->sp)
		return false;
	sleep->pcount = pcount;
	sleep->is_visited = false;
	return true;
}

static bool needs_registers(const struct sampled_thread *thread)
{
	return atomic_load_explicit(&thread->hints->needs_registers, memory_order_relaxed);
}

/*
 * To find frames with a frame pointer above a sleeping call, a walk needs registers that no file of
 * /proc shows. So such a sleep gets a single visit, if that changes nothing for the thread. A
 * thread stopped by job control gets none.
 */
static bool needs_visit_asleep(struct sampled_thread *thread, const struct proc_stat *stat,
			       const struct proc_syscall *syscall)
{
	if (thread->process->is_refused)
		return false;
	if (stat->state == 'T' || syscall->kind != PROC_SYSCALL_INSIDE)
		return stat->state == 'T';
	return (needs_registers(thread) || guard_wants_filters(thread)) &&
	       syscall_restarts_unseen(syscall->nr, syscall->args);
}

static bool spares_addressee(struct sampler *sampler, struct sampled_thread *thread)
{
	return sampler->session->rights.reads_filters &&
	       guard_addressee(sampler, thread, sampler->tick.now_ns);
}

static void found_asleep(struct visitor *visitor, struct sampled_thread *thread,
			 const struct proc_stat *stat, const struct proc_syscall *syscall)
{
	struct sampler *sampler = visitor->sampler;
	bool is_transfer =
		guard_call(thread, syscall, true, sampler->session->rights.sees_kernel_stacks);

	atomic_store_explicit(&thread->hints->lacks_wanted, false, memory_order_relaxed);
	sampler->counts.nr_peeks++;
	thread->was_running = false;
	thread->habits.user_ticks = stat->user_ticks;
	placement_saw(&sampler->placement, stat->cpu, false, false);
	due_put(sampler, thread, false, sampler->tick.now_ns + 1);
	waits_look(sampler, thread, visitor->snapshot, syscall);
	if (!is_transfer && needs_visit_asleep(thread, stat, syscall) &&
	    !spares_addressee(sampler, thread)) {
		visit_thread(visitor, thread, true);
		return;
	}
	places_ask(sampler, thread, visitor->snapshot);
	publish_sample(sampler, thread, visitor->snapshot, SEEN_BLOCKED);
	thread->sleep.has_registers = needs_registers(thread); /* as far as possible */
}

/*
 * Must a thread that makes long transfers be spared now? A stop during a transfer cuts it short. If
 * the thread is off its CPU, as when we are on it, its system call is known. Else it counts as in a
 * transfer unless it has run code of its own.
 */
static bool is_spared(const struct sampler *sampler, struct sampled_thread *thread,
		      const struct proc_stat *stat)
{
	struct call_habits *habits = &thread->habits;

	if (!habits->nr_guarded)
		return false;
	if (sampler->session->rights.sees_kernel_stacks) {
		if (stat->cpu != sched_getcpu())
			return true;
		if (transfer_of_tracee(&thread->roster->tracee) != TRANSFER_STACK_AMID)
			return false;
		guard_transfer(thread, true);
		return true;
	}
	if (stat->user_ticks == habits->user_ticks)
		return true;
	habits->user_ticks = stat->user_ticks;
	return false;
}

/*
 * A set-user-id program does not get its privileges if a tracer without CAP_SYS_PTRACE holds the
 * process at its exec (execve(2)), and AppArmor may refuse one that changes the profile. An exec
 * mostly follows a fork: after so much CPU time at most, for which the process may have to wait.
 */
#define EXECUTES_SOON_CPU_NS (5 * NS_PER_MS)
#define EXECUTES_SOON_NS     (200 * NS_PER_MS)

static bool may_execute_soon(const struct sampler *sampler, const struct sampled_thread *thread)
{
	const struct sampled_process *process = thread->process;

	return process->is_forked && !sampler->session->rights.traces_all &&
	       thread->clocks.cpu_ns < EXECUTES_SOON_CPU_NS &&
	       process_age_ns(process, sampler->tick.now_ns) < EXECUTES_SOON_NS;
}

/* Not while it ends: a pidfd may have told its parent, which could not reap it during a visit. */
static bool may_be_visited(struct sampler *sampler, struct sampled_thread *thread,
			   const struct proc_stat *stat)
{
	const struct sampled_process *process = thread->process;
	bool is_refused = process->is_refused && sampler->tick.now_ns < process->refused_until_ns;

	if (stat->flags & PROC_FLAGS_ENDING || core_dump_is_under_way(thread) ||
	    may_execute_soon(sampler, thread))
		return false;
	if (is_refused)
		sampler->counts.nr_refused++;
	else if (!is_spared(sampler, thread, stat))
		return true;
	else
		sampler->counts.nr_spared++;
	return false;
}

static void found_running(struct sampler *sampler, struct sampled_thread *thread,
			  const struct proc_stat *stat)
{
	struct tick *tick = &sampler->tick;

	thread->was_running = true;
	if (!thread->clocks.pcount) {
		put_active(sampler, thread); /* it was born, and waits for its first CPU */
		return;
	}
	placement_saw(&sampler->placement, stat->cpu, thread->habits.runs_much,
		      thread->habits.makes_calls || thread->habits.nr_guarded);
	put_active(sampler, thread);
	thread->cost.is_exiting = stat->flags & PROC_FLAG_EXITING;
	thread->cost.is_spared = !thread->cost.is_exiting && spares_addressee(sampler, thread);
	if (thread->cost.is_exiting || thread->cost.is_spared ||
	    may_be_visited(sampler, thread, stat))
		add_running(tick, thread);
	else
		thread->process->unseen_ns = tick->now_ns;
}

/*
 * A thread has ended on the way from the reading that found it on a CPU to its stop. It has the
 * same chance as one that is stopped, and stands for the beginnings of threads, which have no
 * samples: a stop comes as late after a birth. See profile_thread.was_missed.
 */
static void note_missed(struct sampler *sampler, struct sampled_thread *thread)
{
	struct governor *governor = &sampler->governor;

	book_met(thread, sampler->tick.now_ns);
	if (governor_affords(governor, &thread->cost.budget, thread->clocks.cpu_ns) &&
	    governor_draws(governor, &thread->cost.budget))
		book_missed(thread);
}

/* A thread that the kernel runs for a process (io_uring): it has no user code. */
static void found_worker(struct visitor *visitor, struct sampled_thread *thread,
			 const struct proc_schedstat *clocks, bool is_running)
{
	struct snapshot *snapshot = visitor->snapshot;

	snapshot->regs.known = 0;
	snapshot_drop_regions(snapshot);
	snapshot->no_registers = NO_REGISTERS_WORKER;
	snapshot->cpu_ns = clocks->cpu_ns;
	snapshot->runq_ns = clocks->runq_ns;
	snapshot->pcount = clocks->pcount;
	thread->was_running = is_running;
	due_put(visitor->sampler, thread, is_running, visitor->sampler->tick.now_ns + 1);
	publish_sample(visitor->sampler, thread, snapshot,
		       is_running ? SEEN_RUNNING : SEEN_BLOCKED);
}

static void note_stat(struct sampler *sampler, struct sampled_thread *thread,
		      const struct proc_stat *stat)
{
	uint64_t name = hash_bytes(stat->comm, strlen(stat->comm)) | 1;

	thread->cpu = stat->cpu;
	book_see_children(thread->process, stat);
	/* Also for sleeping threads: once they run, we may get no CPU. */
	if (stat->rt_priority > sampler->session->top_priority)
		sampler->session->top_priority = stat->rt_priority;
	if (stat->cpu >= 0)
		thread->split_read.seen = proc_cpu_split_of_stat(stat);
	if (thread->name != name)
		thread->name = 0;
}

/* Look at a sleep without a sample, like at others, the more rarely the longer it lasts. */
static void put_unseen(struct sampler *sampler, struct sampled_thread *thread)
{
	uint64_t now_ns = sampler->tick.now_ns;
	uint64_t pause_ns = (now_ns - thread->sleep.unseen.from_ns) / SLEEP_PART;

	due_put(sampler, thread, false, now_ns + 1 + min_u64(pause_ns, LONGEST_DUE_NS));
}

/* Its time goes to the next sample: the lot does not depend on the length of the sleep. */
static void left_asleep(struct sampler *sampler, struct sampled_thread *thread,
			const struct proc_stat *stat, uint64_t pcount)
{
	thread->was_running = false;
	thread->habits.user_ticks = stat->user_ticks;
	placement_saw(&sampler->placement, stat->cpu, false, false);
	if (!sleeps_unseen(thread, pcount)) {
		sampler->counts.nr_unseen_sleeps++;
		thread->sleep.unseen =
			(struct unseen_sleep){.pcount = pcount, .from_ns = sampler->tick.now_ns};
	}
	put_unseen(sampler, thread);
}

static bool copies_stack_of(struct sampler *sampler, const struct sampled_thread *thread)
{
	return sampler->tick.is_last || !thread->sleep.from_ns /* it was never sampled */ ||
	       governor_draws_copy(&sampler->governor);
}

static void observe(struct visitor *visitor, struct sampled_thread *thread,
		    const struct proc_schedstat *clocks)
{
	struct sampler *sampler = visitor->sampler;
	struct tracee *tracee = &thread->roster->tracee;
	struct proc_stat stat = {.cpu = -1};
	struct proc_syscall syscall;
	enum peek_outcome outcome;
	uint64_t began_ns = 0;

	outcome = tracee_look(tracee, visitor->snapshot, &stat);
	core_dump_see(sampler, thread, &stat);
	if (outcome != PEEK_GONE && core_dump_sample(visitor, thread, clocks, &stat)) {
		note_stat(sampler, thread, &stat);
		return;
	}
	if (outcome == PEEK_GONE && clocks->pcount)
		note_missed(sampler, thread);
	if (outcome == PEEK_ASLEEP && copies_stack_of(sampler, thread)) {
		began_ns = clock_thread_cpu_ns();
		outcome = tracee_peek(tracee, visit_stack_limit(thread), clocks, &stat,
				      visitor->snapshot, &syscall);
	}
	seen_wait_release(&thread->sleep.wait);
	if (outcome != PEEK_GONE)
		book_met(thread, sampler->tick.now_ns);
	note_stat(sampler, thread, &stat);
	if (outcome != PEEK_GONE && stat.flags & PROC_FLAG_USER_WORKER) {
		found_worker(visitor, thread, clocks, outcome == PEEK_RUNNING);
		return;
	}
	if (outcome != PEEK_GONE && !roster_is_in_program(sampler->roster, thread->process->roster,
							  &stat, false, sampler->tick.now_ns))
		return;
	switch (outcome) {
	case PEEK_TAKEN:
		found_asleep(visitor, thread, &stat, &syscall);
		governor_charge_copy(&sampler->governor, clock_thread_cpu_ns() - began_ns);
		break;
	case PEEK_RUNNING:
		found_running(sampler, thread, &stat);
		break;
	case PEEK_ASLEEP:
		left_asleep(sampler, thread, &stat, clocks->pcount);
		break;
	case PEEK_CHANGED:
		/* It wakes and sleeps faster than profc can read it: try again in the next tick. */
		sampler->counts.nr_torn_peeks++;
		put_active(sampler, thread);
		break;
	case PEEK_HIDDEN:
		due_put(sampler, thread, false, sampler->tick.now_ns + HIDDEN_NS);
		break;
	case PEEK_GONE:
		roster_thread_gone(sampler->roster, thread->roster);
		break;
	}
}

/* The clock of a running thread may be late by a tick of the kernel. */
#define STALE_CLOCK_NS (20 * NS_PER_MS)

/*
 * May these be the clocks of another thread? A thread that executes a program takes the leader's id
 * and keeps its own clocks: then the leader's clocks seem to run backwards, or to be far ahead of
 * what they were as it slept.
 */
static bool may_be_of_another(const struct sampled_thread *thread,
			      const struct proc_schedstat *clocks, uint64_t now_ns)
{
	bool was_asleep = thread->sleep.is_known && thread->sleep.is_asleep;
	uint64_t elapsed_ns = was_asleep ? 0 : now_ns - min_u64(thread->read_ns, now_ns);

	return clocks->cpu_ns < thread->clocks.cpu_ns || clocks->pcount < thread->clocks.pcount ||
	       clocks->cpu_ns - thread->clocks.cpu_ns > elapsed_ns + STALE_CLOCK_NS;
}

/* Has the walk of its sample shown meanwhile that it needs registers? */
static bool lacks_registers(const struct sampled_thread *thread)
{
	return thread->sleep.is_asleep && !thread->sleep.has_registers && needs_registers(thread);
}

/* Are its filters to be read, as it waits in a call that they may forbid to continue? */
static bool lacks_filters(struct sampled_thread *thread)
{
	return thread->sleep.is_asleep && !thread->sleep.has_registers &&
	       guard_wants_filters(thread) && syscall_is_continued(thread->sleep.syscall_nr);
}

/* Has the walk shown that it needs memory beside the stack, which is known by now? */
static bool lacks_memory(const struct sampled_thread *thread)
{
	return thread->sleep.is_asleep &&
	       atomic_load_explicit(&thread->hints->lacks_wanted, memory_order_relaxed);
}

/* At most so many ticks in a row leave a thread out: its sleep must be noticed soon. */
#define MOST_UNSEEN 2

/*
 * If a thread ran alone on its CPU, and the lot leaves out its stop, the tick does not read it:
 * reading takes as long as the rest of a tick.
 */
static bool leave_out(struct sampler *sampler, struct sampled_thread *thread)
{
	struct visit_cost *cost = &thread->cost;
	struct tick *tick = &sampler->tick;

	cost->was_asked = thread->was_running && cost->is_alone && !tick->is_last;
	cost->is_drawn = cost->was_asked && governor_draws(&sampler->governor, &cost->budget);
	if (!cost->was_asked || cost->is_drawn || cost->nr_unseen == MOST_UNSEEN ||
	    tick->by_cpu[thread->cpu]) {
		cost->nr_unseen = 0;
		return false;
	}
	cost->nr_unseen++;
	tick->by_cpu[thread->cpu] = thread;
	sampler->counts.nr_left_out++;
	thread->process->unseen_ns = tick->now_ns;
	placement_saw(&sampler->placement, thread->cpu, true,
		      thread->habits.makes_calls || thread->habits.nr_guarded);
	put_active(sampler, thread);
	return true;
}

/* After so many periods, a sleep draws again at each look. */
#define LONG_SLEEP_PERIODS 32

static bool sleeps_on_unseen(struct sampler *sampler, struct sampled_thread *thread,
			     uint64_t pcount)
{
	uint64_t slept_ns = sampler->tick.now_ns - thread->sleep.unseen.from_ns;

	if (sampler->tick.is_last || !sleeps_unseen(thread, pcount) ||
	    slept_ns > LONG_SLEEP_PERIODS * sampler->governor.period_ns)
		return false;
	book_met(thread, sampler->tick.now_ns);
	put_unseen(sampler, thread);
	return true;
}

/* The caller has taken it out of the queue; it is put back unless it is gone. */
static void sample_thread(struct visitor *visitor, struct sampled_thread *thread)
{
	struct sampler *sampler = visitor->sampler;
	uint64_t now_ns = sampler->tick.now_ns;
	struct proc_schedstat clocks;
	uint64_t former_pcount = thread->clocks.pcount;

	if (!thread->visitor && !thread->is_chosen && book_is_dead(thread->roster)) {
		roster_thread_gone(sampler->roster, thread->roster);
		return;
	}
	if (thread->visitor)
		core_dump_sample_awaited(visitor, thread);
	if (thread->visitor || !book_is_chosen(sampler, thread, now_ns)) {
		due_put(sampler, thread, false, max_u64(now_ns + 1, thread->name_pause.again_ns));
		return;
	}
	if (leave_out(sampler, thread))
		return;
	if (!tracee_clocks(&thread->roster->tracee, &clocks)) {
		if (thread->met.born_ns >= now_ns)
			note_missed(sampler, thread);
		roster_thread_gone(sampler->roster, thread->roster);
		return;
	}
	if (may_be_of_another(thread, &clocks, now_ns) &&
	    !roster_is_in_program(sampler->roster, thread->process->roster, NULL, true, now_ns))
		return;
	/* At the first reading, those since its birth as well. */
	thread->nr_arrivals =
		clocks.pcount - former_pcount + (thread->cpu < 0 ? thread->nr_arrivals : 0);
	thread->habits.runs_much =
		placement_runs_much(clocks.cpu_ns - thread->clocks.cpu_ns, now_ns - thread->read_ns,
				    thread->was_running);
	publish_slept_while_quiet(sampler, thread, &clocks);
	book_note_clocks(thread, &clocks, now_ns);
	if (thread->sleep.is_known && !lacks_registers(thread) && !lacks_memory(thread) &&
	    !lacks_filters(thread) &&
	    (clocks.pcount == thread->sleep.pcount || went_back_to_sleep(thread, clocks.pcount)))
		still_the_same(sampler, thread, now_ns);
	else if (!sleeps_on_unseen(sampler, thread, clocks.pcount))
		observe(visitor, thread, &clocks);
}

static void sample_queue(struct visitor *visitor, struct due_queue *queue, uint64_t until_ns)
{
	struct sampler *sampler = visitor->sampler;
	struct sampled_thread *thread;

	do {
		thread = due_queue_take(queue, sampler->tick.now_ns);
		if (thread)
			sample_thread(visitor, thread);
	} while (thread && sampler->leader == visitor && clock_monotonic_ns() < until_ns);
}

static void look_at_sleepers(struct visitor *visitor, uint64_t until_ns)
{
	struct sampler *sampler = visitor->sampler;
	struct spending_begun begun;
	uint64_t took_ns;

	if (!due_queue_is_due(&sampler->threads, sampler->tick.now_ns))
		return;
	begun = spending_begin_looks(&sampler->spending);
	sample_queue(visitor, &sampler->threads, until_ns);
	took_ns = spending_add_looks(&sampler->spending, &begun);
	/* Looks that a file has asked for leave later ones their time. */
	if (!sampler->tick.wants_all)
		governor_charge_looks(&sampler->governor, took_ns);
}

/* First the threads that ran; those for which there is no time are due in the next tick. */
static void sample_due(struct visitor *visitor, uint64_t until_ns)
{
	struct sampler *sampler = visitor->sampler;
	struct tick *tick = &sampler->tick;

	sample_queue(visitor, &sampler->active, until_ns);
	if (sampler->leader != visitor)
		return;
	tick->look_ns = tick->wants_all ? LONGEST_ALL_NS
					: governor_look_credit_ns(&sampler->governor, tick->now_ns);
	if (tick->look_ns)
		look_at_sleepers(visitor, min_u64(until_ns, clock_monotonic_ns() + tick->look_ns));
}

/*
 * Is it more likely that this thread runs on the CPU now? A thread that comes to a CPU replaces
 * another: so the one that came more often since all were last read; if none did, the one that ran
 * then.
 */
static bool is_better(const struct sampled_thread *thread, const struct sampled_thread *other,
		      const struct sampled_thread *former)
{
	if (!other || thread->nr_arrivals != other->nr_arrivals)
		return !other || thread->nr_arrivals > other->nr_arrivals;
	return thread == former;
}

static void choose_of_cpus(struct tick *tick)
{
	for (size_t i = 0; i < tick->nr_running; i++) {
		struct sampled_thread *thread = tick->running[i], *other;
		size_t cpu = (size_t)thread->cpu;

		if (thread->cpu < 0 || cpu >= tick->nr_cpus)
			continue;
		other = tick->by_cpu[cpu];
		thread->cost.is_alone = !other;
		if (other)
			other->cost.is_alone = false;
		/* A thread that was left out may run there: read both. */
		if (!(other && other->cost.nr_unseen) &&
		    is_better(thread, other, tick->former_by_cpu[cpu]))
			tick->by_cpu[cpu] = thread;
	}
}

/*
 * A thread that exits runs in the kernel alone, and of one that is spared no stack is known. It has
 * a sample with the same chance as others, which cost a visit each.
 */
static void sample_unstopped(struct visitor *visitor, struct sampled_thread *thread)
{
	static const char function[] = "do_exit";
	struct snapshot *snapshot = visitor->snapshot;

	snapshot_clear(snapshot);
	if (thread->cost.is_exiting)
		snapshot_set_kernel_stack(snapshot, function, strlen(function));
	if (thread->cost.is_spared)
		snapshot->no_registers = NO_REGISTERS_SPARED;
	visitor->sampler->counts.nr_spared += thread->cost.is_spared;
	snapshot->state = THREAD_STATE_RUNNING;
	snapshot->tgid = thread->roster->tracee.tgid;
	snapshot->tid = thread->roster->tracee.tid;
	snapshot->first_sp = thread->roster->tracee.stacks.first_sp;
	snapshot->thread_pointer = thread->roster->tracee.stacks.thread_pointer;
	snapshot->time_ns = clock_monotonic_ns();
	snapshot->cpu_ns = thread->clocks.cpu_ns;
	snapshot->runq_ns = thread->clocks.runq_ns;
	snapshot->pcount = thread->clocks.pcount;
	book_ran(thread);
	publish_sample(visitor->sampler, thread, snapshot, SEEN_RUNNING);
	thread->sleep.is_known = false; /* no stop has driven it off its CPU */
}

/* If all other visitors wait for threads without a CPU, a wait of this one would stop all ticks. */
static void visit_chosen(struct visitor *visitor, struct sampled_thread *thread)
{
	struct sampler *sampler = visitor->sampler;
	struct governor *governor = &sampler->governor;
	struct visit_cost *cost = &thread->cost;
	bool can_relieve = pool_can_relieve(sampler);

	if (cost->nr_unseen)
		return; /* already counted */
	if (can_relieve && governor_affords(governor, &cost->budget, thread->clocks.cpu_ns) &&
	    (cost->was_asked ? cost->is_drawn : governor_draws(governor, &cost->budget))) {
		/* It may have started a child since it was found to run. */
		cost->is_spared |= !cost->is_exiting && spares_addressee(visitor->sampler, thread);
		if (cost->is_exiting || cost->is_spared)
			sample_unstopped(visitor, thread);
		else
			visit_thread(visitor, thread, false);
	} else {
		sampler->counts.nr_left_out++;
		sampler->counts.nr_held_up += !can_relieve;
		thread->process->unseen_ns = sampler->tick.now_ns;
	}
}

/* Threads on our own CPU can stop only while we sleep: they come last. */
static void visit_running(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;
	struct tick *tick = &sampler->tick;
	int own_cpu = sched_getcpu();

	choose_of_cpus(tick);
	for (size_t i = 0; i < tick->nr_cpus && sampler->leader == visitor; i++) {
		if (tick->by_cpu[i] && (int)i != own_cpu)
			visit_chosen(visitor, tick->by_cpu[i]);
	}
	if (own_cpu >= 0 && (size_t)own_cpu < tick->nr_cpus && tick->by_cpu[own_cpu] &&
	    sampler->leader == visitor)
		visit_chosen(visitor, tick->by_cpu[own_cpu]);
}

/*
 * When a recording begins, the files of its programs are read; one that goes on with processes that
 * were recorded just now has the budget from its first tick on.
 */
#define BEFORE_BUDGET_NS (10 * NS_PER_SEC)

/* 0: it does not count. */
static uint64_t own_ns(struct sampler *sampler, uint64_t now_ns)
{
	uint64_t from_ns = sampler->session->begun_ns +
			   (sampler->options.targets.were_recorded ? 0 : BEFORE_BUDGET_NS);

	if (!sampler->options.max_cost_ppm || now_ns < from_ns)
		return 0;
	return spending_own_ns(&sampler->spending,
			       counters_cpu_ns(sampler) + collector_cpu_ns(sampler->collector));
}

static void govern(struct sampler *sampler, uint64_t now_ns)
{
	struct governor_load load = {.nr_cpus = (unsigned int)sampler->session->nr_cpus,
				     .lost_percent = idle_meter_lost_percent(&sampler->idle),
				     .nr_sleepers = sampler->threads.nr};
	const struct stop_overhead *overhead = &sampler->overhead;
	uint64_t wake_up_ns;

	if (!spending_is_due(&sampler->spending, now_ns))
		return;
	/* A stop from its own CPU also costs a thread our wake-up there. */
	wake_up_ns = overhead->beside_ns - min_u64(overhead->away_ns, overhead->beside_ns);
	load.own_ns = own_ns(sampler, now_ns);
	spending_load(&sampler->spending, now_ns, wake_up_ns, &load);
	schedule_set_period(&sampler->schedule, governor_update(&sampler->governor, &load));
	atomic_store_explicit(&sampler->session->progress.lacks_budget,
			      governor_lacks_budget(&sampler->governor), memory_order_relaxed);
}

/*
 * Real-time threads of the target would keep us from the CPU until they sleep, as soon as a visit
 * resumes one. So take a higher priority if that is allowed. Else they are sampled from another
 * CPU, if there is one.
 */
static void rise_above(struct visitor *visitor, int priority)
{
	int highest = sched_get_priority_max(SCHED_FIFO);
	struct sched_param param = {.sched_priority = priority < highest ? priority + 1 : highest};

	if (param.sched_priority > visitor->priority &&
	    pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0)
		visitor->priority = param.sched_priority;
	if (priority >= highest && !visitor->was_refused && !visitor->has_deadline) {
		visitor->has_deadline = urgency_deadline(&visitor->sampler->placement.allowed);
		visitor->was_refused = !visitor->has_deadline;
		visitor->priority += visitor->has_deadline;
	}
}

static void begin_tick(struct sampler *sampler, uint64_t now_ns)
{
	struct tick *tick = &sampler->tick;
	uint64_t late_ns = now_ns - min_u64(now_ns, sampler->schedule.next_ns);

	sampler->spending.nr_ticks++;
	histogram_add(&sampler->counts.lateness_ns, late_ns);
	if (late_ns > sampler->schedule.period_ns / 4)
		sampler->counts.nr_late_ticks++;
	/* At once: if a visit delays this visitor, another takes the next tick in time. */
	schedule_advance(&sampler->schedule, now_ns);
	tick->now_ns = now_ns;
	tick->is_last = tick->wants_all = false;
	tick->nr_running = 0;
	for (size_t i = 0; i < tick->nr_cpus; i++) {
		tick->former_by_cpu[i] = tick->by_cpu[i];
		tick->by_cpu[i] = NULL;
	}
	placement_begin_tick(&sampler->placement);
	if (roster_poll_at_ease(sampler->roster, now_ns))
		sampler->spending.news_ns += clock_monotonic_ns() - now_ns;
	roster_join(sampler->roster, now_ns);
}

/*
 * A thread of higher real-time priority may run on that CPU, of which nothing is known yet: then
 * this visitor gets no CPU until another one leads, and lets it go elsewhere.
 */
static void move(struct sampler *sampler, struct visitor *visitor)
{
	int former_cpu = sampler->placement.cpu;
	enum placement_kind kind;
	cpu_set_t cpus;
	bool is_moved;
	int cpu;

	kind = placement_choose(&sampler->placement, sampler->idle.some_idle, &cpu);
	/* Below the priority of a real-time thread, we would never run again on its CPU. */
	if ((sampler->session->top_priority >= visitor->priority &&
	     sampler->session->top_priority) ||
	    visitor->has_deadline || sampler->tick.now_ns < sampler->placement.unbound_until_ns) {
		kind = PLACEMENT_ANYWHERE;
		cpu = -1;
	}
	if (!placement_move(&sampler->placement, kind, cpu, &cpus))
		return;
	visitor->is_bound = true; /* already now, as it may get no CPU there */
	pthread_mutex_unlock(&sampler->lock);
	is_moved = sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
	pthread_mutex_lock(&sampler->lock);
	if (sampler->leader != visitor) {
		visitor->is_bound = true;
		pool_unbind(visitor); /* another visitor had unbound it before */
		return;
	}
	if (!is_moved)
		sampler->placement.cpu = former_cpu;
	visitor->is_bound = sampler->placement.cpu >= 0;
}

static void make_all_due(struct sampler *sampler, uint64_t now_ns)
{
	for (size_t i = 0; i < roster_nr_processes(sampler->roster); i++) {
		struct roster_process *process = roster_process_at(sampler->roster, i);

		for (struct roster_thread *thread = process->threads; thread; thread = thread->next)
			due_at_once(sampler, thread->owner, now_ns);
	}
}

static void heed_asked_sleeps(struct sampler *sampler)
{
	struct tick *tick = &sampler->tick;

	tick->wants_all = tick->are_sleeps_asked;
	tick->are_sleeps_asked = false;
	if (tick->wants_all)
		make_all_due(sampler, tick->now_ns);
}

void tick_run(struct visitor *visitor, uint64_t now_ns)
{
	struct sampler *sampler = visitor->sampler;
	struct spending_begun begun = spending_begin_tick(&sampler->spending);

	begin_tick(sampler, now_ns);
	if (sampler->options.no_cpu) {
		follow_processes(sampler);
		counters_publish(sampler, now_ns);
		schedule_catch_up(&sampler->schedule, clock_monotonic_ns());
		return;
	}
	heed_asked_sleeps(sampler);
	process_clocks_heed(sampler);
	sample_due(visitor, reads_end_ns(sampler, now_ns));
	if (visitor->priority && sampler->session->top_priority >= visitor->priority)
		rise_above(visitor, sampler->session->top_priority);
	visit_running(visitor);
	if (sampler->leader != visitor)
		return;
	process_clocks_check(sampler);
	govern(sampler, now_ns);
	counters_publish(sampler, now_ns);
	schedule_catch_up(&sampler->schedule, clock_monotonic_ns());
	move(sampler, visitor);
	if (sampler->leader == visitor)
		spending_add_tick(&sampler->spending, &begun);
}

void tick_last(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;
	uint64_t now_ns = clock_monotonic_ns();

	begin_tick(sampler, now_ns);
	sampler->tick.is_last = sampler->tick.wants_all = true;
	if (sampler->options.no_cpu)
		return;
	make_all_due(sampler, now_ns);
	sample_due(visitor, reads_end_ns(sampler, now_ns));
	visit_running(visitor);
}
