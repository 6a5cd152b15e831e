// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server with a queue, whose function hot() has as much of its work as is asked for, so that what
 * requests gain by a faster one can be measured.
 *
 *	serves_requests PERCENT STEPS_PER_MS SERVERS PAUSE_US [never-idle]
 *
 * A thread makes a request after pauses of PAUSE_US in the mean, some shorter and some longer, and
 * so many servers serve them: of the work of hot() PERCENT is done, of that of cold() all. Requests
 * are inside from begin_request() to end_request(). With never-idle one more is inside for ever. At
 * the end of standard input it prints the rate of requests, and their mean time.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROOM 4096

static double steps_per_us, hot_part, pause_us;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static double begun_s[ROOM];
static uint64_t nr_begun, nr_taken, nr_ended;
static double sum_s;

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void compute(double us)
{
	uint64_t x = 1;

	for (long i = 0; i < (long)(us * steps_per_us); i++) {
		x = x * 6364136223846793005u + 1;
		__asm__ volatile("" ::"r"(x));
	}
}

__attribute__((noinline)) void hot(double us);
void hot(double us)
{
	uint64_t x = 1;

	for (long i = 0; i < (long)(us * hot_part * steps_per_us); i++) {
		x = x * 6364136223846793005u + 1;
		__asm__ volatile("" ::"r"(x));
	}
}

__attribute__((noinline)) void cold(double us);
void cold(double us)
{
	compute(us);
}

__attribute__((noinline)) void begin_request(void);
void begin_request(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void end_request(void);
void end_request(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *make_requests(void *unused)
{
	uint64_t random = 88172645463325252u;

	for (;;) {
		double us;
		struct timespec pause;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		us = -log(((double)(random >> 11) + 1) * 0x1p-53) * pause_us;
		pause = (struct timespec){.tv_sec = (time_t)(us * 1e-6),
					  .tv_nsec = (long)(fmod(us, 1e6) * 1000)};
		nanosleep(&pause, NULL);
		compute(50);
		begin_request();
		pthread_mutex_lock(&lock);
		begun_s[nr_begun++ % ROOM] = now_s();
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *serve(void *unused)
{
	for (;;) {
		double since_s;

		pthread_mutex_lock(&lock);
		while (nr_taken == nr_begun)
			pthread_cond_wait(&changed, &lock);
		since_s = begun_s[nr_taken++ % ROOM];
		pthread_mutex_unlock(&lock);
		hot(600);
		cold(200);
		end_request();
		pthread_mutex_lock(&lock);
		nr_ended++;
		sum_s += now_s() - since_s;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	double begin_s;
	char byte;

	if (argc < 5)
		return 2;
	hot_part = strtod(argv[1], NULL) / 100;
	steps_per_us = strtod(argv[2], NULL) / 1000;
	pause_us = strtod(argv[4], NULL);
	if (argc > 5 && !strcmp(argv[5], "never-idle"))
		begin_request();
	for (long i = strtol(argv[3], NULL, 10); i > 0; i--)
		pthread_create(&thread, NULL, serve, NULL);
	pthread_create(&thread, NULL, make_requests, NULL);
	begin_s = now_s();
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	pthread_mutex_lock(&lock);
	printf("{\"requests_per_s\": %.2f, \"mean_us\": %.1f}\n",
	       (double)nr_ended / (now_s() - begin_s), 1e6 * sum_s / (double)nr_ended);
	return 0;
}
