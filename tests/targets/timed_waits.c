// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits with a time-out, argv[1] s long: "patient" waits for a condition that is never signalled,
 * "exact" for a semaphore that is not posted, by a clock that cannot be set, and "raw" in a call of
 * its own with a length of time; "served" is always woken before its time is up, "mixed" often.
 * "disturbed" has its wait ended by a signal, and works and sleeps until after the time that was to
 * end it. Then prints for each thread "NAME MS NR MS NR": the waits that time has ended, and the
 * others.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000L

struct waiter {
	const char *name;
	bool (*wait)(struct waiter *waiter); /* true: its time was up */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t condition;
	sem_t semaphore;
	long ms;
	uint64_t ns[2];
	unsigned long nr[2];
};

static atomic_bool is_over;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct timespec after_ms(clockid_t clock, long ms)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_nsec += ms * 1000000;
	time.tv_sec += time.tv_nsec / NS_PER_S;
	time.tv_nsec %= NS_PER_S;
	return time;
}

static bool wait_for_condition(struct waiter *waiter)
{
	struct timespec end = after_ms(CLOCK_REALTIME, waiter->ms);
	int failed;

	pthread_mutex_lock(&waiter->lock);
	failed = pthread_cond_timedwait(&waiter->condition, &waiter->lock, &end);
	pthread_mutex_unlock(&waiter->lock);
	return failed == ETIMEDOUT;
}

static bool wait_for_semaphore(struct waiter *waiter)
{
	struct timespec end = after_ms(CLOCK_MONOTONIC, waiter->ms);

	return sem_clockwait(&waiter->semaphore, CLOCK_MONOTONIC, &end) != 0 && errno == ETIMEDOUT;
}

static bool wait_for_word(struct waiter *waiter)
{
	static uint32_t word;
	const struct timespec length = {.tv_nsec = waiter->ms * 1000000};

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &length, NULL, 0) != 0 &&
	       errno == ETIMEDOUT;
}

static void *wait_for_signals(void *context)
{
	struct waiter *waiter = context;

	pthread_setname_np(pthread_self(), waiter->name);
	for (unsigned int i = 0; !is_over; i++) {
		struct timespec end = after_ms(CLOCK_MONOTONIC, waiter->ms + 30);
		uint64_t begun_ns = now_ns(), works_ns = i % 2 * 20000000;
		bool is_up = waiter->wait(waiter);

		waiter->ns[is_up] += now_ns() - begun_ns;
		waiter->nr[is_up]++;
		for (begun_ns = now_ns(); now_ns() - begun_ns < works_ns;)
			continue;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0)
			continue;
	}
	return NULL;
}

static struct waiter waiters[] = {
	{.name = "patient", .wait = wait_for_condition, .ms = 60},
	{.name = "exact", .wait = wait_for_semaphore, .ms = 70},
	{.name = "raw", .wait = wait_for_word, .ms = 80},
	{.name = "served", .wait = wait_for_condition, .ms = 5000},
	/* A condition that is signalled right after its time was up would still be met. */
	{.name = "mixed", .wait = wait_for_semaphore, .ms = 40},
	{.name = "disturbed", .wait = wait_for_semaphore, .ms = 300},
};
enum { SERVED = 3, MIXED, DISTURBED, NR_WAITERS };

static void *wait_often(void *context)
{
	struct waiter *waiter = context;

	pthread_setname_np(pthread_self(), waiter->name);
	while (!is_over) {
		uint64_t begun_ns = now_ns();
		bool is_up = waiter->wait(waiter);

		waiter->ns[is_up] += now_ns() - begun_ns;
		waiter->nr[is_up]++;
	}
	return NULL;
}

static void *serve(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "server");
	for (unsigned int i = 0; !is_over; i++) {
		usleep(25000);
		pthread_cond_signal(&waiters[SERVED].condition);
		if (i % 4 == 0)
			sem_post(&waiters[MIXED].semaphore);
	}
	return NULL;
}

static void ignore(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = ignore};
	uint64_t end_ns = now_ns() + (uint64_t)((argc > 1 ? strtod(argv[1], NULL) : 3) * 1e9);
	pthread_t server;

	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < NR_WAITERS; i++) {
		pthread_mutex_init(&waiters[i].lock, NULL);
		pthread_cond_init(&waiters[i].condition, NULL);
		sem_init(&waiters[i].semaphore, 0, 0);
		pthread_create(&waiters[i].thread, NULL,
			       i == DISTURBED ? wait_for_signals : wait_often, &waiters[i]);
	}
	pthread_create(&server, NULL, serve, NULL);
	puts("ready");
	fflush(stdout);
	while (now_ns() < end_ns) {
		usleep(43000);
		pthread_kill(waiters[DISTURBED].thread, SIGUSR1);
	}
	is_over = true;
	pthread_join(server, NULL);
	pthread_cond_signal(&waiters[SERVED].condition);
	for (size_t i = 0; i < NR_WAITERS; i++) {
		const struct waiter *waiter = &waiters[i];

		pthread_join(waiter->thread, NULL);
		printf("%s %lu %lu %lu %lu\n", waiter->name,
		       (unsigned long)(waiter->ns[true] / 1000000), waiter->nr[true],
		       (unsigned long)(waiter->ns[false] / 1000000), waiter->nr[false]);
	}
	return 0;
}
