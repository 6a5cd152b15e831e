// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_under_uprobes: says "ready"; for each number on standard input two threads call functions
 * for so many milliseconds, beside malloc() and free(). Then it prints {"calls", "inside"}: the
 * calls of each of these functions so far, and of those the ones inside of serve(), which are as
 * many as blocks. On x86-64 the functions begin as those of compilers do.
 */
#include <pthread.h>

#include "own_counts.h"
#include "self_measure.h"

#define THREADS 2
#define CALLS	100 /* of each function in a round */

static uint64_t all_calls, calls_inside;
static volatile int is_to_call;

#if defined(__x86_64__)
#define BEGIN(name, code)                                                                          \
	__attribute__((naked, used, noinline)) long name(long x __attribute__((unused)))           \
	{                                                                                          \
		__asm__(code);                                                                     \
	}

/* Each returns x + 1. */
BEGIN(pushes, "push %rbx; mov %rdi,%rbx; lea 3(%rbx),%rax; lea -2(%rax),%rax; pop %rbx; ret")
BEGIN(subtracts,
      "sub $24,%rsp; mov %rdi,8(%rsp); addq $1,8(%rsp); mov 8(%rsp),%rax; add $24,%rsp; ret")
BEGIN(compares, "test %rdi,%rdi; js 1f; lea 3(%rdi),%rax; lea -2(%rax),%rax; ret; 1: ud2")
BEGIN(copies, "mov %rdi,%rax; inc %rax; nop; nop; ret")
BEGIN(lands, "endbr64; push %rbp; mov %rsp,%rbp; lea 1(%rdi),%rax; pop %rbp; ret")
#else
#define PLAIN(name)                                                                                \
	COUNTED long name(long x)                                                                  \
	{                                                                                          \
		return x + 1;                                                                      \
	}

PLAIN(pushes)
PLAIN(subtracts)
PLAIN(compares)
PLAIN(copies)
PLAIN(lands)
#endif

COUNTED long serve(long x)
{
	x = pushes(x);
	x = subtracts(x);
	x = compares(x);
	x = copies(x);
	x = lands(x);
	__asm__ volatile(""); /* no tail call */
	return x;
}

static void *call(void *nothing)
{
	uint64_t calls = 0, inside = 0;

	while (!nothing && is_to_call) {
		for (long i = 0; i < CALLS; i++) {
			long expected = 10 * i + 10, x = serve(10 * i);
			long *block = malloc(24);

			*block = lands(copies(compares(subtracts(pushes(x)))));
			if (*block != expected)
				abort();
			free(block);
		}
		calls += 2 * CALLS;
		inside += CALLS;
	}
	__atomic_fetch_add(&all_calls, calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&calls_inside, inside, __ATOMIC_RELAXED);
	return nothing;
}

int main(void)
{
	char line[64];

	say_ready();
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t ms = strtoull(line, NULL, 0);
		pthread_t threads[THREADS];
		const struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000 * MS)};

		is_to_call = ms > 0;
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, call, NULL);
		nanosleep(&pause, NULL);
		is_to_call = 0;
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		printf("{\"calls\": %llu, \"inside\": %llu}\n", (unsigned long long)all_calls,
		       (unsigned long long)calls_inside);
		fflush(stdout);
	}
	return 0;
}
