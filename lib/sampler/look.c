// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "target/target.h"

static void place(struct sampler *sampler, struct sampled_thread *thread, size_t index)
{
	sampler->threads[index] = thread;
	thread->index = index;
}

static void swap(struct sampler *sampler, size_t a, size_t b)
{
	struct sampled_thread *first = sampler->threads[a];

	place(sampler, sampler->threads[b], a);
	place(sampler, first, b);
}

static void make_active(struct sampler *sampler, struct sampled_thread *thread)
{
	thread->nr_quiet = 0;
	thread->quiet_since_ns = thread->looked_ns;
	if (thread->index < sampler->nr_active)
		return;
	swap(sampler, thread->index, sampler->nr_active++);
	naps_remove(&sampler->naps, thread);
	target_watch_closely(thread->tracee);
}

static void make_idle(struct sampler *sampler, struct sampled_thread *thread)
{
	if (thread->index >= sampler->nr_active)
		return;
	swap(sampler, thread->index, --sampler->nr_active);
	if (thread->tracee)
		target_watch_loosely(sampler->target, thread->tracee);
}

/* A new thread is looked at first when its turn comes, which is soon. */
void look_add_thread(struct sampler *sampler, struct sampled_thread *thread)
{
	ARRAY_GROW(sampler->threads, sampler->nr_threads, sampler->cap_threads);
	place(sampler, thread, sampler->nr_threads++);
	beside_begin(thread);
	thread->is_unseen = true;
	ARRAY_GROW(sampler->unseen, sampler->nr_unseen, sampler->cap_unseen);
	thread->unseen_index = sampler->nr_unseen;
	sampler->unseen[sampler->nr_unseen++] = thread;
}

static void note_seen(struct sampler *sampler, struct sampled_thread *thread)
{
	struct sampled_thread *last;

	if (!thread->is_unseen)
		return;
	last = sampler->unseen[--sampler->nr_unseen];
	last->unseen_index = thread->unseen_index;
	sampler->unseen[thread->unseen_index] = last;
	thread->is_unseen = false;
}

void look_remove_thread(struct sampler *sampler, struct sampled_thread *thread)
{
	note_seen(sampler, thread);
	make_idle(sampler, thread);
	naps_remove(&sampler->naps, thread);
	swap(sampler, thread->index, sampler->nr_threads - 1);
	sampler->nr_threads--;
	for (size_t i = 0; i < sampler->nr_awaited; i++) {
		if (sampler->awaited[i] == thread)
			sampler->awaited[i--] = sampler->awaited[--sampler->nr_awaited];
	}
	for (size_t i = 0; i < sampler->nr_revisits; i++) {
		if (sampler->revisits[i] == thread)
			sampler->revisits[i--] = sampler->revisits[--sampler->nr_revisits];
	}
	chase_remove_thread(sampler, thread);
}

size_t look_nr_awaited(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_awaited; i++) {
		if (!sampler->awaited[i]->tracee->interrupting)
			sampler->awaited[i--] = sampler->awaited[--sampler->nr_awaited];
	}
	return sampler->nr_awaited;
}

struct snapshot *look_spare_snapshot(struct sampler *sampler)
{
	if (!sampler->spare)
		sampler->spare = xcalloc(1, sizeof(*sampler->spare));
	return sampler->spare;
}

size_t look_stack_limit(const struct sampled_thread *thread)
{
	target_know_root(thread->tracee,
			 atomic_load_explicit(&thread->hints->root_sp, memory_order_relaxed));
	target_know_behind(thread->tracee,
			   atomic_load_explicit(&thread->hints->behind_sp, memory_order_relaxed));
	return atomic_load_explicit(&thread->hints->max_stack_bytes, memory_order_relaxed);
}

/* How the next looks will know that it has gone back to the sleep we woke it from. */
static void remember_sleep(struct sampled_thread *thread, const struct snapshot *snapshot)
{
	thread->returns_to_sleep = true;
	thread->sleep_syscall = snapshot->syscall_nr;
	regs_get(&snapshot->regs, arch_regs(snapshot->arch)->sp, &thread->sleep_sp);
}

