// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * starved_thread [CPU_MS]: one thread hardly ever gets the CPU that it shares with busy
 * processes; another makes system calls in busy_with_calls(), on another CPU if there is one.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "crowd.h"
#include "self_measure.h"

#define CALLS 50

static sem_t is_starved;

static void *starved_main(void *unused)
{
	const struct sched_param none = {0};

	(void)unused;
	go_to(0);
	crowd(3);
	pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
	sem_post(&is_starved);
	for (volatile uint64_t x = 0;; x++)
		continue;
	return NULL;
}

NOINLINE static uint64_t busy_with_calls(uint64_t until_ns)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns) {
		for (unsigned i = 0; i < 10000; i++)
			SPIN_STEP(x);
		for (unsigned i = 0; i < CALLS; i++)
			x += (uint64_t)syscall(SYS_getppid);
	}
	return x;
}

int main(int argc, char **argv)
{
	uint64_t spend_ns = number_argument(argc, argv, 1, 600) * MS;
	pthread_t starved;

	pthread_create(&starved, NULL, starved_main, NULL);
	while (sem_wait(&is_starved) < 0)
		continue;
	go_to(1);
	busy_with_calls(thread_cpu_ns() + spend_ns);
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)thread_cpu_ns());
	fflush(stdout);
	_exit(0);
}
