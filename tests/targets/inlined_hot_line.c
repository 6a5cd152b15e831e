// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inlined_hot_line [CPU_MS]: all time on the one line marked "hot line", in a
 * function inlined three levels deep into not_inlined().
 * Prints {"cpu_ns"}.
 */
#include "self_measure.h"

ALWAYS_INLINE uint64_t inlined_inner(uint64_t x, unsigned rounds)
{
	while (rounds--)
		x = (x ^ (x >> 11)) * 0x9E3779B97F4A7C15ULL + x / ((x & 63) + 3); /* hot line */
	return x;
}

ALWAYS_INLINE uint64_t inlined_middle(uint64_t x)
{
	return inlined_inner(x, 100000) ^ 5; /* call of inner */
}

ALWAYS_INLINE uint64_t inlined_outer(uint64_t x)
{
	return inlined_middle(x + 3) + 1; /* call of middle */
}

NOINLINE uint64_t not_inlined(uint64_t x)
{
	return inlined_outer(x) | 1; /* call of outer */
}

int main(int argc, char **argv)
{
	uint64_t until_ns = number_argument(argc, argv, 1, 1500) * MS;
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	uint64_t x = 1;

	while (rounds_go_on(&rounds))
		x = not_inlined(x);
	printf("{\"cpu_ns\": %llu, \"x\": %llu}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}
