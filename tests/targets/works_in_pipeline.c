// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pipeline with a known answer: one thread works A us for each item, another B us, with a queue
 * of four between them. Items a second are 1 / max(A, B).
 *
 *	works_in_pipeline A_US B_US [SLEEPERS]
 *
 * A third thread waits for timers, and so many more sleep. When standard input ends, prints how
 * many items a second there were, and how many of those waits were interrupted; ends with status 7.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define ROOM 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queued;
static long steps_a, steps_b;
static long nr_waits, nr_interrupted;
static volatile int is_over;
static volatile uint64_t number = 1;
volatile uint64_t items;

static double seconds_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#define WORK(name)                                                                                 \
	__attribute__((noinline)) void name(long steps);                                           \
	void name(long steps)                                                                      \
	{                                                                                          \
		uint64_t x = number;                                                               \
                                                                                                   \
		for (long i = 0; i < steps; i++) {                                                 \
			x = x * 6364136223846793005u + 1;                                          \
			__asm__ volatile("" ::"r"(x));                                             \
		}                                                                                  \
		number = x;                                                                        \
	}

WORK(work_a)
WORK(work_b)
WORK(work_briefly)

__attribute__((noinline)) void finish_item(void);
void finish_item(void)
{
	items++;
	__asm__ volatile("" ::: "memory");
}

static void *make(void *argument)
{
	for (;;) {
		work_a(steps_a);
		pthread_mutex_lock(&lock);
		while (queued == ROOM)
			pthread_cond_wait(&changed, &lock);
		queued++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

static void *take(void *argument)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!queued)
			pthread_cond_wait(&changed, &lock);
		queued--;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		work_b(steps_b);
		finish_item();
	}
	return argument;
}

/* Timed waits that return EINTR to whatever stops their thread carelessly. */
static void *wait_often(void *argument)
{
	int epoll = epoll_create1(0);
	sigset_t none;

	sigemptyset(&none);
	sigaddset(&none, SIGUSR1);
	while (!is_over) {
		struct epoll_event event;
		struct timespec time = {.tv_nsec = 1000000};

		nr_interrupted += epoll_wait(epoll, &event, 1, 1) < 0;
		nr_interrupted += sigtimedwait(&none, NULL, &time) < 0 && errno == EINTR;
		nr_interrupted += poll(NULL, 0, 1) < 0;
		nr_interrupted += nanosleep(&time, NULL) < 0;
		work_briefly(20000);
		nr_waits += 4;
	}
	return argument;
}

static void *sleep_on(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void start_sleepers(long nr)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	while (nr-- > 0)
		pthread_create(&thread, &attributes, sleep_on, NULL);
}

int main(int argc, char **argv)
{
	double begin, step;
	pthread_t threads[3];
	uint64_t before;
	char byte;

	if (argc < 3)
		return 2;
	begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	work_a(20000000);
	step = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin) / 20000000;
	steps_a = (long)(strtod(argv[1], NULL) * 1e-6 / step);
	steps_b = (long)(strtod(argv[2], NULL) * 1e-6 / step);
	pthread_create(&threads[0], NULL, make, NULL);
	pthread_create(&threads[1], NULL, take, NULL);
	pthread_create(&threads[2], NULL, wait_often, NULL);
	start_sleepers(argc > 3 ? strtol(argv[3], NULL, 10) : 0);
	printf("ready\n");
	fflush(stdout);
	before = items;
	begin = seconds_of(CLOCK_MONOTONIC);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	is_over = 1;
	pthread_join(threads[2], NULL);
	printf("{\"items_per_s\": %.1f, \"waits\": %ld, \"interrupted\": %ld}\n",
	       (double)(items - before) / (seconds_of(CLOCK_MONOTONIC) - begin), nr_waits,
	       nr_interrupted);
	return 7;
}
