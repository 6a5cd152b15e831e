// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * works_in_phases [ROUNDS]: in each round two threads compute, the main thread computes alone, two
 * threads compute of which one has three times as much to do, and nothing runs for a while. Prints
 * for how long each phase lasted by the clock of the wall, of the third until the first thread was
 * done and from then on.
 */
#include <pthread.h>

#include "self_measure.h"

#define WORK_NS (30 * MS)

static uint64_t first_done_ns;

static NOINLINE void compute(uint64_t cpu_ns)
{
	struct rounds rounds = rounds_until(CLOCK_THREAD_CPUTIME_ID, thread_cpu_ns() + cpu_ns);
	uint64_t x = cpu_ns;

	while (rounds_go_on(&rounds))
		for (int i = 0; i < 20000; i++)
			SPIN_STEP(x);
	if (x == 0)
		puts("");
}

static NOINLINE void *in_parallel(void *unused)
{
	compute(WORK_NS);
	return unused;
}

static NOINLINE void alone(void)
{
	compute(2 * WORK_NS);
	asm volatile("");
}

static NOINLINE void *is_early(void *unused)
{
	compute(WORK_NS);
	first_done_ns = monotonic_ns();
	return unused;
}

static NOINLINE void *straggles(void *unused)
{
	compute(3 * WORK_NS);
	asm volatile("");
	return unused;
}

static NOINLINE void waits(void)
{
	const struct timespec time = {.tv_nsec = WORK_NS};

	nanosleep(&time, NULL);
	asm volatile("");
}

static void join(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, first, NULL) != 0 ||
	    pthread_create(&threads[1], NULL, second, NULL) != 0)
		abort();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
	uint64_t rounds = number_argument(argc, argv, 1, 10);
	uint64_t at[5], parallel_ns = 0, alone_ns = 0, both_ns = 0, straggling_ns = 0, wait_ns = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		at[0] = monotonic_ns();
		join(in_parallel, in_parallel);
		at[1] = monotonic_ns();
		alone();
		at[2] = monotonic_ns();
		join(is_early, straggles);
		at[3] = monotonic_ns();
		waits();
		at[4] = monotonic_ns();
		parallel_ns += at[1] - at[0];
		alone_ns += at[2] - at[1];
		both_ns += first_done_ns - at[2];
		straggling_ns += at[3] - first_done_ns;
		wait_ns += at[4] - at[3];
	}
	printf("{\"parallel_ns\": %llu, \"alone_ns\": %llu, \"both_ns\": %llu, "
	       "\"straggling_ns\": %llu, \"wait_ns\": %llu}\n",
	       (unsigned long long)parallel_ns, (unsigned long long)alone_ns,
	       (unsigned long long)both_ns, (unsigned long long)straggling_ns,
	       (unsigned long long)wait_ns);
	return 0;
}
