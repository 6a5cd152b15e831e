// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stop_gaps MS SLICE_MS CPU: a thread with 2 KiB of stack computes for MS milliseconds on that CPU
 * and reads the processor's own counter of time all the while: any gap in it is time in which the
 * thread did not run. The frequency of the CPU and the speed of neighbours do not change that. Each
 * slice is a line, {"missed_ns", "gaps", "elapsed_ns"}: the gaps that are too short to be the time
 * slice of another program, their number, and the length of the slice.
 */
#include <sched.h>

#include "self_measure.h"

#define SHORTEST_GAP_NS 500
#define LONGEST_GAP_NS	500000
#define CALIBRATION_NS	(20 * MS)
#define STACK_FRAME	(2048 - 256)

struct slice {
	uint64_t missed, gaps; /* missed: in units of the counter */
};

ALWAYS_INLINE uint64_t time_stamp(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
#endif
}

static double stamps_per_ns(void)
{
	uint64_t begun_ns = monotonic_ns(), begun = time_stamp(), now_ns;

	do {
		now_ns = monotonic_ns();
	} while (now_ns - begun_ns < CALIBRATION_NS);
	return (double)(time_stamp() - begun) / (double)(now_ns - begun_ns);
}

NOINLINE static struct slice watch(uint64_t until, uint64_t least, uint64_t most)
{
	uint64_t last = time_stamp();
	struct slice slice = {0, 0};

	while (last < until) {
		uint64_t now = time_stamp(), gap = now - last;

		if (gap > least && gap < most) {
			slice.missed += gap;
			slice.gaps++;
		}
		last = now;
	}
	return slice;
}

NOINLINE static void work(uint64_t ms, uint64_t slice_ms)
{
	volatile char frame[STACK_FRAME];
	double rate = stamps_per_ns();

	frame[0] = 1;
	for (uint64_t done_ms = 0; done_ms < ms; done_ms += slice_ms) {
		uint64_t begun = time_stamp();
		struct slice slice = watch(begun + (uint64_t)(rate * (double)(slice_ms * MS)),
					   (uint64_t)(rate * SHORTEST_GAP_NS),
					   (uint64_t)(rate * LONGEST_GAP_NS));

		printf("{\"missed_ns\": %.0f, \"gaps\": %llu, \"elapsed_ns\": %.0f}\n",
		       (double)slice.missed / rate, (unsigned long long)slice.gaps,
		       (double)(time_stamp() - begun) / rate);
	}
	frame[1] = frame[0];
}

int main(int argc, char **argv)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(number_argument(argc, argv, 3, 0), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	work(number_argument(argc, argv, 1, 2000), number_argument(argc, argv, 2, 250));
	return 0;
}
