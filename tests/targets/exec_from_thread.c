// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exec_from_thread CPU_MS PROGRAM [ARGUMENT...]: a second thread works in
 * thread_before_exec() and then becomes PROGRAM, while the leader sleeps and a
 * third thread spins.
 */
#include <pthread.h>
#include <unistd.h>

#include "self_measure.h"

static char **program;
static uint64_t spend_ns;

NOINLINE uint64_t thread_before_exec(uint64_t until_ns)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

static void *exec_thread(void *unused)
{
	(void)unused;
	thread_before_exec(spend_ns);
	execv(program[0], program);
	_exit(127);
}

static void *spin_thread(void *unused)
{
	(void)unused;
	thread_before_exec(UINT64_MAX);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t execs, spins;

	if (argc < 3)
		return 2;
	spend_ns = number_argument(argc, argv, 1, 300) * MS;
	program = argv + 2;
	pthread_create(&spins, NULL, spin_thread, NULL);
	pthread_create(&execs, NULL, exec_thread, NULL);
	pthread_join(execs, NULL);
	return 1;
}
