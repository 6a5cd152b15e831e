// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads_churn [COUNT [CPU_US]]: COUNT threads one after another, four at a
 * time, each using CPU_US microseconds in churn_work().
 * Prints {"threads", "cpu_ns"}.
 */
#include <pthread.h>

#include "self_measure.h"

#define AT_A_TIME 4

NOINLINE uint64_t churn_work(uint64_t until_ns)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 20000; i++)
			SPIN_STEP(x);
	return x;
}

static void *churn_thread(void *spend_ns)
{
	return (void *)(uintptr_t)churn_work(*(uint64_t *)spend_ns);
}

int main(int argc, char **argv)
{
	unsigned count = (unsigned)number_argument(argc, argv, 1, 2000);
	uint64_t spend_ns = number_argument(argc, argv, 2, 300) * 1000;
	pthread_t threads[AT_A_TIME];
	unsigned started = 0;

	say_ready();
	while (started < count) {
		unsigned nr = 0;

		while (nr < AT_A_TIME && started < count &&
		       !pthread_create(&threads[nr], NULL, churn_thread, &spend_ns)) {
			nr++;
			started++;
		}
		while (nr)
			pthread_join(threads[--nr], NULL);
	}
	printf("{\"threads\": %u, \"cpu_ns\": %llu}\n", started,
	       (unsigned long long)process_cpu_ns());
	return 0;
}
