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

/*
 * Rounds of work until a clock of CPU time says until_ns:
 *
 *	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
 *
 *	while (rounds_go_on(&rounds))
 *		work();
 *
 * The clock is read some thirty times in all, whenever a quarter of what was left should be done.
 * With a reading each round, who waits for a CPU often does so in clock_gettime(): the kernel takes
 * the CPU away from who has used up its slice when it next does its accounts, and to read this
 * clock is to have it do them.
 */
struct rounds {
	clockid_t clock;
	uint64_t until_ns, read_ns; /* by that clock; when it was read last */
	uint64_t nr, left;	    /* from one reading to the next; of them to come */
};

static inline struct rounds rounds_until(clockid_t clock, uint64_t until_ns)
{
	struct rounds rounds = {clock, until_ns, clock_ns(clock), 0, 0};

	return rounds;
}

static inline int rounds_go_on(struct rounds *rounds)
{
	uint64_t now_ns;
	double next;

	if (rounds->left == 0) {
		now_ns = clock_ns(rounds->clock);
		if (now_ns >= rounds->until_ns)
			return 0;
		next = (double)(rounds->until_ns - now_ns) / 4 * (double)rounds->nr /
		       (double)(now_ns - rounds->read_ns + 1);
		if (next > 8 * (double)rounds->nr)
			next = 8 * (double)rounds->nr;
		rounds->left = rounds->nr = next > 1 ? (uint64_t)next : 1;
		rounds->read_ns = now_ns;
	}
	rounds->left--;
	return 1;
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
