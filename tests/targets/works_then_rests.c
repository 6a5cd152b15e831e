// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * works_then_rests [WORK_MS [REST_MS]]: a second thread works for so long, and rests for so long;
 * the first one only waits for it to end.
 */
#include <pthread.h>
#include <unistd.h>

#include "self_measure.h"

static uint64_t limit_ns, rest_ms;

static NOINLINE void *work_for_a_while(void *unused)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < limit_ns)
		SPIN_STEP(x);
	usleep((useconds_t)(rest_ms * 1000));
	return x ? unused : &limit_ns;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	limit_ns = number_argument(argc, argv, 1, 300) * MS;
	rest_ms = number_argument(argc, argv, 2, 1000);
	pthread_create(&thread, NULL, work_for_a_while, NULL);
	say_ready();
	pthread_join(thread, NULL);
	return 0;
}
