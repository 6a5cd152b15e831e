// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * realtime_crowd PRIORITY MS: after 200 ms of sleep four threads of that real-time priority for MS
 * milliseconds, each of which works for 4 ms at a time in urgent_work(), and sleeps for a moment
 * then. Prints {"cpu_ns"}; ends with status 77 where it may not have that priority.
 */
#include <pthread.h>
#include <sched.h>

#include "self_measure.h"

#define NR_THREADS 4

static uint64_t end_ns;

NOINLINE static void urgent_work(uint64_t until_ns)
{
	volatile uint64_t x = 1;

	while (monotonic_ns() < until_ns)
		for (unsigned i = 0; i < 1000; i++)
			SPIN_STEP(x);
}

static void *urgent_main(void *number)
{
	const struct timespec pause = {.tv_nsec = 500000 + (long)(intptr_t)number * 100000};

	while (monotonic_ns() < end_ns) {
		urgent_work(monotonic_ns() + 4 * MS);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sched_param param = {.sched_priority = (int)number_argument(argc, argv, 1, 50)};
	const struct timespec pause = {.tv_nsec = 200 * MS};
	pthread_t threads[NR_THREADS];

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		return 77;
	nanosleep(&pause, NULL);
	end_ns = monotonic_ns() + number_argument(argc, argv, 2, 1000) * MS;
	for (intptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, urgent_main, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)process_cpu_ns());
	return 0;
}
