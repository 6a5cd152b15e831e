/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_SELF_MEASURE_H
#define PROFC_TESTS_SELF_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
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
