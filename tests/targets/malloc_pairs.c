// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nothing but malloc() and free(), and how long a pair takes by the thread's own CPU clock: the
 * median of some stretches.
 *
 *	malloc_pairs SIZE PAIRS STRETCHES
 */
#include "self_measure.h"

#define MAX_STRETCHES 100

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

NOINLINE static void pairs(uint64_t nr, uint64_t size)
{
	for (uint64_t i = 0; i < nr; i++) {
		void *block = malloc(size);

		__asm__ volatile("" : : "r"(block) : "memory"); /* compilers leave out both */
		free(block);
	}
}

int main(int argc, char **argv)
{
	uint64_t size = number_argument(argc, argv, 1, 64);
	uint64_t nr = number_argument(argc, argv, 2, 1000000);
	uint64_t stretches = number_argument(argc, argv, 3, 20);
	uint64_t used_ns[MAX_STRETCHES];

	if (!nr || !stretches || stretches > MAX_STRETCHES)
		return 2;
	for (uint64_t i = 0; i < stretches; i++) {
		uint64_t began_ns = thread_cpu_ns();

		pairs(nr, size);
		used_ns[i] = thread_cpu_ns() - began_ns;
	}
	qsort(used_ns, stretches, sizeof(used_ns[0]), compare);
	printf("{\"ns_per_pair\":%.3f,\"blocks\":%llu}\n",
	       (double)used_ns[stretches / 2] / (double)nr, (unsigned long long)(nr * stretches));
	return 0;
}
