// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that call a function of known length, and time each call themselves, as `record --spans`
 * does: by the processor's clock, with the same division of lengths. At the end it says what it
 * has found, as JSON.
 *
 *	timed_calls WAY THREADS CALLS [wait]
 *
 * WAY is one of: mixed (most calls are short, few long), recursion, jumps (every other call is left
 * by longjmp()), ends (each thread ends within its last call), short (nothing but calls), parts
 * (as mixed, but each calls look_up() twice), pairs (as mixed, each between begin_request() and
 * end_request(), but of eight one has no end).
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define LENGTHS	 496
#define SLOW_MAX 1024

struct thread {
	pthread_t id;
	uint64_t nr[LENGTHS], total, longest, longest_begin, nr_calls, nr_ended;
	int tid;
	unsigned int random;
	uint64_t slow[SLOW_MAX]; /* a time in each of those that are meant to be the longest */
	int nr_slow;
	jmp_buf back;
};

static struct {
	const char *way;
	uint64_t nr_calls;
	volatile uint64_t sink;
} settings;

static uint64_t now(void)
{
	return __rdtsc();
}

static unsigned int index_of(uint64_t length)
{
	unsigned int power = 63 - (unsigned int)__builtin_clzll(length | 8);

	return (power - 3) * 8 + (unsigned int)(length >> (power - 3));
}

static void spin(uint64_t cycles)
{
	uint64_t end = now() + cycles;

	while (now() < end)
		;
}

/* A part of each, twice. */
__attribute__((noinline, noclone)) void look_up(uint64_t key)
{
	spin(50);
	settings.sink += key;
}

__attribute__((noinline, noclone)) void handle_request(struct thread *thread, int depth)
{
	uint64_t cycles = 200;

	thread->random = thread->random * 1664525 + 1013904223;
	if (thread->random >> 24 == 0)
		cycles = 60000;
	else if (thread->random >> 22 == 5) {
		cycles = 1000000;
		if (thread->nr_slow < SLOW_MAX)
			thread->slow[thread->nr_slow++] = now();
	}
	if (depth > 0)
		handle_request(thread, depth - 1);
	if (strcmp(settings.way, "short") != 0)
		spin(cycles);
	if (depth < 0)
		longjmp(thread->back, 1);
	if (depth == 99)
		pthread_exit(NULL);
	if (strcmp(settings.way, "parts") == 0) {
		look_up(cycles);
		look_up(thread->random);
	}
	settings.sink += cycles;
}

static void note(struct thread *thread, uint64_t begin, uint64_t end)
{
	uint64_t length = end - begin;

	thread->nr_ended++;
	thread->nr[index_of(length)]++;
	thread->total += length;
	if (length <= thread->longest)
		return;
	thread->longest = length;
	thread->longest_begin = begin;
}

__attribute__((noinline, noclone)) void begin_request(uint64_t key)
{
	settings.sink += key;
}

__attribute__((noinline, noclone)) void end_request(uint64_t key)
{
	settings.sink -= key;
}

static void run_pairs(struct thread *thread)
{
	for (uint64_t i = 0; i < settings.nr_calls; i++) {
		uint64_t begin = now();

		thread->nr_calls++;
		begin_request(i);
		handle_request(thread, 0);
		if (i % 8 == 7)
			continue;
		end_request(i);
		note(thread, begin, now());
	}
}

static void *run(void *context)
{
	struct thread *thread = context;

	thread->tid = gettid();
	if (strcmp(settings.way, "pairs") == 0) {
		run_pairs(thread);
		return NULL;
	}
	for (uint64_t i = 0; i < settings.nr_calls; i++) {
		uint64_t begin;
		int depth = strcmp(settings.way, "recursion") == 0 ? (int)(i % 4) : 0;

		thread->nr_calls++;
		if (strcmp(settings.way, "ends") == 0 && i + 1 == settings.nr_calls)
			depth = 99;
		if (strcmp(settings.way, "jumps") == 0 && i % 2) {
			if (setjmp(thread->back) == 0)
				handle_request(thread, -1);
			continue;
		}
		begin = now();
		handle_request(thread, depth);
		note(thread, begin, now());
	}
	return NULL;
}

struct moment {
	uint64_t cycles;
	double ns;
};

/* Both clocks at once: of some readings the one in which nothing came between. */
static struct moment moment(void)
{
	struct moment best = {0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		struct timespec time;
		uint64_t before = now(), took;

		clock_gettime(CLOCK_MONOTONIC, &time);
		took = now() - before;
		if (took >= shortest)
			continue;
		shortest = took;
		best.cycles = before + took / 2;
		best.ns = (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
	}
	return best;
}

/* Since `begin`, the longer the better. */
static double ns_per_cycle(struct moment begin)
{
	struct moment end;

	usleep(50000);
	end = moment();
	return (end.ns - begin.ns) / (double)(end.cycles - begin.cycles);
}

static void say(const struct thread *threads, int nr, struct moment begin)
{
	struct thread sum = {0};
	const char *comma = "";

	for (int i = 0; i < nr; i++) {
		for (int k = 0; k < LENGTHS; k++)
			sum.nr[k] += threads[i].nr[k];
		sum.total += threads[i].total;
		sum.nr_calls += threads[i].nr_calls;
		sum.nr_ended += threads[i].nr_ended;
		if (threads[i].longest > sum.longest) {
			sum.longest = threads[i].longest;
			sum.tid = threads[i].tid;
		}
	}
	printf("{\"calls\":%llu,\"ended\":%llu,\"total\":%llu,\"longest\":%llu,\"tid\":%d,"
	       "\"ns_per_cycle\":%.9f,\"lengths\":[",
	       (unsigned long long)sum.nr_calls, (unsigned long long)sum.nr_ended,
	       (unsigned long long)sum.total, (unsigned long long)sum.longest, sum.tid,
	       ns_per_cycle(begin));
	for (int k = 0; k < LENGTHS; k++, comma = ",")
		printf("%s%llu", comma, (unsigned long long)sum.nr[k]);
	printf("],\"slow\":[");
	comma = "";
	for (int i = 0; i < nr; i++) {
		for (int k = 0; k < threads[i].nr_slow; k++, comma = ",")
			printf("%s[%llu,%d]", comma, (unsigned long long)threads[i].slow[k],
			       threads[i].tid);
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : 1;
	struct thread *threads = calloc((size_t)nr, sizeof(*threads));
	struct moment begin = moment();

	settings.way = argc > 1 ? argv[1] : "mixed";
	settings.nr_calls = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;
	if (argc > 4) {
		printf("ready\n");
		fflush(stdout);
		(void)getchar();
	}
	for (int i = 0; i < nr; i++) {
		threads[i].random = (unsigned int)i * 7919;
		pthread_create(&threads[i].id, NULL, run, &threads[i]);
	}
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i].id, NULL);
	say(threads, nr, begin);
	free(threads);
	return 0;
}
