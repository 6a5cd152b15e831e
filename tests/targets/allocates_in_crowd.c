// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * allocates_in_crowd THREADS BLOCKS SIZE LARGE: each thread allocates BLOCKS blocks of SIZE bytes, of
 * which every tenth is left and others are freed at once, and some of the threads LARGE blocks of
 * 3 MiB together, which are left. They do so when a line is read from standard input, and say "done";
 * then once more a tenth of it, at the next line, without large blocks.
 * Prints {"blocks", "bytes", "live", "large"}.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "self_measure.h"

#define LARGE_BYTES ((size_t)3 << 20)

static pthread_barrier_t begin, done;
static uint64_t nr_blocks, size, nr_large, large_left;
static void *volatile last;

NOINLINE static void *leaks(size_t nr)
{
	return last = malloc(nr);
}

/* Not the same code, which compilers fold. */
NOINLINE static void *leaks_large(size_t nr)
{
	return last = realloc(NULL, nr);
}

NOINLINE static void *temporaries(size_t nr)
{
	return last = calloc(nr, 1);
}

static void allocate(uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		if (i % 10 == 9)
			leaks(size);
		else
			free(temporaries(size));
	}
}

static void *run(void *unused)
{
	pthread_barrier_wait(&begin);
	allocate(nr_blocks / 2);
	if (__atomic_fetch_sub(&large_left, 1, __ATOMIC_RELAXED) - 1 < nr_large)
		leaks_large(LARGE_BYTES);
	allocate(nr_blocks / 2);
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&begin);
	allocate(nr_blocks / 10);
	pthread_barrier_wait(&done);
	return unused;
}

/* Said at once, as who reads it acts upon it. */
static void say_done(void)
{
	puts("done");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned nr_threads = (unsigned)number_argument(argc, argv, 1, 1500);
	uint64_t nr_all;
	pthread_t thread;
	pthread_attr_t small;

	nr_blocks = number_argument(argc, argv, 2, 1000);
	size = number_argument(argc, argv, 3, 1000);
	nr_large = large_left = number_argument(argc, argv, 4, 0);
	pthread_barrier_init(&begin, NULL, nr_threads + 1);
	pthread_barrier_init(&done, NULL, nr_threads + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	for (unsigned i = 0; i < nr_threads; i++) {
		if (pthread_create(&thread, &small, run, NULL))
			return 1;
		pthread_detach(thread);
	}
	say_ready();
	for (int round = 0; round < 2; round++) {
		getchar();
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&done);
		say_done();
	}
	getchar();
	nr_all = nr_threads * (nr_blocks / 2 * 2 + nr_blocks / 10);
	printf("{\"blocks\": %llu, \"bytes\": %llu, \"live\": %llu, \"large\": %llu}\n",
	       (unsigned long long)(nr_all + nr_large),
	       (unsigned long long)(nr_all * size + nr_large * LARGE_BYTES),
	       (unsigned long long)(nr_threads *
					    (nr_blocks / 2 / 10 * 2 + nr_blocks / 10 / 10) * size +
				    nr_large * LARGE_BYTES),
	       (unsigned long long)nr_large);
	return 0;
}
