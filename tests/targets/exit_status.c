// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exit_status exit N | kill N: works 50 ms, then exits with status N or dies by
 * signal N.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "self_measure.h"

NOINLINE uint64_t work_before_end(uint64_t until_ns)
{
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

int main(int argc, char **argv)
{
	const struct rlimit no_core = {0, 0};
	int number = (int)number_argument(argc, argv, 2, 0);

	work_before_end(50 * MS);
	if (argc > 1 && !strcmp(argv[1], "exit"))
		return number;
	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	raise(number);
	return 99;
}
