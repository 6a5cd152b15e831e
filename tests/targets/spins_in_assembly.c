// SPDX-License-Identifier: GPL-2.0-or-later
/* spins_in_assembly [CPU_MS]: all time in the two functions of assembly_loop.S. */
#include "self_measure.h"

void assembly_loop(void);

int main(int argc, char **argv)
{
	uint64_t until_ns = number_argument(argc, argv, 1, 300) * MS;
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);

	while (rounds_go_on(&rounds))
		assembly_loop();
	return 0;
}
