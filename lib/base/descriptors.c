// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/descriptors.h"

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Before Linux 5.9, which has no close_range(2). */
#define CLOSED_ONE_BY_ONE 65536

static void close_between(unsigned int first, unsigned int last)
{
	if (first > last || syscall(__NR_close_range, first, last, 0) == 0)
		return;
	for (unsigned int fd = first; fd <= last && fd < CLOSED_ONE_BY_ONE; fd++)
		close((int)fd);
}

void close_all_but(const int *fds, size_t nr_fds)
{
	unsigned int first = 0;

	for (size_t i = 0; i < nr_fds; i++) {
		if (fds[i] > 0)
			close_between(first, (unsigned int)fds[i] - 1);
		first = (unsigned int)fds[i] + 1;
	}
	close_between(first, UINT_MAX);
}