static void tell_held(struct sampler *sampler, struct sampled_thread *thread, enum seen_state kind)
{
	bool in_call = sampler->spare->syscall_nr != SNAPSHOT_NO_SYSCALL;

	beside_count_stop(thread, in_call);
	thread->has_registers = true;
	thread->returns_to_sleep = false;
	if (kind == SEEN_BLOCKED)
		remember_sleep(thread, sampler->spare);
	else if (kind == SEEN_RUNNABLE)
		sampler->counts.nr_waiting_looks++;
	look_tell_new(sampler, thread, kind);
}

/* How long it waited for a CPU between being asked to stop and stopping. */
static uint64_t waited_since_look(const struct sampled_thread *thread,
				  const struct snapshot *snapshot)
{
	return snapshot->runq_ns > thread->looked_runq_ns
		       ? snapshot->runq_ns - thread->looked_runq_ns
		       : 0;
}

static bool read_clocks(const struct sampler *sampler, struct look_held *held)
{
	if (!target_capture_clocks(held->thread->tracee, held->snapshot))
		return false;
	held->thread->stopped_pcount = held->snapshot->pcount;
	held->waited_ns = waited_since_look(held->thread, held->snapshot);
	held->kind = look_kind(sampler, held);
	return true;
}

/*
 * Where CPUs are idle, who computes is let go before its clocks are read, which takes a twentieth
 * of the time that it is held: it goes on at once, and for its next look it is enough that it has
 * been scheduled in since the one before. Elsewhere it may wait, and have been scheduled in for
 * nothing but this stop: then it is not to be looked at again.
 */
static bool is_let_go_first(const struct sampler *sampler, const struct look_held *held)
{
	return sampler->placement.kind == PLACEMENT_AWAY &&
	       held->snapshot->syscall_nr == SNAPSHOT_NO_SYSCALL;
}

static bool read_clocks_of_free(const struct sampler *sampler, struct look_held *held)
{
	bool is_there = read_clocks(sampler, held);

	held->snapshot->pcount = held->thread->looked_pcount;
	return is_there;
}

/*
 * To ask which code stands where it ran takes 5 us after 10 ms of rest, a fifth of the time that it
 * is held. As long as none has been replaced it can wait until it is let go: other threads could
 * replace it meanwhile in any case.
 */
static bool may_ask_places_later(const struct look_held *held)
{
	return places_are_calm(held->thread->process, held->snapshot->time_ns);
}

void look_at_held(struct sampler *sampler, struct tracee *tracee)
{
	struct look_held held = {
		.thread = tracee->owner,
		.snapshot = look_spare_snapshot(sampler),
		.asked_ns = tracee->interrupted_ns,
	};
	bool is_let_go, asks_later;

	if (!held.thread || !sampler->counting) {
		target_resume(sampler->target, tracee);
		return;
	}
	if (held.thread->displaced_ns)
		held.asked_ns = held.thread->displaced_ns;
	target_capture(tracee, look_stack_limit(held.thread), held.snapshot);
	is_let_go = is_let_go_first(sampler, &held);
	asks_later = is_let_go && may_ask_places_later(&held);
	if (!asks_later)
		places_ask(sampler, held.thread, held.snapshot);
	if (!is_let_go && !read_clocks(sampler, &held)) {
		target_resume(sampler->target, tracee);
		return;
	}
	target_resume(sampler->target, tracee);
	held.let_go_ns = clock_monotonic_ns();
	if (is_let_go && !read_clocks_of_free(sampler, &held))
		return;
	if (asks_later)
		places_ask(sampler, held.thread, held.snapshot);
	look_count_cost(sampler, &held);
	tell_held(sampler, held.thread, look_kind_to_tell(sampler, &held));
}

void look_at_stopped(struct sampler *sampler, struct tracee *tracee)
{
	struct sampled_thread *thread = tracee->owner;
	struct snapshot *snapshot = look_spare_snapshot(sampler);

	if (!thread || !sampler->counting || !choose_is_counted(sampler, thread))
		return;
	target_capture(tracee, look_stack_limit(thread), snapshot);
	/* Who slept is in that sleep, and goes on with it. */
	if (snapshot->state != THREAD_STATE_RUNNING || !target_capture_clocks(tracee, snapshot))
		return;
	snapshot->state = THREAD_STATE_STOPPED;
	places_ask(sampler, thread, snapshot);
	thread->has_registers = true;
	thread->returns_to_sleep = false;
	look_tell_new(sampler, thread, SEEN_BLOCKED);
}

