// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bursts [MS]: two threads sleep and wake every 10 ms, one for a burst of
 * 0.3 ms in burst_short(), the other for 0.9 ms in burst_long(). Each measures
 * its bursts by its CPU clock. Prints {"function", "burst_ns"} for each, the time
 * inside the function, and at the end {"cpu_ns"}, that of the process until then.
 */
#include <pthread.h>

#include "self_measure.h"

#define PERIOD_NS (10 * MS)

struct burster {
	const char *function;
	void (*burst)(uint64_t until_ns);
	uint64_t spend_ns, end_ns;
	pthread_t thread;
	uint64_t burst_ns;
};

NOINLINE static void burst_short(uint64_t until_ns)
{
	volatile uint64_t x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 2000; i++)
			SPIN_STEP(x);
}

NOINLINE static void burst_long(uint64_t until_ns)
{
	volatile uint64_t x = 2;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 2000; i++)
			SPIN_STEP(x);
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000),
			      .tv_nsec = (long)(at_ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void *burster_main(void *arg)
{
	struct burster *self = arg;
	uint64_t next_ns = monotonic_ns();

	while (next_ns < self->end_ns) {
		uint64_t before = thread_cpu_ns();

		self->burst(before + self->spend_ns);
		self->burst_ns += thread_cpu_ns() - before;
		next_ns += PERIOD_NS;
		sleep_until(next_ns);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct burster bursters[] = {
		{.function = "burst_short", .burst = burst_short, .spend_ns = 300000},
		{.function = "burst_long", .burst = burst_long, .spend_ns = 900000},
	};
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 5000) * MS;

	for (int i = 0; i < 2; i++) {
		bursters[i].end_ns = end_ns;
		pthread_create(&bursters[i].thread, NULL, burster_main, &bursters[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(bursters[i].thread, NULL);
		printf("{\"function\": \"%s\", \"burst_ns\": %llu}\n", bursters[i].function,
		       (unsigned long long)bursters[i].burst_ns);
	}
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)process_cpu_ns());
	return 0;
}
