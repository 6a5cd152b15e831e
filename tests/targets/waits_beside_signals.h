/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_WAITS_BESIDE_SIGNALS_H
#define PROFC_TESTS_WAITS_BESIDE_SIGNALS_H

/*
 * Threads that wait again and again while a child sends their process SIGWINCHs, which nobody
 * catches: untraced, nobody is told of them. Waits that fail with EINTR are counted, those that end
 * too early, and those that last a quarter too long. With no threads the first one waits, which the
 * signals are sent to.
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define WAITERS_MAX	   4000
#define WAITER_STACK_BYTES 65536

struct waits_beside_signals {
	int (*wait_once)(uint64_t timeout_ms); /* fails, and errno says why */
	uint64_t length_ms, nr_threads, timeout_ms;
	unsigned shortest_gap_us, longest_gap_us; /* from one signal to the next */
};

static struct waits_beside_signals plan;
static atomic_ulong waits, eintr, early, late;
static atomic_bool ends;

static void *wait_on(void *unused)
{
	(void)unused;
	while (!atomic_load(&ends)) {
		uint64_t begun_ns = monotonic_ns(), lasted_ns;
		bool is_broken_off = plan.wait_once(plan.timeout_ms) < 0 && errno == EINTR;

		lasted_ns = monotonic_ns() - begun_ns;
		atomic_fetch_add(&waits, 1);
		atomic_fetch_add(&eintr, is_broken_off);
		atomic_fetch_add(&early, !is_broken_off && lasted_ns < plan.timeout_ms * MS);
		atomic_fetch_add(&late, lasted_ns > plan.timeout_ms * MS * 5 / 4);
	}
	return NULL;
}

static void signal_on(pid_t to)
{
	unsigned spread_us = plan.longest_gap_us - plan.shortest_gap_us + 1;
	unsigned seed = 1;

	while (getppid() == to) {
		kill(to, SIGWINCH);
		usleep(plan.shortest_gap_us + (unsigned)rand_r(&seed) % spread_us);
	}
	_exit(0);
}

static void *end_later(void *unused)
{
	(void)unused;
	usleep((useconds_t)(plan.length_ms * 1000));
	atomic_store(&ends, true);
	return NULL;
}

/* Prints {"waits", "eintr", "early", "late"}; returns what main() is to. */
static int wait_beside_signals(const struct waits_beside_signals *planned)
{
	static pthread_t threads[WAITERS_MAX];
	pthread_attr_t attributes;
	pid_t self = getpid(), sender;

	plan = *planned;
	sender = fork();
	if (sender == 0)
		signal_on(self);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, WAITER_STACK_BYTES);
	for (uint64_t i = 0; i < plan.nr_threads; i++)
		if (sender < 0 || plan.nr_threads > WAITERS_MAX ||
		    pthread_create(&threads[i], &attributes, wait_on, NULL))
			return 2;
	say_ready();
	if (!plan.nr_threads && pthread_create(&threads[0], &attributes, end_later, NULL))
		return 2;
	if (plan.nr_threads)
		end_later(NULL);
	else
		wait_on(NULL);
	for (uint64_t i = 0; i < plan.nr_threads; i++)
		pthread_join(threads[i], NULL);
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	printf("{\"waits\": %lu, \"eintr\": %lu, \"early\": %lu, \"late\": %lu}\n",
	       atomic_load(&waits), atomic_load(&eintr), atomic_load(&early), atomic_load(&late));
	return 0;
}

#endif
