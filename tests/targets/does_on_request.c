// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * does_on_request: does as the lines of its standard input say, one after the other:
 *
 *	spin MS    uses MS of time on a CPU, in spin_on_request()
 *	rest MS    sleeps, in rest_on_request()
 *	fill MB    makes so much memory resident, in fill_on_request(), for 1 s at least
 *	crowd MS   three threads share one CPU, in crowd_on_request()
 *	gather N   N threads begin, every other rests in rest_beside(), the others spin in
 *spin_beside() abort 0    dies of SIGABRT, in abort_on_request() fault 0    dies of SIGSEGV, in
 *fault_on_request(), which calls nothing say N      prints {"said": N}
 *
 * In between it works a little every 20 ms, so that it is not taken for stalled.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "self_measure.h"

static volatile uint64_t sink;

static void work_until(uint64_t until_ns)
{
	uint64_t x = 1;

	while (monotonic_ns() < until_ns) {
		for (int i = 0; i < 20000; i++)
			SPIN_STEP(x);
	}
	sink = x;
}

NOINLINE static void spin_on_request(uint64_t ns)
{
	work_until(monotonic_ns() + ns);
	sink++;
}

NOINLINE static void rest_on_request(uint64_t ns)
{
	const struct timespec pause = {(time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS))};

	nanosleep(&pause, NULL);
	sink++;
}

NOINLINE static void fill_on_request(uint64_t nr_mib)
{
	uint64_t until_ns = monotonic_ns() + 1000 * MS;
	size_t nr_bytes = (size_t)nr_mib << 20;
	unsigned char *memory =
		mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned char round = 1; memory != MAP_FAILED && monotonic_ns() < until_ns; round++)
		memset(memory, round, nr_bytes);
	sink++;
}

static void *crowd_on_request(void *until_ns)
{
	work_until(*(const uint64_t *)until_ns);
	sink++;
	return NULL;
}

static void crowd(uint64_t ns)
{
	uint64_t until_ns = monotonic_ns() + ns;
	pthread_t threads[2];
	cpu_set_t one, before;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, crowd_on_request, &until_ns);
	crowd_on_request(&until_ns);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	sched_setaffinity(0, sizeof(before), &before);
}

NOINLINE static void abort_on_request(void)
{
	work_until(monotonic_ns() + 300 * MS);
	abort();
}

static void *spin_beside(void *unused)
{
	(void)unused;
	work_until(UINT64_MAX);
	return NULL;
}

static void *rest_beside(void *unused)
{
	(void)unused;
	rest_on_request(UINT64_MAX);
	sink++;
	return NULL;
}

static void gather(uint64_t nr)
{
	pthread_t thread;

	for (uint64_t i = 0; i < nr; i++)
		pthread_create(&thread, NULL, i % 2 ? spin_beside : rest_beside, NULL);
}

static void *volatile nowhere;

NOINLINE static void fault_on_request(void)
{
	*(volatile int *)nowhere = 1;
}

static void obey(const char *word, uint64_t number)
{
	if (!strcmp(word, "spin"))
		spin_on_request(number * MS);
	else if (!strcmp(word, "rest"))
		rest_on_request(number * MS);
	else if (!strcmp(word, "fill"))
		fill_on_request(number);
	else if (!strcmp(word, "crowd"))
		crowd(number * MS);
	else if (!strcmp(word, "gather"))
		gather(number);
	else if (!strcmp(word, "abort"))
		abort_on_request();
	else if (!strcmp(word, "fault"))
		fault_on_request();
	else if (!strcmp(word, "say"))
		printf("{\"said\": %llu}\n", (unsigned long long)number);
	fflush(stdout);
}

/* The next line; false at the end. A byte at a time: poll(2) knows of no buffer. */
static int next_line(char *line, size_t cap)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t nr = 0;

	while (nr + 1 < cap) {
		while (poll(&input, 1, 20) == 0)
			work_until(monotonic_ns() + MS / 10);
		if (read(STDIN_FILENO, line + nr, 1) != 1)
			return 0;
		if (line[nr] == '\n')
			break;
		nr++;
	}
	line[nr] = '\0';
	return 1;
}

int main(void)
{
	char line[64], word[16];
	unsigned long long number;

	while (next_line(line, sizeof(line))) {
		if (sscanf(line, "%15s %llu", word, &number) == 2)
			obey(word, number);
	}
	return 0;
}