/*
 * Frames with a frame pointer above a sleeping call can only be found from registers that
 * no file of /proc shows. One stop for each sleep, and only where nothing is spoilt by it.
 */
#define FIRST_OF_SLEEP_NS (4 * NS_PER_MS)

static bool needs_stop_asleep(const struct sampled_thread *thread)
{
	const struct target_care *care = &thread->tracee->care;

	return atomic_load_explicit(&thread->hints->needs_registers, memory_order_relaxed) &&
	       care->stoppable_asleep &&
	       (!care->only_at_first || thread->looked_ns - thread->awake_ns < FIRST_OF_SLEEP_NS);
}

/*
 * After so many looks without change a thread is looked at more rarely. If the looks come late
 * because there are too many to look at, after so long as they would have taken.
 */
#define QUIET_LOOKS 16

static bool is_quiet(const struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	return ++thread->nr_quiet >= QUIET_LOOKS ||
	       now_ns - thread->quiet_since_ns >= QUIET_LOOKS * sampler->governor.base_period_ns;
}

/*
 * A sleeper is told about once a second, and the longer it sleeps the more rarely, so that a
 * recording cut short has it too.
 */
#define TELL_SLEEP_NS NS_PER_SEC

/*
 * Who was met in more sleeps than those that threads begin with will wake again. When that was is
 * to be known to so small a part of the time that it has slept.
 */
#define FIRST_SLEEPS 2
#define NAP_PART     8

static void rest(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	make_idle(sampler, thread);
	if (thread->asleep && thread->nr_sleeps > FIRST_SLEEPS)
		naps_put(&sampler->naps, thread,
			 now_ns + (now_ns - thread->slept_from_ns) / NAP_PART);
}

/*
 * Woken, a thread counts as scheduled in only once it has a CPU. Where it waits for one, that would
 * pass for sleep, and be taken from the next one.
 */
static bool waits_for_cpu(const struct sampler *sampler, const struct sampled_thread *thread)
{
	return thread->asleep && !sampler->idle.some_idle && thread->index < sampler->nr_active &&
	       target_still_runs(thread->tracee);
}

/* Nothing has happened since the last look: its stack still holds. */
static void still_the_same(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	if (waits_for_cpu(sampler, thread))
		return;
	if (is_quiet(sampler, thread, now_ns))
		rest(sampler, thread, now_ns);
	if (!thread->asleep)
		return;
	thread->slept_until_ns = now_ns;
	thread->nr_slept++;
	sampler->counts.nr_resting_looks++;
	if (!thread->has_registers && needs_stop_asleep(thread))
		look_interrupt(sampler, thread);
	else if (now_ns - thread->told_ns >= TELL_SLEEP_NS + (now_ns - thread->slept_from_ns) / 4)
		look_tell_sleep(sampler, thread);
}

static void tell_asleep(struct sampler *sampler, struct sampled_thread *thread)
{
	sampler->counts.nr_blocked_looks++;
	thread->has_registers = false;
	thread->returns_to_sleep = false;
	if (needs_stop_asleep(thread)) {
		look_interrupt(sampler, thread);
		return;
	}
	places_ask(sampler, thread, sampler->spare);
	look_tell_new(sampler, thread, SEEN_BLOCKED);
}

