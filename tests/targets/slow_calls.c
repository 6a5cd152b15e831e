// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A known mixture: a thread calls handle_request() CALLS times. Each computes for 300 us; every
 * EVERY-th also waits for `big_lock`, which another thread holds for 8 ms from before the call on.
 * At the end it says how long it was blocked in that by the clocks of the kernel, as JSON.
 *
 *	slow_calls CALLS EVERY
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted, held;
static volatile uint64_t sink;
static uint64_t blocked_ns;

/* Time that this thread was neither on a CPU nor waiting for one, up to now; from any beginning. */
static uint64_t blocked_until_now(void)
{
	unsigned long long cpu = 0, queue = 0;
	struct timespec now;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (!file || fscanf(file, "%llu %llu", &cpu, &queue) != 2)
		exit(1);
	fclose(file);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - cpu - queue;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((noinline, noclone)) void compute(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end) {
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i;
	}
}

__attribute__((noinline, noclone)) void take_lock(void)
{
	uint64_t before = blocked_until_now();

	pthread_mutex_lock(&big_lock);
	blocked_ns += blocked_until_now() - before;
	pthread_mutex_unlock(&big_lock);
}

__attribute__((noinline, noclone)) void handle_request(int is_slow)
{
	compute(300000);
	if (is_slow)
		take_lock();
	sink += 1;
}

static void *hold(void *context)
{
	const struct timespec time = {.tv_nsec = 8000000};

	(void)context;
	for (;;) {
		sem_wait(&wanted);
		pthread_mutex_lock(&big_lock);
		sem_post(&held);
		nanosleep(&time, NULL);
		pthread_mutex_unlock(&big_lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 1000;
	int every = argc > 2 ? atoi(argv[2]) : 100;
	pthread_t holder;
	int nr_slow = 0;

	sem_init(&wanted, 0, 0);
	sem_init(&held, 0, 0);
	pthread_create(&holder, NULL, hold, NULL);
	for (int i = 0; i < calls; i++) {
		int is_slow = i % every == every - 1;

		if (is_slow) {
			sem_post(&wanted);
			sem_wait(&held);
			nr_slow++;
		}
		handle_request(is_slow);
	}
	printf("{\"calls\":%d,\"slow\":%d,\"blocked_ns\":%llu}\n", calls, nr_slow,
	       (unsigned long long)blocked_ns);
	return 0;
}
