// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/semaphore.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC)};
}

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 30)
#define HAS_CLOCKWAIT
#endif
#endif

#ifdef HAS_CLOCKWAIT

bool semaphore_wait_until(sem_t *semaphore, uint64_t until_ns)
{
	const struct timespec until = timespec_of(until_ns);

	return sem_clockwait(semaphore, CLOCK_MONOTONIC, &until) == 0;
}

#else

#include "base/minmax.h"

#define SLICE_NS (100 * NS_PER_MS)

/*
 * musl and older versions of glibc can wait by the clock of the day only. That may be set before a
 * slice begins, which then ends too early or is too long, but not for the whole of a long wait.
 */
bool semaphore_wait_until(sem_t *semaphore, uint64_t until_ns)
{
	uint64_t now_ns;

	while ((now_ns = clock_monotonic_ns()) < until_ns) {
		const struct timespec end =
			timespec_of(clock_realtime_ns() + min_u64(until_ns - now_ns, SLICE_NS));

		if (sem_timedwait(semaphore, &end) == 0)
			return true;
		if (errno != ETIMEDOUT)
			return false;
	}
	return sem_trywait(semaphore) == 0;
}

#endif
