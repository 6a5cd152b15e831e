// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * oversubscribed NR [MS]: NR threads spin in crowded_work() for MS milliseconds on
 * one CPU, so that each waits for its turn most of the time.
 * Prints {"threads", "cpu_ns", "elapsed_ns"}.
 */
#include <pthread.h>
#include <sched.h>

#include "self_measure.h"

#define MAX_THREADS 64

static uint64_t end_ns;

NOINLINE static void *crowded_work(void *unused)
{
	uint64_t x = 1;

	(void)unused;
	while (monotonic_ns() < end_ns)
		for (unsigned i = 0; i < 50000; i++)
			SPIN_STEP(x);
	return (void *)(uintptr_t)(x & 1);
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 4);
	pthread_t threads[MAX_THREADS];
	uint64_t start_ns = monotonic_ns();
	cpu_set_t one;

	if (nr > MAX_THREADS)
		return 2;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	end_ns = start_ns + number_argument(argc, argv, 2, 1000) * MS;
	for (unsigned i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, crowded_work, NULL);
	for (unsigned i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("{\"threads\": %u, \"cpu_ns\": %llu, \"elapsed_ns\": %llu}\n", nr,
	       (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(monotonic_ns() - start_ns));
	return 0;
}
