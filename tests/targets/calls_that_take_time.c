// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_that_take_time: brief calls and long ones that compute, and some that sleep, in turns.
 * Prints for each function {"function", "calls", "measured", "cpu_ns", "wall_ns", "runq_ns"}:
 * the time with all that it called, in those of its calls that were measured, by the kernel's
 * clocks.
 */
#include "own_counts.h"
#include "self_measure.h"

#define ROUNDS 25

static volatile uint64_t time_sink = 1;

struct taken {
	const char *function;
	uint64_t measured, cpu_ns, wall_ns, runq_ns;
};

COUNTED void spin(unsigned steps)
{
	uint64_t x = time_sink;

	while (steps--)
		SPIN_STEP(x);
	time_sink = x;
}

COUNTED void takes_little(void)
{
	spin(20000);
}

COUNTED void takes_long(void)
{
	spin(6000000);
}

COUNTED void takes_sleep(void)
{
	const struct timespec pause = {0, 4 * 1000000};

	nanosleep(&pause, NULL);
}

COUNTED void takes_all(void)
{
	takes_long();
	takes_sleep();
}

static void measure(struct taken *taken, void (*volatile function)(void), unsigned times,
		    int schedstat_fd)
{
	uint64_t runq_ns = waited_for_cpu_ns(schedstat_fd);
	uint64_t cpu_ns = thread_cpu_ns(), wall_ns = monotonic_ns();

	for (unsigned i = 0; i < times; i++)
		function();
	taken->measured += times;
	taken->cpu_ns += thread_cpu_ns() - cpu_ns;
	taken->wall_ns += monotonic_ns() - wall_ns;
	taken->runq_ns += waited_for_cpu_ns(schedstat_fd) - runq_ns;
}

int main(void)
{
	struct taken taken[] = {{.function = "takes_little"},
				{.function = "takes_long"},
				{.function = "takes_sleep"},
				{.function = "takes_all"}};
	int fd = own_schedstat();

	for (int i = 0; i < ROUNDS; i++) {
		measure(&taken[0], takes_little, 300, fd);
		measure(&taken[1], takes_long, 1, fd);
		measure(&taken[2], takes_sleep, 2, fd);
		measure(&taken[3], takes_all, 1, fd);
	}
	for (int i = 0; i < 4; i++) {
		/* takes_all() calls two of the others, besides. */
		unsigned more = i == 1 || i == 2 ? ROUNDS : 0;

		printf("{\"function\": \"%s\", \"calls\": %llu, \"measured\": %llu, "
		       "\"cpu_ns\": %llu, \"wall_ns\": %llu, \"runq_ns\": %llu}\n",
		       taken[i].function, (unsigned long long)taken[i].measured + more,
		       (unsigned long long)taken[i].measured, (unsigned long long)taken[i].cpu_ns,
		       (unsigned long long)taken[i].wall_ns, (unsigned long long)taken[i].runq_ns);
	}
	return 0;
}
