// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * zombie_leader [CPU_MS]: the first thread ends at once; a second goes on in
 * leaderless_work() and ends the program with status 7.
 */
#include <pthread.h>

#include "self_measure.h"

static uint64_t spend_ns;

NOINLINE static uint64_t leaderless_work(uint64_t until_ns)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

static void *survivor_main(void *unused)
{
	(void)unused;
	say_ready();
	leaderless_work(spend_ns);
	exit(7);
}

int main(int argc, char **argv)
{
	pthread_t survivor;

	spend_ns = number_argument(argc, argv, 1, 600) * MS;
	pthread_create(&survivor, NULL, survivor_main, NULL);
	pthread_exit(NULL);
}
