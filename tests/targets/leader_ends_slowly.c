// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leader_ends_slowly [CPU_MS]: the first thread ends on a CPU that it shares with busy
 * processes, and waits for it in the midst of that; a second goes on in leaderless_work() on
 * another CPU, if there is one.
 */
#include <pthread.h>
#include <semaphore.h>

#include "crowd.h"
#include "self_measure.h"

static uint64_t spend_ns;
static sem_t is_crowded;

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
	crowd(6);
	go_to(1);
	sem_post(&is_crowded);
	leaderless_work(thread_cpu_ns() + spend_ns);
	exit(7);
}

int main(int argc, char **argv)
{
	pthread_t survivor;

	spend_ns = number_argument(argc, argv, 1, 600) * MS;
	go_to(0);
	pthread_create(&survivor, NULL, survivor_main, NULL);
	while (sem_wait(&is_crowded) < 0)
		continue;
	pthread_exit(NULL);
}
