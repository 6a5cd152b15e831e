// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_on_request: says "ready"; for each number on standard input four threads call requested()
 * that often each, beside one that calls unrequested() all the time. Then it prints {"probed",
 * "unrequested"}: whether requested() looks as if it were counted, and calls of the other so far.
 */
#include <pthread.h>

#include "own_counts.h"
#include "self_measure.h"

#define THREADS 4

static volatile uint64_t request_sink;
static uint64_t unrequested_calls;

COUNTED void requested(void)
{
	request_sink++;
}

COUNTED void unrequested(void)
{
	OWN_CALL(unrequested_calls);
}

static void *call(void *times)
{
	for (uint64_t i = 0; i < *(uint64_t *)times; i++)
		requested();
	return NULL;
}

static void *call_all_the_time(void *nothing)
{
	while (!nothing)
		unrequested();
	return nothing;
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
		printf("{\"probed\": %d, \"unrequested\": %llu}\n", is_probed(requested),
		       (unsigned long long)unrequested_calls);
		fflush(stdout);
	}
	return 0;
}
