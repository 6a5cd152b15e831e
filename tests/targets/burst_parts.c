// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * burst_parts NR MS: NR threads that wake together every 10 ms, each for a burst of four parts of
 * 0.3 ms: part_one(), part_two(), part_three(), part_four(). Prints {"function", "cpu_ns"} of each.
 */
#include <pthread.h>

#include "self_measure.h"

#define PERIOD_NS (10 * MS)
#define PART_NS	  300000
#define NR_PARTS  4
#define MOST	  64

struct burster {
	pthread_t thread;
	uint64_t start_ns, end_ns;
	uint64_t cpu_ns[NR_PARTS];
};

#define PART(name)                                                                                 \
	NOINLINE static void name(uint64_t nr)                                                     \
	{                                                                                          \
		volatile uint64_t x = 1;                                                           \
                                                                                                   \
		for (uint64_t i = 0; i < nr; i++)                                                  \
			SPIN_STEP(x);                                                              \
	}

PART(part_one)
PART(part_two)
PART(part_three)
PART(part_four)

static void (*const parts[NR_PARTS])(uint64_t nr) = {part_one, part_two, part_three, part_four};
static const char *const names[NR_PARTS] = {"part_one", "part_two", "part_three", "part_four"};
static uint64_t nr_steps;

/* How many steps take as long as a part: of several trials the shortest. */
static uint64_t steps_of_a_part(void)
{
	const uint64_t nr = 100000;
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t before_ns = thread_cpu_ns();

		part_one(nr);
		if (thread_cpu_ns() - before_ns < least_ns)
			least_ns = thread_cpu_ns() - before_ns;
	}
	return nr * PART_NS / least_ns;
}

static void *burster_main(void *arg)
{
	struct burster *self = arg;
	uint64_t next_ns = self->start_ns;

	while (next_ns < self->end_ns) {
		const struct timespec at = {.tv_sec = (time_t)(next_ns / 1000000000),
					    .tv_nsec = (long)(next_ns % 1000000000)};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		for (int i = 0; i < NR_PARTS; i++) {
			uint64_t before_ns = thread_cpu_ns();

			parts[i](nr_steps);
			self->cpu_ns[i] += thread_cpu_ns() - before_ns;
		}
		next_ns += PERIOD_NS;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 4);
	uint64_t start_ns, cpu_ns[NR_PARTS] = {0};
	static struct burster bursters[MOST];

	nr = nr < MOST ? nr : MOST;
	nr_steps = steps_of_a_part();
	start_ns = monotonic_ns() + PERIOD_NS;
	for (unsigned i = 0; i < nr; i++) {
		bursters[i].start_ns = start_ns;
		bursters[i].end_ns = start_ns + number_argument(argc, argv, 2, 6000) * MS;
		pthread_create(&bursters[i].thread, NULL, burster_main, &bursters[i]);
	}
	for (unsigned i = 0; i < nr; i++) {
		pthread_join(bursters[i].thread, NULL);
		for (int part = 0; part < NR_PARTS; part++)
			cpu_ns[part] += bursters[i].cpu_ns[part];
	}
	for (int part = 0; part < NR_PARTS; part++)
		printf("{\"function\": \"%s\", \"cpu_ns\": %llu}\n", names[part],
		       (unsigned long long)cpu_ns[part]);
	return 0;
}
