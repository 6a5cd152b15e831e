// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waiting: threads that wait, each for something else, under names of their own: "holder"
 * sleeps and holds the mutex that "locked" wants, "joiner" waits for the end of "holder", "reader"
 * reads an empty pipe, "idle-1" and "idle-2" wait for the same condition, "spinner" computes. Says
 * "ready" once they do, ends with its standard input.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "self_measure.h"

static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t started;
static pthread_t holder;

struct waiter {
	pthread_t thread;
	const char *name;
	void (*wait)(void);
};

NOINLINE static void hold_lock(void)
{
	const struct timespec long_time = {.tv_sec = 1000};

	pthread_mutex_lock(&wanted);
	holder = pthread_self();
	pthread_barrier_wait(&started);
	nanosleep(&long_time, NULL);
	__asm__ volatile("");
}

NOINLINE static void want_lock(void)
{
	pthread_barrier_wait(&started);
	pthread_mutex_lock(&wanted);
	__asm__ volatile(""); /* so that it is a call and no jump */
}

NOINLINE static void join_holder(void)
{
	pthread_barrier_wait(&started);
	pthread_join(holder, NULL);
	__asm__ volatile("");
}

NOINLINE static void read_pipe(void)
{
	int ends[2];
	char byte;

	pthread_barrier_wait(&started);
	if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 0)
		return;
}

NOINLINE static void wait_idly(void)
{
	pthread_barrier_wait(&started);
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

NOINLINE static void spin_on(void)
{
	volatile uint64_t x = 1;

	pthread_barrier_wait(&started);
	for (;;)
		SPIN_STEP(x);
}

static void *waiter_main(void *argument)
{
	struct waiter *self = argument;

	prctl(PR_SET_NAME, self->name);
	self->wait();
	return NULL;
}

int main(void)
{
	static struct waiter waiters[] = {
		{.name = "holder", .wait = hold_lock},	 {.name = "locked", .wait = want_lock},
		{.name = "joiner", .wait = join_holder}, {.name = "reader", .wait = read_pipe},
		{.name = "idle-1", .wait = wait_idly},	 {.name = "idle-2", .wait = wait_idly},
		{.name = "spinner", .wait = spin_on},
	};
	size_t nr = sizeof(waiters) / sizeof(waiters[0]);
	const struct timespec pause = {.tv_nsec = 100000000};
	struct pollfd input = {.fd = STDIN_FILENO};

	pthread_barrier_init(&started, NULL, (unsigned)nr + 1);
	for (size_t i = 0; i < nr; i++)
		pthread_create(&waiters[i].thread, NULL, waiter_main, &waiters[i]);
	pthread_barrier_wait(&started);
	nanosleep(&pause, NULL); /* they are past the barrier, but not yet all asleep */
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, -1) < 0)
		;
	return 0;
}
