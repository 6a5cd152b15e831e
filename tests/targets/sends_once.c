// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sends_once [MS]: sends a megabyte through a pipe whose reader is slow, and from then on computes
 * in turns: for less than half a millisecond with naps in between, in short_bursts(), and
 * as much at a stretch of some milliseconds, in long_bursts(). Prints {"short_ns", "long_ns"}: the
 * CPU time in each.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "self_measure.h"

#define PART_BYTES ((size_t)1 << 20)
#define BURST_NS   (MS * 2 / 5)
#define BURSTS	   25

static volatile uint64_t sum;
static uint64_t short_ns, long_ns;

NOINLINE void compute(uint64_t length_ns)
{
	uint64_t until_ns = thread_cpu_ns() + length_ns;

	while (thread_cpu_ns() < until_ns) {
		for (unsigned i = 0; i < 50000; i++)
			sum += i;
	}
}

NOINLINE void short_bursts(void)
{
	uint64_t begun_ns = thread_cpu_ns();

	for (unsigned i = 0; i < BURSTS; i++) {
		compute(BURST_NS);
		usleep(300);
	}
	short_ns += thread_cpu_ns() - begun_ns;
}

NOINLINE void long_bursts(void)
{
	uint64_t begun_ns = thread_cpu_ns();

	compute(BURSTS * BURST_NS);
	long_ns += thread_cpu_ns() - begun_ns;
}

static void *drain(void *argument)
{
	char room[4096];

	while (read(*(int *)argument, room, sizeof(room)) > 0)
		usleep(100);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	char *part = calloc(1, PART_BYTES);
	pthread_t reader;
	int ends[2];

	if (!part || pipe(ends) || pthread_create(&reader, NULL, drain, &ends[0]))
		return 2;
	say_ready();
	if (write(ends[1], part, PART_BYTES) < 0)
		return 2;
	close(ends[1]);
	while (monotonic_ns() < end_ns) {
		short_bursts();
		long_bursts();
	}
	pthread_join(reader, NULL);
	printf("{\"short_ns\": %llu, \"long_ns\": %llu}\n", (unsigned long long)short_ns,
	       (unsigned long long)long_ns);
	return 0;
}
