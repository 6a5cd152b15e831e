// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cancelled_waits [MS]: threads wait for a condition and for a semaphore, and are cancelled there,
 * again and again. Each must run its cleanup handlers, one of C and one of -fexceptions, and must
 * have the mutex in the first. Prints {"cancelled", "wrong"}.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none;
static atomic_ulong nr_handled, nr_left, nr_waiting;

static void unlock(void *unused)
{
	(void)unused;
	nr_handled++;
	pthread_mutex_unlock(&lock);
}

static void leave(int *unused)
{
	(void)unused;
	nr_left++;
}

static void __attribute__((noinline)) wait_for_condition(void)
{
	int watched __attribute__((cleanup(leave))) = 0;

	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock, NULL);
	nr_waiting++;
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
	(void)watched;
}

static void count(void *unused)
{
	(void)unused;
	nr_handled++;
}

static void __attribute__((noinline)) wait_for_semaphore(void)
{
	int watched __attribute__((cleanup(leave))) = 0;

	pthread_cleanup_push(count, NULL);
	nr_waiting++;
	for (;;)
		sem_wait(&none);
	pthread_cleanup_pop(1);
	(void)watched;
}

static void *wait_there(void *of_condition)
{
	if (of_condition)
		wait_for_condition();
	else
		wait_for_semaphore();
	return NULL;
}

#define NR_THREADS 4

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end_s = now_s() + (argc > 1 ? strtod(argv[1], NULL) : 1000) / 1000;
	unsigned long nr = 0, nr_wrong = 0;

	sem_init(&none, 0, 0);
	puts("ready");
	fflush(stdout);
	while (now_s() < end_s) {
		pthread_t threads[NR_THREADS];
		void *result;

		nr_waiting = 0;
		for (long i = 0; i < NR_THREADS; i++)
			pthread_create(&threads[i], NULL, wait_there, (void *)(i % 2));
		while (nr_waiting < NR_THREADS)
			usleep(100);
		usleep((useconds_t)(nr % 7) * 300);
		for (int i = 0; i < NR_THREADS; i++)
			pthread_cancel(threads[i]);
		for (int i = 0; i < NR_THREADS; i++) {
			pthread_join(threads[i], &result);
			nr_wrong += result != PTHREAD_CANCELED;
		}
		nr += NR_THREADS;
		nr_wrong += pthread_mutex_trylock(&lock) != 0;
		pthread_mutex_unlock(&lock);
	}
	nr_wrong += nr_handled != nr || nr_left != nr;
	printf("{\"cancelled\": %lu, \"wrong\": %lu, \"handled\": %lu, \"left\": %lu}\n", nr,
	       nr_wrong, nr_handled, nr_left);
	return 0;
}
