// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a file in as many calls as it takes. */
#include "base/read_up_to.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

ssize_t read_up_to(int fd, void *room, size_t nr_bytes)
{
	uint8_t *bytes = room;
	size_t nr = 0;

	while (nr < nr_bytes) {
		ssize_t got = read(fd, bytes + nr, nr_bytes - nr);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		nr += (size_t)got;
	}
	return (ssize_t)nr;
}