static void look_afresh(struct sampler *sampler, struct sampled_thread *thread,
			const struct proc_schedstat *clocks)
{
	struct snapshot *snapshot = look_spare_snapshot(sampler);
	bool is_new = !thread->was_seen;
	enum target_look look;

	/* Who is driven off its CPU by our coming there goes on at another. */
	if (beside_is_better(thread))
		target_see_afresh(thread->tracee);
	look = target_look(thread->tracee, clocks, look_stack_limit(thread), snapshot);
	make_active(sampler, thread);
	if (is_new && look == TARGET_LOOK_TAKEN && round_is_crowded(sampler))
		make_idle(sampler, thread); /* most of a crowd go on sleeping */
	if (look == TARGET_LOOK_RUNNING)
		beside_count_faults(thread);
	placement_saw(&sampler->placement, thread->tracee->cpu, look == TARGET_LOOK_RUNNING,
		      beside_is_better(thread));
	thread->found_awake = look == TARGET_LOOK_RUNNING;
	switch (look) {
	case TARGET_LOOK_TAKEN:
		thread->nr_sleeps++;
		tell_asleep(sampler, thread);
		break;
	case TARGET_LOOK_RUNNING:
		look_found_awake(sampler, thread, clocks, thread->looked_ns);
		look_ask_to_stop(sampler, thread, clocks);
		break;
	case TARGET_LOOK_CHANGED:
		/* It wakes and sleeps faster than it can be read: the next tick may do better. */
		sampler->counts.nr_torn_looks++;
		break;
	case TARGET_LOOK_HIDDEN:
		break;
	case TARGET_LOOK_GONE:
		/* The dead tell nothing new. To ask thousands in each tick kept us from their ends.
		 */
		make_idle(sampler, thread);
		break;
	}
}

/* Our stop has woken it, which counts, and it went back to the very same sleep. */
static bool went_back_to_sleep(struct sampled_thread *thread, uint64_t pcount)
{
	if (!thread->returns_to_sleep || pcount != thread->pcount + 1)
		return false;
	thread->returns_to_sleep = false;
	if (!target_sleeps_again(thread->tracee, thread->sleep_syscall, thread->sleep_sp))
		return false;
	thread->pcount = pcount;
	return true;
}

/* Of few threads each may be active, and is looked at often from the first look on. */
static bool is_to_be_met(const struct sampler *sampler, const struct target_met *met)
{
	return met->is_asleep && sampler->counting && !sampler->options.threads &&
	       round_is_crowd(met->nr_threads) && !sampler_is_behind(sampler);
}

void look_at_met(struct sampler *sampler, struct sampled_thread *thread,
		 const struct target_met *met)
{
	if (!is_to_be_met(sampler, met) ||
	    target_look(thread->tracee, &met->clocks, look_stack_limit(thread),
			look_spare_snapshot(sampler)) != TARGET_LOOK_TAKEN)
		return;
	note_seen(sampler, thread);
	hunt_saw_clock(thread, met->clocks.cpu_ns);
	thread->looked_ns = clock_monotonic_ns();
	tell_asleep(sampler, thread);
}

void look_at(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct proc_schedstat clocks;

	note_seen(sampler, thread);
	if (thread->tracee->interrupting) {
		sampler->counts.nr_unfinished_stops++;
		return;
	}
	thread->displaced_ns = 0;
	if (!choose_thread(sampler, thread, now_ns) || !target_clocks(thread->tracee, &clocks))
		return;
	hunt_saw_clock(thread, clocks.cpu_ns);
	if (!thread->was_seen || clocks.pcount != thread->pcount)
		thread->awake_ns = thread->looked_ns; /* not asleep as now at the last look */
	thread->looked_ns = now_ns;
	thread->rested = thread->index >= sampler->nr_active;
	thread->looked_late_ns = sampler->tick_late_ns;
	thread->looked_runq_ns = clocks.runq_ns;
	thread->looked_cpu_ns = clocks.cpu_ns;
	thread->looked_pcount = clocks.pcount;
	if (thread->was_seen &&
	    (clocks.pcount == thread->pcount || went_back_to_sleep(thread, clocks.pcount)))
		still_the_same(sampler, thread, now_ns);
	else if (!thread->tracee->listening)
		look_afresh(sampler, thread, &clocks);
}

/* Longer than the end of any system call takes, shorter than what is worth sampling. */
#define CALL_END_NS (40 * NS_PER_US)

/*
 * Threads that were found awake, maybe still on their way out of a call that a stop would
 * send back into its sleep: shortly after, they are out of it.
 */
