// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exec_midway CPU_MS PROGRAM [ARGUMENT...]: works in before_exec(), then
 * becomes PROGRAM.
 */
#include <unistd.h>

#include "self_measure.h"

NOINLINE uint64_t before_exec(uint64_t until_ns)
{
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	before_exec(number_argument(argc, argv, 1, 400) * MS);
	execv(argv[2], argv + 2);
	return 127;
}
