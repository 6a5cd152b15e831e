// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that call one small function, leaf(), over and over at once, and how long a call takes by
 * the thread's own CPU clock: the median of some stretches, as the quickest may be one in which the
 * other threads did not run. Profilers that instrument are to count the calls of leaf() alone.
 *
 *	counted_leaf THREADS CALLS STRETCHES
 *
 * Built with -DBY_GOT the call goes through a word of the GOT, as with -fno-plt into a library;
 *with -DLONG leaf() takes some ten times as long. With -DBY_HAND each call is timed by
 *clock_gettime(), and a histogram has its length.
 */
#include <pthread.h>

#include "self_measure.h"

#define NOT_COUNTED __attribute__((no_instrument_function, no_profile_instrument_function))
/* No loop, or what instruments each branch would count that too. */
#define FOUR_STEPS(x) (SPIN_STEP(x), SPIN_STEP(x), SPIN_STEP(x), SPIN_STEP(x))
#define MAX_THREADS   64
#define MAX_STRETCHES 100
#define STRETCHES     20
#define CALLS	      5000000

struct caller {
	pthread_t thread;
	uint64_t calls, stretches;
	uint64_t used_ns[MAX_STRETCHES];
};

static pthread_barrier_t all_there;

#ifdef BY_GOT
__attribute__((noplt))
#endif
NOINLINE uint64_t
leaf(uint64_t x);

#ifdef BY_HAND
static __thread uint64_t lengths[64 * 8], total_ns;

/* Eight for each doubling. */
NOT_COUNTED ALWAYS_INLINE void note_length(uint64_t ns)
{
	unsigned int power = 63 - (unsigned int)__builtin_clzll(ns | 8);

	lengths[(power - 3) * 8 + (unsigned int)(ns >> (power - 3))]++;
	total_ns += ns;
}
#endif

/* Nothing else is called here, so that a profiler may count all calls of this function. */
NOT_COUNTED NOINLINE uint64_t call_leaf(uint64_t calls)
{
	uint64_t x = 1;

	for (uint64_t i = 0; i < calls; i++) {
#ifdef BY_HAND
		uint64_t began_ns = monotonic_ns();

		x = leaf(x);
		note_length(monotonic_ns() - began_ns);
#else
		x = leaf(x);
#endif
	}
	return x;
}

NOT_COUNTED static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

NOT_COUNTED static void *call_in_stretches(void *context)
{
	struct caller *caller = context;
	volatile uint64_t sink;

	pthread_barrier_wait(&all_there);
	for (uint64_t i = 0; i < caller->stretches; i++) {
		uint64_t began_ns = thread_cpu_ns();

		sink = call_leaf(caller->calls);
		caller->used_ns[i] = thread_cpu_ns() - began_ns;
	}
	(void)sink;
	qsort(caller->used_ns, caller->stretches, sizeof(uint64_t), compare);
	return NULL;
}

NOT_COUNTED int main(int argc, char **argv)
{
	static struct caller callers[MAX_THREADS];
	uint64_t nr_threads = number_argument(argc, argv, 1, 1);
	uint64_t calls = number_argument(argc, argv, 2, CALLS);
	uint64_t stretches = number_argument(argc, argv, 3, STRETCHES);
	uint64_t used_ns = 0;

	if (!nr_threads || nr_threads > MAX_THREADS || !stretches || stretches > MAX_STRETCHES)
		return 2;
	pthread_barrier_init(&all_there, NULL, (unsigned int)nr_threads);
	for (uint64_t i = 0; i < nr_threads; i++) {
		callers[i].calls = calls;
		callers[i].stretches = stretches;
		pthread_create(&callers[i].thread, NULL, call_in_stretches, &callers[i]);
	}
	for (uint64_t i = 0; i < nr_threads; i++) {
		pthread_join(callers[i].thread, NULL);
		used_ns += callers[i].used_ns[stretches / 2];
	}
	printf("{\"ns_per_call\":%.3f,\"calls\":%llu}\n",
	       (double)used_ns / (double)(nr_threads * calls),
	       (unsigned long long)(nr_threads * calls * stretches));
	return 0;
}

/* Aligned, as how long a short loop takes depends on where it stands. */
__attribute__((aligned(64))) uint64_t leaf(uint64_t x)
{
	SPIN_STEP(x);
#ifdef LONG
	FOUR_STEPS(x);
	FOUR_STEPS(x);
	FOUR_STEPS(x);
#endif
	return x ^ x >> 7;
}
