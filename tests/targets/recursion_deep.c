// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recursion_deep DEPTH [CPU_MS]: recursion_level() calls itself DEPTH times and
 * all time is spent in recursion_bottom() below it. Prints {"depth", "cpu_ns"}.
 */
#include "self_measure.h"

NOINLINE uint64_t recursion_bottom(uint64_t until_ns)
{
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	uint64_t x = 1;

	while (rounds_go_on(&rounds))
		for (unsigned i = 0; i < 300000; i++)
			SPIN_STEP(x);
	return x;
}

uint64_t recursion_level(unsigned depth, uint64_t until_ns);

/* Called through a pointer that the compiler cannot know, or it would make a loop of it. */
static uint64_t (*volatile next_level)(unsigned depth, uint64_t until_ns) = recursion_level;

NOINLINE uint64_t recursion_level(unsigned depth, uint64_t until_ns)
{
	if (depth == 1)
		return recursion_bottom(until_ns) + 1;
	return next_level(depth - 1, until_ns) * 3 + 1;
}

int main(int argc, char **argv)
{
	unsigned depth = (unsigned)number_argument(argc, argv, 1, 200);
	uint64_t x = recursion_level(depth, number_argument(argc, argv, 2, 600) * MS);

	printf("{\"depth\": %u, \"cpu_ns\": %llu, \"x\": %llu}\n", depth,
	       (unsigned long long)process_cpu_ns(), (unsigned long long)(x & 1));
	return 0;
}