static void look_again(struct sampler *sampler, uint64_t now_ns)
{
	const struct timespec pause = {.tv_nsec = (long)CALL_END_NS};

	if (!sampler->nr_revisits)
		return;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	sampler->tick_slept_ns += CALL_END_NS;
	for (size_t i = 0; i < sampler->nr_revisits; i++)
		look_at(sampler, sampler->revisits[i], now_ns);
	sampler->nr_revisits = 0;
}

/* Where nobody runs who is to stop. */
static int own_cpu(const struct sampler *sampler)
{
	return sampler->displacer.armed_for_ns ? sampler->displacer.cpu : sched_getcpu();
}

/*
 * A stop takes us so long. Of hundreds that wake at once, as for a broadcast, each that is asked
 * stops as soon as it comes to a CPU and stands until all before it have been served: no more are
 * asked in a tick than half of it is enough for, others in the next.
 */
#define STOP_NS	      (40 * NS_PER_US)
#define LEAST_ASKED   16
#define ASKING_PASSES 2

static uint64_t most_asked(const struct sampler *sampler)
{
	return max_u64(LEAST_ASKED, sampler->schedule.period_ns / 2 / ASKING_PASSES / STOP_NS);
}

/*
 * While we look, nobody runs on our CPU, and who has just woken there waits: not for longer than a
 * part of what is between two ticks, a third for those on other CPUs and a sixth for those on ours.
 * Others have their turn in the next tick. At 10,000 Hz that would be none.
 */
#define SHORTEST_LOOKS_NS NS_PER_MS
#define LONGEST_LOOKS_NS  (4 * NS_PER_MS)

static bool takes_long(const struct sampler *sampler, bool on_own_cpu, uint64_t began_ns)
{
	uint64_t pause_ns = max_u64(sampler->governor.base_period_ns, SHORTEST_LOOKS_NS);

	pause_ns = min_u64(pause_ns, LONGEST_LOOKS_NS);
	return clock_monotonic_ns() - began_ns >= pause_ns / (on_own_cpu ? 6 : 3);
}

/* One more may be found idle: the one that takes its place has its turn in the next tick. */
static void look_at_active(struct sampler *sampler, size_t nr, bool on_own_cpu, uint64_t now_ns)
{
	uint64_t nr_asked_before = target_stats(sampler->target).nr_interrupts;
	size_t *last = &sampler->last_asked[on_own_cpu]; /* where the asking goes on; mostly 0 */
	size_t begin = *last;
	uint64_t began_ns = clock_monotonic_ns();
	int cpu = own_cpu(sampler);

	*last = 0;
	for (size_t left = nr; left-- > 0;) {
		size_t i = (begin + left) % nr;
		struct sampled_thread *thread = i < sampler->nr_active ? sampler->threads[i] : NULL;

		if (!thread || (thread->tracee->cpu == cpu) != on_own_cpu)
			continue;
		if (target_stats(sampler->target).nr_interrupts - nr_asked_before >=
			    most_asked(sampler) ||
		    takes_long(sampler, on_own_cpu, began_ns)) {
			*last = i + 1;
			return;
		}
		/* Else it was looked at elsewhere, and has come here since. */
		if (thread->looked_ns != now_ns)
			look_at(sampler, thread, now_ns);
		serve_early(sampler);
	}
}

/* Once there it sets its timer for the next tick; else it is told when this one ends. */
static void let_displacer_go(struct sampler *sampler)
{
	if (displacer_is_there(&sampler->displacer) && sampler->placement.any_caller)
		displacer_arm(&sampler->displacer, sampler->displacer.cpu,
			      sampler->schedule.after_next_ns);
	else
		displacer_dismiss(&sampler->displacer);
}

/*
 * Those that run come last, of them those on our CPU: those on others have stopped meanwhile, while
 * ours cannot before we sleep.
 */
void look_at_all(struct sampler *sampler, uint64_t now_ns)
{
	size_t nr_active = sampler->nr_active; /* not those that are found awake now */

	round_go_on(sampler, now_ns);
	look_at_active(sampler, nr_active, false, now_ns);
	look_at_active(sampler, nr_active, true, now_ns);
	let_displacer_go(sampler);
	look_again(sampler, now_ns);
}
