// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_of_all_kinds: calls functions in each way that C has, an odd number of times, and prints
 * how often, as in own_counts.h. With -DIFUNC also one that the dynamic linker chooses.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include "calls_of_all_kinds.h"
#include "own_counts.h"

static volatile uint64_t sink;

static uint64_t leaf_calls, recursive_calls, even_calls, odd_calls, tail_first_calls,
	tail_second_calls, pointed_calls, variadic_calls, many_calls, floating_calls, struct_calls,
	aliased_calls, jumping_calls, looping_calls, vector_calls, never_calls, chosen_calls;
uint64_t same_calls;

COUNTED void kind_leaf(void)
{
	OWN_CALL(leaf_calls);
}

/* What it does between and behind its calls keeps them from becoming loops. */
COUNTED uint64_t kind_recursive(unsigned depth)
{
	uint64_t left = 0, right = 0;

	OWN_CALL(recursive_calls);
	if (depth) {
		left = kind_recursive(depth - 1);
		sink += left;
		right = kind_recursive(depth / 2);
		sink += right;
	}
	return left * 3 + right;
}

COUNTED int kind_odd(unsigned n);

COUNTED int kind_even(unsigned n)
{
	OWN_CALL(even_calls);
	return n == 0 ? 1 : kind_odd(n - 1);
}

COUNTED int kind_odd(unsigned n)
{
	OWN_CALL(odd_calls);
	return n == 0 ? 0 : kind_even(n - 1);
}

COUNTED uint64_t kind_tail_second(uint64_t x)
{
	OWN_CALL(tail_second_calls);
	return x * 3;
}

/* A jmp at -O2. */
COUNTED uint64_t kind_tail_first(uint64_t x)
{
	OWN_CALL(tail_first_calls);
	return kind_tail_second(x + 1);
}

COUNTED void kind_pointed(void)
{
	OWN_CALL(pointed_calls);
}

COUNTED long kind_variadic(int nr, ...)
{
	va_list values;
	double sum = 0;

	OWN_CALL(variadic_calls);
	va_start(values, nr);
	for (int i = 0; i < nr; i++)
		sum += i % 2 ? va_arg(values, double) : va_arg(values, int);
	va_end(values);
	return (long)sum;
}

COUNTED long kind_many_arguments(long a, long b, long c, long d, long e, long f, long g, long h,
				 long i, long j)
{
	OWN_CALL(many_calls);
	return a - b + c - d + e - f + g - h + i - j;
}

COUNTED double kind_floating(double a, float b, long double c, double d)
{
	OWN_CALL(floating_calls);
	return a + b * d + (double)c;
}

struct large {
	long words[9];
};

COUNTED struct large kind_struct(long first)
{
	struct large made = {{first, first + 1, first + 2}};

	OWN_CALL(struct_calls);
	made.words[8] = first * 2;
	return made;
}

COUNTED void kind_aliased(void)
{
	OWN_CALL(aliased_calls);
}

void kind_alias(void) __attribute__((alias("kind_aliased")));

COUNTED void kind_jumping(jmp_buf *out, int depth)
{
	OWN_CALL(jumping_calls);
	if (depth == 0)
		longjmp(*out, 1);
	kind_jumping(out, depth - 1);
	sink++;
}

/* A loop from its first line on. */
COUNTED unsigned kind_looping(unsigned n)
{
	unsigned steps = 0;

	OWN_CALL(looping_calls);
	do
		steps += n & 1;
	while (n >>= 1);
	return steps;
}

COUNTED void kind_never(void)
{
	OWN_CALL(never_calls);
}

#if defined(__x86_64__)
#define VECTOR_TARGET __attribute__((target("avx512f")))
static int has_vectors(void)
{
	return __builtin_cpu_supports("avx512f");
}
#else
#define VECTOR_TARGET
static int has_vectors(void)
{
	return 1;
}
#endif

typedef double wide __attribute__((vector_size(64)));

VECTOR_TARGET COUNTED wide kind_vector(wide a, wide b)
{
	OWN_CALL(vector_calls);
	return a + b;
}

