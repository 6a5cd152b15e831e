// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * realtime PRIORITY [MS [POLICY [BEFORE_MS]]]: one thread of real-time priority that spins in
 * urgent_work() for MS milliseconds of CPU time, BEFORE_MS of them before it takes that priority;
 * POLICY "rr": SCHED_RR, else SCHED_FIFO. Prints {"cpu_ns"}; ends with status 77 where it may not
 * have that priority.
 */
#include <sched.h>

#include "self_measure.h"

NOINLINE static uint64_t urgent_work(uint64_t until_ns)
{
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	uint64_t x = 1;

	while (rounds_go_on(&rounds))
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

int main(int argc, char **argv)
{
	struct sched_param param = {.sched_priority = (int)number_argument(argc, argv, 1, 50)};
	uint64_t before_ns = number_argument(argc, argv, 4, 0) * MS;
	uint64_t x = before_ns ? urgent_work(before_ns) : 0;

	if (sched_setscheduler(0, argc > 3 && argv[3][0] == 'r' ? SCHED_RR : SCHED_FIFO, &param) < 0)
		return 77;
	x += urgent_work(number_argument(argc, argv, 2, 600) * MS);
	printf("{\"cpu_ns\": %llu, \"x\": %u}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned)(x & 1));
	return 0;
}
