// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads_idle NR [MS]: NR threads wait for the end in idle_wait() while one
 * works in busy_work() for MS milliseconds. Prints {"threads", "cpu_ns", "eintr"}.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "self_measure.h"

static atomic_uint eintr;
static int epoll;

/* epoll_wait is among the calls that a careless stop makes fail with EINTR. */
NOINLINE static void *idle_wait(void *unused)
{
	struct epoll_event event;

	(void)unused;
	while (epoll_wait(epoll, &event, 1, -1) < 0 && errno == EINTR)
		atomic_fetch_add(&eintr, 1);
	return NULL;
}

NOINLINE static uint64_t busy_work(uint64_t end_ns)
{
	uint64_t x = 1;

	while (monotonic_ns() < end_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 1000), started = 0;
	pthread_attr_t attributes;
	pthread_t thread;

	epoll = epoll_create1(EPOLL_CLOEXEC);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	while (started < nr && !pthread_create(&thread, &attributes, idle_wait, NULL))
		started++;
	say_ready();
	busy_work(monotonic_ns() + number_argument(argc, argv, 2, 1000) * MS);
	printf("{\"threads\": %u, \"cpu_ns\": %llu, \"eintr\": %u}\n", started,
	       (unsigned long long)process_cpu_ns(), eintr);
	return 0;
}
