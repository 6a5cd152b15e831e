// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every way in which C code makes and leaves stack frames, once or a few times
 * each, in some 200,000 instructions: callbacks through the C library, alloca,
 * realigned stacks, tail calls, arguments on the stack, leaf functions, deep
 * recursion, large frames, lazily bound calls, signals on both stacks, the vdso.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

NOINLINE static unsigned long leaf(unsigned long x)
{
	for (int i = 0; i < 8; i++)
		x = x * 31 + (x >> 7);
	return x;
}

NOINLINE static unsigned long tail(unsigned long x)
{
	return leaf(x + 1); /* a jump, when optimised */
}

NOINLINE static unsigned long with_alloca(size_t nr_bytes)
{
	char *room = alloca(nr_bytes);

	memset(room, (int)nr_bytes, nr_bytes);
	return leaf((unsigned char)room[nr_bytes / 2]);
}

NOINLINE static unsigned long realigned(unsigned long x)
{
	__attribute__((aligned(64))) unsigned long words[16];

	for (size_t i = 0; i < 16; i++)
		words[i] = leaf(x + i);
	__asm__ volatile("" : : "r"(words) : "memory");
	return words[x % 16];
}

NOINLINE static unsigned long realigned_with_alloca(size_t nr_bytes)
{
	__attribute__((aligned(64))) unsigned long words[4] = {nr_bytes};
	char *room = alloca(nr_bytes);

	__asm__ volatile("" : : "r"(words) : "memory");
	memset(room, 1, nr_bytes);
	return leaf(words[0] + (unsigned char)room[0]);
}

NOINLINE static unsigned long many_arguments(long a, long b, long c, long d, long e, long f, long g,
					     long h, long i)
{
	return leaf((unsigned long)(a + b + c + d + e + f + g + h + i));
}

NOINLINE static unsigned long large_frame(unsigned long x)
{
	unsigned char room[600000];

	room[x] = 1;
	__asm__ volatile("" : : "r"(room) : "memory");
	return leaf(room[x]);
}

NOINLINE static unsigned long recurse(unsigned int depth)
{
	return depth ? recurse(depth - 1) + leaf(depth) : leaf(1);
}

static int by_value(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a;
	unsigned long y = *(const unsigned long *)b;

	sink += leaf(x);
	return x < y ? -1 : x > y;
}

NOINLINE static void call_back(void)
{
	unsigned long words[24];
	unsigned long key = 7;

	for (size_t i = 0; i < 24; i++)
		words[i] = i * 17 % 24;
	qsort(words, 24, sizeof(words[0]), by_value);
	sink += bsearch(&key, words, 24, sizeof(words[0]), by_value) != NULL;
}

static void on_signal(int number)
{
	sink += leaf((unsigned long)number) + realigned(3);
}

NOINLINE static void be_signalled(void)
{
	static char other_stack[65536];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	sigaltstack(&stack, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	kill(getpid(), SIGUSR1);
}

static jmp_buf far_back;

NOINLINE static void leap(unsigned int depth)
{
	if (!depth)
		longjmp(far_back, 1);
	leap(depth - 1);
	sink++;
}

NOINLINE static void ask_the_vdso(void)
{
	struct timespec now;

	for (int i = 0; i < 20; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sink += (unsigned long)now.tv_nsec;
	}
}

NOINLINE static void use_the_library(void)
{
	char text[256];

	for (int i = 0; i < 5; i++) {
		char *copy = malloc((size_t)(100 << i));

		snprintf(text, sizeof(text), "%d %s %.3f %p", i, "text", i / 3.0, (void *)copy);
		memcpy(copy, text, 64);
		sink += strtoul(copy, NULL, 10) + strlen(text);
		free(copy);
	}
	puts(text);
}

int main(void)
{
	sink += leaf(1) + tail(2) + with_alloca(100) + with_alloca(5000);
	sink += realigned(4) + realigned_with_alloca(300);
	sink += many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9);
	sink += large_frame(100) + recurse(60);
	call_back();
	be_signalled();
	if (!setjmp(far_back))
		leap(5);
	ask_the_vdso();
	use_the_library();
	return 0;
}
