/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_SELF_MEASURE_H
#define PROFC_TESTS_SELF_MEASURE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/*
 * What the targets share: each measures by the kernel's own clocks what a
 * profiler should find, prints it as one JSON object a line, and says when it
 * is where the test wants it.
 */

#define NOINLINE      __attribute__((noinline, noclone))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define MS	      1000000ULL

/* One step of a dependent chain that no compiler can shorten or drop. */
#define SPIN_STEP(x) ((x) = (x)*6364136223846793005ULL + 1442695040888963407ULL)

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static inline uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Of the calling thread, for waited_for_cpu_ns(). */
static inline int own_schedstat(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

/* Its second number: how long the thread has been runnable, but not running. */
static inline uint64_t waited_for_cpu_ns(int schedstat_fd)
{
	char text[96] = "", *second;

	if (pread(schedstat_fd, text, sizeof(text) - 1, 0) < 0)
		return 0;
	strtoull(text, &second, 10);
	return strtoull(second, NULL, 10);
}

static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * Rounds of work until a clock of CPU time says until_ns:
 *
 *	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
 *
 *	while (rounds_go_on(&rounds))
 *		work();
 *
 * One thread's CPU time passes no faster than time itself: so that clock is read only when as much
 * time has passed as was left of it, some twenty times in all. With a reading each round, who waits
 * for a CPU often does so in clock_gettime(): the kernel takes the CPU away from who has used up
 *its slice when it next does its accounts, and to read this clock is to have it do them.
 */
struct rounds {
	clockid_t clock;
	uint64_t until_ns; /* by that clock */
	uint64_t due_ns;   /* when it is read next, by CLOCK_MONOTONIC */
};

static inline struct rounds rounds_until(clockid_t clock, uint64_t until_ns)
{
	struct rounds rounds = {clock, until_ns, 0};

	return rounds;
}

static inline int rounds_go_on(struct rounds *rounds)
{
	uint64_t time_ns = monotonic_ns();
	uint64_t used_ns;

	if (time_ns < rounds->due_ns)
		return 1;
	used_ns = clock_ns(rounds->clock);
	rounds->due_ns = time_ns + rounds->until_ns - used_ns;
	return used_ns < rounds->until_ns;
}

/* argv[i] as a number, or the default. */
static inline uint64_t number_argument(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 0) : otherwise;
}

static inline void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* The test closes standard input to say "end". */
static inline void wait_for_end(void)
{
	while (getchar() != EOF)
		;
}

#endif
