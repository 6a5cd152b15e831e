// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One visit. While a thread is traced the lock is free, so that another visitor can lead; then the
 * result is published and its cost is charged.
 */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "collector/wanted_hints.h"
#include "proc/read.h"
#include "sampler/dues_priv.h"
#include "sampler/guard_priv.h"
#include "sampler/publish_priv.h"
#include "sampler/sampler_priv.h"
#include "sampler/visiting_priv.h"
#include "sampler/visitor_pool_priv.h"
#include "sampler/visitor_priv.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"
#include "syscall/traits.h"

/* A visitor on an idle CPU spins so long for a stop. */
#define SPIN_NS (200 * NS_PER_US)
/* If others could use the CPU: so many times as long as an immediate stop takes. */
#define SPIN_STOPS 2

size_t visit_stack_limit(struct sampled_thread *thread)
{
	struct tracee *tracee = &thread->roster->tracee;
	struct tracee_stacks *stacks = &tracee->stacks;
	const struct thread_hints *hints = thread->hints;
	struct wanted_memory wanted;
	struct wanted_more more;

	if (wanted_hints_get(hints, &wanted, &more))
		tracee_set_wanted(tracee, &wanted, &more);
	stacks->root_sp = atomic_load_explicit(&hints->root_sp, memory_order_relaxed);
	stacks->behind_sp = atomic_load_explicit(&hints->behind_sp, memory_order_relaxed);
	return atomic_load_explicit(&hints->max_stack_bytes, memory_order_relaxed);
}

static enum visit_outcome await_spinning(struct visit *visit, uint64_t spin_ns)
{
	enum visit_outcome outcome;

	do {
		outcome = visit_wait(visit, false);
	} while (outcome == VISIT_PENDING &&
		 clock_monotonic_ns() - visit->interrupted_ns < spin_ns);
	return outcome;
}

/*
 * A thread that waits for a CPU stops only when it gets one, perhaps after many periods. Meanwhile
 * another visitor continues the ticks.
 */
static enum visit_outcome await_asleep(struct visitor *visitor)
{
	enum visit_outcome outcome;
	bool leads = true, has_alarm = visitor->needs_alarm;

	if (has_alarm)
		pool_set_alarm(visitor, visitor->leads_until_ns);
	while ((outcome = visit_wait(&visitor->visit, true)) == VISIT_PENDING) {
		if (atomic_load(&visitor->sampler->session->is_over))
			break;
		if (leads && clock_monotonic_ns() >= visitor->leads_until_ns &&
		    pool_hand_over(visitor)) {
			leads = false;
			pool_set_alarm(visitor, 0);
		}
		visit_ask_again(&visitor->visit);
	}
	if (has_alarm && leads)
		pool_set_alarm(visitor, 0);
	return outcome;
}

/* Without the lock. PENDING: the recording has ended; the end of this visitor will detach. */
static enum visit_outcome await_stop(struct visitor *visitor)
{
	enum visit_outcome outcome = visitor->spin_ns
					     ? await_spinning(&visitor->visit, visitor->spin_ns)
					     : VISIT_PENDING;

	return outcome == VISIT_PENDING ? await_asleep(visitor) : outcome;
}

/* How long this visitor has waited for a CPU; 0 if it got one at once. */
static uint64_t own_wait_ns(const struct visitor *visitor)
{
	struct proc_schedstat clocks;

	if (visitor->spin_ns || visitor->priority)
		return 0;
	return proc_read_schedstat(visitor->schedstat_fd, &clocks) ? clocks.runq_ns : 0;
}

static enum visit_outcome trace(struct visitor *visitor, struct tracee *tracee, size_t stack_bytes)
{
	struct visit *visit = &visitor->visit;
	uint64_t waited_ns = own_wait_ns(visitor);
	bool is_left;
	enum visit_outcome outcome;

