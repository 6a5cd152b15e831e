// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deep_threads [THREADS]: threads, one after the other, each of which works for 10 ms at the end
 * of 700 KB of stack; then main() does. Nobody can learn from a thread how deep it will be.
 */
#include <pthread.h>
#include <string.h>

#include "self_measure.h"

#define FRAME_BYTES 4000
#define FRAMES	    175

NOINLINE uint64_t deep_bottom(void)
{
	uint64_t until_ns = thread_cpu_ns() + 10 * MS;
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns) {
		for (int i = 0; i < 10000; i++)
			SPIN_STEP(x);
	}
	return x;
}

NOINLINE uint64_t deep_level(int nr)
{
	volatile char room[FRAME_BYTES];

	room[nr] = (char)nr;
	return (nr ? deep_level(nr - 1) : deep_bottom()) + (uint64_t)room[nr];
}

static void *deep_thread(void *argument)
{
	*(uint64_t *)argument += deep_level(FRAMES);
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 40;
	uint64_t sum = 0;

	for (int i = 0; i < nr; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, deep_thread, &sum))
			return 1;
		pthread_join(thread, NULL);
	}
	sum += deep_level(FRAMES);
	printf("{\"sum\": %llu}\n", (unsigned long long)sum);
	return 0;
}
