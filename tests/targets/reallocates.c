// SPDX-License-Identifier: GPL-2.0-or-later
/* Reallocates blocks in place: prints how many faults that cost after the first one. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define NR_BLOCKS   4096
#define BLOCK_BYTES 48

static long faults(void)
{
	struct rusage used;

	return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_minflt : -1;
}

int main(void)
{
	static void *blocks[NR_BLOCKS];
	int nr_moved = 0;
	long before;

	for (int i = 0; i < NR_BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	blocks[0] = realloc(blocks[0], BLOCK_BYTES);
	before = faults();
	for (int i = 0; i < NR_BLOCKS; i++) {
		void *was = blocks[i];

		blocks[i] = realloc(blocks[i], BLOCK_BYTES);
		nr_moved += blocks[i] != was;
	}
	printf("{\"moved\":%d,\"faults\":%ld}\n", nr_moved, faults() - before);
	return 0;
}