	if (visitor->spin_ns)
		tracee_rehearse(tracee, visitor->snapshot);
	outcome = visit_begin(visit, tracee->tgid, tracee->tid);
	if (outcome == VISIT_PENDING)
		outcome = await_stop(visitor);
	if (outcome != VISIT_STOPPED)
		return outcome;
	visit->is_leaving = visitor->spin_ns != 0;
	visit->is_over = &visitor->sampler->session->is_over;
	visit->reads_filters = visitor->reads_filters;
	visit_capture(visit, tracee, stack_bytes, visitor->snapshot);
	if (visit->is_left)
		return VISIT_PENDING;
	if (!visit_clocks_set(&visitor->clocks, visit, tracee, visitor->snapshot, &is_left))
		outcome = VISIT_GONE;
	visitor->let_go_ns = clock_monotonic_ns();
	visit_end(visit);
	visitor->detached_ns = clock_monotonic_ns();
	tracee_copy_late(tracee, visitor->snapshot, visitor->detached_ns);
	if (is_left)
		visit_clocks_after(&visitor->clocks, tracee, visitor->snapshot);
	visitor->waited_ns = own_wait_ns(visitor) - waited_ns;
	return outcome;
}

/* The delay from a tick, or from a stop, until we read clocks. */
#define CLOCK_SLACK_NS (30 * NS_PER_US)
/* A shorter wait means that nothing kept the thread from its CPU. */
#define NO_WAIT_NS (10 * NS_PER_US)

/*
 * Was the thread just woken by its timer? The timer of a tick also fires timers due a little later
 * (timer slack), so that a tick finds too many threads just woken. If a thread waits for its CPU in
 * such a call, its count of preemptions shows whether it woke, or whether we drove it off its CPU.
 */
static bool was_just_woken(struct sampled_thread *thread, const struct snapshot *snapshot,
			   uint64_t waited_ns)
{
	struct call_habits *habits = &thread->habits;
	struct proc_status status;
	bool is_preempted;

	habits->waits |= syscall_waits(snapshot->syscall_nr);
	if (!habits->waits || waited_ns < NO_WAIT_NS ||
	    !tracee_status(&thread->roster->tracee, &status))
		return false;
	is_preempted = status.nr_preempted != habits->nr_preempted;
	habits->nr_preempted = status.nr_preempted;
	return !is_preempted && syscall_waits(snapshot->syscall_nr);
}

/*
 * The state of the thread at the tick. If it had begun to wait for a CPU before the tick, it was
 * not running; if its pc is in its own code all the same, it lost its CPU there, at a moment
 * independent of its work. If it fell asleep after it was found running, the stop did not find it
 * where it ran.
 */
static enum seen_state state_of(struct sampled_thread *thread, const struct snapshot *snapshot,
				const struct visit *visit, uint64_t waited_ns)
{
	if (snapshot->state != THREAD_STATE_RUNNING)
		return SEEN_RUNNABLE;
	if (snapshot->syscall_nr < 0)
		return SEEN_RUNNING;
	if (visit->stopped_ns - waited_ns + CLOCK_SLACK_NS < thread->read_ns ||
	    was_just_woken(thread, snapshot, waited_ns))
		return SEEN_RUNNABLE;
	return SEEN_RUNNING;
}

/* The share of stops in calls, of 2^20; each stop counts for a sixteenth. */
#define ALL_CALLS	 (UINT32_C(1) << 20)
#define CALLS_PER_STOP	 16
#define MAKES_CALLS_FROM (ALL_CALLS / 12)
#define MAKES_CALLS_TO	 (ALL_CALLS / 32)

/* A thread interrupted from another CPU may still begin a call, and then it stops in that. */
static void count_call(struct call_habits *habits, bool is_in_call)
{
	uint32_t all = is_in_call ? ALL_CALLS : 0;

	habits->in_calls += all / CALLS_PER_STOP - habits->in_calls / CALLS_PER_STOP;
	if (habits->in_calls > MAKES_CALLS_FROM)
		habits->makes_calls = true;
	else if (habits->in_calls < MAKES_CALLS_TO)
		habits->makes_calls = false;
}

