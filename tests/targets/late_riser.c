// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * late_riser NR MS: of NR threads that sleep, the one in the middle works in late_work() for MS
 * milliseconds, after as long a sleep. Prints {"threads", "late_cpu_ns"}.
 */
#include <pthread.h>
#include <unistd.h>

#include "self_measure.h"

static uint64_t work_ms;

static void *sleep_on(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

NOINLINE static uint64_t late_work(uint64_t end_ns)
{
	uint64_t x = 1;

	while (monotonic_ns() < end_ns)
		for (unsigned i = 0; i < 10000; i++)
			SPIN_STEP(x);
	return x;
}

static void *rise_late(void *cpu_ns)
{
	usleep((useconds_t)work_ms * 1000);
	late_work(monotonic_ns() + work_ms * MS);
	*(uint64_t *)cpu_ns = thread_cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 1000);
	pthread_attr_t attributes;
	pthread_t thread, riser;
	uint64_t late_cpu_ns = 0;

	work_ms = number_argument(argc, argv, 2, 1000);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (unsigned i = 0; i < nr; i++) {
		void *(*of)(void *) = i == nr / 2 ? rise_late : sleep_on;
		pthread_t *id = i == nr / 2 ? &riser : &thread;

		if (pthread_create(id, &attributes, of, &late_cpu_ns) != 0)
			return 2;
	}
	pthread_join(riser, NULL);
	printf("{\"threads\": %u, \"late_cpu_ns\": %llu}\n", nr, (unsigned long long)late_cpu_ns);
	return 0;
}
