// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_on_request: says "ready"; for each number on standard input four threads call requested()
 * that often each, beside one that calls unrequested() all the time. Then it prints {"probed"}:
 * whether requested() looks as if it were counted.
 */
#include <pthread.h>

#include "own_counts.h"
#include "self_measure.h"

#define THREADS 4

static volatile uint64_t request_sink;

COUNTED void requested(void)
{
	request_sink++;
}

COUNTED void unrequested(void)
{
	request_sink++;
}

static void *call(void *times)
{
	for (uint64_t i = 0; i < *(uint64_t *)times; i++)
		requested();
	return NULL;
}

static void *call_all_the_time(void *nothing)
{
	const struct timespec pause = {0, 100000};

	for (;;) {
		for (int i = 0; i < 1000; i++)
			unrequested();
		nanosleep(&pause, nothing);
	}
}

int main(void)
{
	pthread_t threads[THREADS], other;
	char line[64];

	pthread_create(&other, NULL, call_all_the_time, NULL);
	say_ready();
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t times = strtoull(line, NULL, 0);

		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, call, &times);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		printf("{\"probed\": %d}\n", is_probed(requested));
		fflush(stdout);
	}
	return 0;
}
