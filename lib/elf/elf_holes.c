// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of files for which the disk has no blocks. */
#include "elf/elf_holes.h"

#include <errno.h>
#include <unistd.h>

#include "base/minmax.h"

/* A copy that leaves out pages of zeros may have many holes. */
#define PIECES_MAX 16384

/* Where data begins, from there on, or it ends; *end if not before. */
static uint64_t seek(int fd, uint64_t at, uint64_t end, int whence)
{
	off_t found = lseek(fd, (off_t)at, whence);

	/* A file system without holes has data everywhere. */
	if (found < 0)
		return whence == SEEK_DATA && errno != ENXIO ? at : end;
	return min_u64((uint64_t)found, end);
}

bool elf_is_of_holes(int fd, uint64_t offset, uint64_t nr_bytes)
{
	uint64_t at = offset, end = offset + nr_bytes, nr_data = 0;

	if (nr_bytes <= ELF_HOLES_MIN || end < offset || end > INT64_MAX)
		return false;
	for (int i = 0; at < end && nr_data <= nr_bytes / 2; i++) {
		uint64_t data = seek(fd, at, end, SEEK_DATA);

		if (i == PIECES_MAX)
			return true;
		at = data < end ? seek(fd, data, end, SEEK_HOLE) : end;
		nr_data += at - data;
	}
	return nr_data <= nr_bytes / 2;
}