/*
 * How long it was held: since we saw its stop, and before that while we waited for a CPU. Between
 * interrupt and stop it continued to run, or waited for a CPU itself. The detach wakes it, and then
 * it, or the host of a virtual machine, may take our CPU for milliseconds in which it is not held.
 */
static uint64_t hold_ns_of(const struct visitor *visitor)
{
	uint64_t detach_ns = visitor->detached_ns - visitor->let_go_ns;

	return visitor->let_go_ns - visitor->visit.stopped_ns + visitor->waited_ns -
	       min_u64(visitor->waited_ns, detach_ns);
}

/* As calibrated; else as long as it was held: both are some system calls. */
static uint64_t overhead_ns_of(const struct sampler *sampler, bool spins, uint64_t hold_ns)
{
	uint64_t measured_ns = spins ? sampler->overhead.away_ns : sampler->overhead.beside_ns;

	return measured_ns ? measured_ns : hold_ns;
}

static void count_cost(struct sampler *sampler, struct sampled_thread *thread,
		       const struct visitor *visitor)
{
	uint64_t hold_ns = hold_ns_of(visitor);
	uint64_t cost_ns = hold_ns + overhead_ns_of(sampler, visitor->spin_ns != 0, hold_ns);

	histogram_add(&sampler->counts.hold_ns, hold_ns);
	sampler->counts.cost_ns += cost_ns;
	thread->cost.held_ns += hold_ns;
	governor_charge(&sampler->governor, &thread->cost.budget, cost_ns);
}

/* After an exec its main thread has its data elsewhere. */
static bool is_suspect(struct sampled_process *process, const struct snapshot *snapshot)
{
	uint64_t former = process->thread_pointer;

	if (snapshot->tid != snapshot->tgid)
		return false;
	process->thread_pointer = snapshot->thread_pointer;
	return former && former != snapshot->thread_pointer;
}

/* Retry after this time: during an exec the kernel refuses for a moment. */
#define FIRST_REFUSED_NS (2 * NS_PER_MS)
#define REFUSED_NS	 (50 * NS_PER_MS)

/* Does the prober trace it, while it changes the code of the process? */
static bool is_traced_by_us(const struct sampled_thread *thread)
{
	pid_t tracer;

	return proc_read_tracer(thread->roster->tracee.tid, &tracer) && tracer == getpid();
}

static void note_refusal(struct sampler *sampler, struct sampled_thread *thread)
{
	struct sampler_refusal *refusal = &sampler->result.refusal;
	struct sampled_process *process = thread->process;
	struct proc_status status, tracer;

	if (sampler->options.prober && is_traced_by_us(thread))
		return;
	sampler->counts.nr_refused++;
	process->refused_until_ns =
		sampler->tick.now_ns + (process->is_refused ? REFUSED_NS : FIRST_REFUSED_NS);
	if (!process->is_refused || refusal->nr++) {
		process->is_refused = true;
		return;
	}
	refusal->pid = process->roster->pid;
	proc_read_comm(refusal->pid, refusal->pid, refusal->name, sizeof(refusal->name));
	if (!proc_read_status(thread->roster->tracee.tid, &status) || !status.tracer_pid)
		return;
	/* The kernel gives the thread that traces, but users know processes. */
	refusal->tracer =
		proc_read_status(status.tracer_pid, &tracer) ? tracer.tgid : status.tracer_pid;
	proc_read_comm(refusal->tracer, refusal->tracer, refusal->tracer_name,
		       sizeof(refusal->tracer_name));
}

/*
 * A thread that executes a program stops before the first instruction of that, with all of its
 * memory new: what it did there was to execute it. No other thread is without data of its own.
 */
