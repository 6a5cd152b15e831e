// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock_reader [CPU_MS]: reads a clock for which no system call is made: nearly all time is in
 * code of the vdso. Prints {"cpu_ns"}.
 */
#include "self_measure.h"

NOINLINE static uint64_t read_clock(void)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < 1000; i++)
		x += monotonic_ns();
	return x;
}

int main(int argc, char **argv)
{
	uint64_t until_ns = number_argument(argc, argv, 1, 300) * MS;
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	uint64_t x = 0;

	while (rounds_go_on(&rounds))
		x += read_clock();
	printf("{\"cpu_ns\": %llu, \"x\": %llu}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}
