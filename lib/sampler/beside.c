// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/*
 * So many more stops in calls than there should be: that much of its time would be seen in the
 * wrong place. Fractions are of 2^20: the mean over the last stops has to tell one of hundreds from
 * none.
 *
 * No less: to be driven off its CPU has its price, too, 20 us for each look; and where nobody else
 * can do that (displacer.h) we are on its CPU at its stop, and the kernel lets it go on at an idle
 * one, away from its caches: with one of a hundred xz -1, which makes a call each millisecond, took
 * 9 to 29 % longer at 500 looks a second; never so looked at, 2.
 */
#define WHOLE	   (UINT32_C(1) << 20)
#define MANY_CALLS (WHOLE / 50)
#define MEAN_STOPS 512

/* Looks from its own CPU before it is tried from elsewhere: at first, and when that failed. */
#define FIRST_BESIDE   64
#define NEXT_BESIDE    1024
#define LONGEST_BESIDE (64 * NEXT_BESIDE)

static void look_so_often(struct sampled_thread *thread, uint32_t nr_looks)
{
	if (nr_looks > LONGEST_BESIDE)
		nr_looks = LONGEST_BESIDE;
	thread->nr_beside = thread->nr_beside_all = nr_looks;
	thread->nr_beside_calls = 0;
}

void beside_begin(struct sampled_thread *thread)
{
	if (thread->nr_beside < FIRST_BESIDE)
		look_so_often(thread, FIRST_BESIDE);
}

static void calls_are_many(struct sampled_thread *thread)
{
	uint32_t nr_looks = thread->nr_beside_all * 2;

	look_so_often(thread, nr_looks > NEXT_BESIDE ? nr_looks : NEXT_BESIDE);
}

/*
 * What was seen from its own CPU is no error, if it was seen often enough to tell. That more by
 * chance sends us there again is right: who is often in calls makes many, as a rule.
 */
static uint32_t true_calls(const struct sampled_thread *thread)
{
	uint64_t nr = thread->nr_beside_calls;

	return thread->nr_beside_all < NEXT_BESIDE ? 0
						   : (uint32_t)(nr * WHOLE / thread->nr_beside_all);
}

static void count_stop_beside(struct sampled_thread *thread, bool in_call)
{
	thread->nr_beside_calls += in_call;
	if (--thread->nr_beside == 0)
		thread->in_calls = thread->true_calls = true_calls(thread);
}

static void count_stop_from_elsewhere(struct sampled_thread *thread, bool in_call)
{
	thread->in_calls -= thread->in_calls / MEAN_STOPS;
	thread->in_calls += in_call ? WHOLE / MEAN_STOPS : 0;
	if (thread->in_calls > thread->true_calls + MANY_CALLS)
		calls_are_many(thread);
}

/* So many more stops in calls: the code between them is seen better from beside, if at all. */
#define MANY_BURST_CALLS (WHOLE / 8)
#define MEAN_BURST_STOPS 64
/* From beside so many stops later that is tried again. */
#define BURST_STOPS_BESIDE 512

static void count_stop_at_once(struct sampled_thread *thread, bool in_call)
{
	thread->burst_calls -= thread->burst_calls / MEAN_BURST_STOPS;
	thread->burst_calls += in_call ? WHOLE / MEAN_BURST_STOPS : 0;
}

bool beside_calls_in_bursts(const struct sampled_thread *thread)
{
	return thread->burst_calls > thread->true_calls + MANY_BURST_CALLS;
}

void beside_count_stop(struct sampled_thread *thread, bool in_call)
{
	if (thread->asked_at_once) {
		count_stop_at_once(thread, in_call);
		thread->asked_at_once = false;
		return;
	}
	if (beside_calls_in_bursts(thread))
		thread->burst_calls -= thread->burst_calls / BURST_STOPS_BESIDE;
	if (thread->nr_beside)
		count_stop_beside(thread, in_call);
	else if (thread->from_elsewhere)
		count_stop_from_elsewhere(thread, in_call);
}

/* More in a second of CPU time than that make for two stops of a hundred in page faults. */
#define MANY_FAULTS_A_SECOND 2500
/* The shortest time that says anything: clocks of running threads are some milliseconds old. */
#define FAULTS_INTERVAL_NS (25 * NS_PER_MS)
/*
 * Programs touch new memory in phases: so many intervals without do not mean that it is over. But
 * what begins has faults that say nothing about the rest: once is not often.
 */
#define FIRST_FAULTS_LAST 4
#define FAULTS_LAST	  40
#define FAULTS_GROW	  4

static uint32_t longer(uint32_t last)
{
	if (last * FAULTS_GROW < FIRST_FAULTS_LAST)
		return FIRST_FAULTS_LAST;
	return last * FAULTS_GROW < FAULTS_LAST ? last * FAULTS_GROW : FAULTS_LAST;
}

/* However long the phase: that there are others shows when they come. */
static void faults_are_many(struct sampled_thread *thread)
{
	if (!thread->makes_faults)
		thread->faults_last = longer(thread->faults_last);
	thread->makes_faults = thread->faults_last;
}

/* What it had before the first look, as a rule to load its program, is not judged. */
static void begin_counting_faults(struct sampled_thread *thread)
{
	thread->counts_faults = true;
	thread->faults_counted = thread->tracee->nr_faults;
	thread->faults_cpu_ns = thread->tracee->faults_cpu_ns;
}

void beside_count_faults(struct sampled_thread *thread)
{
	uint64_t interval_ns = thread->tracee->faults_cpu_ns - thread->faults_cpu_ns;
	uint64_t nr = thread->tracee->nr_faults - thread->faults_counted;

	if (!thread->counts_faults) {
		begin_counting_faults(thread);
		return;
	}
	if (interval_ns < FAULTS_INTERVAL_NS)
		return;
	if (nr > interval_ns / (NS_PER_SEC / MANY_FAULTS_A_SECOND))
		faults_are_many(thread);
	else if (thread->makes_faults)
		thread->makes_faults--;
	thread->faults_counted = thread->tracee->nr_faults;
	thread->faults_cpu_ns = thread->tracee->faults_cpu_ns;
}

bool beside_is_better(const struct sampled_thread *thread)
{
	return thread->nr_beside > 0 || thread->makes_faults ||
	       target_makes_transfers(thread->tracee);
}
