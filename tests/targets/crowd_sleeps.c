// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd_sleeps NR MS [NAP_MS]: NR threads wait for the end in idle_wait() while one, after its first_sleep()s,
 * goes from long_sleep() to short_sleep() for MS milliseconds and works after each in busy_work().
 * With NAP_MS those of the crowd wake that often.
 * Prints {"threads", "crowd_ns", "long_ns", "short_ns", "eintr"}; crowd_ns: since each of the NR has
 * begun to wait, in sum.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "self_measure.h"

#define FIRST_MS 50
#define LONG_MS	 500
#define SHORT_MS 250
#define WORK_MS	 60

static atomic_uint eintr;
static atomic_uint nr_idle;
static _Atomic uint64_t idle_since_ns; /* the sum of their beginnings */
static uint64_t long_ns, short_ns;

NOINLINE static void *idle_wait(void *nap_ms)
{
	atomic_fetch_add(&idle_since_ns, monotonic_ns());
	atomic_fetch_add(&nr_idle, 1);
	for (;;) {
		if (poll(NULL, 0, (int)(intptr_t)nap_ms) < 0)
			atomic_fetch_add(&eintr, 1);
	}
	return NULL;
}

static uint64_t sleep_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * (long)MS};
	uint64_t began_ns = monotonic_ns();

	if (nanosleep(&pause, NULL) < 0)
		atomic_fetch_add(&eintr, 1);
	return monotonic_ns() - began_ns;
}

/* Those that have woken will do so again. */
NOINLINE static void first_sleep(void)
{
	sleep_ms(FIRST_MS);
}

NOINLINE static void long_sleep(void)
{
	long_ns += sleep_ms(LONG_MS);
}

NOINLINE static void short_sleep(void)
{
	short_ns += sleep_ms(SHORT_MS);
}

NOINLINE static uint64_t busy_work(void)
{
	uint64_t end_ns = monotonic_ns() + WORK_MS * MS, x = 1;

	while (monotonic_ns() < end_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

static void *sleeper_main(void *argument)
{
	uint64_t end_ns = *(uint64_t *)argument;

	for (int i = 0; i < 4; i++) {
		first_sleep();
		busy_work();
	}
	/* Once in any case, whatever the machine leaves of the time. */
	do {
		long_sleep();
		busy_work();
		short_sleep();
		busy_work();
	} while (monotonic_ns() < end_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 400), started = 0;
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 2, 2500) * MS;
	intptr_t nap_ms = (intptr_t)number_argument(argc, argv, 3, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	while (started < nr && 
	       !pthread_create(&thread, &attributes, idle_wait, (void *)(nap_ms ? nap_ms : -1)))
		started++;
	say_ready();
	pthread_create(&thread, NULL, sleeper_main, &end_ns);
	pthread_join(thread, NULL);
	printf("{\"threads\": %u, \"crowd_ns\": %llu, \"long_ns\": %llu, \"short_ns\": %llu, "
	       "\"eintr\": %u}\n",
	       started, (unsigned long long)(nr_idle * monotonic_ns() - idle_since_ns),
	       (unsigned long long)long_ns, (unsigned long long)short_ns, eintr);
	return 0;
}
