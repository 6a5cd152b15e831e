// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/*
 * More stops of a hundred than one in calls: that much of its time may be seen in the wrong place.
 * Fractions are of 2^20: the mean over the last stops has to tell one of hundreds from none.
 */
#define WHOLE	   (UINT32_C(1) << 20)
#define MANY_CALLS (WHOLE / 100)
#define MEAN_STOPS 256

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

void beside_count_stop(struct sampled_thread *thread, bool in_call)
{
	if (thread->nr_beside) {
		thread->nr_beside_calls += in_call;
		if (--thread->nr_beside == 0 &&
		    (uint64_t)thread->nr_beside_calls * WHOLE >
			    (uint64_t)thread->nr_beside_all * MANY_CALLS)
			calls_are_many(thread);
		thread->in_calls = 0;
	} else if (thread->from_elsewhere) {
		thread->in_calls -= thread->in_calls / MEAN_STOPS;
		thread->in_calls += in_call ? WHOLE / MEAN_STOPS : 0;
		if (thread->in_calls > MANY_CALLS)
			calls_are_many(thread);
	}
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

static void faults_are_many(struct sampled_thread *thread)
{
	uint32_t last = thread->faults_last * FAULTS_GROW;

	if (last < FIRST_FAULTS_LAST)
		last = FIRST_FAULTS_LAST;
	thread->makes_faults = thread->faults_last = last < FAULTS_LAST ? last : FAULTS_LAST;
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
