// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exec_storm MS [UNTIL COUNT]: for MS milliseconds a process of a hundred threads, or NR_THREADS,
 * one of which executes the program anew after a moment, over and over; mostly not the first
 * thread. Every 32nd spins, or every SPINS_EACH. The other two arguments are its own. Says "ready" once, at the end prints {"execs": COUNT}.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "self_measure.h"

#ifndef NR_THREADS
#define NR_THREADS 100
#endif
#ifndef SPINS_EACH
#define SPINS_EACH 32
#endif

static char *program;
static uint64_t end_ns, nr_execs;

static void nap_us(long us)
{
	struct timespec time = {.tv_nsec = us * 1000};

	nanosleep(&time, NULL);
}

static void execute_anew(void)
{
	char until[32], count[32];

	snprintf(until, sizeof(until), "%llu", (unsigned long long)end_ns);
	snprintf(count, sizeof(count), "%llu", (unsigned long long)nr_execs + 1);
	execl(program, program, "0", until, count, (char *)NULL);
	_exit(3);
}

/* Some sleep, some run, so that they die in different ways. */
static void *bystander(void *argument)
{
	volatile uint64_t x = 1;

	while ((intptr_t)argument % SPINS_EACH == 1)
		SPIN_STEP(x);
	pause();
	return NULL;
}

static void *caller(void *argument)
{
	(void)argument;
	nap_us(500 + (long)(monotonic_ns() / 1000 % 1500));
	execute_anew();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	program = argv[0];
	end_ns = argc > 2 ? strtoull(argv[2], NULL, 10)
			  : monotonic_ns() + number_argument(argc, argv, 1, 3000) * MS;
	nr_execs = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	if (argc <= 2)
		say_ready();
	if (monotonic_ns() >= end_ns) {
		printf("{\"execs\": %llu}\n", (unsigned long long)nr_execs);
		return 0;
	}
	for (intptr_t i = 0; i < NR_THREADS - 2; i++)
		pthread_create(&thread, NULL, bystander, (void *)i);
	if (nr_execs % 4 == 3) /* now and then the first thread itself */
		caller(NULL);
	pthread_create(&thread, NULL, caller, NULL);
	for (;;)
		pause();
}
