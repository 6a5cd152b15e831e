// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library to preload: CLOCK_REALTIME is an hour behind once there is a file of the name in
 * SHIFT_CLOCK_FILE.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *path = getenv("SHIFT_CLOCK_FILE");
	int status = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME && path && access(path, F_OK) == 0)
		now->tv_sec -= 3600;
	return status;
}