/* Lanes that a probe might have touched. */
VECTOR_TARGET COUNTED static void call_vector(void)
{
	wide a = {1, 2, 3, 4, 5, 6, 7, 8}, b = {8, 7, 6, 5, 4, 3, 2, 1};

	for (int i = 0; i < 1001; i++) {
		wide sum = kind_vector(a, b);

		for (int k = 0; k < 8; k++)
			if (sum[k] != 9)
				abort();
	}
}

#ifdef IFUNC
COUNTED static void chosen_at_start(void)
{
	OWN_CALL(chosen_calls);
}

static void (*choose(void))(void)
{
	return chosen_at_start;
}

void kind_ifunc(void) __attribute__((ifunc("choose")));

static void call_ifunc(void)
{
	for (int i = 0; i < 77; i++)
		kind_ifunc();
	say_own_count("chosen_at_start", chosen_calls);
}
#else
static void call_ifunc(void)
{
	(void)chosen_calls;
}
#endif

/* In each of two files. */
COUNTED static void kind_same_name(void)
{
	OWN_CALL(same_calls);
}

static void call_ordinary(void)
{
	void (*volatile pointed)(void) = kind_pointed;

	for (int i = 0; i < 10007; i++)
		kind_leaf();
	for (int i = 0; i < 5; i++)
		sink += kind_recursive(9);
	for (unsigned i = 0; i < 51; i++)
		sink += kind_even(i) + kind_odd(i / 2);
	for (unsigned i = 0; i < 303; i++)
		sink += kind_tail_first(i);
	for (int i = 0; i < 1003; i++)
		pointed();
	for (int i = 0; i < 13; i++)
		kind_same_name();
	for (int i = 0; i < 7; i++)
		kind_aliased();
	for (int i = 0; i < 5; i++)
		kind_alias();
	for (unsigned i = 0; i < 97; i++)
		sink += kind_looping(i);
}

static void check(long value, long expected)
{
	if (value != expected)
		abort();
}

static void call_with_arguments(void)
{
	for (long i = 0; i < 101; i++) {
		check(kind_variadic(5, 1, 2.5, 3, 4.5, (int)i), 11 + i);
		check(kind_many_arguments(i, 1, 2, 3, 4, 5, 6, 7, 8, 9), i - 5);
		check((long)kind_floating(i, 0.5f, 2.0L, 4), i + 4);
		check(kind_struct(i).words[8], 2 * i);
		check(kind_struct(i).words[2], i + 2);
	}
	if (has_vectors())
		call_vector();
}

static void call_jumping(void)
{
	for (volatile int i = 0; i < 21; i++) {
		jmp_buf out;

		if (setjmp(out) == 0)
			kind_jumping(&out, i);
	}
}

int main(void)
{
	/* Without this, a static program of musl has no code that profc could end a call with. */
	signal(SIGUSR1, SIG_IGN);
	call_ordinary();
	call_with_arguments();
	call_jumping();
	call_same_name_elsewhere();
	call_short_functions();
	say_own_count("kind_leaf", leaf_calls);
	say_own_count("kind_recursive", recursive_calls);
	say_own_count("kind_even", even_calls);
	say_own_count("kind_odd", odd_calls);
	say_own_count("kind_tail_first", tail_first_calls);
	say_own_count("kind_tail_second", tail_second_calls);
	say_own_count("kind_pointed", pointed_calls);
	say_own_count("kind_variadic", variadic_calls);
	say_own_count("kind_many_arguments", many_calls);
	say_own_count("kind_floating", floating_calls);
	say_own_count("kind_struct", struct_calls);
	say_own_count("kind_aliased", aliased_calls);
	say_own_count("kind_jumping", jumping_calls);
	say_own_count("kind_looping", looping_calls);
	say_own_count("kind_vector", vector_calls);
	say_own_count("kind_never", never_calls);
	say_own_count("kind_same_name", same_calls);
	call_ifunc();
	return sink == 0;
}
