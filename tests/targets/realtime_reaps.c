// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * realtime_reaps [MS]: a thread of real-time priority that stays on one CPU, and for MS
 * milliseconds starts children eight at a time and waits for them, so that the kernel removes them
 * there. If it has not ended after three times that time, another process lets it go to other CPUs.
 * Prints
 * {"children", "stuck"}; ends with status 77 where it may not have that priority.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "self_measure.h"

#define NR_AT_ONCE 8

static void work_a_little(void)
{
	uint64_t x = 1;

	for (unsigned i = 0; i < 400000; i++)
		SPIN_STEP(x);
}

static pid_t start_rescue(int *stuck, uint64_t after_ms, const cpu_set_t *all)
{
	pid_t parent = getpid(), rescue = fork();

	if (rescue)
		return rescue;
	usleep((useconds_t)after_ms * 1000);
	*stuck = 1;
	sched_setaffinity(parent, sizeof(*all), all);
	_exit(0);
}

static unsigned long reap(int cpu, uint64_t for_ms)
{
	struct sched_param param = {.sched_priority = 2};
	unsigned long nr = 0;
	struct rounds rounds;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0 ||
	    sched_setaffinity(0, sizeof(one), &one) < 0)
		return 0;
	rounds = rounds_until(CLOCK_MONOTONIC, monotonic_ns() + for_ms * MS);
	while (rounds_go_on(&rounds)) {
		pid_t children[NR_AT_ONCE];

		for (int i = 0; i < NR_AT_ONCE; i++) {
			children[i] = fork();
			if (!children[i]) {
				work_a_little();
				_exit(0);
			}
		}
		for (int i = 0; i < NR_AT_ONCE; i++)
			nr += waitpid(children[i], NULL, 0) > 0;
	}
	return nr;
}

int main(int argc, char **argv)
{
	uint64_t for_ms = number_argument(argc, argv, 1, 3000);
	int *stuck = mmap(NULL, sizeof(*stuck), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	unsigned long nr;
	cpu_set_t all;
	pid_t rescue;

	sched_getaffinity(0, sizeof(all), &all);
	rescue = start_rescue(stuck, 3 * for_ms, &all);
	nr = reap(sched_getcpu(), for_ms);
	kill(rescue, SIGKILL);
	waitpid(rescue, NULL, 0);
	if (!nr)
		return 77;
	printf("{\"children\": %lu, \"stuck\": %d}\n", nr, *stuck);
	return 0;
}
