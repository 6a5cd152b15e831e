// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * realigned_frames [CPU_MS]: built without CFI. Frames that the function aligned for its vectors, or
 * made as large as an argument says, are of the same stack; nothing here is on another.
 */
#include <alloca.h>
#include <math.h>

#include "self_measure.h"

#define N 16

NOINLINE double fold(const double *numbers, unsigned rounds)
{
	double sum = 0;

	for (unsigned i = 0; i < rounds; i++)
		sum += sin(numbers[i % N] + i);
	return sum;
}

NOINLINE double aligned_frame(unsigned seed)
{
	double numbers[N] __attribute__((aligned(64)));

	for (unsigned i = 0; i < N; i++)
		numbers[i] = i * seed;
	return fold(numbers, 60000) + numbers[3];
}

NOINLINE double sized_frame(unsigned seed)
{
	double *numbers = alloca((N + seed % 8) * sizeof(*numbers));

	for (unsigned i = 0; i < N; i++)
		numbers[i] = i;
	return fold(numbers, 60000) + numbers[5];
}

NOINLINE double step(unsigned seed)
{
	return aligned_frame(seed) + sized_frame(seed);
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS;
	double sum = 0;

	for (unsigned seed = 0; thread_cpu_ns() < limit_ns; seed++)
		sum += step(seed);
	printf("{\"sum\": %f}\n", sum);
	return 0;
}
