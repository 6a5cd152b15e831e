// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * big_frames [CPU_MS]: six calls deep, each frame 200 KiB, so that the root lies
 * more than a megabyte above the stack pointer. Prints {"cpu_ns"}.
 */
#include <string.h>

#include "self_measure.h"

#define FRAME_BYTES (200 << 10)

NOINLINE uint64_t big_bottom(uint64_t until_ns)
{
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 300000; i++)
			SPIN_STEP(x);
	return x;
}

NOINLINE uint64_t big_frame(unsigned depth, uint64_t until_ns)
{
	volatile unsigned char room[FRAME_BYTES];
	uint64_t x;

	room[0] = (unsigned char)depth;
	room[FRAME_BYTES - 1] = 1;
	x = depth ? big_frame(depth - 1, until_ns) : big_bottom(until_ns);
	return x + room[0] + room[FRAME_BYTES - 1];
}

int main(int argc, char **argv)
{
	uint64_t x = big_frame(5, number_argument(argc, argv, 1, 500) * MS);

	printf("{\"cpu_ns\": %llu, \"x\": %llu}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}