static bool has_just_executed(struct sampled_thread *thread, const struct snapshot *snapshot)
{
	struct proc_stat stat;
	uint64_t sp;

	return !snapshot->thread_pointer && snapshot->tid == snapshot->tgid &&
	       regs_get(&snapshot->regs, arch_regs(snapshot->arch)->sp, &sp) &&
	       tracee_stat(&thread->roster->tracee, &stat) && stat.first_sp == sp &&
	       stat.program_mark != thread->process->roster->program_mark;
}

/*
 * The sample is of the program before, in the kernel. That ends when a tick finds the other one: of
 * a process that no other tick meets, this sample stands for unseen time.
 */
static void publish_exec(struct visitor *visitor, struct sampled_thread *thread,
			 enum seen_state state)
{
	static const char function[] = "do_execveat_common";
	struct snapshot *snapshot = visitor->snapshot;

	snapshot->regs.known = 0;
	snapshot->nr_kernel_bytes = 0;
	snapshot_drop_regions(snapshot);
	snapshot_set_kernel_stack(snapshot, function, strlen(function));
	if (state == SEEN_RUNNING)
		book_ran(thread);
	publish_sample(visitor->sampler, thread, snapshot, state);
	thread->sleep.is_known = false; /* it has another stack */
}

static void stopped(struct visitor *visitor, struct sampled_thread *thread, bool is_asleep)
{
	struct sampler *sampler = visitor->sampler;
	struct snapshot *snapshot = visitor->snapshot;
	const struct proc_schedstat clocks = {.cpu_ns = snapshot->cpu_ns,
					      .runq_ns = snapshot->runq_ns,
					      .pcount = snapshot->pcount};
	uint64_t waited_ns = snapshot->runq_ns - min_u64(snapshot->runq_ns, thread->clocks.runq_ns);
	enum seen_state state =
		is_asleep ? SEEN_BLOCKED : state_of(thread, snapshot, &visitor->visit, waited_ns);

	count_cost(sampler, thread, visitor);
	count_call(&thread->habits, snapshot->syscall_nr >= 0);
	sampler->counts.nr_runnable += state == SEEN_RUNNABLE;
	if (!is_asleep && has_just_executed(thread, snapshot)) {
		book_note_clocks(thread, &clocks, thread->read_ns);
		publish_exec(visitor, thread, state);
		return;
	}
	if (!roster_is_in_program(sampler->roster, thread->process->roster, NULL,
				  is_suspect(thread->process, snapshot), snapshot->time_ns))
		return;
	if (!is_asleep)
		guard_call(thread, &visitor->visit.syscall, false,
			   sampler->session->rights.sees_kernel_stacks);
	book_note_clocks(thread, &clocks, thread->read_ns);
	probing_correct(sampler, snapshot);
	places_ask(sampler, thread, snapshot);
	/* Ticks during the visit came before the stop. */
	if (state == SEEN_RUNNING)
		book_ran(thread);
	publish_sample(sampler, thread, snapshot, state);
	thread->sleep.is_visited = is_asleep;
	thread->sleep.has_registers = true;
}

static void visited_thread(struct visitor *visitor, struct sampled_thread *thread,
			   enum visit_outcome outcome, bool is_asleep)
{
	struct sampler *sampler = visitor->sampler;

	switch (outcome) {
	case VISIT_STOPPED:
		sampler->counts.nr_stops++;
		sampler->counts.nr_spun += visitor->spin_ns != 0;
		sampler->counts.nr_fixed_up += visitor->visit.was_fixed_up;
		sampler->counts.nr_signals += visitor->visit.signal != 0;
		thread->process->is_refused = false;
		guard_read_filters(thread->process, &visitor->visit);
		if (sampler->session->counting)
			stopped(visitor, thread, is_asleep);
		break;
	case VISIT_REFUSED:
		advances_not_visited(thread);
		thread->process->unseen_ns = sampler->tick.now_ns;
		note_refusal(sampler, thread);
		break;
	case VISIT_GONE:
		if (!is_asleep)
			book_missed(thread);
		advances_not_visited(thread);
		thread->process->unseen_ns = sampler->tick.now_ns;
		due_at_once(sampler, thread, sampler->tick.now_ns);
		break;
	case VISIT_PENDING:
		break;
	}
}

