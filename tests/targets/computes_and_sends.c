// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * computes_and_sends [MS]: a thread computes for some milliseconds, in compute(), and sends a
 * quarter of a megabyte through a pipe whose reader is fast, in turns, as compressors do. Prints
 * {"calls", "compute_ns"}: its transfers, and the CPU time that it computed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "self_measure.h"

#define PART_BYTES ((size_t)256 << 10)
#define COMPUTE_NS (6 * MS)

static volatile uint64_t sum;

__attribute__((noinline)) void compute(uint64_t until_ns)
{
	while (thread_cpu_ns() < until_ns) {
		for (unsigned i = 0; i < 20000; i++)
			sum += i;
	}
}

static void *drain(void *argument)
{
	char *room = malloc(PART_BYTES);

	while (read(*(int *)argument, room, PART_BYTES) > 0)
		continue;
	free(room);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	uint64_t compute_ns = 0;
	unsigned calls = 0;
	char *part = calloc(1, PART_BYTES);
	pthread_t reader;
	int ends[2];

	if (!part || pipe(ends) || pthread_create(&reader, NULL, drain, &ends[0]))
		return 2;
	say_ready();
	while (monotonic_ns() < end_ns) {
		uint64_t begun_ns = thread_cpu_ns();

		compute(begun_ns + COMPUTE_NS);
		compute_ns += thread_cpu_ns() - begun_ns;
		calls += write(ends[1], part, PART_BYTES) > 0;
	}
	close(ends[1]);
	pthread_join(reader, NULL);
	printf("{\"calls\": %u, \"compute_ns\": %llu}\n", calls, (unsigned long long)compute_ns);
	return 0;
}
