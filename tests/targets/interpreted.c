// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * interpreted [CPU_MS]: main() and what is called back, for interpreters in assembler, which call
 * op_work() from interpret(rounds, words).
 */
#include <math.h>

#include "self_measure.h"

void interpret(int rounds, int words);
void op_work(int rounds);

static double total;

NOINLINE void op_work(int rounds)
{
	double sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += cos(i);
	total += sum;
}

NOINLINE void run_script(int nr)
{
	interpret(60000 + nr % 7, nr < 10 ? 0 : 5);
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS;

	for (int nr = 0; thread_cpu_ns() < limit_ns; nr++)
		run_script(nr);
	printf("{\"total\": %f}\n", total);
	return 0;
}
