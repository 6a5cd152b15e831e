// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spin_leaf [CPU_MS]: all time in one leaf, three calls below main.
 * Prints {"program", "cpu_ns"}.
 */
#include "self_measure.h"

NOINLINE uint64_t spin_leaf(uint64_t x, unsigned rounds)
{
	while (rounds--)
		SPIN_STEP(x);
	return x;
}

NOINLINE uint64_t spin_middle(uint64_t x)
{
	return spin_leaf(x, 400000) + 1;
}

NOINLINE uint64_t spin_outer(uint64_t until_ns)
{
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	uint64_t x = 1;

	while (rounds_go_on(&rounds))
		x = spin_middle(x) + 1;
	return x;
}

int main(int argc, char **argv)
{
	uint64_t x = spin_outer(number_argument(argc, argv, 1, 1000) * MS);

	printf("{\"program\": \"%s\", \"cpu_ns\": %llu, \"x\": %llu}\n", argv[0],
	       (unsigned long long)process_cpu_ns(), (unsigned long long)(x & 1));
	return 0;
}