static void note_reaped(struct sampler *sampler, const struct visit *visit)
{
	if (!visit->is_reaped || visit->stopped_tid != sampler->options.targets.command)
		return;
	sampler->result.command_reaped = true;
	sampler->result.command_status = visit->status;
}

/* A thread whose CPU we are on cannot stop before we leave it. */
static uint64_t spin_ns_for(const struct visitor *visitor, bool is_on_our_cpu)
{
	const struct sampler *sampler = visitor->sampler;

	if (is_on_our_cpu)
		return 0;
	if (sampler->idle.some_idle)
		return SPIN_NS;
	return visitor->priority ? SPIN_STOPS * sampler->overhead.away_ns : 0;
}

/* Clocks are read one after the other, and the interrupt of a tick takes some microseconds. */
#define CLOCKS_APART_NS (50 * NS_PER_US)

/* Do its clocks have all the time since it last stopped while it ran? */
static bool ran_until_reading(const struct sampled_thread *thread)
{
	const struct proc_schedstat *clocks = &thread->clocks;
	const struct seen_sleep *former = &thread->sleep;

	if (!former->is_known || former->is_asleep || clocks->cpu_ns < former->cpu_ns ||
	    clocks->runq_ns < former->runq_ns)
		return false;
	return thread->read_ns <= former->from_ns + (clocks->cpu_ns - former->cpu_ns) +
					  (clocks->runq_ns - former->runq_ns) + CLOCKS_APART_NS;
}

void visit_thread(struct visitor *visitor, struct sampled_thread *thread, bool is_asleep)
{
	struct sampler *sampler = visitor->sampler;
	struct tracee *tracee = &thread->roster->tracee;
	size_t stack_bytes = visit_stack_limit(thread);
	struct snapshot *snapshot = visitor->snapshot;
	size_t nr_kernel_bytes = is_asleep ? snapshot->nr_kernel_bytes : 0;
	uint64_t pcount = snapshot->pcount;
	bool is_on_our_cpu = thread->cpu == sched_getcpu();
	enum visit_outcome outcome;

	sampler->counts.nr_begun++;
	visitor->spin_ns = spin_ns_for(visitor, is_on_our_cpu);
	visitor->clocks = (struct visit_clocks){.before = thread->clocks,
						.read_ns = thread->read_ns,
						.ran_until_then = ran_until_reading(thread),
						.is_displaced = is_on_our_cpu && !is_asleep,
						.are_read_after = visitor->spin_ns && !is_asleep};
	visitor->reads_filters = guard_begins_visit(thread);
	visitor->needs_alarm = pool_needs_alarm(sampler, thread);
	visitor->leads_until_ns = sampler->schedule.next_ns;
	advances_before_visit(&sampler->advances, thread);
	thread->visitor = visitor;
	atomic_store(&visitor->busy_since_ns, clock_monotonic_ns());
	pthread_mutex_unlock(&sampler->lock);
	outcome = trace(visitor, tracee, stack_bytes);
	/* The text is still there. It was that of the same sleep if only the stop woke the thread.
	 */
	if (outcome == VISIT_STOPPED && snapshot->pcount <= pcount + 1)
		snapshot->nr_kernel_bytes = nr_kernel_bytes;
	pthread_mutex_lock(&sampler->lock);
	sampler->spending.away_ns += clock_monotonic_ns() - atomic_load(&visitor->busy_since_ns);
	atomic_store(&visitor->busy_since_ns, 0);
	thread->visitor = NULL;
	note_reaped(sampler, &visitor->visit);
	if (thread->is_gone)
		book_free_thread(thread);
	else if (!sampler->session->is_over)
		visited_thread(visitor, thread, outcome, is_asleep);
}
