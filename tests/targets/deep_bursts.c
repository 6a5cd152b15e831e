// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deep_bursts [BURSTS]: threads that all sleep for 700 ms and then work for 60 at the end of 200 KB
 * of stack each, so many times (4). Every stack that is taken is large, and long before there was
 * nothing to do with any.
 */
#include <pthread.h>
#include <unistd.h>

#include "self_measure.h"

#define NR_THREADS  16
#define FRAME_BYTES 2000
#define FRAMES	    100

static pthread_barrier_t together;
static uint64_t nr_bursts;

static NOINLINE uint64_t work(int depth)
{
	volatile char frame[FRAME_BYTES];
	uint64_t until_ns = thread_cpu_ns() + 60 * MS;
	uint64_t x = 1;

	frame[0] = (char)depth;
	if (depth)
		return work(depth - 1) + (uint64_t)frame[0];
	while (thread_cpu_ns() < until_ns) {
		for (int i = 0; i < 10000; i++)
			x = x * 6364136223846793005u + 1;
	}
	return x;
}

static void *rest_and_work(void *sum)
{
	for (uint64_t i = 0; i < nr_bursts; i++) {
		pthread_barrier_wait(&together);
		usleep(700000);
		*(uint64_t *)sum += work(FRAMES);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t sums[NR_THREADS] = {0};
	pthread_t threads[NR_THREADS];

	nr_bursts = number_argument(argc, argv, 1, 4);
	pthread_barrier_init(&together, NULL, NR_THREADS);
	say_ready();
	for (int i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, rest_and_work, &sums[i]))
			return 2;
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
