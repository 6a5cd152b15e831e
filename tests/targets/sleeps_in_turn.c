// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sleeps_in_turn MS: sleeps for 0.2 to 2.2 ms in long_sleep(), works for 0.8 ms, sleeps for 0.1 to
 * 1.6 ms in short_sleep() and works for 0.2 ms, again and again. Prints {"function", "blocked_ns"}
 * of both: the time in them neither on a CPU nor waiting for one.
 */
#include <fcntl.h>
#include <sys/select.h>
#include <unistd.h>

#include "self_measure.h"

#define US 1000ULL

static int schedstat_fd;

/* Time less what was spent on a CPU or waiting for one. */
static uint64_t blocked_ns(void)
{
	unsigned long long cpu_ns, runq_ns;
	char text[100];
	ssize_t nr = pread(schedstat_fd, text, sizeof(text) - 1, 0);

	text[nr > 0 ? nr : 0] = '\0';
	if (sscanf(text, "%llu %llu", &cpu_ns, &runq_ns) != 2)
		exit(1);
	return monotonic_ns() - thread_cpu_ns() - runq_ns;
}

NOINLINE static void long_sleep(uint64_t ns)
{
	const struct timespec time = {.tv_nsec = (long)ns};

	nanosleep(&time, NULL);
	__asm__ volatile("");
}

NOINLINE static void short_sleep(uint64_t ns)
{
	struct timeval time = {.tv_usec = (suseconds_t)(ns / US)};

	select(0, NULL, NULL, NULL, &time);
	__asm__ volatile("");
}

NOINLINE static void work_for(uint64_t ns)
{
	uint64_t until_ns = monotonic_ns() + ns;
	volatile uint64_t x = 1;

	while (monotonic_ns() < until_ns)
		SPIN_STEP(x);
}

static uint64_t lasts_ns(void (*sleep_for)(uint64_t ns), uint64_t ns)
{
	uint64_t before_ns = blocked_ns();

	sleep_for(ns);
	return blocked_ns() - before_ns;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 4000) * MS;
	uint64_t long_ns = 0, short_ns = 0, random = 1;

	schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	while (monotonic_ns() < end_ns) {
		SPIN_STEP(random);
		long_ns += lasts_ns(long_sleep, 200 * US + (random >> 40) % 2000 * US);
		work_for(800 * US);
		SPIN_STEP(random);
		short_ns += lasts_ns(short_sleep, 100 * US + (random >> 40) % 1500 * US);
		work_for(200 * US);
	}
	printf("{\"function\": \"long_sleep\", \"blocked_ns\": %llu}\n",
	       (unsigned long long)long_ns);
	printf("{\"function\": \"short_sleep\", \"blocked_ns\": %llu}\n",
	       (unsigned long long)short_ns);
	return 0;
}
