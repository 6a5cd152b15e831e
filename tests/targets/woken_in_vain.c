// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * woken_in_vain: a thread waits in epoll_wait(2) for 50 ms, again and again, on a CPU that another
 * one keeps busy, with less of a right to it. The first thread, elsewhere, blocks SIGWINCH, sends
 * one to the process, lets it in again, and is told of it; all others but the waiting one block it.
 * So that is woken for it, and comes to a CPU when there is nothing left to be told of. After 20
 * such signals prints {"signals", "waits", "eintr", "early"}.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "self_measure.h"

#define NR_SIGNALS 20
#define TIMEOUT_MS 50

static atomic_ulong waits, eintr, early;
static atomic_bool ends;

static void bind_to(size_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void mask_signal(int how)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGWINCH);
	pthread_sigmask(how, &signals, NULL);
}

static void *wait_on(void *unused)
{
	const struct sched_param none = {0};
	int fd = epoll_create1(0);
	struct epoll_event event;

	bind_to(1);
	sched_setscheduler(0, SCHED_IDLE, &none);
	mask_signal(SIG_UNBLOCK);
	while (!atomic_load(&ends)) {
		uint64_t begun_ns = monotonic_ns();
		bool is_broken_off = epoll_wait(fd, &event, 1, TIMEOUT_MS) < 0 && errno == EINTR;

		atomic_fetch_add(&waits, 1);
		atomic_fetch_add(&eintr, is_broken_off);
		atomic_fetch_add(&early,
				 !is_broken_off && monotonic_ns() - begun_ns < TIMEOUT_MS * MS);
	}
	return unused;
}

static void *keep_busy(void *unused)
{
	bind_to(1);
	while (!atomic_load(&ends))
		continue;
	return unused;
}

int main(void)
{
	pthread_t waiting, busy;

	mask_signal(SIG_BLOCK);
	if (pthread_create(&waiting, NULL, wait_on, NULL) ||
	    pthread_create(&busy, NULL, keep_busy, NULL))
		return 2;
	bind_to(0);
	say_ready();
	for (int i = 0; i < NR_SIGNALS; i++) {
		usleep(70000 + (useconds_t)i * 1000);
		kill(getpid(), SIGWINCH);
		mask_signal(SIG_UNBLOCK);
		mask_signal(SIG_BLOCK);
	}
	atomic_store(&ends, true);
	pthread_join(waiting, NULL);
	pthread_join(busy, NULL);
	printf("{\"signals\": %d, \"waits\": %lu, \"eintr\": %lu, \"early\": %lu}\n", NR_SIGNALS,
	       atomic_load(&waits), atomic_load(&eintr), atomic_load(&early));
	return 0;
}
